#include "server/features/actions/batch_size.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "annotator/common/format.h"
#include "annotator/lab/predict/batch_sizes.h"
#include "annotator/source/batch_size.h"
#include "server/features/commands.h"

namespace hotlens::features {
namespace {

using lab::Point;

// Times the predicted throughput: steps that differ so much say nothing of how fast it may be at best.
constexpr double kOpen = 10;

// The number in the text as it is now; nothing where the profile does not know its batch size.
std::optional<source::Range> number(const FileView& view) {
  if (!view.profile || !view.facts || !view.profile->batch_size) return std::nullopt;
  return source::batch_size_number(view.tree, *view.profile->batch_size);
}

const Point* measured(const lab::BatchSizes& predicted) {
  const auto found = std::ranges::find(predicted.points, lab::Method::run, &Point::method);
  return found == predicted.points.end() ? nullptr : &*found;
}

int rounded_percent(double ratio) {
  return static_cast<int>(std::lround((ratio - 1) * 100));
}

// "≈ +41 % samples/s (+35…+48)"; no sign of change where the interval holds none.
std::string speed(const Point& base, const Point& point) {
  const auto rate = lab::rate(base, point);
  if (!rate) return point.note.empty() ? "speed not known" : point.note;
  if (rate->low <= 1 && rate->high >= 1) return "about as many samples/s";
  const std::string high = rate->high > kOpen * rate->ratio ? " or more" : fmt::format("…{:+}", rounded_percent(rate->high));
  return fmt::format("≈ {:+} % samples/s ({:+}{})", rounded_percent(rate->ratio), rounded_percent(rate->low), high);
}

std::string change(const Point& base, const Point& point) {
  return fmt::format("{} → {}: {}, memory {} → {}", base.batch, point.batch, speed(base, point), format::readable(base.peak),
                     format::readable(point.peak));
}

// Behind what a lens says; empty where that is not known.
std::string end_of_memory(const lab::BatchSizes& predicted) {
  if (!predicted.end) return {};
  return fmt::format(" · up to {} fit into {}", predicted.end->largest_batch, format::readable(predicted.end->memory));
}

std::optional<TextEdit> edit_at(const std::optional<source::Range>& number, std::int64_t size) {
  return number ? std::optional(TextEdit{.range = *number, .text = std::to_string(size)}) : std::nullopt;
}

bool in(const LineRange& lines, std::uint32_t line) {
  return lines.begin <= line && line < lines.end;
}

}  // namespace

std::optional<TextEdit> batch_size_edit(const source::Tree& tree, std::int64_t was, std::int64_t size) {
  return edit_at(source::batch_size_number(tree, was), size);
}

std::optional<TextEdit> batch_size_edit_in_settings(std::string_view text, std::int64_t was, std::int64_t size) {
  return edit_at(source::batch_size_in_settings(text, was), size);
}

std::vector<Lens> batch_size_lenses(const FileView& view, const Options& options) {
  const auto at = number(view);
  if (!at) return {};
  const std::uint32_t line = at->begin.line;
  const Point* base = options.batch_sizes ? measured(*options.batch_sizes) : nullptr;
  if (base == nullptr) {
    if (!options.trusted || options.running) return {};
    if (options.predicting) return {{.line = line, .title = "predicting other batch sizes …", .command = ""}};
    return {{.line = line, .title = "▸ Predict other batch sizes", .command = kPredictCommand}};
  }
  std::vector<Lens> lenses;
  for (const Point& point : options.batch_sizes->points) {
    if (point.batch == 2 * base->batch)
      lenses.push_back({.line = line, .title = "batch size " + change(*base, point) + end_of_memory(*options.batch_sizes), .command = ""});
  }
  return lenses;
}

std::vector<Action> batch_size_actions(const FileView& view, LineRange lines, const Options& options) {
  const auto at = number(view);
  const Point* base = options.batch_sizes ? measured(*options.batch_sizes) : nullptr;
  if (!at || base == nullptr || !in(lines, at->begin.line)) return {};
  std::vector<Action> actions;
  for (const Point& point : options.batch_sizes->points) {
    if (&point == base) continue;
    actions.push_back({.title = "Batch size " + change(*base, point),
                       .kind = "refactor.rewrite",
                       .command = {},
                       .disabled = std::nullopt,
                       .edit = batch_size_edit(view.tree, base->batch, point.batch)});
  }
  return actions;
}

}  // namespace hotlens::features
