// In which Python functions the host was while it held the step up, of a trace with stacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "annotator/attribution/structure/functions.h"
#include "annotator/profile/profile.h"

namespace hotlens::causes {

class FunctionTimes {
 public:
  FunctionTimes() = default;
  // `trace` must outlive this. Of a thread in a window.
  FunctionTimes(const trace::Trace& trace, trace::ThreadId thread, Ns from, Ns to);

  // Time of the window that passed for this reason.
  void add(Ns start, Ns end, profile::Cause cause);

  // Callers before what they call, the longest first.
  std::vector<profile::HostFunction> take() &&;

 private:
  const trace::Trace* trace_ = nullptr;
  attribution::Functions functions_;
  std::vector<profile::Causes> own_;  // by call
};

// The function that itself takes more than half of what the step spends on a cause, else the smallest one inside of which as much passed:
// "train.py:41 rollout"; empty where none is.
std::string function_of_cause(const profile::Profile& profile, profile::Cause cause);

}  // namespace hotlens::causes
