#include "annotator/source/notebook/magics.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace hotlens::source {
namespace {

constexpr std::array<std::string_view, 4> kKeptBodies{"time", "timeit", "capture", "prun"};  // cell magics that run their cell
constexpr std::array<std::string_view, 8> kCompound{"for", "while", "if", "with", "try", "def", "class", "async"};
constexpr std::string_view kBlank = " \t";

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_word(char c) {
  return is_letter(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

std::string_view trimmed_left(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text;
}
std::string_view word_at(std::string_view text) {
  return text.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(text, is_word) - text.begin()));
}
bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\v\f\r\n") == std::string_view::npos;
}

// A line's text and its end.
struct Line {
  std::string_view body, end;
};

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find_first_of("\r\n"), text.size());
    const std::size_t length = at == text.size() ? 0 : text.substr(at).starts_with("\r\n") ? 2 : 1;
    lines.push_back({text.substr(0, at), length == 0 ? std::string_view("\n") : text.substr(at, length)});
    text.remove_prefix(at + length);
  }
  return lines;
}

std::string comment(const Line& line) {
  return (is_blank(line.body) ? "" : "# ") + std::string(line.body).append(line.end);
}

// Whether a line begins a statement, or stands inside a string or brackets that an earlier one has opened.
class Inside {
 public:
  bool a_statement() const { return quote_.empty() && depth_ == 0 && !joined_; }

  void read(std::string_view line) {
    joined_ = false;
    for (std::size_t at = 0; at < line.size();) at = quote_.empty() ? code(line, at) : text(line, at);
    if (quote_.size() == 1 && !joined_) quote_.clear();  // a string on one line that is not closed
  }

 private:
  std::size_t code(std::string_view line, std::size_t at) {
    const char c = line[at];
    if (c == '#') return line.size();
    if (c == '\'' || c == '"') {
      quote_ = line.substr(at).starts_with(std::string(3, c)) ? std::string(3, c) : std::string(1, c);
      return at + quote_.size();
    }
    if (c == '\\' && at + 1 == line.size()) joined_ = true;
    if (std::string_view("([{").contains(c)) ++depth_;
    if (std::string_view(")]}").contains(c) && depth_ > 0) --depth_;
    return at + 1;
  }
  std::size_t text(std::string_view line, std::size_t at) {
    if (line[at] == '\\') {
      joined_ = at + 1 == line.size();
      return at + 2;
    }
    if (!line.substr(at).starts_with(quote_)) return at + 1;
    at += quote_.size();
    quote_.clear();
    return at;
  }

  std::string quote_;
  std::size_t depth_ = 0;
  bool joined_ = false;
};

// "%name": the name; of "!" the empty text; nothing where the line is no magic.
std::optional<std::string_view> magic_of(std::string_view code) {
  if (code.starts_with('!')) return std::string_view();
  if (code.size() < 2 || code[0] != '%' || !is_letter(code[1])) return std::nullopt;
  return word_at(code.substr(1));
}

// "name?", "?name" and nothing else.
bool asks_for_help(std::string_view code) {
  code = code.substr(0, code.find_last_not_of(kBlank) + 1);
  const std::size_t before = std::min(code.find_first_not_of('?'), code.size());
  const std::size_t after = code.size() - 1 - std::min(code.find_last_not_of('?'), code.size() - 1);
  if (code.empty() || before == code.size() || (before == 0) == (after == 0) || before > 2 || after > 2) return false;
  return std::ranges::all_of(code.substr(before, code.size() - before - after),
                             [](char c) { return is_word(c) || std::string_view(".*%").contains(c); });
}

// Of "files = !ls" where the command begins; nothing where it is something else.
std::optional<std::size_t> command_behind_name(std::string_view line) {
  const std::size_t equals = line.find('=');
  const std::string_view target = trimmed_left(line.substr(0, std::min(equals, line.size())));
  if (equals == std::string_view::npos || target.empty() || !is_letter(target.front())) return std::nullopt;
  if (!std::ranges::all_of(target, [](char c) { return is_word(c) || std::string_view(".,[]'\" \t").contains(c); })) return std::nullopt;
  const std::string_view value = trimmed_left(line.substr(equals + 1));
  return magic_of(value) ? std::optional(line.size() - value.size()) : std::nullopt;
}

// The names behind "from __future__ import"; nothing where it is something else, or goes on in the next line.
std::optional<std::vector<std::string>> futures_of(std::string_view line) {
  for (const std::string_view word : {"from", "__future__", "import"}) {
    if (word_at(line) != word) return std::nullopt;
    const std::string_view rest = trimmed_left(line.substr(word.size()));
    if (rest.size() == line.size() - word.size()) return std::nullopt;
    line = rest;
  }
  line = line.substr(0, line.find('#'));
  std::vector<std::string> names;
  while (true) {
    const std::string_view name = word_at(line);
    if (name.empty() || !is_letter(name.front())) return std::nullopt;
    names.emplace_back(name);
    line = trimmed_left(line.substr(name.size()));
    if (line.empty()) return names;
    if (line.front() != ',') return std::nullopt;
    line = trimmed_left(line.substr(1));
  }
}

struct Replaced {
  std::string line;
  bool left_out = false;  // nothing of it runs
};

// "%time loss = step()": the statement stays where it is; one with a body cannot stand behind another.
Replaced timed(std::string_view indentation, std::string_view rest) {
  const std::string_view statement = trimmed_left(rest);
  const bool compound = statement.starts_with('@') || std::ranges::find(kCompound, word_at(statement)) != kCompound.end();
  return {std::string(indentation).append(compound ? "" : "0   ;").append(compound ? statement : rest)};
}

Replaced replaced(std::string_view line, std::vector<std::string>& futures) {
  const std::string_view code = trimmed_left(line), indentation = line.substr(0, line.size() - code.size());
  const std::string passed = std::string(indentation).append("pass  # ").append(code);
  if (const auto magic = magic_of(code)) {
    const std::string_view rest = code.substr(std::min(code.size(), magic->size() + 1));
    if (*magic == "time" && !rest.empty() && kBlank.contains(rest.front()) && !is_blank(rest)) return timed(indentation, rest);
    return {passed, true};
  }
  if (asks_for_help(code)) return {passed, true};
  if (const auto command = command_behind_name(line)) {
    return {std::string(line.substr(0, *command)).append("get_ipython()  # ").append(line.substr(*command)), true};
  }
  if (auto names = futures_of(line)) {
    futures.insert(futures.end(), names->begin(), names->end());
    return {passed, true};
  }
  return {std::string(line)};
}

CellScript line_by_line(const std::vector<Line>& lines, std::size_t head) {
  CellScript cell;
  Inside inside;
  bool goes_on = false;  // a magic's line that ends with a backslash
  for (std::size_t number = 0; number < lines.size(); ++number) {
    const Line& line = lines[number];
    if (number == head) {
      cell.text.append("#").append(line.body.substr(1)).append(line.end);
    } else if (goes_on) {
      cell.text.append(comment(line));
      goes_on = line.body.ends_with('\\');
    } else if (inside.a_statement()) {
      const Replaced now = replaced(line.body, cell.futures);
      cell.text.append(now.line).append(line.end);
      goes_on = now.left_out && line.body.ends_with('\\');
      if (!now.left_out) inside.read(now.line);
    } else {
      cell.text.append(line.body).append(line.end);
      inside.read(line.body);
    }
  }
  return cell;
}

CellScript as_it_runs(const std::vector<Line>& lines) {
  const auto first = std::ranges::find_if_not(lines, is_blank, &Line::body);
  if (first == lines.end() || !first->body.starts_with("%%")) return line_by_line(lines, lines.size());
  const std::string_view rest = first->body.substr(2);
  const std::string_view magic = rest.substr(
      0, static_cast<std::size_t>(std::ranges::find_if_not(rest, [](char c) { return is_word(c) || c == '.'; }) - rest.begin()));
  if (std::ranges::find(kKeptBodies, magic) != kKeptBodies.end()) {
    return line_by_line(lines, static_cast<std::size_t>(first - lines.begin()));
  }
  CellScript cell;
  for (const Line& line : lines) cell.text.append(comment(line));
  return cell;
}

}  // namespace

CellScript without_magics(std::string_view text) {
  const std::vector<Line> lines = lines_of(text);
  CellScript cell = as_it_runs(lines);
  for (const Line& line : lines) cell.written.append(line.body).append(line.end);
  return cell;
}

}  // namespace hotlens::source
