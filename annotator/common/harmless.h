// Text from bundles, traces and folders, for a terminal: the one place that knows what is dangerous there.
//
// Control characters move the cursor, set the title or answer as if somebody typed; C1 controls are escapes of one character; controls of
// direction show text in another order than it has. They become `?`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hotlens {

// The character at the front of `text`: its length in bytes, its code, and whether a terminal may see it. What is no UTF-8 is one byte,
// U+FFFD and harmful.
struct Seen {
  std::size_t length = 1;
  std::uint32_t code = 0xfffd;
  bool harmless = false;
};
Seen character_at(std::string_view text);

// One piece of a line: no line break and no tab either.
std::string harmless(std::string_view text);

// Whole lines as they go out. `styled`: the few colour codes of our own pass, and the one that empties a line.
std::string harmless_lines(std::string_view text, bool styled);

// JSON that says the same: what is harmful in it stands in strings, where it may be escaped.
std::string harmless_json(std::string_view json);

}  // namespace hotlens
