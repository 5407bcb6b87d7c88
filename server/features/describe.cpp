#include "server/features/describe.h"

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
#include "server/features/format.h"

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

Ns cost_of(const Module& module, const Profile& profile) {
  return profile::headline(profile.shown(module.forward), profile.has_device()) +
         profile::headline(profile.shown(module.backward), profile.has_device());
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
  return fmt::format(", {} {}", summary.times, what);
}

// Columns count characters, "µ" is two bytes: pad by hand.
std::string padded(const std::string& text, std::size_t width) {
  const std::size_t shown_width = format::width(text);
  return std::string(width > shown_width ? width - shown_width : 0, ' ') + text;
}

std::string table(const LineSummary& summary, const Profile& profile) {
  const profile::Times forward = profile.shown(summary.forward);
  const profile::Times backward = profile.shown(summary.backward);
  const auto line = [](std::string_view name, const std::string& a, const std::string& b) {
    return fmt::format("{:<8}", name) + padded(a, 10) + padded(b, 11) + "\n";
  };
  const bool known = std::ranges::all_of(summary.modules, [&](ModuleId id) { return profile.at(id).backward_known; });
  const auto spelled = [&](Ns time) { return known ? format::readable(time) : "unknown"; };
  std::string out = line("", "forward", "backward");
  out += line("CPU", format::readable(forward.cpu_total), spelled(backward.cpu_total));
  if (profile.has_device()) out += line("device", format::readable(forward.device), spelled(backward.device));
  return out;
}

// A difference that is more than rounding.
bool is_part(Ns part, Ns whole) {
  constexpr int kTelling = 50;
  return std::chrono::abs(whole - part) * kTelling > whole;
}

std::string stage_table(const LineSummary& summary, const Profile& profile) {
  std::string out;
  const auto row = [&](std::string_view title, Ns wall, Ns cpu, Ns device) {
    out += fmt::format("{:<11}", title) + padded(format::readable(wall), 9) + " wall" + padded(format::readable(cpu), 10) + " CPU";
    if (profile.has_device()) out += padded(format::readable(device), 10) + " device";
    out += '\n';
  };
  for (const StagePart& part : summary.stages) {
    std::string title(profile::name(part.stage));
    std::ranges::replace(title, '_', ' ');
    if (!part.counted_at.empty()) {
      out += fmt::format("{:<11}", title) + " not told apart: counted at " + plain(part.counted_at) + "\n";
      continue;
    }
    row(title, part.wall, part.cpu, part.device);
    const auto whole = std::ranges::find(profile.stages, part.stage, &profile::StageTimes::stage);
    if (whole == profile.stages.end()) continue;
    const Ns wall = profile.shown(whole->wall);
    if (is_part(part.wall, wall)) row("  of", wall, profile.shown(whole->cpu), profile.shown(whole->device));
  }
  return out;
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

// "30.0 ms an update, 63% of the loop"; of what no clock saw "12.4 ms, 46% of the step".
std::string number(const LineSummary& summary, const Profile& profile) {
  if (summary.timed) return format::readable(summary.value) + " an update, " + format::share(summary.clock->share) + " of the loop";
  if (summary.value <= Ns{}) return "nothing in the steps";
  constexpr double kAlmostAll = 0.98;
  const double part = share(summary, profile);
  const double usual = profile.loop ? usual_share(*profile.loop) : 1;
  const std::string text = format::readable(summary.value) + ", ";
  if (usual > kAlmostAll) return text + format::share(part) + " of the step";
  return fmt::format("{}{} of an update ({} of the profiled step)", text, format::share(part), format::share(part / usual));
}

// How the clocks came to their number: one line.
std::string clock_note(const LineClock& clock, const profile::Loop& loop) {
  if (clock.per_update <= Ns{}) return "";
  std::string out = clock.kind == "for" ? "asking for the next item, " : "";
  if (clock.rare && clock.every) {
    out += fmt::format("{} each time, every {:.3g} updates, in {} of {}", format::readable(clock.each), *clock.every, clock.in_updates,
                       loop.updates);
  } else if (clock.rare) {
    out += fmt::format("{} in {} of {} updates", format::readable(clock.each), clock.in_updates, loop.updates);
  } else {
    out += fmt::format("mean of {} updates", loop.updates);
  }
  return out + ", timed without the profiler";
}

std::string startup_note(const LineClock& clock) {
  constexpr Ns kShort = std::chrono::milliseconds(1);
  return clock.startup < kShort ? "" : format::readable(clock.startup) + " of the start-up, before the first update was complete";
}

// Half the distance between the 10th and the 90th percentile, relative to the median.
std::optional<double> spread(std::vector<Ns> values) {
  if (values.size() < 3) return std::nullopt;
  std::ranges::sort(values);
  const auto at = [&](double q) {
    return static_cast<double>(values[static_cast<std::size_t>(std::lround(q * static_cast<double>(values.size() - 1)))].count());
  };
  if (at(0.5) <= 0) return std::nullopt;
  return (at(0.9) - at(0.1)) / 2 / at(0.5);
}

// The instances of one line, the most expensive first: "layer1.0.conv1 1.20 ms · layer1.1.conv1 1.10 ms · 6 more · ".
std::string instances(const LineSummary& summary, const Profile& profile, bool markdown) {
  constexpr std::size_t kNamed = 3;
  if (summary.modules.size() < 2 && !does_more(summary, profile)) return "";
  std::vector<std::pair<Ns, ModuleId>> costs;
  for (ModuleId id : summary.modules) costs.emplace_back(cost_of(profile.at(id), profile), id);
  std::ranges::stable_sort(costs, std::greater{}, &std::pair<Ns, ModuleId>::first);
  std::string out;
  for (std::size_t i = 0; i < std::min(kNamed, costs.size()); ++i) {
    const Module& module = profile.at(costs[i].second);
    const std::string& name = module.path.empty() ? module.class_name : module.path;
    out += (markdown ? escape_markdown(name) : plain(name)) + " " + format::readable(costs[i].first) + " · ";
  }
  if (costs.size() > kNamed) out += fmt::format("{} more · ", costs.size() - kNamed);
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
    parts.push_back(fmt::format("longest: {} ×{} {}", label, rows.front().calls, format::readable(rows.front().time)));
  }
  if (activations > Bytes{}) parts.push_back("activations " + format::readable(activations));
  return fmt::format("{}", fmt::join(parts, " · "));
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
  if (summary.headline.empty()) return "";
  constexpr double kNoisy = 0.25;
  const auto relative = spread(summary.headline);
  if (!relative) return fmt::format("{} {}", summary.headline.size(), summary.headline.size() == 1 ? "step" : "steps");
  return fmt::format("{}± {:.0f}% over {} steps", *relative > kNoisy ? "noisy: " : "", *relative * 100, summary.headline.size());
}

// "77% in train.py:33": the statement of the loop that holds most of it, where that is no step of training but what comes between.
std::string hottest_line(const Profile& profile) {
  constexpr double kMost = 0.5;
  if (!profile.loop || 1 - usual_share(*profile.loop) < kMost) return "";
  const std::vector<profile::LoopFunction> all = functions(*profile.loop);
  const profile::LoopStatement& longest = **std::ranges::max_element(all.front().statements, {}, &profile::LoopStatement::total);
  return fmt::format("{} in {}:{}", format::share(share(*profile.loop, longest.total)),
                     plain(profile.files.at(longest.site.file.index).path.filename().string(), 40), longest.site.line + 1);
}

}  // namespace

std::string describe(const LineSummary& summary, const Profile& profile, const Options& options) {
  const std::string breaks = options.markdown ? "\n\n" : "\n";
  std::string out = subject(summary, profile, options.markdown) + " — " + number(summary, profile) + counted(summary) + breaks;
  if (summary.clock) {
    for (const std::string& note : {clock_note(*summary.clock, *profile.loop), startup_note(*summary.clock)}) {
      if (!note.empty()) out += note + breaks;
    }
  }
  const bool profiled = !summary.forward.empty() || !summary.backward.empty() || !summary.stages.empty();
  if (profiled) {
    std::string numbers = summary.timed ? fmt::format("in the profiled step, {}\n", format::readable(profile.step_wall())) : "";
    numbers += summary.subject == Subject::stage ? stage_table(summary, profile) : table(summary, profile);
    out += options.markdown ? "```text\n" + numbers + "```\n" : numbers;
  }
  const Ns step = profile.steps.empty() ? Ns{} : profile.steps[profile.representative].wall;
  if (!summary.slices.empty() && step > Ns{}) {
    out += options.markdown && options.images ? "![timeline of the step](" + svg_slice(summary.slices, step) + ")"
                                              : block_slice(summary.slices, step) + " " + format::readable(step);
    out += breaks;
  }
  if (summary.one_of > Ns{}) {
    out += format::readable(summary.one_of) + " of it ran in one of them; in which is not known" + (options.markdown ? "  \n" : "\n");
  }
  const std::string parts = instances(summary, profile, options.markdown) + spread_note(summary);
  if (!parts.empty()) out += parts + (options.markdown ? "  \n" : "\n");
  out += options.markdown ? escape_markdown(provenance(profile)) : plain(provenance(profile));
  if (const std::string note = call_note(summary, profile); !note.empty()) out += (options.markdown ? "  \n" : "\n") + note;
  if (const std::string note = guess_note(summary, profile); !note.empty()) out += (options.markdown ? "  \n" : "\n") + note;
  if (const std::string_view note = state_note(summary.state); !note.empty()) {
    out.append(breaks).append(note);
  } else if (const std::string why = reasons(summary, profile, options.markdown); !why.empty()) {
    out += (options.markdown ? "  \n" : "\n") + why;
  }
  return out;
}

std::string arithmetic(const LineSummary& summary, const Profile& profile) {
  if (!state_note(summary.state).empty()) return "";
  constexpr double kKnown = 0.9;
  profile::FlopsAndBytes sum;
  Ns whole{};
  for (const ModuleId id : summary.modules) {
    const Module& module = profile.at(id);
    for (const profile::ModuleCosts* costs : {&module.forward_costs, &module.backward_costs}) {
      const profile::FlopsAndBytes one = profile::sum(profile.costs, costs->uses);
      sum.flops += one.flops;
      sum.time += one.time;
      whole += costs->whole;
    }
  }
  if (sum.flops <= 0 || sum.time <= Ns{} || static_cast<double>(sum.time.count()) < kKnown * static_cast<double>(whole.count())) return "";
  const double per_second = sum.flops * 1e9 / static_cast<double>(sum.time.count());
  return format::amount(sum.flops, "FLOP") + " at " + format::amount(per_second, "FLOP/s");
}

std::string describe_step(const Profile& profile) {
  const Ns step = profile.plain_step.value_or(profile.step_wall());
  std::string out;
  for (const Module& module : profile.modules) {
    if (!module.parent.valid()) {
      out = plain(module.class_name, 40) + " ";
      break;
    }
  }
  const profile::Update update = mean_update(profile);
  // The lines show the profiled step: say its length where it differs by more than a reader would overlook.
  constexpr double kNoticeable = 1.1;
  const auto plain_ns = static_cast<double>(step_time(update).count());
  const auto profiled_ns = static_cast<double>(profile.step_wall().count());
  const bool differs = profiled_ns > kNoticeable * plain_ns || plain_ns > kNoticeable * profiled_ns;
  out += spelled(update, differs ? " (" + format::readable(profile.step_wall()) + " profiled)" : "");
  if (profile.samples_per_step && step > Ns{}) {
    const double per_second = static_cast<double>(*profile.samples_per_step) * 1e9 / static_cast<double>(step.count());
    out += fmt::format(" · {:.{}f} samples/s", per_second, per_second < 10 ? 1 : 0);
  }
  const std::string hottest = hottest_line(profile);
  if (!hottest.empty())
    out += " · " + hottest;
  else if (profile.verdict.kind != "unclear")
    out += " · " + profile.verdict.kind + "-bound";
  const auto others = profile.loop ? share_of_others(*profile.loop) : std::nullopt;
  return others ? out + " · busy machine (others " + format::share(*others) + ")" : out;
}

}  // namespace hotlens::features
