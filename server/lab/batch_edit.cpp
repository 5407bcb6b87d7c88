#include "server/lab/batch_edit.h"

#include <algorithm>
#include <charconv>
#include <memory>
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

}  // namespace

std::optional<BatchEdit> take_batch_edit(const layers::Sources& executed, layers::Sources& edited, std::int64_t was) {
  if (was < 1 || is_told_by_arguments(executed.argv)) return std::nullopt;
  for (auto& [path, code] : edited.files) {
    const auto then = executed.files.find(path);
    if (then == executed.files.end() || then->second == code || edited.packages.contains(path)) continue;
    const std::string& old = then->second->text();
    const auto range = source::batch_size_number(source::Tree::parse(old), was);
    if (!range || range->begin.line != range->end.line) continue;
    const std::string_view line = line_at(old, line_begin(old, range->begin.line));
    const auto piece = same_but_for_number(code->text(), line.substr(0, range->begin.column), line.substr(range->end.column));
    if (!piece) return std::nullopt;
    std::string text = code->text();
    std::int64_t is = 0;
    if (std::from_chars(text.data() + piece->begin, text.data() + piece->end, is).ec != std::errc{} || is == was || is < 1)
      return std::nullopt;
    const auto at = std::ranges::count(std::string_view(text).substr(0, piece->begin), '\n');
    text.replace(piece->begin, piece->end - piece->begin, std::to_string(was));
    code = text == old ? then->second : std::make_shared<source::Code>(path, std::move(text));
    return BatchEdit{.was = was, .is = is, .at = {.file = path.string(), .line = at}};
  }
  return std::nullopt;
}

void predict_batch_edit(const EditedAsk& ask, const BatchEdit& edit, EditedStep& step) {
  const auto told = predict_batch_sizes(
      {.bundle = ask.bundle, .batches = {edit.is}, .memory = {}, .python = ask.python, .quick = ask.quick, .say = ask.say});
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
