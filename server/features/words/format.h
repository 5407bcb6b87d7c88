// Hostile text and slices of the timeline as an editor can show them. Numbers are spelled by annotator/common/format.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "annotator/common/units.h"
#include "annotator/profile/profile.h"

namespace hotlens::features {

// Text from a trace made inert in Markdown: no link, no HTML, no code fence, no control character; at most `limit` characters.
std::string escape_markdown(std::string_view text, std::size_t limit = 120);

// The same bounds for plain text: control characters become '?'.
std::string plain(std::string_view text, std::size_t limit = 120);

// A line without the blanks at its ends; of a text the line of this number, from 0, as plain().
std::string_view trimmed(std::string_view line);
std::string trimmed_line(std::string_view text, std::uint32_t number);

// The step as one line of block characters, higher where more of the cell is covered: "▁▁▅█▂".
std::string block_slice(std::span<const profile::Slice> slices, Ns step, std::size_t cells = 40);

// The step as a data-URI SVG for Markdown: forward and backward bars on the step's axis.
std::string svg_slice(std::span<const profile::Slice> slices, Ns step);

}  // namespace hotlens::features
