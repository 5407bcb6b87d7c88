#include "server/session/documents/convert.h"

#include <algorithm>

namespace hotlens::session {
namespace {

using protocol::Json;

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

source::Position position_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = static_cast<std::uint32_t>(std::ranges::count(before, '\n'));
  const auto last = before.rfind('\n');
  return {line, static_cast<std::uint32_t>(last == std::string_view::npos ? offset : offset - last - 1)};
}

}  // namespace

Places::Places(std::string_view text, const protocol::LineIndex& index, protocol::Encoding encoding)
    : text_(text),
      index_(index),
      encoding_(encoding),
      same_lines_(index.lines() == static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1) {}

std::size_t Places::offset_of(source::Position position) const {
  std::size_t start = 0;
  if (same_lines_) {
    start = position.line < index_.lines() ? index_.start(position.line) : text_.size();
  } else {
    for (std::uint32_t line = 0; line < position.line && start < text_.size(); ++line) {
      start = std::min(text_.find('\n', start), text_.size() - 1) + 1;
    }
  }
  return std::min(start + position.column, text_.size());
}

source::Position Places::to_source(protocol::Position position) const {
  const std::size_t offset = offset_at(text_, index_, position, encoding_);
  if (!same_lines_) return position_of(text_, offset);
  const std::size_t line = index_.line_at(offset);
  return {static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(offset - index_.start(line))};
}

protocol::Position Places::to_client(source::Position position) const {
  return position_at(text_, index_, offset_of(position), encoding_);
}

protocol::Range Places::to_client(const source::Range& range) const {
  return {to_client(range.begin), to_client(range.end)};
}

std::optional<source::Edit> edit_between(std::string_view before, std::string_view after) {
  if (before == after) return std::nullopt;
  const std::size_t shorter = std::min(before.size(), after.size());
  auto begin = static_cast<std::size_t>(std::ranges::mismatch(before, after).in1 - before.begin());
  while (begin > 0 &&
         ((begin < before.size() && is_continuation(before[begin])) || (begin < after.size() && is_continuation(after[begin])))) {
    --begin;
  }
  std::size_t same = 0;
  while (same < shorter - begin && before[before.size() - 1 - same] == after[after.size() - 1 - same]) ++same;
  while (same > 0 && is_continuation(before[before.size() - same])) --same;
  const std::size_t old_end = before.size() - same, new_end = after.size() - same;
  return source::Edit{.start_byte = static_cast<std::uint32_t>(begin),
                      .old_end_byte = static_cast<std::uint32_t>(old_end),
                      .new_end_byte = static_cast<std::uint32_t>(new_end),
                      .start = position_of(before, begin),
                      .old_end = position_of(before, old_end),
                      .new_end = position_of(after, new_end)};
}

bool wants_kind(const protocol::Reader& params, std::string_view kind) {
  const auto only = params["context"].maybe("only");
  const std::vector<protocol::Reader> kinds = only ? only->items() : std::vector<protocol::Reader>{};
  return kinds.empty() || std::ranges::any_of(kinds, [&](const protocol::Reader& each) {
           const std::string prefix = each.string();
           return prefix.empty() || kind == prefix || kind.starts_with(prefix + ".");
         });
}

protocol::Position read_position(const protocol::Reader& reader) {
  return {reader["line"].unsigned32(), reader["character"].unsigned32()};
}

protocol::Range read_range(const protocol::Reader& reader) {
  return {read_position(reader["start"]), read_position(reader["end"])};
}

Json to_json(protocol::Position position) {
  return {{"line", position.line}, {"character", position.character}};
}

Json to_json(const protocol::Range& range) {
  return {{"start", to_json(range.start)}, {"end", to_json(range.end)}};
}

Json workspace_edit(const std::string& uri, std::optional<std::int64_t> version, const Json& edits, bool document_changes) {
  if (!document_changes) return {{"changes", {{uri, edits}}}};
  const Json place{{"uri", uri}, {"version", version ? Json(*version) : Json()}};
  return {{"documentChanges", {{{"textDocument", place}, {"edits", edits}}}}};
}

Json markup(std::string_view text, bool markdown) {
  return {{"kind", markdown ? "markdown" : "plaintext"}, {"value", text}};
}

}  // namespace hotlens::session
