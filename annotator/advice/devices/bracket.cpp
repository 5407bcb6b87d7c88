#include "annotator/advice/devices/bracket.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "annotator/advice/devices/roof.h"
#include "annotator/causes/simulate.h"
#include "annotator/common/format.h"
#include "annotator/common/json_text.h"
#include "annotator/costs/finder.h"

namespace hotlens::devices {
namespace {

using attribution::kNoNode;
using attribution::Piece;
using attribution::Work;
using kernels::Family;

// How much of its time work keeps there, by its kind.
class Scale {
 public:
  Scale(const Row& here, const Row& there)
      : here_(here),
        there_(there),
        copy_(here.copy_bytes_per_s / there.copy_bytes_per_s),
        core_(rates("gemm", "f32") * static_cast<double>(cores(there)) / static_cast<double>(cores(here))) {}

  double bandwidth() const { return copy_; }
  // Of an operator whose shapes are known, and which took `time` here.
  double of(const kernels::Cost& cost, Ns time) const {
    const auto from = least_seconds(here_, cost), to = least_seconds(there_, cost);
    if (!from || !to || *from <= 0 || time <= Ns{}) return copy_;
    const double explained = std::min(1.0, *from / std::chrono::duration<double>(time).count());
    return explained * *to / *from + (1 - explained) * core_;
  }
  double of(const kernels::KernelName& work) const {
    if (work.family == Family::communication || work.family == Family::view) return 1;
    if (work.family == Family::convolution) return rates("convolution", work.type);
    if (work.family == Family::gemm || work.family == Family::attention) return rates("gemm", work.type);
    return copy_;
  }

 private:
  double rates(std::string_view what, std::string_view type) const {
    const auto here = here_.rate(what, type), there = there_.rate(what, type);
    return here && there ? *here / *there : copy_;
  }

  // Of a GPU all together: those of several are made alike.
  static std::int64_t cores(const Row& row) { return std::max<std::int64_t>(row.threads, 1); }

  const Row &here_, &there_;
  double copy_, core_;
};

class Names {
 public:
  explicit Names(const profile::Annotated& annotated)
      : annotated_(annotated), device_(!annotated.account.work.empty()), names_(annotated.trace.names.size()) {}

  const kernels::KernelName& of(std::uint32_t event) {
    const trace::NameId name = annotated_.trace.events.name[event];
    kernels::KernelName& known = names_[name.index];
    if (known.label.empty())
      known = device_ ? kernels::kernel_name(annotated_.trace.names[name]) : kernels::operator_name(annotated_.trace.names[name]);
    return known;
  }
  // Copies between host and device go by another way than the device's memory.
  bool is_transfer(const Work& work) const {
    return annotated_.trace.events.category[work.event] == trace::Category::copy &&
           !annotated_.trace.names[annotated_.trace.events.name[work.event]].contains("DtoD");
  }
  // Null for a piece outside of operators.
  const kernels::KernelName* of(const Piece& piece) {
    if (piece.node == kNoNode || annotated_.forest.kind[piece.node] != attribution::Kind::op) return nullptr;
    return &of(annotated_.forest.event[piece.node]);
  }

 private:
  const profile::Annotated& annotated_;
  bool device_;
  std::vector<kernels::KernelName> names_;
};

// Operators whose cost is known, and the time of all work that is done for each.
class Operators {
 public:
  explicit Operators(const profile::Annotated& annotated) : costs_(annotated.trace, annotated.forest, profile::given_of(annotated)) {
    for (const Work& work : annotated.account.work) add(work.launch, work.end - work.start);
    if (!annotated.account.work.empty()) return;
    for (const attribution::StepAccount& step : annotated.account.steps) {
      for (const Piece& piece : step.wall) add(piece.node, piece.end - piece.start);
    }
  }

  // What work inside or launched at `node` keeps of its time.
  double scaled(std::uint32_t node, const kernels::KernelName& name, const Scale& scale) {
    const std::uint32_t found = node == kNoNode ? kNoNode : costs_.operator_of(node);
    return found == kNoNode || name.family == Family::view ? scale.of(name) : scale.of(costs_.cost(found), time_[found]);
  }

 private:
  void add(std::uint32_t node, Ns time) {
    const std::uint32_t found = node == kNoNode ? kNoNode : costs_.operator_of(node);
    if (found != kNoNode) time_[found] += time;
  }

  costs::Finder costs_;
  std::unordered_map<std::uint32_t, Ns> time_;
};

// `factor`: of a name, and of the node that the work is inside of or launched at.
template <class Factor>
double played(const profile::Annotated& annotated, const causes::Schedule& schedule, Names& names, const Factor& factor) {
  causes::Change change;
  if (annotated.account.work.empty()) {
    change.host = [&](const Piece& piece) {
      const kernels::KernelName* name = names.of(piece);
      return name ? factor(*name, piece.node) : 1.0;
    };
  } else {
    change.work = [&](const Work& work) { return names.is_transfer(work) ? 1.0 : factor(names.of(work.event), work.launch); };
  }
  return schedule.play(change).ratio();
}

double covered(const profile::Annotated& annotated, std::size_t step, Names& names) {
  Ns known{}, whole{};
  const auto count = [&](const kernels::KernelName& name, Ns time) {
    whole += time;
    if (name.family != Family::other) known += time;
  };
  for (const std::uint32_t at : annotated.account.steps[step].launched) {
    const Work& work = annotated.account.work[at];
    count(names.of(work.event), work.end - work.start);
  }
  if (annotated.account.work.empty()) {
    for (const Piece& piece : annotated.account.steps[step].wall) {
      if (const kernels::KernelName* name = names.of(piece)) count(*name, piece.end - piece.start);
    }
  }
  return whole > Ns{} ? static_cast<double>(known.count()) / static_cast<double>(whole.count()) : 0;
}

Ns scaled(Ns time, double by) {
  return Ns{std::llround(static_cast<double>(time.count()) * by)};
}

void write_row(JsonText& json, const Row& row) {
  json.member("name", row.name);
  json.member("kind", row.kind);
  if (row.threads > 0) json.member("threads", row.threads);
}

}  // namespace

Result<Bracket> bracket(const profile::Annotated& annotated, const profile::Profile& profile, const Row& here, const Row& there) {
  if (annotated.account.steps.empty()) return std::unexpected(Error{ErrorCode::unsupported, "the recording holds no step", profile.source});
  Names names(annotated);
  const double known = covered(annotated, profile.representative, names);
  if (known < kLeastCovered) {
    return std::unexpected(Error{ErrorCode::unsupported,
                                 fmt::format("only {} of the work is of a known kind, {} are needed; nothing is told of another device",
                                             format::share(known), format::share(kLeastCovered)),
                                 profile.source});
  }
  const Scale scale(here, there);
  const causes::Schedule schedule(annotated.account);
  Operators operators(annotated);
  const double middle = played(annotated, schedule, names,
                               [&](const kernels::KernelName& name, std::uint32_t node) { return operators.scaled(node, name, scale); });
  const double bandwidth = played(annotated, schedule, names, [&](const kernels::KernelName& name, std::uint32_t) {
    return name.family == Family::communication || name.family == Family::view ? 1.0 : scale.bandwidth();
  });
  const Ns step = profile.plain_step.value_or(profile.step_wall());
  return Bracket{.here = here,
                 .there = there,
                 .profile = profile.id,
                 .step_was = step,
                 .low = scaled(step, std::min({1.0, middle, bandwidth})),
                 .high = scaled(step, std::max({1.0, middle, bandwidth})),
                 .middle = scaled(step, middle),
                 .covered = known};
}

std::string as_text(const Bracket& bracket) {
  return fmt::format(
      "{} → {}\n  a step of {} would take {} to {}, by rates {}\n  {} of the work is of a known kind; the host and what goes between "
      "processes stay as they are\n",
      label(bracket.here), label(bracket.there), format::readable(bracket.step_was), format::readable(bracket.low),
      format::readable(bracket.high), format::readable(bracket.middle), format::share(bracket.covered));
}

std::string as_json(const Bracket& bracket) {
  JsonText json;
  json.object([&] {
    json.member("schema", std::string_view("hotlens.predict/1"));
    json.member("profile", bracket.profile);
    json.object("recorded_on", [&] { write_row(json, bracket.here); });
    json.array("points", [&] {
      json.object([&] {
        json.object("device", [&] { write_row(json, bracket.there); });
        json.member("measured", false);
        json.member("step_was_ns", bracket.step_was.count());
        json.member("step_ns", bracket.middle.count());
        json.member("low_ns", bracket.low.count());
        json.member("high_ns", bracket.high.count());
        json.member("covered", bracket.covered);
        json.member("method", std::string_view("schedule"));
      });
    });
    json.array("edits", [] {});
    json.array("refused", [] {});
  });
  return std::move(json).take();
}

}  // namespace hotlens::devices
