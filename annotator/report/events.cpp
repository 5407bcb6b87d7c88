#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <unordered_map>

#include "annotator/profile/build/annotated.h"
#include "annotator/profile/build/module_name.h"
#include "annotator/profile/build/regions.h"
#include "annotator/report/events.h"

namespace hotlens::report {
namespace {

using attribution::kNoNode;
using attribution::kNothing;
using attribution::Owner;
using attribution::Stage;

std::string_view direction_of(const Owner& owner) {
  if (owner.stage == Stage::optimizer) return "optimizer";
  if (owner.direction != attribution::Direction::forward) return name(owner.direction);
  return owner.stage == Stage::forward || owner.stage == Stage::loss || owner.call != kNothing ? "forward" : "other";
}

class Lines {
 public:
  explicit Lines(const profile::Annotated& annotated)
      : annotated_(annotated), names_(profile::names_of_modules(annotated)), regions_(annotated) {
    for (std::uint32_t work = 0; work < annotated.account.work.size(); ++work) work_of_[annotated.account.work[work].event] = work;
  }

  void write(std::ostream& out) const {
    for (std::uint32_t event = 0; event < annotated_.trace.events.size(); ++event) {
      const auto work = work_of_.find(event);
      const attribution::Work* device = work == work_of_.end() ? nullptr : &annotated_.account.work[work->second];
      const Ns when = device ? device->launched : annotated_.trace.events.start[event];
      const attribution::StepSpan* step = step_at(when);
      if (!step) continue;
      nlohmann::ordered_json json = line(event, *step, device ? device->owner : owner_of(event));
      if (const auto region = device ? regions_.hides(*device) : std::nullopt) json["region"] = name(*region);
      out << json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
    }
  }

 private:
  const attribution::StepSpan* step_at(Ns when) const {
    const auto& spans = annotated_.steps.spans;
    const auto at = std::ranges::upper_bound(spans, when, {}, &attribution::StepSpan::end);
    return at != spans.end() && at->start <= when ? &*at : nullptr;
  }

  Owner owner_of(std::uint32_t event) const {
    const std::uint32_t node = annotated_.forest.node_of[event];
    return node == kNoNode ? Owner{} : annotated_.owners.of[node];
  }

  nlohmann::ordered_json line(std::uint32_t event, const attribution::StepSpan& step, const Owner& owner) const {
    const std::uint32_t module = owner.works_for_module() ? annotated_.owners.calls.value[owner.call] : kNothing;
    nlohmann::ordered_json json = {{"event", annotated_.trace.events.index[event]},
                                   {"step", step.index},
                                   {"stage", name(owner.stage)},
                                   {"module", nullptr},
                                   {"direction", direction_of(owner)},
                                   {"how", name(module < names_.size() ? annotated_.how : profile::How::none)}};
    if (module < names_.size()) json["module"] = names_[module].path;
    return json;
  }

  const profile::Annotated& annotated_;
  std::vector<profile::ModuleName> names_;
  profile::Regions regions_;
  std::unordered_map<std::uint32_t, std::uint32_t> work_of_;  // by event
};

}  // namespace

Result<void> report_events(const std::filesystem::path& bundle_or_trace, std::ostream& out, std::optional<std::int64_t> rank) {
  const Result<profile::Annotated> annotated = profile::annotate(bundle_or_trace, rank);
  if (!annotated) return std::unexpected(annotated.error());
  Lines(*annotated).write(out);
  return {};
}

}  // namespace hotlens::report
