#include "server/lab/number_edit.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

#include "annotator/source/batch_size.h"
#include "server/lab/batch_sizes.h"

namespace hotlens::lab {
namespace {

// Bytes of a text.
struct Piece {
  std::size_t begin = 0, end = 0;
};

std::size_t line_begin(std::string_view text, std::size_t line) {
  std::size_t at = 0;
  for (; line > 0 && at != std::string_view::npos; --line) at = text.find('\n', at) + 1;
  return at;
}

std::string_view line_at(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('\n', at);
  return text.substr(at, end == std::string_view::npos ? std::string_view::npos : end - at);
}

// The number on the only line of a text that is this one but for the number.
std::optional<Piece> same_but_for_number(std::string_view text, std::string_view before, std::string_view after) {
  std::optional<Piece> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = line_at(text, at);
    const bool fits = line.size() > before.size() + after.size() && line.starts_with(before) && line.ends_with(after);
    const std::string_view number = fits ? line.substr(before.size(), line.size() - before.size() - after.size()) : std::string_view();
    if (!number.empty() && std::ranges::all_of(number, [](char one) { return one >= '0' && one <= '9'; })) {
      if (found) return std::nullopt;
      found = Piece{at + before.size(), at + before.size() + number.size()};
    }
    at += line.size() + 1;
  }
  return found;
}

// Whether the command line may say it instead.
bool is_told_by_arguments(const std::vector<std::string>& argv) {
  return std::ranges::any_of(argv, [](const std::string& one) { return one.starts_with("--b") || one.starts_with("-b"); });
}

constexpr std::string_view kDigits = "0123456789", kBlanks = " \t";
constexpr std::string_view kName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

std::string_view without_end(std::string_view text, std::string_view of) {
  return text.substr(0, text.find_last_not_of(of) + 1);
}

// Of a number behind this part of its line: `    block_size: int = `, `parser.add_argument("--block-size", type=int, default=`.
std::string name_before(std::string_view line) {
  line = without_end(line, kBlanks);
  if (!line.ends_with('=')) return {};
  line = without_end(line.substr(0, line.size() - 1), kBlanks);
  std::string_view name = line.substr(line.find_last_not_of(kName) + 1);
  if (name == "default") {
    const std::size_t flag = line.find("\"--");
    if (flag == std::string_view::npos) return {};
    std::string found(line.substr(flag + 3, line.find('"', flag + 1) - flag - 3));
    std::ranges::replace(found, '-', '_');
    return found;
  }
  const std::string_view before = without_end(line.substr(0, line.size() - name.size()), kBlanks);
  if (before.ends_with(':')) name = before.substr(without_end(before, ":").find_last_not_of(kName) + 1, before.size());
  return std::string(without_end(name, ":"));
}

using Text = std::shared_ptr<const source::Code>;

// The number at `range` of a line of the executed text; what is edited gets it back.
std::optional<NumberEdit> take(const Text& executed, const source::Range& range, std::int64_t was, Text& edited) {
  const std::string& old = executed->text();
  const std::string_view line = line_at(old, line_begin(old, range.begin.line));
  const std::string before = std::to_string(was);
  if (range.begin.line != range.end.line || range.end.column > line.size() || range.begin.column > range.end.column) return std::nullopt;
  if (line.substr(range.begin.column, range.end.column - range.begin.column) != before) return std::nullopt;
  const auto piece = same_but_for_number(edited->text(), line.substr(0, range.begin.column), line.substr(range.end.column));
  if (!piece) return std::nullopt;
  std::string text = edited->text();
  std::int64_t is = 0;
  if (std::from_chars(text.data() + piece->begin, text.data() + piece->end, is).ec != std::errc{} || is == was || is < 1)
    return std::nullopt;
  const auto at = std::ranges::count(std::string_view(text).substr(0, piece->begin), '\n');
  text.replace(piece->begin, piece->end - piece->begin, before);
  edited = text == old ? executed : std::make_shared<source::Code>(edited->path(), std::move(text));
  return NumberEdit{.name = {}, .was = was, .is = is, .at = {.file = edited->path().string(), .line = at}};
}

}  // namespace

std::optional<NumberEdit> take_batch_edit(const layers::Sources& executed, layers::Sources& edited, std::int64_t was) {
  if (was < 1 || is_told_by_arguments(executed.argv)) return std::nullopt;
  for (auto& [path, code] : edited.files) {
    const auto then = executed.files.find(path);
    if (then == executed.files.end() || then->second == code || edited.packages.contains(path)) continue;
    const auto range = source::batch_size_number(source::Tree::parse(then->second->text()), was);
    if (range) return take(then->second, *range, was, code);
  }
  return std::nullopt;
}

std::optional<NumberEdit> take_varied_edit(const layers::Sources& executed, layers::Sources& edited,
                                           const std::vector<profile::VariedProgram>& varied) {
  for (const profile::VariedProgram& one : varied) {
    const auto then = executed.files.find(one.source);
    const auto now = edited.files.find(one.source);
    if (then == executed.files.end() || now == edited.files.end() || then->second == now->second) continue;
    const source::Range range{.begin = {one.line, one.column}, .end = {one.line, one.end_column}};
    if (auto found = take(then->second, range, one.was, now->second)) {
      found->name = one.name;
      return found;
    }
  }
  return std::nullopt;
}

std::optional<NamedNumber> edited_number(const layers::Sources& executed, const layers::Sources& edited) {
  const source::Code *was = nullptr, *is = nullptr;
  for (const auto& [path, code] : edited.files) {
    const auto then = executed.files.find(path);
    if (then == executed.files.end() || then->second == code) continue;
    if (was != nullptr) return std::nullopt;
    was = then->second.get();
    is = code.get();
  }
  if (was == nullptr) return std::nullopt;
  const std::string_view old = was->text(), now = is->text();
  const auto begin = static_cast<std::size_t>(std::ranges::mismatch(old, now).in1 - old.begin());
  const auto after = static_cast<std::size_t>(
      std::ranges::mismatch(old.substr(begin) | std::views::reverse, now.substr(begin) | std::views::reverse).in1.base() - old.begin());
  const std::size_t first = old.substr(0, begin).find_last_not_of(kDigits) + 1;
  const std::size_t last = std::min(old.find_first_not_of(kDigits, begin), old.size());
  const std::size_t grown = now.size() + last - old.size();                                   // where it ends now
  const bool whole = last == old.size() || (old[last] != '.' && !kName.contains(old[last]));  // `0.5` and `1e-3` are none
  if (!whole || first >= last || after > last || grown <= first ||
      now.substr(first, grown - first).find_first_not_of(kDigits) != std::string_view::npos)
    return std::nullopt;
  const std::size_t line = old.substr(0, first).rfind('\n') + 1;
  std::string name = name_before(old.substr(line, first - line));
  if (name.empty()) return std::nullopt;
  return NamedNumber{.name = std::move(name), .at = {.file = is->path().string(), .line = std::ranges::count(now.substr(0, first), '\n')}};
}

void predict_number_edit(const EditedAsk& ask, const NumberEdit& edit, EditedStep& step) {
  const auto told = predict_batch_sizes({.bundle = ask.bundle,
                                         .batches = {edit.is},
                                         .memory = {},
                                         .python = ask.python,
                                         .number = edit.name,
                                         .quick = ask.quick,
                                         .say = ask.say});
  if (!told) {
    step.refused = EditRefusal{.reason = told.error().message, .op = {}, .module = {}, .at = edit.at};
    return;
  }
  if (!told->refused.empty()) {
    const Refusal& why = told->refused.front();
    step.refused = EditRefusal{.reason = why.reason, .op = why.op, .module = why.module, .at = edit.at};
    return;
  }
  for (const Point& point : told->points) {
    if (point.batch == edit.was) {
      step.peak_was = point.peak;
      if (point.time) step.step_was = point.time->step;
    } else {
      step.peak = point.peak;
      step.time = point.time;
    }
  }
  step.check = told->checks.front();
}

}  // namespace hotlens::lab
