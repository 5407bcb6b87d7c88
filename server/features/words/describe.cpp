#include "server/features/words/describe.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <ranges>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "annotator/causes/usage.h"
#include "annotator/causes/verdict.h"
#include "annotator/common/amount.h"
#include "annotator/common/format.h"
#include "annotator/profile/build/module_name.h"
#include "annotator/profile/loop.h"
#include "annotator/profile/statistics.h"
#include "server/features/words/format.h"
#include "server/features/words/held_note.h"
#include "server/features/words/hover_table.h"
#include "server/features/words/noise.h"
#include "server/features/words/step_words.h"

namespace hotlens::features {
namespace {

using profile::Module;
using profile::ModuleId;
using profile::Profile;

bool same_class(const Profile& profile, const std::vector<ModuleId>& modules) {
  return std::ranges::all_of(modules, [&](ModuleId id) { return profile.at(id).class_name == profile.at(modules.front()).class_name; });
}

std::string stage_names(const LineSummary& summary) {
  std::string out;
  for (const StagePart& part : summary.stages) {
    const std::string_view next = profile::name(part.stage);
    if (out.contains(next)) continue;
    out += (out.empty() ? "" : " + ") + std::string(next);
  }
  std::ranges::replace(out, '_', ' ');
  return out;
}

// A line that calls one module and does more: `F.cross_entropy(self.head(x), y)`.
bool does_more(const LineSummary& summary, const Profile& profile) {
  constexpr int kTelling = 20;  // one part in so many
  if (summary.subject != Subject::execution || summary.modules.size() != 1) return false;
  const Ns module = cost_of(profile.at(summary.modules.front()), profile);
  const Ns line = profile::headline(profile.shown(summary.forward) + profile.shown(summary.backward), profile.has_device());
  return (line - module) * kTelling > module;
}

// The bold name and the class, as Markdown or plain text.
std::string subject(const LineSummary& summary, const Profile& profile, bool markdown) {
  const auto bold = [&](std::string_view text) { return markdown ? "**" + escape_markdown(text) + "**" : plain(text); };
  if (summary.subject == Subject::stage) return bold(stage_names(summary));
  const bool several = summary.subject == Subject::execution && summary.modules.size() > 1;
  const std::string_view place = summary.part ? "this call" : "this line";
  if (summary.modules.empty() || several || does_more(summary, profile)) return bold(place);
  const Module& first = profile.at(summary.container.valid() ? summary.container : summary.modules.front());
  const std::string class_name = markdown ? " " + escape_markdown(first.class_name) : " " + plain(first.class_name);
  if (summary.subject == Subject::class_line) return bold(first.class_name);
  if (summary.modules.size() == 1 || summary.container.valid())
    return bold(first.path.empty() ? first.class_name : first.path) + (first.path.empty() ? "" : class_name);
  // Entries of a list are numbered: their class says more than "0".
  const auto has_this_name = [&](ModuleId id) { return last_name(profile.at(id)) == last_name(first); };
  const bool one_class = same_class(profile, summary.modules);
  if (std::ranges::all_of(summary.modules, has_this_name)) return bold(last_name(first)) + (one_class ? class_name : "");
  return bold(one_class ? std::string_view(first.class_name) : place);
}

std::string counted(const LineSummary& summary) {
  if (summary.times <= 1) return "";
  const char* what = summary.subject == Subject::execution ? "times a step" : summary.container.valid() ? "modules" : "instances";
  return fmt::format(", {0} {1} (×{0})", summary.times, what);
}

// Of a call that is not the only one of its modules: how much of their time it has.
std::string call_note(const LineSummary& summary, const Profile& profile) {
  if (summary.subject != Subject::execution || summary.modules.empty()) return "";
  const auto calls_it = [&](const profile::CallSite& call) {
    return std::ranges::any_of(summary.modules, [&](ModuleId id) { return std::ranges::find(call.modules, id) != call.modules.end(); });
  };
  const auto places = std::ranges::count_if(profile.call_sites, calls_it);
  if (places <= std::max<std::ptrdiff_t>(1, std::ssize(summary.call_sites))) return "";
  Ns whole{};
  for (const ModuleId id : summary.modules) whole += cost_of(profile.at(id), profile);
  const std::string modules = summary.modules.size() == 1 ? "the module is" : "the modules are";
  if (summary.call_sites.empty()) {
    return fmt::format("{} called from {} places; this is the time of all, they are not told apart", modules, places);
  }
  return fmt::format("{} called from {} places, {} in all", modules, places, format::readable(whole));
}

// ", mostly 1.10 ms to 3.40 ms": where the updates differ by more than a word is worth.
std::string differences(const LineClock& clock) {
  constexpr double kSteady = 0.1;
  if (!clock.usual || clock.usual->median <= Ns{}) return "";
  const Ns half = (clock.usual->p90 - clock.usual->p10) / 2;
  if (static_cast<double>(half.count()) <= kSteady * static_cast<double>(clock.usual->median.count())) return "";
  return fmt::format(", mostly {} to {}", format::readable(clock.usual->p10), format::readable(clock.usual->p90));
}

// How the clocks came to their number: one line.
std::string clock_note(const LineClock& clock, const profile::Loop& loop) {
  if (clock.per_update <= Ns{}) return "";
  std::string out = clock.kind == "for" ? "asking for the next item, " : "";
  if (clock.rare && clock.every) {
    out += fmt::format("{} each time, every {:.3g} updates, in {} of {}", format::readable(clock.each), *clock.every, clock.in_updates,
                       clock.of_updates);
  } else if (clock.rare) {
    out += fmt::format("{} in {} of {} updates", format::readable(clock.each), clock.in_updates, clock.of_updates);
  } else {
    out += fmt::format("mean of {} updates", loop.updates);
  }
  out += differences(clock);
  return out + ", timed without the profiler";
}

std::string startup_note(const LineClock& clock) {
  constexpr Ns kShort = std::chrono::milliseconds(1);
  return clock.startup < kShort ? "" : format::readable(clock.startup) + " of the start-up, before the first update was complete";
}

// The instances of one line, the most expensive first: "layer1.0.conv1 1.20 ms · layer1.1.conv1 1.10 ms · 6 more · ".
std::string instances(const LineSummary& summary, const Profile& profile, bool markdown) {
  constexpr std::size_t kNamed = 3;
  if (summary.modules.size() < 2 && !does_more(summary, profile)) return "";
  std::vector<std::pair<Ns, ModuleId>> costs;
  for (ModuleId id : summary.modules) costs.emplace_back(cost_of(profile.at(id), profile), id);
  std::ranges::stable_sort(costs, std::greater{}, &std::pair<Ns, ModuleId>::first);
  // What ran in one of several gave none of them a time.
  const auto is_unknown = [&](const std::pair<Ns, ModuleId>& cost) {
    const auto holds = [&](const profile::OneOf& some) { return std::ranges::find(some.modules, cost.second) != some.modules.end(); };
    return cost.first == Ns{} && std::ranges::any_of(profile.one_of, holds);
  };
  const std::size_t named = std::min(kNamed, costs.size() - static_cast<std::size_t>(std::ranges::count_if(costs, is_unknown)));
  std::string out;
  for (std::size_t i = 0; i < named; ++i) {
    const Module& module = profile.at(costs[i].second);
    const std::string& name = module.path.empty() ? module.class_name : module.path;
    out += (markdown ? escape_markdown(name) : plain(name)) + " " + format::readable(costs[i].first) + " · ";
  }
  if (costs.size() > named) out += fmt::format("{} {} · ", costs.size() - named, named == 0 ? "modules" : "more");
  return out;
}

// Why it takes that long, from the modules of the line: what bounds it, what it waits for, its longest kernel, the memory it leaves behind.
std::string reasons(const LineSummary& summary, const Profile& profile, bool markdown) {
  std::vector<std::string> parts;
  if (const profile::Verdict verdict = causes::judge(profile, summary.modules); verdict.kind != "unclear")
    parts.push_back(verdict.kind + "-bound");
  constexpr int kNoticeable = 20;  // one part in so many of the line's time
  const Ns waiting = profile.shown(summary.forward).waiting + profile.shown(summary.backward).waiting;
  if (waiting > Ns{} && waiting * kNoticeable >= summary.value) parts.push_back("waits " + format::readable(waiting) + " for the device");
  std::vector<profile::KernelUse> uses;
  Bytes activations{};
  for (const ModuleId id : summary.modules) {
    const Module& module = profile.at(id);
    uses.insert(uses.end(), module.kernels.begin(), module.kernels.end());
    activations = activations + module.memory.activations.value_or(Bytes{});
  }
  if (const auto rows = causes::by_label(profile, uses); rows.size() > 1) {
    const std::string label = markdown ? escape_markdown(rows.front().label, 48) : plain(rows.front().label, 48);
    const std::string times = rows.front().calls > 1 ? fmt::format(" in {} calls", rows.front().calls) : "";
    parts.push_back(fmt::format("longest: {} {}{}", label, format::readable(rows.front().time), times));
  }
  if (activations > Bytes{} && !profile.saved) parts.push_back("activations " + format::readable(activations));
  return fmt::format("{}", fmt::join(parts, " · "));
}

// Of the line of an optimizer during whose update the step holds most.
std::string peak_note(const LineSummary& summary, const Profile& profile) {
  const auto& moment = profile.at_peak.moment;
  const auto updates = [](const StagePart& part) { return part.stage == profile::Stage::optimizer; };
  if (!moment || moment->stage != profile::Stage::optimizer || std::ranges::none_of(summary.stages, updates)) return "";
  std::string out = "memory peak " + format::readable(profile.at_peak.total) + " here: checkpointing layers would not lower it";
  const profile::Holdings& held = profile.at_peak.stages[static_cast<std::size_t>(profile::Stage::optimizer)];
  const Bytes temporaries = held[static_cast<std::size_t>(profile::Holding::workspace)];
  const bool fuses = std::ranges::find(profile.findings, "fused_optimizer", &profile::Finding::kind) != profile.findings.end();
  if (temporaries > Bytes{} && fuses) out += ", fused=True would by up to " + format::readable(temporaries);
  return out;
}

std::string_view state_note(source::State state) {
  switch (state) {
    case source::State::edited:
      return "This line was edited after it was measured; profile again.";
    case source::State::context:
      return "The code around this line changed after it was measured; profile again.";
    default:
      return "";
  }
}

// A trace says which modules ran, not which lines made them.
std::string guess_note(const LineSummary& summary, const Profile& profile) {
  if (!profile.guessed) return "";
  const bool by_name = std::ranges::any_of(summary.modules, [&](ModuleId id) { return profile.at(id).by_name; });
  return std::string("from the trace's module names; line guessed from the source") + (by_name ? ", another version of it" : "");
}

// Of compiled code, whose kernels may be fused of several layers.
std::string estimate_note(const LineSummary& summary, const Profile& profile) {
  Ns part{};
  for (const ModuleId id : summary.modules) {
    part += profile.shown(profile.at(id).forward).estimated + profile.shown(profile.at(id).backward).estimated;
  }
  return part > Ns{} ? format::readable(part) + " of it is an estimate: compiled kernels that do the work of several layers" : "";
}

std::string provenance(const Profile& profile) {
  std::string out = "measured";
  if (!profile.ranks.empty()) out += fmt::format(" on rank {} of {}", profile.rank, profile.ranks.size());
  if (profile.created.size() >= 16) out += " " + profile.created.substr(11, 5) + " UTC";
  for (const profile::Device& device : profile.devices) {
    if (device.kind != "cpu" || profile.devices.size() == 1) out += ", " + device.name;
  }
  if (!profile.torch.empty()) out += ", torch " + profile.torch.substr(0, profile.torch.find('+'));
  return out;
}

// "± 4% over 5 steps": how far to trust the number; a wide one says that the machine was busy.
std::string spread_note(const LineSummary& summary) {
  if (summary.timed) return "";  // the clock's note says it
  if (summary.headline.empty()) return "";
  const auto relative = spread(summary);
  if (!relative) return fmt::format("{} {}", summary.headline.size(), summary.headline.size() == 1 ? "step" : "steps");
  if (!is_noisy(summary)) return fmt::format("± {:.0f}% over {} steps", *relative * 100, summary.headline.size());
  const auto [least, most] = std::ranges::minmax(summary.headline);
  return fmt::format("noisy: {} to {} in {} steps", format::readable(least), format::readable(most), summary.headline.size());
}

// "; at most 1.8× faster at the device's measured peaks": each operator at its roof. Empty where that is not known of every module, or is
// little.
std::string headroom(const LineSummary& summary, Ns took, const report::CostCard* card) {
  constexpr double kLeast = 1.05;
  if (card == nullptr) return "";
  Ns saved{};
  for (const ModuleId id : summary.modules) {
    const auto found = std::ranges::find(card->headroom, id, &report::Headroom::module);
    if (found == card->headroom.end()) return "";
    saved += found->saved;
  }
  if (saved >= took) return "";
  const double times = static_cast<double>(took.count()) / static_cast<double>((took - saved).count());
  return times < kLeast ? "" : fmt::format("; at most {:.1f}× faster at the device's measured peaks", times);
}

// "1.23 GFLOP at 45.6 GFLOP/s": the arithmetic of the line's modules; empty where shapes of less than nine tenths of their time are known.
std::string arithmetic(const LineSummary& summary, const Profile& profile, const report::CostCard* card) {
  constexpr double kKnown = 0.9;
  profile::FlopsAndBytes sum;
  Ns whole{};
  for (const ModuleId id : summary.modules) {
    const Module& module = profile.at(id);
    for (const profile::ModuleCosts* costs : {&module.forward_costs, &module.backward_costs}) {
      const profile::FlopsAndBytes one = profile::sum(profile.costs, costs->uses);
      sum.add(one);
      whole += costs->whole;
    }
  }
  if (sum.flops <= 0 || sum.time <= Ns{} || static_cast<double>(sum.time.count()) < kKnown * static_cast<double>(whole.count())) return "";
  const double per_second = sum.flops * 1e9 / static_cast<double>(sum.time.count());
  return format::amount(sum.flops, "FLOP") + " at " + format::amount(per_second, "FLOP/s") + headroom(summary, sum.time, card);
}

// What is left out where a hover would be too long, the first of these first.
enum class Weight : std::uint8_t {
  arithmetic,
  startup,
  provenance,
  clock,
  one_of,
  slice,
  spread,
  held,
  reasons,
  calls,
  layers,
  table,
  kept
};

struct Words {
  std::string text;
  Weight weight = Weight::kept;
  bool apart = false;  // a paragraph of its own in Markdown
};

std::string slice_words(const LineSummary& summary, const Profile& profile, const Options& options) {
  const Ns step = profile.steps.empty() ? Ns{} : profile.steps[profile.representative].wall;
  if (summary.slices.empty() || step <= Ns{}) return "";
  if (options.markdown && options.images) return "![timeline of the step](" + svg_slice(summary.slices, step) + ")";
  return block_slice(summary.slices, step) + " " + format::readable(step);
}

std::vector<Words> all_words(const LineSummary& summary, const Profile& profile, const Options& options) {
  const bool markdown = options.markdown;
  std::vector<Words> all;
  const auto add = [&](std::string text, Weight weight, bool apart = false) {
    if (!text.empty()) all.push_back({std::move(text), weight, apart});
  };
  add(subject(summary, profile, markdown) + " — " + number(summary, profile) + counted(summary), Weight::kept);
  if (summary.clock) {
    add(clock_note(*summary.clock, *profile.loop), Weight::clock, true);
    add(startup_note(*summary.clock), Weight::startup, true);
  }
  if (leads_to_steps(summary, profile)) {
    add(largest_layers(profile, markdown), Weight::layers, true);
    add(limit_of_step(profile, markdown), Weight::kept);
  }
  const bool profiled = !summary.forward.empty() || !summary.backward.empty() || !summary.stages.empty();
  if (profiled) add(table_words(summary, profile, markdown), Weight::table, true);
  add(slice_words(summary, profile, options), Weight::slice, true);
  const bool one_of = summary.one_of > Ns{};
  add(one_of ? format::readable(summary.one_of) + " of it ran in one of them; in which is not known" : "", Weight::one_of, true);
  add(instances(summary, profile, markdown) + spread_note(summary), Weight::spread, !one_of);
  add(markdown ? escape_markdown(provenance(profile)) : plain(provenance(profile)), Weight::provenance, summary.headline.empty());
  add(call_note(summary, profile), Weight::calls);
  add(guess_note(summary, profile), Weight::kept);
  add(estimate_note(summary, profile), Weight::kept);
  if (summary.worker_part > 0) add("runs in worker processes of the loader; the step waits this long for it", Weight::kept);
  const std::string_view stale = state_note(summary.state);
  add(std::string(stale), Weight::kept, true);
  if (!stale.empty()) return all;
  add(reasons(summary, profile, markdown), Weight::reasons);
  add(held_note(summary, profile, markdown), Weight::held);
  add(peak_note(summary, profile), Weight::held);
  add(arithmetic(summary, profile, options.costs.get()), Weight::arithmetic);
  return all;
}

std::size_t lines_of(const std::vector<Words>& all) {
  std::size_t lines = 0;
  for (const Words& each : all) lines += lines_seen(each.text);
  return lines;
}

std::string joined(const std::vector<Words>& all, bool markdown) {
  std::string out;
  for (const Words& each : all) {
    if (!out.empty() && out.ends_with("```"))
      out += "\n";
    else if (!out.empty())
      out += !markdown ? "\n" : each.apart ? "\n\n" : "  \n";
    out += each.text;
  }
  return out;
}

}  // namespace

std::string number(const LineSummary& summary, const Profile& profile) {
  if (summary.timed) return format::readable(summary.value) + " an update, " + format::share(summary.clock->share) + " of the loop";
  if (summary.value <= Ns{}) return "nothing in the steps";
  constexpr double kAlmostAll = 0.98;
  const double part = share(summary, profile);
  const double of_profiled = share_of(summary.value, profile.step_wall());
  const bool of_device = profile.has_device() && summary.subject != Subject::stage;
  const std::string text = format::readable(summary.value) + (of_device ? " of the device, " : ", ");
  if (std::min(part, of_profiled) >= kAlmostAll * std::max(part, of_profiled)) return text + format::share(part) + " of the step";
  return fmt::format("{}{} of an update ({} of the profiled step)", text, format::share(part), format::share(of_profiled));
}

std::size_t lines_seen(std::string_view words) {
  std::size_t lines = 0;
  while (!words.empty()) {
    const std::string_view line = words.substr(0, words.find('\n'));
    if (line.find_first_not_of(' ') != std::string_view::npos && !line.starts_with("```")) ++lines;
    words.remove_prefix(std::min(line.size() + 1, words.size()));
  }
  return lines;
}

std::string describe(const LineSummary& summary, const Profile& profile, const Options& options, std::size_t room) {
  std::vector<Words> all = all_words(summary, profile, options);
  while (lines_of(all) > room) {
    const auto lightest = std::ranges::min_element(all, {}, &Words::weight);
    if (lightest->weight == Weight::kept) break;
    all.erase(lightest);
  }
  return joined(all, options.markdown);
}

}  // namespace hotlens::features
