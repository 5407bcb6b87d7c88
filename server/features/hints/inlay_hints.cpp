#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "annotator/common/format.h"
#include "annotator/profile/loop.h"
#include "server/features/features.h"
#include "server/features/hints/hint_memory.h"
#include "server/features/lines/line_parts.h"
#include "server/features/lines/line_summary.h"
#include "server/features/words/baseline.h"
#include "server/features/words/describe.h"
#include "server/features/words/format.h"
#include "server/features/words/hint_units.h"
#include "server/features/words/label_numbers.h"
#include "server/features/words/noise.h"

namespace hotlens::features {
namespace {

constexpr std::size_t kTooltipLines = kMostLines - 2;  // a change against the baseline and what is offered stand below
constexpr std::size_t kLabelLimit = 20;                // characters; VS Code cuts the hints of one line at 43 over all servers

std::string_view mark(source::State state) {
  switch (state) {
    case source::State::edited:
      return "≠ ";
    case source::State::context:
      return "~";
    default:
      return "";
  }
}

// Drops the least telling part until the label fits.
std::string label(const LineSummary& summary, double share) {
  std::string time = std::string(mark(summary.state)) + number_of(summary);
  const std::string part = " " + format::share(share);
  const std::string times = summary.times > 1 ? fmt::format(" ×{}", summary.times) : "";
  for (const std::string& candidate : {time + part + times, time + part}) {
    if (format::width(candidate) <= kLabelLimit) return candidate;
  }
  return time;
}

// "→ line 43": the time of this line is counted there.
std::string elsewhere_label(const LineSummary& summary) {
  const auto part = std::ranges::find_if(summary.stages, [](const StagePart& each) { return !each.counted_at.empty(); });
  std::string text = fmt::format("{}→ {}", mark(summary.state), plain(part->counted_at));
  return format::width(text) <= kLabelLimit ? text : fmt::format("{}→", mark(summary.state));
}

// Where the modules' definition stands now, when they have one and it is in this file.
std::optional<source::Position> definition_of(const FileView& view, const std::vector<profile::ModuleId>& modules) {
  if (modules.empty()) return std::nullopt;
  const auto fact_of = [&](profile::ModuleId id) { return view.facts->definitions.at(id.index); };
  const std::uint32_t fact = fact_of(modules.front());
  if (fact == kNoFact || view.placements[fact].state == source::State::orphan) return std::nullopt;
  const bool one = std::ranges::all_of(modules, [&](profile::ModuleId id) { return fact_of(id) == fact; });
  return one ? std::optional(view.placements[fact].range.begin) : std::nullopt;
}

std::string part_tooltip(const FileView& view, const LinePart& part, const Options& options) {
  const std::string time = format::readable(part.value);
  if (part.modules.empty()) return time + ": the rest of this line, and modules that other lines call as well";
  const profile::Module& first = view.profile->at(part.modules.front());
  const std::string name = first.path + " " + first.class_name;
  const std::string more = part.modules.size() > 1 ? fmt::format(" and {} more", part.modules.size() - 1) : "";
  return (options.markdown ? escape_markdown(name) : plain(name)) + more + ": " + time;
}

// "1.2+0.8 ms 24% ×6": a number per call, left to right; empty when that does not fit.
std::vector<PieceWords> parted_label(const FileView& view, const LineSummary& summary, double share, const Options& options) {
  const std::vector<LinePart> parts = parts_of(view, summary, summary.facts);
  if (parts.empty()) return {};
  const std::string rough = is_noisy(summary) ? "≈ " : "";
  const Unit unit = unit_of(std::ranges::max(parts, {}, &LinePart::value).value);
  std::string numbers;
  std::vector<PieceWords> pieces;
  for (const LinePart& part : parts) {
    const std::string text = (pieces.empty() ? std::string(mark(summary.state)) + rough : "+") + number(part.value, unit);
    numbers += text;
    pieces.push_back({.text = text, .tooltip = part_tooltip(view, part, options), .modules = part.modules});
  }
  const std::string percent = " " + format::share(share);
  const std::string times = summary.times > 1 ? fmt::format(" ×{}", summary.times) : "";
  for (const std::string& tail : {std::string(unit.name) + percent + times, std::string(unit.name) + percent, std::string(unit.name)}) {
    if (format::width(numbers) + format::width(tail) > kLabelLimit) continue;
    pieces.push_back({.text = tail, .tooltip = "", .modules = {}});
    return pieces;
  }
  return {};
}

// What the line took before the first update was complete, where that is long and the line has no other number.
std::string startup_label(const LineSummary& summary, const profile::Profile& profile) {
  constexpr Ns kLong = std::chrono::milliseconds(200);
  constexpr int kTelling = 50;  // one part in so many of all start-up
  if (!summary.clock || summary.clock->startup < kLong || summary.clock->startup * kTelling < profile.loop->startup) return "";
  return std::string(mark(summary.state)) + "start-up " + format::readable(summary.clock->startup);
}

// In another unit than time.
LineWords other_words(const FileView& view, const LineSummary& summary, const Options& options) {
  const std::string number = number_in(options.unit, summary, *view.profile, options.min_share);
  const bool elsewhere = number.empty() && options.unit != HintUnit::memory && is_counted_elsewhere(summary);
  if (number.empty() && !elsewhere) return {};
  return {.label = elsewhere ? elsewhere_label(summary) : std::string(mark(summary.state)) + number,
          .tooltip = options.tooltips ? describe(summary, *view.profile, options, kTooltipLines) : "",
          .pieces = {},
          .share = share(summary, *view.profile)};
}

LineWords words_of(const FileView& view, const LineSummary& summary, const Options& options) {
  if (options.unit != HintUnit::time) return other_words(view, summary, options);
  const double part = share(summary, *view.profile);
  const bool shown = part >= options.min_share && summary.value > Ns{};
  std::string text = shown ? label(summary, part) : is_counted_elsewhere(summary) ? elsewhere_label(summary) : "";
  if (text.empty()) text = startup_label(summary, *view.profile);
  if (text.empty()) return {};
  LineWords words{.label = std::move(text),
                  .tooltip = options.tooltips ? describe(summary, *view.profile, options, kTooltipLines) : "",
                  .pieces = shown && !summary.timed ? parted_label(view, summary, part, options) : std::vector<PieceWords>{},
                  .share = part};
  if (words.pieces.empty()) return words;
  words.label.clear();
  for (const PieceWords& piece : words.pieces) words.label += piece.text;
  return words;
}

// An edited statement may have its calls in another order.
bool can_be_kept(const LineSummary& summary) {
  return summary.state != source::State::edited && !is_counted_elsewhere(summary);
}

LineWords words_of(const FileView& view, const LineFacts& line, const Options& options, HintMemory& memory) {
  if (const LineWords* known = memory.find(view, line.facts)) return *known;
  const LineSummary summary = summarize_line(view, line);
  LineWords words = words_of(view, summary, options);
  if (can_be_kept(summary)) return memory.keep(view, line.facts, std::move(words));
  return words;
}

Hint hint_of(const FileView& view, std::uint32_t line, std::string_view text, std::size_t long_line, LineWords words) {
  const bool before = long_line > 0 && text.size() > long_line && format::width(text) > long_line;
  const std::size_t column = before ? std::min(text.find_first_not_of(" \t\f"), text.size()) : text.size();
  Hint hint{.at = {line, static_cast<std::uint32_t>(column)},
            .label = std::move(words.label),
            .tooltip = std::move(words.tooltip),
            .parts = {},
            .share = words.share,
            .before = before};
  for (PieceWords& piece : words.pieces) {
    hint.parts.push_back({std::move(piece.text), std::move(piece.tooltip), definition_of(view, piece.modules)});
  }
  return hint;
}

// Every line up to `last`, line ends left out: one pass, lines end at '\n' as in the syntax tree.
std::vector<std::string_view> lines_of(std::string_view text, std::uint32_t last) {
  std::vector<std::string_view> lines;
  while (lines.size() <= last) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

// "12.4 ms ▲1.1": what changed is more telling than the share. An edited line was never measured as it is.
void add_delta(Hint& hint, const Delta& delta, const Options& options) {
  const std::string mark(features::mark(delta.state));
  if (delta.state == source::State::edited) return;
  hint.parts.clear();
  hint.label = mark + format::readable(delta.value) + " " + spelled(delta);
  if (options.tooltips) hint.tooltip = with_sentence(std::move(hint.tooltip), delta, *options.baseline->view.profile);
}

void add_deltas(std::vector<Hint>& hints, const FileView& view, LineRange lines, const Options& options) {
  if (!options.baseline || options.unit != HintUnit::time) return;
  for (const Delta& delta : deltas(view, *options.baseline, lines)) {
    const auto hint = std::ranges::find(hints, delta.line, [](const Hint& each) { return each.at.line; });
    if (hint != hints.end()) add_delta(*hint, delta, options);
  }
}

}  // namespace

std::vector<Hint> inlay_hints(const FileView& view, LineRange lines, const Options& options, HintMemory& memory) {
  Options alone = options;
  alone.baseline.reset();  // it moves with every edit; what a line says by itself does not
  memory.use_for(view.facts, alone);
  const std::vector<LineFacts> placed = facts_by_line(view, lines);
  if (placed.empty()) return {};
  const std::vector<std::string_view> texts = lines_of(view.tree.text(), placed.back().line);
  std::vector<Hint> hints;
  for (const LineFacts& line : placed) {
    if (line.line >= texts.size()) break;
    LineWords words = words_of(view, line, alone, memory);
    if (!words.label.empty()) hints.push_back(hint_of(view, line.line, texts[line.line], options.long_line, std::move(words)));
  }
  add_deltas(hints, view, lines, options);
  return hints;
}

std::vector<Hint> inlay_hints(const FileView& view, LineRange lines, const Options& options) {
  HintMemory nothing;
  return inlay_hints(view, lines, options, nothing);
}

}  // namespace hotlens::features
