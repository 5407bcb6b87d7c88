#include "server/features/words/step_words.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "annotator/common/format.h"
#include "annotator/profile/loop.h"
#include "annotator/profile/main_model.h"
#include "annotator/profile/place_name.h"
#include "annotator/profile/statistics.h"
#include "server/features/words/format.h"

namespace hotlens::features {
namespace {

using profile::Module;
using profile::ModuleId;
using profile::Profile;

std::string shown(std::string_view text, bool markdown) {
  return markdown ? escape_markdown(text) : plain(text);
}

bool holds_layers(const Profile& profile, const Module& module) {
  return std::ranges::any_of(module.children,
                             [&](ModuleId child) { return profile.at(child).calls > 0 || holds_layers(profile, profile.at(child)); });
}

// "77% in train.py:33": the statement of the loop that holds most of it, where that is no step of training but what comes between. Where a
// package does it, inside the call that trains, "71% is rare work".
std::string hottest_line(const Profile& profile) {
  constexpr double kAlmostAll = 0.95;
  if (!profile.loop || !is_mostly_rare(*profile.loop)) return "";
  const std::vector<profile::LoopFunction> all = functions(*profile.loop);
  const profile::LoopStatement& longest = **std::ranges::max_element(all.front().statements, {}, &profile::LoopStatement::total);
  if (!profile::is_rare(*profile.loop, longest) && share(*profile.loop, longest.total) >= kAlmostAll) {
    return format::share(1 - usual_share(*profile.loop)) + " is rare work";
  }
  const profile::SourceFile& file = profile.files.at(longest.site.file.index);
  return fmt::format("{} in {}", format::share(share(*profile.loop, longest.total)),
                     profile::place_name(plain(file.path.filename().string(), 40), file, longest.site.line));
}

// As in a URI; only letters, digits and a few marks stand for themselves in every reader of Markdown.
std::string in_link(std::string_view path) {
  constexpr std::string_view kPlain = "/-_.~";
  std::string out;
  for (const char c : path) {
    const bool plain_one = std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.contains(c);
    out += plain_one ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

// " ([model.py:41](file:///work/model.py#L41))": the line of the workspace that made the layer, else its class; "" where neither is there.
std::string place_of(const Module& module, const Profile& profile, bool markdown) {
  for (const std::optional<profile::Site>& site : {module.attached, module.class_site}) {
    if (!site || !profile.files.at(site->file.index).workspace) continue;
    const profile::SourceFile& file = profile.files.at(site->file.index);
    const std::string place = profile::place_name(plain(file.path.filename().string(), 40), file, site->line);
    if (!markdown) return " (" + place + ")";
    return fmt::format(" ([{}](file://{}#L{}))", escape_markdown(place), in_link(file.path.string()), site->line + 1);
  }
  return "";
}

}  // namespace

Ns cost_of(const Module& module, const Profile& profile) {
  return profile::headline(profile.shown(module.forward), profile.has_device()) +
         profile::headline(profile.shown(module.backward), profile.has_device());
}

bool leads_to_steps(const LineSummary& summary, const Profile& profile) {
  // A framework's loop: `trainer.train()` enters every stage.
  if (summary.subject == Subject::stage && enters(summary, profile::Stage::forward) && enters(summary, profile::Stage::optimizer))
    return true;
  if (summary.clock) return !summary.clock->rare && (summary.clock->kind == "for" || summary.clock->kind == "while");
  return !profile.loop && summary.subject == Subject::stage && summary.stages.front().stage == profile::Stage::data;
}

std::string largest_layers(const Profile& profile, bool markdown) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::pair<Ns, const Module*>> costs;
  for (const Module& module : profile.modules) {
    if (module.calls == 0 || module.same_as.valid() || holds_layers(profile, module)) continue;
    if (const Ns cost = cost_of(module, profile); cost > Ns{}) costs.emplace_back(cost, &module);
  }
  const auto named = costs.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, costs.size()));
  std::ranges::partial_sort(costs, named, std::greater{}, &std::pair<Ns, const Module*>::first);
  std::string out;
  for (auto each = costs.begin(); each != named; ++each) {
    const Module& module = *each->second;
    out += (out.empty() ? "largest layers: " : " · ") + shown(module.path.empty() ? module.class_name : module.path, markdown) + " " +
           format::readable(each->first) + place_of(module, profile, markdown);
  }
  return out;
}

std::string limit_of_step(const Profile& profile, bool markdown) {
  const profile::Verdict& verdict = profile.verdict;
  if (verdict.kind == "unclear") return "";
  std::string out = "the step is " + verdict.kind + "-bound";
  if (verdict.evidence.empty()) return out;
  constexpr std::size_t kNamed = 3;
  for (std::size_t at = 0; at < std::min(kNamed, verdict.evidence.size()); ++at) {
    const profile::Verdict::Evidence& each = verdict.evidence[at];
    out += (at == 0 ? ": " : " · ") + shown(each.what, markdown) + " " + format::readable(each.time);
    if (!each.where.empty()) out += " (" + shown(each.where, markdown) + ")";
  }
  return out;
}

std::string step_headline(const Profile& profile) {
  std::string out = plain(profile::main_model(profile), 40);
  if (!out.empty()) out += " ";
  const profile::Update update = mean_update(profile);
  // The lines show the profiled step: say its length where it differs by more than a reader would overlook.
  constexpr double kNoticeable = 1.1;
  const auto plain_ns = static_cast<double>(step_time(update).count());
  const auto profiled_ns = static_cast<double>(profile.step_wall().count());
  const bool differs = profiled_ns > kNoticeable * plain_ns || plain_ns > kNoticeable * profiled_ns;
  out += spelled(update, differs ? " (" + format::readable(profile.step_wall()) + " profiled)" : "");
  if (const std::string hottest = hottest_line(profile); !hottest.empty()) return out + " · " + hottest;
  return profile.verdict.kind == "unclear" ? out : out + " · " + profile.verdict.kind + "-bound";
}

std::string step_notes(const Profile& profile) {
  const Ns step = profile.plain_step.value_or(profile.step_wall());
  std::string out;
  if (profile.samples_per_step && step > Ns{}) {
    const double per_second = static_cast<double>(*profile.samples_per_step) * 1e9 / static_cast<double>(step.count());
    out = fmt::format("{:.{}f} samples/s", per_second, per_second < 10 ? 1 : 0);
  }
  const auto others = profile.loop ? share_of_others(*profile.loop) : std::nullopt;
  if (others) out += (out.empty() ? "" : " · ") + ("busy machine (others " + format::share(*others) + ")");
  return out;
}

std::string describe_step(const Profile& profile) {
  const std::string notes = step_notes(profile);
  return step_headline(profile) + (notes.empty() ? "" : " · " + notes);
}

}  // namespace hotlens::features
