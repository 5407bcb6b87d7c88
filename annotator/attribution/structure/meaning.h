// What names in a trace mean, decided once per name and not per event: ranges (our markers, torch's own, a person's stages) and the traits
// of operators, launches and kernels.
#pragma once

#include <cstdint>
#include <string_view>

#include "annotator/attribution/structure/stage.h"

namespace hotlens::attribution {

enum class Kind : std::uint8_t {
  op,      // an operator, autograd's included
  launch,  // a call of the device's runtime or driver
  stage,   // a range that stands for a stage; value: Stage
  frame,   // a Python frame of a module call; value: NameId of the instance
  range,   // a range that a person put around part of the forward; value: NameId
  call,    // marker of a module call; value: id
  line,    // marker of a source line; value: id
  rest,    // marker of a source line that ran already when the step began; value: id
  param,   // marker of a parameter's gradient accumulation; value: id
  part,    // marker of a kernel inside compiled code; value: id
  step,    // ProfilerStep#N; value: N
  none,
};

struct Meaning {
  Kind kind = Kind::none;
  std::uint32_t value = 0;
};

// Of a record_function range. A name that is a stage's as people write it ("## forward ##", "Zero Grad", "compute_loss") stands for that
// stage; every other name may be a module, which only its place among the operators can tell (annotations.h).
Meaning meaning_of_range(std::string_view name);

struct Traits {
  bool backward = false;      // runs an autograd node
  bool accumulates = false;   // AccumulateGrad
  bool communicates = false;  // a collective or peer-to-peer transfer of NCCL, RCCL, Gloo, MPI…, or a kernel that does the same
  bool waits = false;         // synchronises with the device
  bool replays = false;       // launches a captured graph
  bool moves = false;         // may move a tensor to another device
  bool loss = false;          // computes a loss, by the name of torch's own loss operators
  bool in_place = false;      // writes into its first argument
  bool zeroes = false;        // sets its first argument to zero
  bool reads_back = false;    // brings a value to the host: item(), printing, comparing
};
Traits traits_of(std::string_view name);

}  // namespace hotlens::attribution
