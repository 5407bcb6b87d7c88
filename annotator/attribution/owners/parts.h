// What the kernels of compiled code work for: their modules and source lines, seen from the module whose call runs the code.
//
// A compiled function runs as one piece, but the recorder knows which nodes of the graph each of its kernels computes (`hotlens.part#N` in
// the map step). Modules that only the graph knows were never called in Python: they get calls of their own here, each one inside the call
// that runs the code, so that two layers that share compiled code stay apart.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "annotator/attribution/owners/owners.h"

namespace hotlens::attribution {

class Parts {
 public:
  // Both must outlive this.
  Parts(const ModuleMap& map, Owners& owners);

  // Gives `owner`, who runs the code, what the kernel `part` works for. Unchanged where that is not known.
  void enter(std::uint32_t part, Ns start, Owner& owner);

 private:
  std::uint32_t module_of(std::uint32_t base, const PartModule& part) const;
  std::uint32_t call_of(std::uint32_t call, const PartShare& share, Ns start, bool again);
  std::uint32_t line_of(std::uint32_t line, const PartShare& share, Ns start);

  const ModuleMap& map_;
  Owners& owners_;
  std::unordered_map<std::string, std::uint32_t> by_path_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> calls_, lines_;  // by the link around and the module or line
};

}  // namespace hotlens::attribution
