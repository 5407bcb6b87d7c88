// What-ifs as people and as scripts read them (annotator/report/FORMATS.md).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "annotator/advice/rules/text.h"
#include "annotator/common/format.h"
#include "annotator/common/json_text.h"
#include "annotator/lab/whatif/outcome.h"

namespace hotlens::lab {
namespace {

using format::harmless;
using format::readable;

std::int64_t bytes_of_change(const WhatIf& item) {
  return count(item.peak) - count(item.peak_was);
}

// Samples a second, changed to unchanged; nullopt where a step has as many samples as before.
std::optional<Ratio> samples_rate(const WhatIf& item) {
  if (!item.time || item.times_samples == 1) return std::nullopt;
  const auto times = static_cast<double>(item.times_samples);
  return Ratio{.ratio = times / item.time->ratio, .low = times / item.time->high, .high = times / item.time->low};
}

void write_outcome(JsonText& json, const WhatIf& item) {
  json.member("method", std::string_view("replay"));
  json.member("ratio", item.time->ratio);
  json.member("low", item.time->low);
  json.member("high", item.time->high);
  json.member("step_was_ns", item.step_was.count());
  json.member("step_ns", item.step.count());
  json.member("saved_ns", (item.step_was - item.step).count());
  json.member("peak_was_bytes", count(item.peak_was));
  json.member("peak_bytes", count(item.peak));
  json.member("peak_bytes_change", bytes_of_change(item));
  if (const auto rate = samples_rate(item)) {
    json.member("samples_ratio", rate->ratio);
    json.member("samples_low", rate->low);
    json.member("samples_high", rate->high);
  }
}

void write_texts(JsonText& json, std::string_view name, const std::vector<std::string>& texts) {
  json.array(name, [&] {
    for (const std::string& text : texts) json.element(text);
  });
}

std::string_view name(State state) {
  constexpr std::array<std::string_view, 4> kNames{"open", "applied", "verified", "silenced"};
  return kNames[static_cast<std::size_t>(state)];
}

void write_edits(JsonText& json, const std::vector<SourceEdit>& edits) {
  json.array("edits", [&] {
    for (const SourceEdit& edit : edits) {
      json.object([&] {
        json.member("file", edit.file);
        json.member("line", edit.line);
        json.member("character", edit.character);
        json.member("end_line", edit.end_line);
        json.member("end_character", edit.end_character);
        json.member("was", edit.was);
        json.member("text", edit.text);
      });
    }
  });
}

void write_curve(JsonText& json, const WhatIf& item) {
  const Curve& curve = *item.curve;
  json.object("curve", [&] {
    json.member("blocks", static_cast<std::int64_t>(curve.blocks));
    json.member("chosen", static_cast<std::int64_t>(curve.chosen));
    if (curve.budget) json.member("budget_bytes", count(*curve.budget));
    if (curve.budget) json.member("within_budget", curve.within);
    json.array("points", [&] {
      for (const CurvePoint& point : curve.points) {
        json.object([&] {
          write_texts(json, "blocks", point.blocks);
          json.member("peak_bytes", count(point.peak));
          json.member("step_ns", point.step.count());
          json.member("ratio", point.time ? point.time->ratio : 1);
          json.member("low", point.time ? point.time->low : 1);
          json.member("high", point.time ? point.time->high : 1);
        });
      }
    });
    if (!curve.note.empty()) json.member("note", curve.note);
  });
}

void write_item(JsonText& json, const WhatIf& item) {
  json.member("kind", item.kind);
  json.member("title", item.title);
  if (item.where) {
    json.member("file", item.where->file);
    json.member("line", item.where->line);
  }
  if (item.time) write_outcome(json, item);
  json.array("evidence", [&] {
    for (const std::string& what : item.evidence) json.object([&] { json.member("what", what); });
  });
  write_texts(json, "modules", item.modules);
  write_texts(json, "assumes", item.assumes);
  if (!item.interval.empty()) json.member("interval", item.interval);
  if (item.curve) write_curve(json, item);
  json.member("state", name(item.state));
  if (item.verified) {
    json.object("verified", [&] {
      json.member("pairs", item.verified->pairs);
      json.member("ratio", item.verified->time.ratio);
      json.member("low", item.verified->time.low);
      json.member("high", item.verified->time.high);
      json.member("half_width", (item.verified->time.high - item.verified->time.low) / 2);
      json.member("faster", item.verified->faster);
      json.member("losses", std::string_view(item.verified->losses));
      if (item.verified->longer > Ns{}) json.member("startup_longer_ns", item.verified->longer.count());
      if (const auto steps = pays_back_after(*item.verified)) json.member("pays_back_after", *steps);
    });
  }
  if (!item.edits.empty()) write_edits(json, item.edits);
}

void write_refusal(JsonText& json, const NotThis& refused) {
  json.member("kind", refused.kind);
  if (!refused.why.module.empty()) json.member("module", refused.why.module);
  if (!refused.why.op.empty()) json.member("operator", refused.why.op);
  json.member("reason", refused.why.reason);
  if (!refused.instead.empty()) json.member("instead", refused.instead);
}

// "−13 %", "+2 %"; below ten percent with a decimal.
std::string change(double ratio) {
  const double percent = (ratio - 1) * 100;
  const std::string digits = fmt::format("{:.{}f}", std::abs(percent), std::abs(percent) < 9.95 ? 1 : 0);
  return (percent < 0 ? "−" : "+") + digits;
}

std::string verdict(const Ratio& time) {
  if (time.faster()) return "faster";
  return time.slower() ? "slower" : "no certain change";
}

// Two that are spelled alike are no change that anybody sees, so the few bytes are told.
std::string peak_change(const WhatIf& item) {
  const std::string was = readable(item.peak_was), is = readable(item.peak);
  if (was != is) return was + " → " + is;
  const std::int64_t more = bytes_of_change(item);
  return more == 0 ? is + ", unchanged" : fmt::format("{}, {}{}", is, more < 0 ? "−" : "+", readable(Bytes{std::abs(more)}));
}

std::string outcome(const WhatIf& item, const format::Style& style) {
  const Ratio& time = *item.time;
  const std::string_view color = time.faster() ? style.faster : time.slower() ? style.slower : style.dim;
  const std::string peak = peak_change(item);
  const auto rate = samples_rate(item);
  return fmt::format("  {}{}{}: {}, {} → {}{}; peak {}\n", color, verdict(time), style.off, spelled(time), readable(item.step_was),
                     readable(item.step), rate ? "; samples a second " + spelled(*rate) : "", peak);
}

std::string place(const WhatIf& item) {
  return item.where ? fmt::format("  {}:{}", item.where->file, item.where->line + 1) : std::string();
}

// One line each, whatever is in it: of several the first.
std::string on_one_line(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::string_view whole = text.substr(0, text.find_last_not_of(" \t\r\n") + 1), first = whole.substr(0, whole.find_first_of("\r\n"));
  const auto more = std::ranges::count(whole, '\n');
  return harmless(first) + (more > 0 ? fmt::format(" … {}", format::counted(more, "line more", "lines more")) : "");
}

std::string described(const SourceEdit& edit, State state) {
  const std::string place = fmt::format("  {}: {}:{}: ", state == State::applied ? "applied" : "edit", harmless(edit.file), edit.line + 1);
  if (edit.text.empty()) return place + "`" + on_one_line(edit.was) + "` removed\n";
  const std::string text = edit.text.find_last_not_of(" \t\r\n") == std::string::npos ? "indented" : "`" + on_one_line(edit.text) + "`";
  return place + (edit.was.empty() ? text + (text == "indented" ? "" : " added") : "`" + on_one_line(edit.was) + "` → " + text) + "\n";
}

std::string described(const Verdict& verified, const format::Style& style) {
  const std::string_view color = verified.faster ? style.faster : verified.slower ? style.slower : style.dim;
  const char* word = verified.faster ? "faster" : verified.slower ? "slower" : "no certain change";
  std::string out = fmt::format("  verified in {} pairs of runs: {}{}{}, {} % ({}…{})\n", verified.pairs, color, word, style.off,
                                change(verified.time.ratio), change(verified.time.low), change(verified.time.high));
  if (const std::string startup = startup_words(verified); !startup.empty()) out += fmt::format("  {}\n", startup);
  if (const std::string_view losses = losses_words(verified); !losses.empty()) out += fmt::format("  {}\n", losses);
  return out;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

// The choices as a table, the chosen one marked.
std::string described(const Curve& curve, const format::Style& style) {
  std::string out = fmt::format("  {:>9}  {:>9}  {}\n", "peak", "step", "checkpointed");
  for (std::size_t at = 0; at < curve.points.size(); ++at) {
    const CurvePoint& point = curve.points[at];
    const bool all = point.blocks.size() == curve.blocks && curve.blocks > 1;
    const std::string blocks = point.blocks.empty() ? "none" : all ? fmt::format("all {} blocks", curve.blocks) : joined(point.blocks);
    out += fmt::format("{} {:>9}  {:>9}  {}{}{}\n", at == curve.chosen ? "→" : " ", readable(point.peak), readable(point.step),
                       at == curve.chosen ? style.bold : "", harmless(blocks), at == curve.chosen ? style.off : "");
  }
  if (curve.budget && !curve.within) {
    out += fmt::format("  no choice stays within {}: the lowest peak is {}\n", readable(*curve.budget),
                       readable(curve.points[curve.chosen].peak));
  }
  return curve.note.empty() ? out : out + fmt::format("  {}\n", curve.note);
}

std::string described(const WhatIf& item, const format::Style& style) {
  std::string out = fmt::format("{}{}{}  {}{}\n", style.bold, item.kind, style.off, item.title, harmless(place(item)));
  if (item.time) out += outcome(item, style);
  if (item.curve) out += described(*item.curve, style);
  for (const std::string& what : item.evidence) out += fmt::format("  now: {}\n", harmless(what));
  for (const std::string& what : item.assumes) out += fmt::format("  assumes: {}\n", what);
  if (!item.interval.empty()) out += fmt::format("  interval: {}\n", harmless(item.interval));
  if (item.verified) out += described(*item.verified, style);
  if (item.state == State::silenced) out += "  silenced at this place: editors do not recommend it\n";
  for (const SourceEdit& edit : item.edits) out += described(edit, item.state);
  return out;
}

// Of several replayed changes, those that lower the peak, the most first.
std::string lowest_peaks(const std::vector<WhatIf>& items) {
  constexpr std::size_t kMost = 3;
  std::vector<const WhatIf*> lower;
  for (const WhatIf& item : items) {
    const bool seen = item.peak < item.peak_was && readable(item.peak) != readable(item.peak_was);
    if (item.time && seen) lower.push_back(&item);
  }
  if (items.size() < 2 || lower.empty()) return {};
  std::ranges::stable_sort(lower, {}, [](const WhatIf* item) { return item->peak; });
  std::vector<std::string> words;
  for (const WhatIf* item : lower) {
    if (words.size() < kMost) words.push_back(fmt::format("{} ({})", item->kind, readable(item->peak)));
  }
  return fmt::format("lowest peaks, {} without a change: {}\n", readable(lower.front()->peak_was), joined(words));
}

// `bounded`: the recording gives evidence for it above, though a replay cannot make it.
std::string described(const NotThis& refused, bool bounded) {
  std::string where = refused.why.op;
  if (!refused.why.module.empty()) where += (where.empty() ? "" : " in ") + refused.why.module;
  return fmt::format("{}  {}: {}{}\n", refused.kind, bounded ? "not replayed" : "not here", harmless(refused.why.reason),
                     where.empty() ? "" : " (" + harmless(where) + ")");
}

}  // namespace

std::string spelled(const Ratio& time) {
  return fmt::format("≈ {} % ({}…{})", change(time.ratio), change(time.low), change(time.high));
}

std::string spelled(const Verdict& verified) {
  const double percent = (verified.time.ratio - 1) * 100, half_width = (verified.time.high - verified.time.low) / 2 * 100;
  return fmt::format("{}{:.1f} % ± {:.1f} %, {} pairs", percent < 0 ? "−" : "+", std::abs(percent), half_width, verified.pairs);
}

std::string_view losses_words(const Verdict& verified) {
  if (verified.losses == "differ") return "the first losses differ: this is another training than before";
  if (verified.losses == "equal") return "the first losses are equal";
  return verified.losses == "close" ? "the first losses are close" : "";
}

std::string as_json(const WhatIfs& all) {
  JsonText json;
  json.object([&] {
    json.member("schema", std::string_view("hotlens.whatif/1"));
    json.member("profile", all.profile);
    if (all.check) {
      json.object("self_check", [&] {
        json.member("peak_bytes_real", count(all.check->real));
        json.member("peak_bytes_replayed", count(all.check->replayed));
        json.member("ratio", all.check->ratio());
        json.member("ok", all.check->ok());
      });
    }
    json.array("items", [&] {
      for (const WhatIf& item : all.items) json.object([&] { write_item(json, item); });
      for (const profile::Finding& found : all.findings) json.object([&] { rules::write_finding(json, found, all.step); });
    });
    json.array("depends_on", [&] {
      for (const WhatIf& item : all.depends) json.object([&] { write_item(json, item); });
    });
    json.array("refused", [&] {
      for (const NotThis& refused : all.refused) json.object([&] { write_refusal(json, refused); });
    });
    write_warnings(json, all.faults);
  });
  return std::move(json).take();
}

std::string as_text(const WhatIfs& all, bool color) {
  const format::Style style = format::style(color);
  std::string out;
  if (all.faults) out += warning(*all.faults, style);
  for (const WhatIf& item : all.items) out += described(item, style);
  out += lowest_peaks(all.items);
  for (const profile::Finding& found : all.findings) out += rules::finding_text(found, all.step, style);
  if (!all.depends.empty())
    out += fmt::format("\n{}What the step depends on{} (what is trained becomes something else)\n", style.bold, style.off);
  for (const WhatIf& item : all.depends) out += described(item, style);
  if (!all.depends.empty() && !all.refused.empty()) out += "\n";
  for (const NotThis& refused : all.refused) {
    const bool bounded = std::ranges::find(all.findings, refused.kind, &profile::Finding::kind) != all.findings.end();
    out += described(refused, bounded);
  }
  return out;
}

}  // namespace hotlens::lab
