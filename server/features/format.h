// How numbers and hostile text reach a person: the one place where times, shares and sizes become words.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "annotator/common/units.h"
#include "annotator/profile/profile.h"

namespace hotlens::features {

// Three significant digits: "87.4 µs", "3.21 ms", "1.04 s"; "0 ns" only for an exact zero.
std::string format_time(Ns time);

// "24%", "<1%"; `share` is a fraction.
std::string format_share(double share);

// "144 kB", "25.7 MB": decimal units.
std::string format_bytes(Bytes bytes);

// Characters of UTF-8 text: one terminal cell each in our own labels.
std::size_t characters(std::string_view utf8);

// Text from a trace made inert in Markdown: no link, no HTML, no code fence, no control character; at most `limit` characters.
std::string escape_markdown(std::string_view text, std::size_t limit = 120);

// The same bounds for plain text: control characters become '?'.
std::string plain(std::string_view text, std::size_t limit = 120);

// The step as one line of block characters, higher where more of the cell is covered: "▁▁▅█▂".
std::string block_slice(std::span<const profile::Slice> slices, Ns step, std::size_t cells = 40);

// The step as a data-URI SVG for Markdown: forward and backward bars on the step's axis.
std::string svg_slice(std::span<const profile::Slice> slices, Ns step);

}  // namespace hotlens::features
