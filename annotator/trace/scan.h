// Finding one's way in JSON text without parsing it: ends of values, and where events begin.
#pragma once

#include <cstddef>
#include <string_view>

namespace hotlens::trace {

constexpr std::size_t kNowhere = std::string_view::npos;
constexpr std::string_view kSpace = " \t\r\n";

// The first position from `at` on that is no white space; the text's size where there is none.
std::size_t skip_space(std::string_view text, std::size_t at);

// One past the closing quote of the string that opens at `at`; kNowhere where the text ends before.
std::size_t end_of_string(std::string_view text, std::size_t at);

// One past the bracket that closes the one at `at`; kNowhere where the text ends before or brackets do not match. Brackets in strings do
// not count.
std::size_t end_of_brackets(std::string_view text, std::size_t at);

// One past the value that begins at `at`; kNowhere where the text ends before that is sure.
std::size_t end_of_value(std::string_view text, std::size_t at);

// The last comma in `text` between two objects, outside every string when the JSON is valid. How deep it lies is not known: objects in
// arguments are also parted by commas. kNowhere where there is none.
std::size_t last_boundary(std::string_view text);

// The next `{` from `from` on that opens an event: with its phase, as torch's writers begin it, or (where `phase_first` is not set)
// behind another object and a comma, and with a phase among its own keys or damage before it.
std::size_t next_event(std::string_view text, std::size_t from, bool phase_first);

// Whether the object that opens at the front of `text` begins with its phase.
bool begins_with_phase(std::string_view text);

}  // namespace hotlens::trace
