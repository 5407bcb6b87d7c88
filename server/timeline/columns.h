// The blocks of one track as columns of equal length, texts told once: what `level` and `recording` answer (protocol/TIMELINE.md).
#pragma once

#include "protocol/rpc.h"
#include "server/features/timeline/shown.h"

namespace hotlens::timeline_requests {

protocol::Json columns(const features::ShownTrack& track);

// {id, kind, name, busy, blocks}
protocol::Json track_json(const features::ShownTrack& track);

}  // namespace hotlens::timeline_requests
