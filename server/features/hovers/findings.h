// What the profile gives evidence for at a line (annotator/advice/rules): a sentence of its hover.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/features/features.h"

namespace hotlens::features {

constexpr std::size_t kMostFindings = 2;  // of one line: a hover is short

// Of a line of the text as it is now, the largest first. A line that was edited since has none.
std::vector<const profile::Finding*> findings_at(const FileView& view, std::uint32_t line);

// "Could help, at most −17 %: GELU as one operator (F.gelu(x, approximate="tanh") in its place)."
std::string sentence(const profile::Finding& finding, bool markdown);

}  // namespace hotlens::features
