// A text with some of it replaced, so that every line stays where it is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "annotator/lab/layers/python/value.h"

namespace hotlens::layers {

using Span = std::pair<std::uint32_t, std::uint32_t>;  // bytes of a text
Span span_of(Node node);

// As many line ends as a piece of text has.
std::string line_ends(std::string_view text);
// What may stand for a statement that says nothing.
std::string passed(Node statement);

// No two spans share a byte.
std::shared_ptr<const source::Code> replaced(const source::Code& code, const std::map<Span, std::string>& spans);

// Of several files.
using Pieces = std::map<const source::Code*, std::map<Span, std::string>>;
void replace_in(std::map<std::filesystem::path, std::shared_ptr<const source::Code>>& files, const Pieces& pieces);

}  // namespace hotlens::layers
