// What a recorded step would take on another device, as a bracket (after Habitat, ATC 2021): never one number.
//
// The recording's schedule is played again (annotator/causes/simulate.h) with every piece of work as long as the other device needs for it,
// by what both devices reach at their best. Of an operator whose shapes are known, what the roof that it is under explains of its time
// goes by that roof (roof.h), and the rest by the arithmetic in f32 of one thread: most kernels are far below both roofs, and what holds
// them up (latency, instructions) is the cores'. Of others products go by their rate and everything else by the bandwidth of copies. One
// end of the bracket is the unchanged step, another everything by bandwidth; the host, communication and copies from the host stay as they
// are. Kernels that a device has of its own are not known here.
#pragma once

#include <string>

#include "annotator/advice/devices/row.h"
#include "annotator/common/units.h"
#include "annotator/profile/build/annotated.h"
#include "annotator/profile/profile.h"

namespace hotlens::devices {

struct Bracket {
  Row here, there;
  std::string profile;
  Ns step_was{}, low{}, high{}, middle{};
  double covered = 0;  // share of the work whose kind is known
};

// Less than this share of known work is refused (ErrorCode::unsupported); so is a recording without steps.
constexpr double kLeastCovered = 0.7;
Result<Bracket> bracket(const profile::Annotated& annotated, const profile::Profile& profile, const Row& here, const Row& there);

std::string as_text(const Bracket& bracket);
std::string as_json(const Bracket& bracket);

}  // namespace hotlens::devices
