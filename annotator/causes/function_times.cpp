#include "annotator/causes/function_times.h"

#include <algorithm>
#include <utility>

#include "annotator/causes/cause_sums.h"
#include "annotator/trace/python_frame.h"

namespace hotlens::causes {

using attribution::Functions;
using attribution::kNoNode;
using profile::Causes;

namespace {

struct Row {
  trace::NameId function;
  Causes own{}, inside{};
  std::uint32_t counted = kNoNode;  // the call that counted last
};

// Each function once, in order of its first call. One that calls itself counts once.
std::vector<Row> rows_of(const Functions& functions, const std::vector<Causes>& own, std::size_t names) {
  std::vector<Row> rows;
  std::vector<std::uint32_t> row_of(names, kNoNode), row_of_call;
  for (const Functions::Call& call : functions.calls) {
    std::uint32_t& row = row_of[call.function.index];
    if (row == kNoNode) {
      row = static_cast<std::uint32_t>(rows.size());
      rows.push_back({.function = call.function});
    }
    row_of_call.push_back(row);
  }
  for (std::uint32_t call = 0; call < own.size(); ++call) {
    if (sum(own[call]) == Ns{}) continue;
    add(rows[row_of_call[call]].own, own[call]);
    for (std::uint32_t up = call; up != kNoNode; up = functions.calls[up].caller) {
      Row& row = rows[row_of_call[up]];
      if (std::exchange(row.counted, call) != call) add(row.inside, own[call]);
    }
  }
  return rows;
}

}  // namespace

FunctionTimes::FunctionTimes(const trace::Trace& trace, trace::ThreadId thread, Ns from, Ns to)
    : trace_(&trace), functions_(attribution::functions_of(trace, thread, from, to)), own_(functions_.calls.size()) {}

void FunctionTimes::add(Ns start, Ns end, profile::Cause cause) {
  auto run = std::ranges::upper_bound(functions_.runs, start, {}, &Functions::Run::end);
  for (; run != functions_.runs.end() && run->start < end; ++run) {
    if (run->call == kNoNode) continue;
    own_[run->call][static_cast<std::size_t>(cause)] += std::min(end, run->end) - std::max(start, run->start);
  }
}

std::vector<profile::HostFunction> FunctionTimes::take() && {
  if (trace_ == nullptr) return {};
  std::vector<Row> rows = rows_of(functions_, own_, trace_->names.size());
  std::ranges::stable_sort(rows, std::ranges::greater{}, [](const Row& row) { return sum(row.inside); });
  std::vector<profile::HostFunction> functions;
  for (const Row& row : rows) {
    if (sum(row.inside) == Ns{}) break;
    trace::PythonFrame frame = trace::frame_named(trace_->names[row.function]).value_or(trace::PythonFrame{});
    functions.push_back({std::move(frame.path), frame.line, std::move(frame.function), row.own, row.inside});
  }
  return functions;
}

namespace {

// "<listcomp>", "<lambda>": the function around it is what people know.
bool is_nameless(std::string_view function) {
  return function.starts_with('<') && function != "<module>";
}

}  // namespace

std::string function_of_cause(const profile::Profile& profile, profile::Cause cause) {
  const auto at = static_cast<std::size_t>(cause);
  const auto is_most = [&](const profile::Causes& part) { return part[at] * 2 > profile.spent[at]; };
  const profile::HostFunction* found = nullptr;
  for (const profile::HostFunction& each : profile.host_functions) {
    if (!is_most(each.inside) || is_nameless(each.function)) continue;
    if (is_most(each.own) || found == nullptr || (!is_most(found->own) && each.inside[at] <= found->inside[at])) found = &each;
  }
  return found == nullptr ? std::string() : trace::spelled(found->file, found->line, found->function);
}

}  // namespace hotlens::causes
