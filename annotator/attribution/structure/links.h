// From device work to the host call that launched it.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "annotator/attribution/structure/forest.h"
#include "annotator/common/hash.h"

namespace hotlens::attribution {

// By correlation, within the process that drives the device: ids of several processes in one file collide. Which process that is, its
// launches tell: they come before the work, and copies are launched by calls that copy. Where no work of the trace tells a correlation,
// launch arrows stand in, and what launched is then the innermost node at the arrow's tail.
class Launches {
 public:
  Launches(const trace::Trace& trace, const Forest& forest);

  // The node that launched the device event; kNoNode where that lies outside the recording.
  std::uint32_t of(std::uint32_t event) const;

  // True for work on a device that another process than `process` (Forest::Thread::process) drives.
  bool belongs_to_another(std::uint32_t event, std::uint32_t process) const;

 private:
  void add_arrows();
  void settle_processes();
  // The launch with this correlation in `process` (any where kNoNode) that starts last at or before `when`, else the last at all.
  std::uint32_t find(std::int64_t correlation, std::uint32_t process, Ns when) const;
  std::uint32_t device_process(std::uint32_t event) const;

  const trace::Trace& trace_;
  const Forest& forest_;
  std::unordered_map<std::int64_t, std::uint32_t, NumberHash> last_;  // by correlation: the last launch
  std::vector<std::uint32_t> before_;                                 // by node: the launch before it with the same correlation
  std::vector<std::uint32_t> process_of_;                             // by node, of launches; empty where one process launches all
  std::map<std::uint32_t, std::uint32_t> driver_;                     // by process of device work: number of the process that launches it
  std::map<std::pair<std::uint32_t, Ns>, std::uint32_t> by_arrow_;    // thread and start of device work to node
};

}  // namespace hotlens::attribution
