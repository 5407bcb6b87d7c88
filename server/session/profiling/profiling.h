// Profiling on request: one run at a time, with progress, cancel, and a place in the code when it fails.
//
// User code runs only after profile(), in a workspace that the client did not call untrusted, and never outlives this object. A run is over
// when its bundle was read: the owner says so with bundle_read().
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "protocol/reader.h"
#include "protocol/rpc.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/client/progress_report.h"
#include "server/session/client/workspace.h"
#include "server/session/profiling/failure_marks.h"
#include "server/session/profiling/plan.h"
#include "server/session/profiling/script_output.h"

namespace hotlens::session {

inline constexpr const char* kUntrusted = "The workspace is not trusted: profiling runs its code. Trust the workspace and profile again.";

ProfileArguments read_profile_arguments(const protocol::Reader& reader);
protocol::Json not_started(const std::string& message);  // the answer

class Profiling {
 public:
  using Json = protocol::Json;
  using Shared = std::shared_ptr<const profile::Profile>;
  struct Events {
    std::function<Result<Plan>(const PlanInput&)> plan;               // what to run; on the pool
    std::function<Shared(const std::filesystem::path& file)> latest;  // the profile that a file shows; may be null
    std::function<void()> changed;                                    // a run began or ended
    std::function<void()> refused;                                    // or could not begin: message() says why
    std::function<void(const std::filesystem::path& bundle)> recorded;
    std::function<void(const ProfileArguments& asked, const std::string& message)> arguments_refused;  // by the script
    std::function<void(const ProfileArguments& asked, const std::string& message)> python_unfit;       // it cannot train, or there is none
    std::function<std::string()> blocked;                                                // why no run may begin now; "" where it may
    std::function<void(const ProfileArguments& asked, const Target& target)> undecided;  // somebody has to choose how it runs
    // …and its profile is shown, asked for at this document. `first`: there was none before, and nobody went on to something else.
    std::function<void(const std::string& name, const std::string& uri, bool first)> finished;
  };

  Profiling(Loop& loop, Client& client, Workspace& workspace, Events events);
  Profiling(const Profiling&) = delete;
  Profiling& operator=(const Profiling&) = delete;

  void profile(const Json& argument, protocol::Reply reply);
  void profile(ProfileArguments asked, protocol::Reply reply);
  // Whether code of the workspace may be run; says what to do where it may not.
  bool allowed();
  PlanInput input_for(ProfileArguments asked) const;  // what is known now of a run that somebody asks for
  protocol::Answer cancel(const Json& argument);
  void cancel_progress(const Json& params);

  std::optional<std::int64_t> running() const;  // its id
  bool reading() const { return run_ && run_->reading; }
  const std::string& message() const { return message_; }  // of the last failure; empty after a success

  void went_on();  // somebody typed, or opened another file
  void bundle_unreadable(const std::string& why);
  void bundle_read();
  void shut_down();  // asks the run to end
  void end();        // kills it and waits for its end

 private:
  struct Active {
    std::int64_t id = 0;
    ProfileArguments asked;
    std::string name;  // of the script, for people
    std::filesystem::path script;
    std::uint32_t arguments_line = 0;
    std::unique_ptr<ProgressReport> progress;
    std::string words;  // of the progress, without times
    int percent = 0;
    std::chrono::steady_clock::time_point began;
    std::optional<std::chrono::steady_clock::time_point> trains;  // since
    Loop::Timer tick;
    std::optional<runs::Run> run;
    std::size_t lines = 0;  // of output, passed on so far
    bool cancelled = false;
    std::string unread;    // why its bundle could not be read
    bool reading = false;  // the child ended; its bundle is being loaded
    bool first = false;    // no profile was shown before; nobody went on to something else
  };

  void planned(std::int64_t id, Result<Plan> plan, protocol::Reply reply);
  void refuse(const Result<Plan>& plan, protocol::Reply reply);
  void leave_without_python(const std::string& why, protocol::Reply reply);
  void leave_open(const Target& target, protocol::Reply reply);
  Json start(Active& run, const Plan& plan);
  void on_progress(Active& run, const runs::Progress& progress);
  void tell_time(Active& run);  // again and again
  void on_output(Active& run, const runs::OutputLine& line);
  runs::Observer observer(Active& run);
  void on_end(Active& run, const runs::RunEnd& end);
  void fail(Active& run, const runs::RunEnd& end);
  void finish(const std::string& said);  // there is no run afterwards

  Loop& loop_;
  Client& client_;
  Workspace& workspace_;
  Events events_;
  FailureMarks marks_;
  ScriptOutput output_;
  std::optional<Active> run_;
  std::int64_t last_ = 0;
  std::string message_;
  bool shut_down_ = false;
};

}  // namespace hotlens::session
