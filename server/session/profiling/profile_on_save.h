// Profiles again after a save, for clients whose setting asks for it: what the profile shows is then what the file says.
//
// Nothing begins in a workspace that is not trusted, nor for a file that no profile knows. Who saves during a run gets another one after
// it.
#pragma once

#include <functional>
#include <optional>

#include "protocol/rpc.h"
#include "server/session/client/workspace.h"
#include "server/session/profiling/plan.h"

namespace hotlens::session {

class ProfileOnSave {
 public:
  struct Events {
    std::function<bool()> running;
    std::function<void(const ProfileArguments& asked, protocol::Reply reply)> profile;
  };

  ProfileOnSave(Workspace& workspace, Events events) : workspace_(workspace), events_(std::move(events)) {}

  void saved(ProfileArguments asked, protocol::Reply reply);
  void run_ended();                    // whatever run it was
  void forget() { waiting_.reset(); }  // somebody cancelled

 private:
  Workspace& workspace_;
  Events events_;
  std::optional<ProfileArguments> waiting_;  // for the end of the run
};

}  // namespace hotlens::session
