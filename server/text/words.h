// Names and times as the text says them.
#pragma once

#include <string>

#include "annotator/profile/profile.h"
#include "server/features/timeline/shown.h"

namespace hotlens::text {

std::string signed_time(Ns time);                 // "+1.20 ms", "-30.0 µs"
std::string difference(Ns before, Ns after);      // "-8.20 µs (-26 %)"
std::string spaced(std::string_view identifier);  // "zero grad" of "zero_grad"
std::string name_of(const features::ShownTrack& track, const features::ShownBlock& block);
// "61.7 ms"; "12.0 ms of 61.7 ms" where it is drawn in several places; and how much of it is waiting.
std::string busy_of(const features::ShownBlock& block);

}  // namespace hotlens::text
