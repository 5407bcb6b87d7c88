#include <algorithm>
#include <array>

#include "annotator/advice/rules/text.h"
#include "annotator/causes/verdict.h"
#include "annotator/common/json_text.h"
#include "annotator/profile/loop.h"
#include "annotator/profile/statistics.h"
#include "annotator/report/compiled_text.h"
#include "annotator/report/costs_json.h"
#include "annotator/report/functions_text.h"
#include "annotator/report/json.h"
#include "annotator/report/ranks.h"

namespace hotlens::report {
namespace {

// Parts per step, so that shares of a table add up to 1 but for rounding.
double share(Ns part, Ns whole) {
  return whole > Ns{} ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0.0;
}

class JsonWriter {
 public:
  JsonWriter(const profile::Profile& profile, const ranks::RankSet* ranks, const Beside& beside)
      : profile_(profile),
        ranks_(ranks),
        beside_(beside),
        card_(cost_card(profile, beside.peaks ? &*beside.peaks : nullptr)),
        device_(profile.has_device()) {}

  std::string write() && {
    json_.object([&] {
      json_.member("schema", "hotlens.report/1");
      json_.object("profile", [&] { run(); });
      if (ranks_) json_.object("rank_set", [&] { ranks_json(*ranks_, json_); });
      json_.array("steps", [&] { steps(); });
      if (profile_.loop) json_.object("loop", [&] { loop(*profile_.loop); });
      if (profile_.compiled) json_.object("compiled", [&] { compiled_json(profile_, json_); });
      json_.array("stages", [&] { stages(); });
      json_.array("buckets", [&] { buckets(); });
      json_.array("modules", [&] { modules(); });
      if (!profile_.one_of.empty()) json_.array("one_of", [&] { one_of(); });
      json_.array("kernels", [&] { kernels(); });
      json_.object("totals", [&] { totals(); });
      json_.object("spent", [&] { causes(profile_.spent); });
      json_.object("critical_path", [&] { causes(profile_.critical); });
      json_.array("critical_parts", [&] {
        for (const profile::CriticalPart& part : profile_.path) json_.object([&] { this->part(part); });
      });
      json_.object("verdict", [&] { verdict(profile_.verdict); });
      if (!profile_.host_functions.empty()) json_.array("host_functions", [&] { functions_json(profile_, json_); });
      costs_json(profile_, beside_, card_, json_);
      json_.array("findings", [&] { findings(); });
      if (profile_.sensitivity) json_.object("sensitivity", [&] { sensitivity(*profile_.sensitivity); });
      if (const auto& less = profile_.communication_sensitivity) json_.object("communication_sensitivity", [&] { sensitivity(*less); });
      json_.array("warnings", [&] { warnings(); });
    });
    return std::move(json_).take();
  }

 private:
  void time(std::string_view name, Ns value) { json_.member(name, value.count()); }
  void time(std::string_view name, const std::optional<Ns>& value) {
    if (value) time(name, *value);
  }
  void size(std::string_view name, const std::optional<Bytes>& value) {
    if (value) json_.member(name, count(*value));
  }

  void run() {
    json_.member("id", profile_.id);
    json_.member("source", profile_.source);
    if (!profile_.torch.empty()) json_.member("torch", profile_.torch);
    json_.array("devices", [&] {
      for (const profile::Device& device : profile_.devices) {
        json_.object([&] {
          json_.member("name", device.name);
          json_.member("kind", device.kind);
        });
      }
    });
    json_.member("steps", profile_.steps.size());
    json_.member("shown_step", profile_.steps.at(profile_.representative).index);
    if (profile_.backward_confidence) json_.member("backward_confidence", *profile_.backward_confidence);
    time("plain_step_ns", profile_.plain_step);
    time("profiled_step_ns", profile_.profiled_step);
    if (profile_.page_faults) json_.object("page_faults", [&] { page_faults(*profile_.page_faults); });
    if (profile_.ranks.empty()) return;
    json_.member("rank", profile_.rank);
    json_.array("ranks", [&] {
      for (const profile::RankTimes& one : profile_.ranks) {
        json_.object([&] {
          json_.member("rank", one.rank);
          time("plain_step_ns", one.plain_step);
          time("profiled_step_ns", one.profiled_step);
        });
      }
    });
  }

  void page_faults(const profile::PageFaults& faults) {
    json_.member("count", faults.count);
    time("each_ns", faults.each);
    time("time_ns", faults.time());
    time("step_ns", faults.step);
    if (faults.can_end) json_.member("setting", profile::kKeepsFreed);
  }

  void steps() {
    for (const profile::Step& step : profile_.steps) json_.object([&] { one(step); });
  }

  void one(const profile::Step& step) {
    json_.member("index", step.index);
    time("start_ns", step.start);
    time("wall_ns", step.wall);
    time("device_ns", step.device);
    json_.member("outlier", step.outlier);
    if (step.confidence) json_.member("confidence", *step.confidence);
    if (device_) {
      time("idle_ns", step.wall - step.device);
      if (step.behind > Ns{}) time("behind_ns", step.behind);
      if (step.caught_up > Ns{}) time("caught_up_ns", step.caught_up);
      time("carried_ns", step.carried);
      time("communication_ns", step.communication);
      time("exposed_communication_ns", step.exposed_communication);
      if (step.earlier_communication > Ns{}) time("earlier_communication_ns", step.earlier_communication);
    }
    if (step.differences.empty()) return;
    json_.array("differences", [&] {
      for (const profile::Difference& each : step.differences) {
        json_.object([&] {
          json_.member("what", each.what);
          time("excess_ns", each.excess);
        });
      }
    });
  }

  void stages() {
    for (const profile::StageTimes& stage : profile_.stages) {
      json_.object([&] {
        json_.member("name", name(stage.stage));
        time("wall_ns", profile_.shown(stage.wall));
        band(stage.wall);
        time("waiting_ns", profile_.shown(stage.waiting));
        time("cpu_ns", profile_.shown(stage.cpu));
        time("device_ns", profile_.shown(stage.device));
        json_.member("share", share(profile_.shown(stage.wall), profile_.step_wall()));
      });
    }
  }

  // Times are of all updates watched; `per_update_ns` and `share` are of their mean.
  void loop(const profile::Loop& loop) {
    json_.member("updates", loop.updates);
    json_.member("made", loop.made);
    time("watched_ns", loop.watched);
    time("update_ns", per_update(loop, loop.watched));
    time("rare_ns", mean_update(loop).rare);
    if (loop.behind > Ns{}) time("behind_ns", loop.behind);
    time("startup_ns", loop.startup);
    if (loop.slow_first) time("slow_first_ns", *loop.slow_first);
    if (loop.processors) {
      json_.object("processors", [&] {
        json_.member("count", loop.processors->count);
        time("wall_ns", loop.processors->wall);
        time("ours_ns", loop.processors->ours);
        time("others_ns", loop.processors->others);
      });
    }
    json_.array("unused_graphs", [&] {
      for (const profile::UnusedGraph& graph : loop.unused_graphs) json_.object([&] { unused_graph(graph); });
    });
    json_.array("functions", [&] {
      for (const profile::LoopFunction& of : functions(loop)) json_.object([&] { function(loop, of); });
    });
  }

  std::string path_of(profile::FileId file) const {
    return file.index < profile_.files.size() ? profile_.files[file.index].path.string() : "";
  }

  void unused_graph(const profile::UnusedGraph& graph) {
    json_.member("file", path_of(graph.site.file));
    json_.member("line", graph.site.line);
    json_.member("function", graph.site.function);
    json_.member("class", graph.model);
    json_.member("kept_bytes", count(graph.kept));
  }

  void function(const profile::Loop& loop, const profile::LoopFunction& of) {
    json_.member("file", path_of(of.file));
    json_.member("function", of.function);
    time("total_ns", of.total);
    json_.array("statements", [&] {
      for (const profile::LoopStatement* each : of.statements) json_.object([&] { statement(loop, *each); });
    });
  }

  void statement(const profile::Loop& loop, const profile::LoopStatement& each) {
    json_.member("line", each.site.line);
    json_.member("end_line", each.site.end_line);
    json_.member("kind", each.kind);
    json_.member("calls", each.calls);
    time("timed_ns", each.timed);
    time("total_ns", each.total);
    time("per_update_ns", per_update(loop, each.total));
    json_.member("share", profile::share(loop, each.total));
    json_.member("in_updates", each.in_updates);
    if (const auto of_one = time_when_it_comes(each)) time("each_ns", *of_one);
    if (const std::optional<double> every = rhythm(each)) json_.member("every_updates", *every);
    time("startup_ns", each.startup);
  }

  void buckets() {
    for (const profile::BucketTimes& bucket : profile_.buckets) {
      json_.object([&] {
        json_.member("name", name(bucket.bucket));
        time("wall_ns", profile_.shown(bucket.wall));
        time("device_ns", profile_.shown(bucket.device));
      });
    }
  }

  void modules() {
    for (std::uint32_t at = 0; at < profile_.modules.size(); ++at) {
      json_.object([&] { one(profile_.modules[at], profile::ModuleId{at}); });
    }
  }

  void one_of() {
    for (const profile::OneOf& some : profile_.one_of) {
      json_.object([&] {
        json_.array("modules", [&] {
          for (const profile::ModuleId id : some.modules) json_.object([&] { json_.member("path", profile_.at(id).path); });
        });
        json_.object("forward", [&] { times(some.forward, profile_.shown(some.forward)); });
        json_.object("backward", [&] { times(some.backward, profile_.shown(some.backward)); });
      });
    }
  }

  void one(const profile::Module& module, profile::ModuleId id) {
    const std::array own = {id};
    json_.member("path", module.path);
    json_.member("class", module.class_name);
    if (module.same_as.valid()) json_.member("same_as", profile_.at(module.same_as).path);
    json_.member("calls", module.calls);
    json_.object("forward", [&] { times(module.forward, profile_.shown(module.forward)); });
    const profile::Times backward = profile_.shown(module.backward);
    if (module.backward_known) {
      json_.object("backward", [&] { times(module.backward, backward); });
    } else {
      json_.null("backward");
    }
    json_.object("memory", [&] { memory(module.memory); });
    json_.array("kernels", [&] { uses(module.kernels); });
    module_costs_json(profile_, id, card_, json_);
    json_.object("verdict", [&] { verdict(causes::judge(profile_, own)); });
    json_.member("how", name(module.how));
    if (backward.recompute_cpu == Ns{} && backward.recompute_device == Ns{}) return;
    json_.object("recompute", [&] {  // a part of `backward`
      time("cpu_total_ns", backward.recompute_cpu);
      time("device_ns", backward.recompute_device);
    });
  }

  void band(std::vector<Ns> times) {
    const profile::Spread of = profile::spread(std::move(times));
    time("p10_ns", of.p10);
    time("p90_ns", of.p90);
  }

  // p10 and p90 are of the number that is shown: device time where there is a device, else host time.
  void times(const profile::PerStep& steps, const profile::Times& middle) {
    std::vector<Ns> shown(steps.size());
    std::ranges::transform(steps, shown.begin(), [&](const profile::Times& each) { return profile::headline(each, device_); });
    time("cpu_total_ns", middle.cpu_total);
    time("cpu_self_ns", middle.cpu_self);
    time("device_ns", middle.device);
    time("span_ns", middle.span);
    time("waiting_ns", middle.waiting);
    if (middle.estimated > Ns{}) time("estimated_ns", middle.estimated);
    band(std::move(shown));
    if (!device_) return;
    time("idle_before_ns", middle.idle_before);
    time("idle_inside_ns", middle.idle_inside);
    time("exposed_communication_ns", middle.exposed_communication);
  }

  void memory(const profile::Memory& memory) {
    size("parameters_bytes", memory.parameters);
    size("gradients_bytes", memory.gradients);
    size("optimizer_bytes", memory.optimizer);
    size("activations_bytes", memory.activations);
    size("temporary_bytes", memory.temporary);
  }

  void uses(const std::vector<profile::KernelUse>& uses) {
    for (const profile::KernelUse& use : uses) {
      json_.object([&] {
        json_.member("kernel", use.kernel.index);
        json_.member("calls", use.calls);
        time("ns", use.time);
      });
    }
  }

  // The representative step's kernels, or operators on a run without device work; modules refer to them by position.
  void kernels() {
    std::vector<const profile::KernelUse*> used(profile_.kernels.size());
    for (const profile::KernelUse& use : profile_.kernel_times) used[use.kernel.index] = &use;
    for (std::size_t at = 0; at < used.size(); ++at) {
      const profile::Kernel& kernel = profile_.kernels[at];
      json_.object([&] {
        json_.member("name", kernel.name);
        json_.member("family", name(kernel.parts.family));
        json_.member("label", kernel.parts.label);
        if (!kernel.parts.type.empty()) json_.member("type", kernel.parts.type);
        if (!kernel.parts.tile.empty()) json_.member("tile", kernel.parts.tile);
        if (!used[at]) return;
        json_.member("calls", used[at]->calls);
        time("ns", used[at]->time);
      });
    }
  }

  void totals() {
    const profile::Step& step = profile_.steps.at(profile_.representative);
    time("wall_ns", step.wall);
    band(profile::walls(profile_.steps));
    time("cpu_ns", profile_.cpu);
    time("device_ns", step.device);
    time("device_attributed_ns", profile_.device_attributed);
    time("cpu_attributed_ns", profile_.cpu_attributed);
    size("memory_peak_bytes", profile_.memory_peak);
    size("memory_start_bytes", profile_.memory_start);
    if (const auto& moment = profile_.at_peak.moment) json_.object("memory_at_peak", [&] { at_peak(profile_.at_peak, *moment); });
  }

  void at_peak(const profile::MemoryAtPeak& peak, const profile::MemoryAtPeak::Moment& moment) {
    json_.member("stage", name(moment.stage));
    if (moment.module.valid()) json_.member("module", profile_.at(moment.module).path);
    size("total_bytes", peak.total);
    size("outside_bytes", peak.outside);
    size("before_bytes", peak.before);
    const profile::Holdings held = profile::held_at_peak(profile_);
    for (std::size_t what = 0; what < profile::kHoldings; ++what) {
      size(std::string(name(static_cast<profile::Holding>(what))) + "_bytes", held[what]);
    }
  }

  void causes(const profile::Causes& causes) {
    for (std::size_t cause = 0; cause < profile::kCauses; ++cause) {
      time(std::string(name(static_cast<profile::Cause>(cause))) + "_ns", causes[cause]);
    }
  }

  void part(const profile::CriticalPart& part) {
    time("start_ns", part.start);
    time("end_ns", part.end);
    json_.member("cause", name(part.cause));
    json_.member("on", part.on);
    if (!part.what.empty()) json_.member("what", part.what);
    if (part.parts > 1) json_.member("parts", part.parts);
  }

  void verdict(const profile::Verdict& verdict) {
    json_.member("kind", verdict.kind);
    json_.array("evidence", [&] {
      for (const profile::Verdict::Evidence& evidence : verdict.evidence) {
        json_.object([&] {
          json_.member("what", evidence.what);
          time("ns", evidence.time);
          json_.member("where", evidence.where);
        });
      }
    });
  }

  void findings() {
    for (const profile::Finding& finding : profile_.findings) {
      json_.object([&] { rules::write_finding(json_, finding, profile_.step_wall()); });
    }
  }

  void sensitivity(const profile::Sensitivity& half) {
    json_.member("kernels_halved_ratio", half.kernels);
    json_.member("host_halved_ratio", half.host);
  }

  void sensitivity(const profile::CommunicationSensitivity& if_less) {
    json_.member("hidden_ratio", if_less.hidden);
    json_.member("without_ratio", if_less.without);
  }

  void warnings() {
    for (const Issue& issue : profile_.warnings) {
      json_.object([&] {
        json_.member("code", issue.code);
        json_.member("message", issue.message);
        json_.member("count", issue.count);
      });
    }
  }

  const profile::Profile& profile_;
  const ranks::RankSet* ranks_;  // null: of one rank
  const Beside& beside_;
  const std::optional<CostCard> card_;
  const bool device_;
  JsonText json_;
};

}  // namespace

std::string report_json(const profile::Profile& profile, const ranks::RankSet* ranks, const Beside& beside) {
  return JsonWriter(profile, ranks, beside).write();
}

}  // namespace hotlens::report
