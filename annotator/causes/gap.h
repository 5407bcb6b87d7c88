// Why a device idles: one gap of its work, divided by what the host did meanwhile and whether work was queued.
#pragma once

#include <vector>

#include "annotator/attribution/account/account.h"
#include "annotator/profile/profile.h"

namespace hotlens::causes {

struct GapPart {
  Ns start{}, end{};
  profile::Cause cause = profile::Cause::launch;
  const attribution::Owner* owner = nullptr;
  const attribution::Piece* piece = nullptr;  // what the main thread did; null while the launch runs and while work is queued
};

// In order of time, without overlap; what lies before and after the step's own host time is left out. Pointers are into the account.
std::vector<GapPart> parts_of(const attribution::Forest& forest, const attribution::Account& account, const attribution::StepAccount& step,
                              const attribution::Gap& gap);

// What the host does while a device has nothing to run.
profile::Cause cause_beside_device(const attribution::Forest& forest, const attribution::Piece& piece);

}  // namespace hotlens::causes
