#include "annotator/report/operators.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "annotator/kernels/kernel_name.h"

namespace hotlens::report {
namespace {

using attribution::Kind;
using attribution::kNoNode;

class Table {
 public:
  Table(const trace::Trace& trace, std::size_t steps) : trace_(trace), steps_(steps) {}

  void add(std::uint32_t event, std::size_t step, Ns time) {
    const trace::NameId name = trace_.events.name[event];
    const auto [at, fresh] = row_.try_emplace(name.index, rows_.size());
    if (fresh) rows_.push_back({std::string(trace_.names[name]), std::vector<Ns>(steps_), std::vector<std::int64_t>(steps_)});
    NamedTimes& row = rows_[at->second];
    row.time[step] += time;
    ++row.calls[step];
  }

  std::vector<NamedTimes> take() && { return std::move(rows_); }

 private:
  const trace::Trace& trace_;
  std::size_t steps_;
  std::unordered_map<std::uint32_t, std::size_t> row_;  // by NameId
  std::vector<NamedTimes> rows_;
};

std::optional<std::size_t> step_at(const std::vector<attribution::StepSpan>& spans, Ns when) {
  const auto at = std::ranges::upper_bound(spans, when, {}, &attribution::StepSpan::end);
  if (at == spans.end() || at->start > when) return std::nullopt;
  return static_cast<std::size_t>(at - spans.begin());
}

}  // namespace

std::vector<NamedTimes> operators_of(const profile::Annotated& annotated) {
  const attribution::Forest& forest = annotated.forest;
  std::vector<Ns> self(forest.size());
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    if (forest.kind[node] != Kind::op) continue;
    self[node] += forest.end[node] - forest.start[node];
    std::uint32_t up = forest.parent[node];
    while (up != kNoNode && forest.kind[up] != Kind::op) up = forest.parent[up];
    if (up != kNoNode) self[up] -= forest.end[node] - forest.start[node];
  }
  Table table(annotated.trace, annotated.account.steps.size());
  for (std::uint32_t node = 0; node < forest.size(); ++node) {
    if (forest.kind[node] != Kind::op) continue;
    if (const auto step = step_at(annotated.steps.spans, forest.start[node])) table.add(forest.event[node], *step, self[node]);
  }
  return std::move(table).take();
}

std::vector<NamedTimes> kernels_of(const profile::Annotated& annotated) {
  const attribution::Account& account = annotated.account;
  Table table(annotated.trace, account.steps.size());
  for (std::size_t step = 0; step < account.steps.size(); ++step) {
    for (const std::uint32_t at : account.steps[step].launched) {
      table.add(account.work[at].event, step, account.work[at].end - account.work[at].start);
    }
  }
  return std::move(table).take();
}

std::vector<NamedTimes> by_family(const std::vector<NamedTimes>& kernels) {
  std::vector<NamedTimes> families;
  for (const NamedTimes& kernel : kernels) {
    const std::string_view family = name(kernels::kernel_name(kernel.name).family);
    auto at = std::ranges::find(families, family, &NamedTimes::name);
    if (at == families.end()) {
      families.push_back({std::string(family), std::vector<Ns>(kernel.time.size()), std::vector<std::int64_t>(kernel.time.size())});
      at = families.end() - 1;
    }
    for (std::size_t step = 0; step < kernel.time.size(); ++step) {
      at->time[step] += kernel.time[step];
      at->calls[step] += kernel.calls[step];
    }
  }
  return families;
}

}  // namespace hotlens::report
