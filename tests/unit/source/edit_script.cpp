#include "tests/unit/source/edit_script.h"

#include <algorithm>

namespace hotlens::source::test {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines{""};
  for (char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

std::uint32_t indent_of(const std::string& line) {
  std::size_t at = line.find_first_not_of(' ');
  return at == std::string::npos ? 0 : static_cast<std::uint32_t>(at);
}

bool is_plain_code(const Chunk& chunk) {
  return chunk.code && chunk.plain && !chunk.header;
}

bool is_code(const Chunk& chunk) {
  return chunk.code;
}

bool is_named_header(const Chunk& chunk) {
  std::string_view line = std::string_view(chunk.lines[0]).substr(chunk.indent);
  return chunk.header && (line.starts_with("def ") || line.starts_with("class "));
}

}  // namespace

EditScript::EditScript(const std::string& text, unsigned seed) : random_(seed) {
  Outline outline = outline_of(text);
  std::vector<std::string> lines = lines_of(text);
  std::uint32_t line = 0;
  auto add = [&](std::uint32_t end) {
    Chunk chunk;
    for (; line < end; ++line) chunk.lines.push_back(lines[line]);
    chunk.indent = indent_of(chunk.lines[0]);
    chunks_.push_back(chunk);
  };
  for (std::uint32_t i = 0; i < outline.statements.size(); ++i) {
    const Statement& statement = outline.statements[i];
    if (!statement.opens_line) continue;
    std::uint32_t last = i, begin = position_of(outline, statement.begin).line;
    while (last + 1 < outline.statements.size() && !outline.statements[last + 1].opens_line) ++last;
    std::uint32_t end = position_of(outline, outline.statements[last].end).line + 1;
    while (line < begin) add(line + 1);
    add(end);
    Chunk& chunk = chunks_.back();
    chunk.code = true;
    chunk.origin = i;
    chunk.header = statement.kind != StatementKind::simple;
    chunk.plain = chunk.lines.size() == 1 && last == i && chunk.lines[0].find("\"\"\"") == std::string::npos &&
                  chunk.lines[0].find("'''") == std::string::npos && chunk.lines[0].find('#') == std::string::npos &&
                  chunk.lines[0].back() != '\\';
  }
  while (line < lines.size()) add(line + 1);
}

std::size_t EditScript::below(std::size_t n) {
  return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
}

std::size_t EditScript::random_chunk(bool (*wanted)(const Chunk&)) {
  for (int tries = 0; tries < 200; ++tries) {
    std::size_t at = below(chunks_.size());
    if (wanted(chunks_[at])) return at;
  }
  return chunks_.size();
}

// Behind the last code of the body that belongs to a header.
std::size_t EditScript::behind_body(std::size_t header) const {
  std::size_t end = header + 1;
  for (std::size_t i = header + 1; i < chunks_.size(); ++i) {
    if (chunks_[i].code && chunks_[i].indent <= chunks_[header].indent) break;
    if (chunks_[i].code) end = i + 1;
  }
  return end;
}

void EditScript::indent_to(Chunk& chunk, std::uint32_t indent) {
  chunk.lines[0] = std::string(indent, ' ') + chunk.lines[0].substr(chunk.indent);
  chunk.indent = indent;
}

std::string EditScript::insert_new() {
  static const std::vector<std::string> texts{"extra = helper(1)", "print(x)", "self.added = make(2, 3)", "assert x is not None",
                                              "return x"};
  std::size_t at = random_chunk(is_code);
  if (at == chunks_.size()) return "nothing";
  Chunk chunk{.lines = {texts[below(texts.size())]}, .indent = 0, .code = true, .changed = true, .plain = true};
  indent_to(chunk, chunks_[at].indent);
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(at), chunk);
  return "insert";
}

std::string EditScript::insert_copy() {
  std::size_t from = random_chunk(is_plain_code), at = below(2) == 0 ? from : random_chunk(is_code);
  if (from == chunks_.size() || at == chunks_.size()) return "nothing";
  Chunk chunk = chunks_[from];
  chunk.copy = true;
  indent_to(chunk, chunks_[at].indent);
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(at + below(2)), chunk);
  return "copy";
}

std::string EditScript::insert_comment() {
  Chunk chunk{.lines = {below(2) == 0 ? "" : "    # a note (", "# \"'"}};
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(below(chunks_.size() + 1)), chunk);
  return "comment";
}

std::string EditScript::remove() {
  std::size_t at = random_chunk(is_plain_code);
  if (at == chunks_.size()) return "nothing";
  chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(at));
  return "delete";
}

std::string EditScript::move() {
  std::size_t from = random_chunk(is_plain_code);
  if (from == chunks_.size()) return "nothing";
  Chunk chunk = chunks_[from];
  chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(from));
  std::size_t to = random_chunk(is_code);
  if (below(2) == 0) to = std::min(from + below(4), chunks_.size() - 1);
  if (to >= chunks_.size()) to = chunks_.size() - 1;
  indent_to(chunk, chunks_[to].indent);
  chunk.moved = true;
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(to), chunk);
  return "move";
}

std::string EditScript::move_body() {
  std::size_t from = random_chunk(is_named_header);
  if (from == chunks_.size()) return "nothing";
  auto begin = chunks_.begin() + static_cast<std::ptrdiff_t>(from), end = chunks_.begin() + static_cast<std::ptrdiff_t>(behind_body(from));
  std::vector<Chunk> body(begin, end);
  chunks_.erase(begin, end);
  for (int tries = 0; tries < 500; ++tries) {
    std::size_t to = random_chunk(is_named_header);
    if (to == chunks_.size() || chunks_[to].indent != body[0].indent) continue;
    chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(to), body.begin(), body.end());
    return "move body";
  }
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(std::min(from, chunks_.size())), body.begin(), body.end());
  return "nothing";
}

// A function or class goes away: deleted, or split off to another file.
std::string EditScript::remove_body() {
  std::size_t from = random_chunk(is_named_header);
  if (from == chunks_.size()) return "nothing";
  std::size_t end = behind_body(from);
  if (end - from > chunks_.size() / 3) return "nothing";  // something must be left to look at
  chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(from), chunks_.begin() + static_cast<std::ptrdiff_t>(end));
  return "remove body";
}

std::string EditScript::rename() {
  std::size_t at = random_chunk(is_named_header);
  if (at == chunks_.size()) return "nothing";
  Chunk& chunk = chunks_[at];
  for (std::string& line : chunk.lines) {
    std::size_t end = line.find_first_of("(:", chunk.indent);
    if (!std::string_view(line).substr(chunk.indent).starts_with('@') && end != std::string::npos) {
      line.insert(end, "_renamed");
      chunk.changed = true;
      return "rename";
    }
  }
  return "nothing";
}

std::string EditScript::reformat() {
  std::size_t at = random_chunk(is_plain_code);
  if (at == chunks_.size()) return "nothing";
  Chunk& chunk = chunks_[at];
  const std::string line = chunk.lines[0];
  std::size_t open = line.find('(');
  bool quoted = line.find_first_of("'\"") != std::string::npos;
  if (open != std::string::npos && !quoted && below(2) == 0) {
    chunk.lines = {line.substr(0, open + 1) + "  # (", "  " + line.substr(open + 1)};
  } else {
    chunk.lines[0] += "   # formatted";
  }
  chunk.plain = false;
  return "reformat";
}

std::string EditScript::wrap() {
  std::size_t at = random_chunk(is_plain_code);
  if (at == chunks_.size()) return "nothing";
  static const std::vector<std::string> headers{"if self.training:", "for i in range(3):", "with torch.no_grad():"};
  Chunk header{.lines = {headers[below(headers.size())]}, .indent = 0, .code = true, .header = true, .changed = true};
  indent_to(header, chunks_[at].indent);
  indent_to(chunks_[at], chunks_[at].indent + 4);
  chunks_[at].moved = true;
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(at), header);
  return "wrap";
}

// Some statements of one block under a new header.
std::string EditScript::wrap_run() {
  std::size_t begin = random_chunk(is_plain_code), end = begin;
  if (begin == chunks_.size()) return "nothing";
  auto joins = [&](const Chunk& chunk) { return is_plain_code(chunk) && chunk.indent == chunks_[begin].indent; };
  while (end < chunks_.size() && end - begin < 2 + begin % 4 && joins(chunks_[end])) ++end;
  Chunk header{.lines = {"if self.enabled:"}, .indent = 0, .code = true, .header = true, .changed = true};
  indent_to(header, chunks_[begin].indent);
  for (std::size_t at = begin; at < end; ++at) {
    indent_to(chunks_[at], chunks_[at].indent + 4);
    chunks_[at].moved = true;
  }
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(begin), header);
  return "wrap run";
}

std::string EditScript::change() {
  std::size_t at = random_chunk(is_plain_code);
  if (at == chunks_.size()) return "nothing";
  chunks_[at].lines[0] += below(2) == 0 ? " + 1" : " + y(";
  chunks_[at].changed = true;
  chunks_[at].plain = false;
  return "change";
}

std::string EditScript::step() {
  switch (below(14)) {
    case 0:
      return insert_new();
    case 1:
      return insert_copy();
    case 2:
      return insert_comment();
    case 3:
    case 4:
      return remove();
    case 5:
    case 6:
      return move();
    case 7:
      return move_body();
    case 8:
      return rename();
    case 9:
      return reformat();
    case 10:
      return wrap();
    case 11:
      return wrap_run();
    case 12:
      return remove_body();
    default:
      return change();
  }
}

std::string EditScript::text() const {
  std::string text;
  for (const Chunk& chunk : chunks_) {
    for (const std::string& line : chunk.lines) text += line + "\n";
  }
  return text;
}

const Chunk* EditScript::chunk_of_line(std::uint32_t line) const {
  std::uint32_t at = 0;
  for (const Chunk& chunk : chunks_) {
    if (line == at) return &chunk;
    at += static_cast<std::uint32_t>(chunk.lines.size());
  }
  return nullptr;
}

std::vector<bool> EditScript::originals(std::size_t statements, bool (*wanted)(const Chunk&)) const {
  std::vector<bool> there(statements, false);
  for (const Chunk& chunk : chunks_) {
    if (chunk.code && chunk.origin != kNoStatement && !chunk.copy && wanted(chunk)) there[chunk.origin] = true;
  }
  return there;
}

std::vector<bool> EditScript::intact(std::size_t statements) const {
  return originals(statements, [](const Chunk& chunk) { return !chunk.changed; });
}

std::vector<bool> EditScript::in_place(std::size_t statements) const {
  return originals(statements, [](const Chunk& chunk) { return !chunk.changed && !chunk.moved; });
}

}  // namespace hotlens::source::test
