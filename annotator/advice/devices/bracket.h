// What a recorded step would take on another device, as a bracket (after Habitat, ATC 2021): never one number.
//
// The recording's schedule is played again (annotator/causes/simulate.h) with every piece of work as long as the other device needs for it,
// by what both devices reach at their best: products by their rate (where their shapes are known by the roof that they are under, roof.h),
// everything else by the bandwidth of copies. One end of the bracket is
// the unchanged step, another everything by bandwidth; the host, communication and copies from the host stay as they are. Kernels that a
// device has of its own are not known here.
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
