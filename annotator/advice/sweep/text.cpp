// The card of a sweep as people and as scripts read it (annotator/report/FORMATS.md).
#include <fmt/format.h>

#include <algorithm>

#include "annotator/advice/sweep/sweep.h"
#include "annotator/common/format.h"
#include "annotator/common/json_text.h"

namespace hotlens::sweep {
namespace {

using format::harmless;
using format::readable;

constexpr std::size_t kMostLines = 5;  // of one kind

std::string spelled(const Place& place) {
  return harmless(place.file) + ":" + std::to_string(place.line + 1);
}

std::string after(const std::optional<Place>& place) {
  return place ? "  " + spelled(*place) : std::string();
}

// One sentence for all lines of a kind.
std::string described(const std::vector<Obstacle>& all, const Obstacle& first, const format::Style& style) {
  std::string out =
      fmt::format("  {}{}{}: {}\n", first.stops ? style.slower : style.dim, first.stops ? "stops it" : "needs care", style.off, first.what);
  std::size_t shown = 0;
  for (const Obstacle& one : all) {
    if (one.kind != first.kind || !one.where) continue;
    if (++shown > kMostLines) continue;
    out += fmt::format("    {}{}\n", spelled(*one.where), one.count > 1 ? fmt::format(" ({} times)", one.count) : std::string());
  }
  return shown > kMostLines ? out + fmt::format("    and {} more\n", shown - kMostLines) : out;
}

double samples_per_second(std::int64_t samples, std::int64_t passes, std::int64_t models, Ns step) {
  return static_cast<double>(samples) / static_cast<double>(passes) * static_cast<double>(models) * 1e9 / static_cast<double>(step.count());
}

// Why it does not pay, or what carries that it does.
std::string reason(const Attempt& attempt) {
  if (!attempt.equal()) return fmt::format("the results differ by {:.2g} in float64 after {} steps", *attempt.difference, kStepsCompared);
  if (attempt.time->slower()) return "slower";
  return attempt.time->faster() ? "" : "no certain gain";
}

std::string compared(const Attempt& attempt) {
  if (!attempt.difference) return "results not compared: " + harmless(attempt.not_compared);
  return fmt::format("results {} after {} steps in float64 (largest difference {:.1g})", attempt.equal() ? "equal" : "not equal",
                     kStepsCompared, *attempt.difference);
}

std::string speed(const Card& card, const Attempt& attempt, Ns step) {
  if (!card.samples_per_step) return readable(step);
  const double rate = samples_per_second(*card.samples_per_step, card.trial->passes, attempt.models, step);
  return fmt::format("{} ({:.{}f} samples/s)", readable(step), rate, rate < 10 ? 2 : 0);
}

std::string described(const Card& card, const Attempt& attempt, const format::Style& style) {
  const std::string models = format::counted(attempt.models, "model", "models");
  if (attempt.late) return fmt::format("  {}: not measured, the time limit was reached\n", models);
  if (!attempt.time) return fmt::format("  {}: cannot be stacked: {}{}\n", models, harmless(attempt.failed), after(attempt.failed_at));
  const advice::Measured& time = *attempt.time;
  const std::string why = reason(attempt);
  std::string out = fmt::format("  {}: {}{}{}{}: {:.2f}x as fast ({:.2f} to {:.2f}, {} pairs)\n", models,
                                attempt.pays() ? style.faster : style.slower, attempt.pays() ? "pays" : "does not pay", style.off,
                                why.empty() ? "" : ", " + why, 1 / time.ratio, 1 / time.high, 1 / time.low, time.pairs);
  out +=
      fmt::format("    one after another {}, as one {}\n", speed(card, attempt, attempt.separate), speed(card, attempt, attempt.together));
  out += fmt::format("    peak {} with one model at a time, {} as one\n", readable(attempt.separate_peak), readable(attempt.together_peak));
  return out + "    " + compared(attempt) + "\n";
}

std::string described(const Card& card, const Trial& trial, const format::Style& style) {
  if (!trial.refused.empty()) return "  not tried: " + harmless(trial.refused) + "\n";
  std::string out;
  for (const Attempt& attempt : trial.attempts) out += described(card, attempt, style);
  out += fmt::format("  measured: models with parameters and learning rates of their own, all on the same batch, one {} for all\n",
                     harmless(trial.optimizer));
  if (!trial.not_the_loops_loss.empty()) {
    out += "  the loss is the sum of the squared outputs: " + harmless(trial.not_the_loops_loss) + "\n";
  }
  if (trial.clipped) out += "  clip_grad_norm_ is left out on both sides" + after(trial.clipped) + "\n";
  if (trial.passes > 1) out += fmt::format("  one of the update's {} backward passes is measured\n", trial.passes);
  return out;
}

void write(JsonText& json, const std::optional<Place>& place) {
  if (!place) return;
  json.member("file", place->file);
  json.member("line", place->line);
}

void write(JsonText& json, const Card& card, const Attempt& attempt) {
  json.member("models", attempt.models);
  json.member("pays", attempt.pays());
  if (attempt.late) json.member("late", true);
  if (attempt.late) return;
  if (!attempt.time) {
    json.object("failed", [&] {
      json.member("reason", attempt.failed);
      write(json, attempt.failed_at);
    });
    return;
  }
  const advice::Measured& time = *attempt.time;
  json.member("pairs", time.pairs);
  json.member("speedup", 1 / time.ratio);
  json.member("low", 1 / time.high);
  json.member("high", 1 / time.low);
  const auto side = [&](std::string_view name, Ns step, Bytes peak) {
    json.object(name, [&] {
      json.member("step_ns", step.count());
      if (card.samples_per_step) {
        json.member("samples_per_s", samples_per_second(*card.samples_per_step, card.trial->passes, attempt.models, step));
      }
      json.member("peak_bytes", count(peak));
    });
  };
  side("separate", attempt.separate, attempt.separate_peak);
  side("together", attempt.together, attempt.together_peak);
  if (attempt.difference) json.member("difference", *attempt.difference);
  if (attempt.difference) json.member("equal", attempt.equal());
  if (!attempt.not_compared.empty()) json.member("not_compared", attempt.not_compared);
}

void write(JsonText& json, const Card& card, const Trial& trial) {
  if (!trial.refused.empty()) json.member("refused", trial.refused);
  if (!trial.refused.empty()) return;
  json.member("loss", std::string_view(trial.not_the_loops_loss.empty() ? "loop" : "squares"));
  if (!trial.not_the_loops_loss.empty()) json.member("why_not_the_loop", trial.not_the_loops_loss);
  json.member("optimizer", trial.optimizer);
  json.member("passes", trial.passes);
  json.array("attempts", [&] {
    for (const Attempt& attempt : trial.attempts) json.object([&] { write(json, card, attempt); });
  });
}

}  // namespace

bool Attempt::equal() const {
  return !difference || *difference <= kEqual;
}

std::string spelled(const Seen& seen) {
  std::string text = "a sweep was seen: " + harmless(seen.what);
  if (!seen.profiles.empty())
    text += ", " + format::counted(static_cast<std::int64_t>(seen.profiles.size()), "profile", "profiles") + " before";
  if (seen.where) text += ", " + spelled(*seen.where);
  if (!seen.same_shapes) return text + "; their parameters have other sizes, so not all of them can be stacked";
  return text + "; would it pay to train them as one? hotlens whatif sweep --try";
}

std::string as_text(const Card& card, bool color) {
  const format::Style style = format::style(color);
  std::string out = fmt::format("{}sweep{}  several models of this script, trained as one (torch.func.stack_module_state and vmap)\n",
                                style.bold, style.off);
  if (card.seen) out += "  " + spelled(*card.seen) + "\n";
  for (const Obstacle& one : card.obstacles) {
    if (const auto first = std::ranges::find(card.obstacles, one.kind, &Obstacle::kind); &*first == &one) {
      out += described(card.obstacles, one, style);
    }
  }
  if (card.obstacles.empty()) out += "  the recording shows nothing that stands in the way\n";
  if (card.trial) return out + described(card, *card.trial, style);
  return out + "  whether it pays is measured, in a process of the script's own: hotlens whatif sweep --try\n";
}

std::string as_json(const Card& card) {
  JsonText json;
  json.object([&] {
    json.member("schema", std::string_view("hotlens.sweep/1"));
    json.member("profile", card.profile);
    if (card.seen) {
      json.object("seen", [&] {
        json.member("what", card.seen->what);
        write(json, card.seen->where);
        json.array("profiles", [&] {
          for (const std::string& id : card.seen->profiles) json.element(id);
        });
        json.member("same_shapes", card.seen->same_shapes);
      });
    }
    json.array("obstacles", [&] {
      for (const Obstacle& one : card.obstacles) {
        json.object([&] {
          json.member("kind", one.kind);
          json.member("what", one.what);
          json.member("stops", one.stops);
          write(json, one.where);
          json.member("count", one.count);
        });
      }
    });
    if (card.trial) json.object("tried", [&] { write(json, card, *card.trial); });
  });
  return std::move(json).take();
}

}  // namespace hotlens::sweep
