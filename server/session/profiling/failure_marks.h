// The mark that a failed run leaves at a line of the user's code, until the next run.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "server/runs/progress.h"
#include "server/session/client/client.h"
#include "server/session/client/workspace.h"

namespace hotlens::session {

class FailureMarks {
 public:
  FailureMarks(Client& client, Workspace& workspace) : client_(client), workspace_(workspace) {}

  // Nothing where the failure has no place.
  void put(const runs::Failure& failure, const std::string& message);
  void clear();

 private:
  std::optional<runs::Frame> place_of(const runs::Failure& failure);
  protocol::Range range_at(const Document* document, std::uint32_t line) const;

  Client& client_;
  Workspace& workspace_;
  std::set<std::string> uris_;
};

}  // namespace hotlens::session
