// How far the layers of a profile are from the measured peaks of its device (`hotlens bench-device`): for their hovers.
//
// Looked up once for every profile that is shown, on the pool. What is measured later counts for profiles that are read later.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "annotator/report/cost_card.h"
#include "server/session/client/loop.h"

namespace hotlens::session {

class Peaks {
 public:
  using Shared = std::shared_ptr<const profile::Profile>;
  explicit Peaks(Loop& loop) : loop_(loop) {}
  Peaks(const Peaks&) = delete;
  Peaks& operator=(const Peaks&) = delete;

  void look(const std::vector<Shared>& shown);  // forgets all others
  // Null where nothing was measured, or it is not known yet.
  std::shared_ptr<const report::CostCard> of(const std::string& profile) const;

 private:
  Loop& loop_;
  std::map<std::string, std::shared_ptr<const report::CostCard>> known_;  // by id; null: looked up, or being so
};

}  // namespace hotlens::session
