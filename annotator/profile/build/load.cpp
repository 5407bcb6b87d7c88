#include "annotator/profile/build/load.h"

// From an annotated trace and a bundle's tables to a Profile.
#include <algorithm>
#include <future>
#include <ranges>
#include <set>

#include "annotator/advice/rules/rules.h"
#include "annotator/attribution/account/exchanges.h"
#include "annotator/causes/simulate.h"
#include "annotator/causes/usage.h"
#include "annotator/causes/verdict.h"
#include "annotator/common/format.h"
#include "annotator/profile/build/annotated.h"
#include "annotator/profile/build/compiled.h"
#include "annotator/profile/build/counting.h"
#include "annotator/profile/build/module_calls.h"
#include "annotator/profile/build/module_table.h"
#include "annotator/profile/build/tally.h"
#include "annotator/profile/loop.h"
#include "annotator/profile/one_step.h"
#include "annotator/profile/profile.h"
#include "annotator/profile/saved.h"
#include "annotator/profile/statistics.h"

namespace hotlens::profile {
namespace {

using attribution::kNothing;
using attribution::StepAccount;

void fill_steps(const Annotated& annotated, Profile& profile) {
  for (const StepAccount& step : annotated.account.steps) {
    profile.steps.push_back({.index = step.span.index,
                             .start = annotated.trace.base + step.window.start,
                             .wall = step.window.end - step.window.start,
                             .behind = step.behind,
                             .caught_up = step.caught_up,
                             .device = step.device,
                             .carried = step.carried,
                             .communication = step.communication,
                             .exposed_communication = step.exposed_communication,
                             .earlier_communication = step.earlier_communication});
  }
  for (std::size_t step = 0; step < annotated.fit.size(); ++step) {
    const attribution::StepFit& fit = annotated.fit[step];
    profile.steps[step].confidence = fit.operators == 0 ? 0 : static_cast<double>(fit.certain) / static_cast<double>(fit.operators);
  }
  mark_outliers(profile.steps);
}

void fill_buckets(const Annotated& annotated, Profile& profile) {
  for (std::size_t bucket = 0; bucket < attribution::kBuckets; ++bucket) {
    BucketTimes times{.bucket = static_cast<Bucket>(bucket), .wall = {}, .device = {}};
    for (const StepAccount& step : annotated.account.steps) {
      times.wall.push_back(step.wall_by_bucket[bucket]);
      times.device.push_back(step.device_by_bucket[bucket]);
    }
    profile.buckets.push_back(std::move(times));
  }
}

// Stages that took any time.
void fill_stages(const Annotated& annotated, Profile& profile) {
  for (std::size_t at = 0; at < attribution::kStages; ++at) {
    StageTimes times{.stage = static_cast<Stage>(at), .wall = {}, .cpu = {}, .device = {}, .waiting = {}};
    for (const StepAccount& step : annotated.account.steps) {
      times.wall.push_back(step.wall_by_stage[at]);
      times.cpu.push_back(step.cpu_by_stage[at]);
      times.device.push_back(step.device_by_stage[at]);
      times.waiting.push_back(step.waiting_by_stage[at]);
    }
    const auto any = [](const std::vector<Ns>& values) { return std::ranges::any_of(values, [](Ns value) { return value > Ns{}; }); };
    if (any(times.wall) || any(times.cpu) || any(times.device)) profile.stages.push_back(std::move(times));
  }
}

// In the order in which the representative step enters them; what is of no stage is the last.
void sort_stages(const Annotated& annotated, Profile& profile) {
  if (annotated.account.steps.empty()) return;
  std::vector<Stage> order;
  for (const attribution::Piece& piece : annotated.account.steps[profile.representative].wall) {
    const Stage stage = piece.owner.stage;
    if (stage != Stage::other && std::ranges::find(order, stage) == order.end()) order.push_back(stage);
  }
  std::ranges::stable_sort(profile.stages, {},
                           [&](const StageTimes& stage) { return std::ranges::find(order, stage.stage) - order.begin(); });
}

// Of what a worker runs: this line, with all that it calls.
double worker_part(const Model& model, std::size_t line) {
  double part = 0;
  for (const attribution::FetchLines& stack : model.map.fetches) {
    if (std::ranges::find(stack.lines, static_cast<std::uint32_t>(line)) != stack.lines.end()) part += stack.weight;
  }
  return part;
}

void fill_lines(const Model& model, std::vector<Tally>& tallies, const std::vector<Causes>& spent, Profile& profile) {
  for (std::size_t line = 0; line < model.lines.size(); ++line) {
    const bool entered = tallies[line].calls > 0;  // else it is around all steps, as `main()`
    if (!model.lines[line].file.valid() || !entered) continue;
    profile.lines.push_back({.file = model.lines[line].file,
                             .line = model.lines[line].line,
                             .function = model.lines[line].function,
                             .calls = tallies[line].calls,
                             .forward = std::move(tallies[line].forward),
                             .backward = std::move(tallies[line].backward),
                             .slices = std::move(tallies[line].slices),
                             .worker_part = worker_part(model, line),
                             .spent = spent[line]});
  }
}

// What a container calls belongs to the container's call: listed there, not counted again.
void fill_call_sites(const Model& model, const std::vector<std::uint32_t>& position, std::vector<Tally>& tallies, Profile& profile) {
  profile.call_sites.resize(model.call_sites);
  std::vector<std::vector<ModuleId>> rows(profile.modules.size());  // of the same module, by the first of them
  for (std::uint32_t row = 0; row < profile.modules.size(); ++row) {
    const ModuleId same_as = profile.modules[row].same_as;
    rows[same_as.valid() ? same_as.index : row].push_back(ModuleId{row});
  }
  std::set<std::pair<std::uint32_t, std::uint32_t>> listed;
  for (std::size_t at = 0; at < model.calls.size(); ++at) {
    const ModelCall& call = model.calls[at];
    const std::uint32_t number = model.map.site_of_call[at];
    if (number == kNothing || !call.site) continue;
    CallSite& place = profile.call_sites[number];
    if (place.modules.empty()) place.site = *call.site;
    if (listed.emplace(number, call.module).second) {
      const std::vector<ModuleId>& same = rows[position[call.module]];
      place.modules.insert(place.modules.end(), same.begin(), same.end());
    }
    const bool inner = call.parent != kNothing && model.map.site_of_call[call.parent] == number;
    if (!inner) ++place.calls;
  }
  for (std::size_t number = 0; number < tallies.size(); ++number) {
    profile.call_sites[number].forward = std::move(tallies[number].forward);
    profile.call_sites[number].backward = std::move(tallies[number].backward);
  }
}

// From the map step where a bundle recorded its memory, else from the representative step.
void fill_memory(const Annotated& annotated, const std::vector<std::uint32_t>& parents, Profile& profile, std::vector<Module>& modules) {
  MemoryUse used = annotated.map_memory.value_or(memory_use({.trace = annotated.trace,
                                                             .forest = annotated.forest,
                                                             .owners = annotated.owners,
                                                             .module_parent = parents,
                                                             .step = annotated.steps.spans[profile.representative]}));
  used.modules.resize(modules.size());  // what the map step held is told of each module at its own place
  if (used.moment) used.moment->modules.resize(modules.size());
  profile.memory_peak = used.peak;
  profile.memory_start = used.start;
  profile.at_peak = settle_peak(used, profile.optimizer_elsewhere, modules);
  if (profile.at_peak.moment) profile.at_peak.moment->of_map = annotated.map_memory.has_value();
  for (std::size_t module = 0; module < modules.size(); ++module) {
    Memory& memory = modules[module].memory;
    // A gradient that is kept from step to step is allocated in none, one that is freed with its step is there between none. What backward
    // leaves beyond the size of the weights is something else: gradients of a gradient, of single samples, of a module that it calls.
    std::optional<Bytes> left = used.modules[module].gradients;
    if (left && memory.parameters) left = std::min(*left, *memory.parameters);
    memory.gradients = std::max(memory.gradients, left);
    memory.activations = used.modules[module].activations;
    memory.temporary = used.modules[module].temporary;
  }
}

// Where order pairs all of backward with its forward, a module without any has none; else it may have some.
void settle_backward(const attribution::OrderFit& order, std::vector<Module>& modules, Profile& profile) {
  profile.backward_confidence = order.confidence();
  const std::string share = format::share(order.confidence()) + " of the backward operators";
  profile.warnings.push_back(
      {"backward-by-order",
       order.paired == 0 ? "the trace has no sequence numbers, and the order of operators does not tell whose backward is "
                           "whose: the backward of modules is unknown"
                         : "the trace has no sequence numbers: by their order, " + share + " found their forward; the rest is of no module",
       1});
  const auto any = [](const Times& times) { return times.cpu_total > Ns{} || times.device > Ns{}; };
  for (Module& module : modules) module.backward_known = order.paired == order.nodes || std::ranges::any_of(module.backward, any);
}

// `definition`: by module, as they were before they had their `position`.
void fill_one_of(std::vector<Tally>& tallies, const std::vector<std::uint32_t>& definition, const std::vector<std::uint32_t>& position,
                 Profile& profile) {
  const auto any = [](const Times& times) { return times.cpu_total > Ns{} || times.device > Ns{}; };
  for (std::uint32_t number = 0; number < tallies.size(); ++number) {
    Tally& tally = tallies[number];
    if (std::ranges::none_of(tally.forward, any) && std::ranges::none_of(tally.backward, any)) continue;
    OneOf some{
        .modules = {}, .forward = std::move(tally.forward), .backward = std::move(tally.backward), .slices = std::move(tally.slices)};
    for (std::size_t module = 0; module < definition.size(); ++module) {
      if (definition[module] == number) some.modules.push_back(ModuleId{position[module]});
    }
    std::ranges::sort(some.modules);
    profile.one_of.push_back(std::move(some));
  }
}

// The model's modules have another order in the profile.
void fill_saved(SavedTensors saved, const std::vector<std::uint32_t>& position, Profile& profile) {
  for (SavedTensors::Saver& saver : saved.savers) {
    if (saver.module.valid()) saver.module = ModuleId{position[saver.module.index]};
  }
  profile.saved = std::make_shared<const SavedTensors>(std::move(saved));
}

std::optional<trace::ThreadId> main_thread(const Annotated& annotated) {
  const std::uint32_t main = annotated.steps.main;
  return main == attribution::kNoNode ? std::nullopt : std::optional(annotated.forest.threads[main].id);
}

Counting fill_modules(Annotated& annotated, Profile& profile) {
  const bool recorded = annotated.how == How::recorded;
  std::vector<Module> modules =
      annotated.model ? recorded_modules(annotated) : found_modules(annotated.owners.found, annotated.how, profile.warnings);
  std::vector<std::uint32_t> parents;
  for (const Module& module : modules) parents.push_back(module.parent.valid() ? module.parent.index : kNothing);
  std::vector<std::uint32_t> definition;  // a module that several call has a row under each, and one definition
  if (annotated.model) {
    for (const attribution::CalledModule& called : annotated.called) definition.push_back(annotated.model->map.definition[called.module]);
  }
  const std::size_t lines = annotated.model ? annotated.model->lines.size() : 0;
  const auto use_of_kernels = [&] {
    return causes::usage({.trace = annotated.trace,
                          .forest = annotated.forest,
                          .account = annotated.account,
                          .owners = annotated.owners,
                          .module_parent = parents,
                          .main = main_thread(annotated),
                          .representative = profile.representative,
                          .lines = lines});
  };
  std::future<causes::Usage> kernel_use = std::async(std::launch::async, use_of_kernels);  // beside the sums: neither needs the other
  Tallies tallies = tally({.account = annotated.account,
                           .owners = annotated.owners,
                           .module_parent = parents,
                           .definition = definition,
                           .lines = lines,
                           .sites = recorded && annotated.model ? annotated.model->call_sites : 0,
                           .representative = profile.representative,
                           .calls_of_one_step = recorded});
  fill_memory(annotated, parents, profile, modules);
  causes::Usage used = kernel_use.get();
  std::future<costs::Costs> costs = count_costs(annotated, parents, profile.representative);
  for (std::size_t module = 0; module < modules.size(); ++module) {
    modules[module].kernels = std::move(used.by_module[module]);
    modules[module].spent = used.spent_by_module[module];
    modules[module].critical = used.critical_by_module[module];
    modules[module].forward = std::move(tallies.modules[module].forward);
    modules[module].backward = std::move(tallies.modules[module].backward);
    modules[module].slices = std::move(tallies.modules[module].slices);
    modules[module].calls = tallies.modules[module].calls;
  }
  if (annotated.owners.order) settle_backward(*annotated.owners.order, modules, profile);
  const std::vector<std::uint32_t> position = sort_modules(modules, annotated.owners.calls);
  if (auto& moment = profile.at_peak.moment; moment && moment->module.valid()) moment->module = ModuleId{position[moment->module.index]};
  profile.modules = std::move(modules);
  profile.kernels = std::move(used.kernels);
  profile.kernel_times = std::move(used.step);
  profile.host_functions = std::move(used.functions);
  profile.spent = used.spent;
  profile.critical = used.critical;
  profile.path = std::move(used.path);
  profile.cpu = profile.shown(tallies.cpu);
  profile.cpu_attributed = profile.shown(tallies.cpu_attributed);
  profile.device_attributed = profile.shown(tallies.device_attributed);
  if (!annotated.model) return {std::move(costs), position};
  fill_one_of(tallies.one_of, definition, position, profile);
  fill_lines(*annotated.model, tallies.lines, used.spent_by_line, profile);
  fill_call_sites(*annotated.model, position, tallies.sites, profile);
  if (annotated.saved) fill_saved(*annotated.saved, position, profile);
  profile.stage_sites = stage_sites(*annotated.model, annotated.stage_lines, annotated.account.steps);
  profile.files = annotated.model->files;
  return {std::move(costs), position};
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += text.empty() ? word : " " + word;
  return text;
}

std::vector<RankTimes> ranks_of(const Manifest& manifest) {
  std::vector<RankTimes> ranks;
  if (manifest.traces.size() < 2) return ranks;
  const auto middle = [](const std::vector<Ns>& steps) { return steps.empty() ? std::nullopt : std::optional(median(steps)); };
  for (const RankTrace& one : manifest.traces) ranks.push_back({one.rank, middle(one.plain_steps), middle(one.profiled_steps)});
  return ranks;
}

void fill_run(const Annotated& annotated, Profile& profile) {
  if (annotated.manifest) {
    const Manifest& manifest = *annotated.manifest;
    profile.id = manifest.id;
    profile.source = joined(manifest.argv);
    profile.folder = annotated.path;
    profile.argv = manifest.argv;
    profile.created = manifest.created;
    profile.torch = manifest.torch;
    profile.step_by = manifest.step_by;
    profile.step_why = manifest.step_why;
    profile.devices = manifest.devices;
    profile.plain_step = plain_step(manifest, annotated.loop.get());
    profile.samples_per_step = manifest.samples_per_step;
    profile.batch_size = manifest.batch_size;
    profile.optimizer_elsewhere = manifest.optimizer_elsewhere;
    if (annotated.rank == manifest.traces.front().rank) profile.page_faults = page_faults(manifest);
    profile.cudnn_benchmark = manifest.cudnn_benchmark;
    profile.rank = annotated.rank;
    profile.ranks = ranks_of(manifest);
    profile.alignment = annotated.alignment;
    profile.warnings = manifest.warnings;
    profile.loop = annotated.loop;
    const Ns step = annotated.loop ? step_time(mean_update(*annotated.loop)) : Ns{};
    if (profile.page_faults && step > Ns{}) profile.page_faults->step = step;
  } else {
    profile.id = annotated.path.filename().string();
    profile.source = annotated.path.string();
    const std::string& accelerator = annotated.trace.accelerator;
    const std::string kind = annotated.trace.hip ? "hip" : accelerator.empty() ? "cuda" : accelerator;
    for (const trace::Device& device : annotated.trace.devices) {
      profile.devices.push_back({device.name, kind});
    }
    if (profile.devices.empty() && !accelerator.empty() && accelerator != "cuda") profile.devices.push_back({accelerator, kind});
  }
  profile.profiled_step = profile.step_wall();
}

}  // namespace

std::shared_ptr<const Profile> profile_of(Annotated& annotated, std::optional<std::size_t> only) {
  auto profile = std::make_shared<Profile>();
  fill_steps(annotated, *profile);
  fill_buckets(annotated, *profile);
  fill_stages(annotated, *profile);
  profile->representative = only.value_or(representative(*profile));
  sort_stages(annotated, *profile);
  fill_run(annotated, *profile);
  Counting counting = fill_modules(annotated, *profile);
  if (annotated.how == How::frames && !annotated.model) {
    profile->module_calls = std::make_shared<const ModuleCalls>(module_calls(annotated.trace, annotated.steps));
  }
  profile->compiled = compiled_code(annotated, profile->representative);
  profile->verdict = causes::judge(*profile);
  const causes::Schedule schedule(annotated.account);
  if (profile->has_device() && !profile->steps.empty()) profile->sensitivity = causes::sensitivity(schedule);
  const auto exchanges = attribution::host_exchanges(annotated.trace, annotated.forest, annotated.steps);
  profile->communication_sensitivity = causes::communication_sensitivity(annotated.account, schedule, exchanges);
  const std::vector<kernels::KernelName> kernels = rules::kernel_names(annotated.trace, annotated.account);
  const costs::Given given = given_of(annotated);
  profile->findings = rules::findings({.trace = annotated.trace,
                                       .forest = annotated.forest,
                                       .owners = annotated.owners,
                                       .account = annotated.account,
                                       .model = annotated.model ? &*annotated.model : nullptr,
                                       .profile = *profile,
                                       .kernels = kernels,
                                       .given = &given},
                                      schedule);
  Differences differences(*profile);
  for (std::size_t step = 0; step < profile->steps.size(); ++step) {
    if (profile->steps[step].outlier) profile->steps[step].differences = differences.of(step);
  }
  const std::vector<Issue>& survived = annotated.issues.items();
  profile->warnings.insert(profile->warnings.end(), survived.begin(), survived.end());
  fill_costs(std::move(counting), *profile);
  if (only) keep_step(*profile, *only);
  return profile;
}

Result<Loaded> load_annotated(const std::filesystem::path& bundle_or_trace, std::optional<std::int64_t> step,
                              std::optional<std::int64_t> rank) {
  Result<Annotated> annotated = annotate(bundle_or_trace, rank);
  if (!annotated) return std::unexpected(annotated.error());
  std::optional<std::size_t> only;
  if (step) {
    const std::vector<attribution::StepSpan>& spans = annotated->steps.spans;
    const auto found = std::ranges::find(spans, *step, &attribution::StepSpan::index);
    if (found == spans.end()) {
      return std::unexpected(Error{ErrorCode::usage,
                                   "there is no step " + std::to_string(*step) + "; the profile holds steps " +
                                       std::to_string(spans.front().index) + " to " + std::to_string(spans.back().index),
                                   bundle_or_trace.string()});
    }
    only = static_cast<std::size_t>(found - spans.begin());
  }
  std::shared_ptr<const Profile> profile = profile_of(*annotated, only);
  const std::size_t shown = only.value_or(profile->representative);
  return Loaded{std::move(*annotated), std::move(profile), shown};
}

Result<std::shared_ptr<const Profile>> load(const std::filesystem::path& bundle_or_trace, std::optional<std::int64_t> step,
                                            std::optional<std::int64_t> rank) {
  Result<Loaded> loaded = load_annotated(bundle_or_trace, step, rank);
  if (!loaded) return std::unexpected(loaded.error());
  return std::move(loaded->profile);
}

}  // namespace hotlens::profile
