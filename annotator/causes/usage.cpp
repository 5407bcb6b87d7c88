#include "annotator/causes/usage.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>

#include "annotator/attribution/owners/stack.h"
#include "annotator/causes/critical_path.h"
#include "annotator/causes/function_times.h"
#include "annotator/causes/gap.h"
#include "annotator/causes/kernel_uses.h"
#include "annotator/causes/path_parts.h"
#include "annotator/kernels/intensity.h"

namespace hotlens::causes {
namespace {

using attribution::kNoNode;
using attribution::kNothing;
using attribution::Owner;
using attribution::Piece;
using attribution::StepAccount;
using attribution::Work;

// Names that are told apart. Real recordings have some hundred; a trace in which every name is another would make a table as long as
// itself.
constexpr std::size_t kMostKernels = 10'000;
// Some thousand parts of a step's critical path are told apart by nobody.
constexpr std::size_t kMostPathParts = 500;

class Collector {
 public:
  explicit Collector(const UsageInput& input)
      : input_(input),
        step_(input.account.steps[input.representative]),
        stack_(input.owners.calls, input.module_parent.size(), &input.module_parent),
        lines_(input.owners.lines, input.lines),
        parts_(input.trace.names.size()),
        kernel_of_(input.trace.names.size()) {
    result_.spent_by_module.resize(input.module_parent.size());
    result_.critical_by_module.resize(input.module_parent.size());
    result_.spent_by_line.resize(input.lines);
    result_.critical_by_line.resize(input.lines);
    has_device_ = !input.account.work.empty();
    if (input.main) functions_ = FunctionTimes(input.trace, *input.main, step_.span.start, step_.span.end);
    if (!has_device_) find_delegating();
  }

  Usage run() && {
    if (has_device_) {
      for (const std::uint32_t i : step_.launched) count(input_.account.work[i]);
    } else {
      count(step_.wall);
      for (const std::vector<Piece>& worker : step_.workers) count(worker);
    }
    for (const PathPart& part : critical_path(input_.account, input_.representative)) count(part);
    result_.path = readable_path(std::move(result_.path), kMostPathParts);
    if (has_device_) {
      count_busy();
      for (const attribution::Gap& gap : step_.gaps) count(gap);
    } else {
      result_.spent = result_.critical;
      result_.spent_by_module = result_.critical_by_module;
      result_.spent_by_line = result_.critical_by_line;
    }
    KernelRuns::Sums uses = runs_.sums(stack_, input_.module_parent.size());
    result_.functions = std::move(functions_).take();
    result_.step = std::move(uses.step);
    result_.by_module = std::move(uses.by_module);
    return std::move(result_);
  }

 private:
  trace::NameId name_of(std::uint32_t event) const { return input_.trace.events.name[event]; }

  const kernels::KernelName& parts_of(trace::NameId name) {
    std::optional<kernels::KernelName>& parts = parts_[name.index];
    if (parts) return *parts;
    if (++understood_ > kMostKernels) {
      parts = rest_;
    } else {
      parts = has_device_ ? kernels::kernel_name(input_.trace.names[name]) : kernels::operator_name(input_.trace.names[name]);
    }
    return *parts;
  }

  // An operator that leaves most of its time to others which touch elements does its work there; its own code is overhead. Making views is
  // no such work, and a matrix product that copies its bias first still multiplies itself.
  void find_delegating() {
    const attribution::Forest& forest = input_.forest;
    std::vector<Ns> own(forest.size()), handed_on(forest.size());
    for (std::uint32_t node = 0; node < forest.size(); ++node) {
      const Ns time = forest.end[node] - forest.start[node];
      own[node] += time;
      const std::uint32_t parent = forest.parent[node];
      if (forest.kind[node] != attribution::Kind::op || parent == kNoNode || forest.kind[parent] != attribution::Kind::op) continue;
      own[parent] -= time;
      if (parts_of(name_of(forest.event[node])).family != kernels::Family::view) handed_on[parent] += time;
    }
    delegates_.resize(forest.size());
    for (std::uint32_t node = 0; node < forest.size(); ++node) delegates_[node] = handed_on[node] > own[node];
  }

  bool works_itself(const Piece& piece) const {
    return piece.node != kNoNode && input_.forest.kind[piece.node] == attribution::Kind::op && !delegates_[piece.node];
  }

  void count(const Work& work) { add(work.owner, name_of(work.event), work.end - work.start); }

  void count(const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) {
      if (piece.lent || !works_itself(piece)) continue;
      const trace::NameId name = name_of(input_.forest.event[piece.node]);
      const bool begins = piece.start == input_.forest.start[piece.node];
      if (parts_of(name).family != kernels::Family::view) add(piece.owner, name, piece.end - piece.start, begins ? 1 : 0);
    }
  }

  void add(const Owner& owner, trace::NameId name, Ns time, std::int64_t calls = 1) {
    profile::KernelId& kernel = kernel_of_[name.index];
    if (!kernel.valid()) kernel = table_entry(name);
    runs_.add(kernel, owner, time, calls);
  }

  profile::KernelId table_entry(trace::NameId name) {
    const std::size_t next = std::min(result_.kernels.size(), kMostKernels);
    if (next < kMostKernels) {
      result_.kernels.push_back({std::string(input_.trace.names[name]), parts_of(name)});
    } else if (result_.kernels.size() == kMostKernels) {
      result_.kernels.push_back({rest_.label, rest_});
    }
    return profile::KernelId{static_cast<std::uint32_t>(next)};
  }

  struct Sums {
    profile::Causes& step;
    std::vector<profile::Causes>&modules, &lines;
  };

  void add(const Sums& sums, const Owner& owner, profile::Cause cause, Ns time) {
    const auto at = static_cast<std::size_t>(cause);
    sums.step[at] += time;
    for (const std::uint32_t module : modules_of(owner, stack_)) sums.modules[module][at] += time;
    for (const std::uint32_t line : lines_.around(owner.made_line != kNothing ? owner.made_line : owner.line)) sums.lines[line][at] += time;
  }

  void spend(const Owner& owner, profile::Cause cause, Ns time) {
    add({result_.spent, result_.spent_by_module, result_.spent_by_line}, owner, cause, time);
  }

  void count(const PathPart& part) {
    const bool host = part.on == PathPart::On::host;
    profile::Cause cause = profile::Cause::queued;
    if (host) cause = part.piece ? cause_of_piece(*part.piece) : profile::Cause::host;
    if (part.on == PathPart::On::latency) cause = profile::Cause::launch;
    if (part.on == PathPart::On::device) cause = cause_of_work(input_.account.work[part.at]);
    result_.path.push_back({.start = part.start - step_.window.start,
                            .end = part.end - step_.window.start,
                            .cause = cause,
                            .on = word(part.on),
                            .what = std::string(causes::name_of(part, input_.trace, input_.forest, input_.account))});
    const Owner nobody;
    const Owner& owner = !host ? input_.account.work[part.at].owner : part.piece ? part.piece->owner : nobody;
    if (!has_device_ && is_of_host(cause)) functions_.add(part.start, part.end, cause);
    add({result_.critical, result_.critical_by_module, result_.critical_by_line}, owner, cause, part.end - part.start);
  }

  void count_busy() {
    const std::vector<Work>& work = input_.account.work;
    for (const attribution::BusyPiece& piece : busy_pieces(work, input_.account.reached, step_.window.start, step_.window.end)) {
      spend(work[piece.work].owner, cause_of_work(work[piece.work]), piece.end - piece.start);
    }
  }

  void count(const attribution::Gap& gap) {
    for (const GapPart& part : causes::parts_of(input_.forest, input_.account, step_, gap)) {
      spend(*part.owner, part.cause, part.end - part.start);
      if (is_of_host(part.cause)) functions_.add(part.start, part.end, part.cause);
    }
  }

  // What a host does, rather than a device, another process, or nobody who was recorded.
  static bool is_of_host(profile::Cause cause) {
    using enum profile::Cause;
    return cause == data || cause == copy || cause == sync || cause == launch || cause == host;
  }

  profile::Cause cause_of_work(const Work& work) {
    if (work.owner.communicates) return profile::Cause::communication;
    if (input_.trace.events.category[work.event] == trace::Category::copy && leaves_device(work)) return profile::Cause::copy;
    const profile::Cause cause = cause_of(parts_of(name_of(work.event)).family);
    return cause == profile::Cause::compute && is_thin_product(work) ? profile::Cause::thin_products : cause;
  }

  // A product that reads its operands for a few rows only is bound by memory, whatever its kernel is called.
  bool is_thin_product(const Work& work) {
    if (work.launch == kNoNode) return false;
    std::uint32_t node = input_.forest.parent[work.launch];
    while (node != kNoNode && input_.forest.kind[node] == attribution::Kind::launch) node = input_.forest.parent[node];
    if (node == kNoNode) return false;
    const trace::Inputs& inputs = input_.trace.inputs;
    const auto row = trace::row_of(inputs.event, input_.forest.event[node]);
    if (!row || !inputs.shapes[*row].valid() || !inputs.types[*row].valid()) return false;
    const trace::NameId name = name_of(input_.forest.event[node]);
    const trace::NameId shapes = inputs.shapes[*row], types = inputs.types[*row];
    const auto [known, fresh] = thin_.try_emplace({name.index, shapes.index, types.index});
    if (fresh) {
      const auto of = kernels::product(input_.trace.names[name], input_.trace.inputs_text[shapes], input_.trace.inputs_text[types]);
      known->second = of && kernels::is_bound_by_memory(*of);
    }
    return known->second;
  }

  bool leaves_device(const Work& work) const {
    return work.bucket == attribution::Bucket::host_to_device || !input_.trace.names[name_of(work.event)].contains("DtoD");
  }

  profile::Cause cause_of_piece(const Piece& piece) {
    if (has_device_) return cause_beside_device(input_.forest, piece);
    switch (piece.bucket) {
      case attribution::Bucket::data_loading:
        return profile::Cause::data;
      case attribution::Bucket::host_to_device:
        return profile::Cause::copy;
      case attribution::Bucket::waiting:
        return profile::Cause::sync;
      case attribution::Bucket::communication:
        return profile::Cause::communication;
      case attribution::Bucket::host:
        return profile::Cause::host;
      default:
        return works_itself(piece) ? cause_of(parts_of(name_of(input_.forest.event[piece.node])).family) : profile::Cause::launch;
    }
  }

  const UsageInput& input_;
  const attribution::StepAccount& step_;
  Usage result_;
  attribution::Stack stack_, lines_;
  std::vector<std::optional<kernels::KernelName>> parts_;  // by name
  std::size_t understood_ = 0;                             // of them
  const kernels::KernelName rest_{.label = "(all others)"};
  std::vector<profile::KernelId> kernel_of_;  // by name
  KernelRuns runs_;
  FunctionTimes functions_;
  std::map<std::array<std::uint32_t, 3>, bool> thin_;  // by operator, shapes and types: is_thin_product
  std::vector<bool> delegates_;                        // by node; without device work only
  bool has_device_ = false;
};

}  // namespace

profile::Cause cause_of(kernels::Family family) {
  switch (family) {
    case kernels::Family::gemm:
    case kernels::Family::convolution:
    case kernels::Family::attention:
      return profile::Cause::compute;
    case kernels::Family::communication:
      return profile::Cause::communication;
    case kernels::Family::view:
      return profile::Cause::launch;
    case kernels::Family::other:
      return profile::Cause::other;
    default:
      return profile::Cause::memory;
  }
}

std::vector<LabelUse> by_label(const profile::Profile& profile, std::span<const profile::KernelUse> uses) {
  std::vector<LabelUse> rows;
  std::unordered_map<std::string_view, std::size_t> known;
  for (const profile::KernelUse& use : uses) {
    const std::string& label = profile.kernels[use.kernel.index].parts.label;
    const auto [at, fresh] = known.try_emplace(label, rows.size());
    if (fresh) rows.push_back({.label = label});
    rows[at->second].calls += use.calls;
    rows[at->second].time += use.time;
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &LabelUse::time);
  return rows;
}

Usage usage(const UsageInput& input) {
  if (input.account.steps.empty()) return {};
  return Collector(input).run();
}

}  // namespace hotlens::causes
