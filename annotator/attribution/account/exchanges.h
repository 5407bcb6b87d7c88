// The main thread's waiting for other processes, in a run without device work: Gloo and MPI exchange on threads of their own.
//
// Nothing on the main thread says that it waits: it is outside every operator. It waited where it goes on soon after an exchange ended, or
// where it is inside backward, which ends with the exchange of gradients.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "annotator/attribution/account/account.h"

namespace hotlens::attribution {

struct HostExchange {
  Ns start{}, end{};
  std::uint32_t event = 0;  // the range that the exchange has
};

// Exchanges on other threads of the process of the main thread, by start.
std::vector<HostExchange> exchanges_beside(const trace::Trace& trace, const Forest& forest, const Steps& steps);

// The same, merged.
std::vector<Interval> host_exchanges(const trace::Trace& trace, const Forest& forest, const Steps& steps);

// The wall with idle pieces cut where exchanges begin and end; what of them is waiting is communication, in its stage.
std::vector<Piece> with_waiting(const std::vector<Piece>& wall, std::span<const Interval> exchanges);

}  // namespace hotlens::attribution
