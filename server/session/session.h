// The conversation with one client, from initialize to exit. Everything here runs on the strand.
//
// A message is handled in the order of arrival and at once; a handler that needs what is not there yet keeps the Reply. What blocks
// (loading a profile, binding it to a file, deciding what to run) goes to the pool on snapshots and comes back as one task. Invariants:
// every request is answered exactly once; a document that showed something never shows less because something is being loaded; user code
// runs only after an explicit command in a workspace that the client did not call untrusted, and never outlives the session.
//
// The parts, one file each: session.cpp (dispatch), session_lifecycle.cpp, session_sync.cpp (documents, settings), session_features.cpp
// (hints, hover, lenses, actions), session_profiles.cpp (what is shown), session_runs.cpp (profiling), session_timeline.cpp (the timeline).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocol/reader.h"
#include "protocol/rpc.h"
#include "server/session/client.h"
#include "server/session/documents.h"
#include "server/session/loop.h"
#include "server/session/plan.h"
#include "server/session/progress_report.h"
#include "server/session/settings.h"
#include "server/session/store.h"
#include "server/session/timeline.h"

namespace hotlens::session {

class Session {
 public:
  using Json = protocol::Json;
  using Answer = protocol::Answer;
  using Reply = protocol::Reply;
  struct Log {
    std::function<void(std::string_view)> note;  // what a reader of the log wants to know
    std::function<void(std::string_view)> warn;  // what somebody should look at
  };

  Session(Loop& loop, Client::Send send, Log log);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void receive(Incoming incoming);
  void input_ended(bool broken, const std::string& reason);
  void end_run();  // kills a run that is left and waits for its end

 private:
  enum class Life : std::uint8_t { fresh, running, shut_down };
  using Requests = std::map<std::string, void (*)(Session&, const Json&, Reply), std::less<>>;
  using Notifications = std::map<std::string, void (*)(Session&, const Json&), std::less<>>;
  static const Requests& requests();
  static const Notifications& notifications();

  void dispatch(Incoming incoming);
  void handle(protocol::Request request, bool cancelled);
  void handle(const protocol::Notification& notification);
  void handle(protocol::Rejected rejected);

  // Lifecycle.
  Answer initialize(const Json& params);
  void initialized(const Json& params);
  Answer shutdown(const Json& params);
  void exit(const Json& params);
  void watch_client_process(std::int64_t process, bool seen_alive);
  void cancel_request(const Json& params);

  // Documents and settings.
  void did_open(const Json& params);
  void did_change(const Json& params);
  void did_save(const Json& params);
  void did_close(const Json& params);
  void did_change_folders(const Json& params);
  void did_change_configuration(const Json& params);
  void did_change_watched_files(const Json& params);
  void set_trust(const Json& params);
  void pull_configuration();
  void apply_settings(const Json& value);
  void reject_params(std::string_view method, const protocol::RpcError& error);

  // Features.
  void inlay_hints(const Json& params, Reply reply);
  Answer resolve_hint(const Json& params);
  void own_hints(const Json& params, Reply reply);
  Answer hover(const Json& params);
  Answer code_lenses(const Json& params);
  Answer code_actions(const Json& params);
  // `own`: for clients that draw themselves; labels are plain text and tooltips complete.
  enum class HintForm { own, eager, lazy };
  // The list as JSON text.
  std::string hints_of(const Document& document, const std::optional<protocol::Range>& range, HintForm form) const;
  Document* readable(const protocol::Reader& params);  // null: not open, not ours, or out of step
  features::Options options() const;
  bool waits_for_first_hints(const Document& document) const;
  // `make` gives the result as JSON text.
  void when_hints_known(const std::string& uri, std::function<std::string(Document*)> make, Reply reply);
  void answer_waiting();

  // Profiles.
  void start_profiles();
  void poll_profiles();
  void update_places();
  void open_trace();  // that the settings name
  void bind_documents();
  void bind(const std::vector<Document*>& documents, bool refresh);
  void profiles_changed();
  void profiles_settled();
  void profile_unreadable(const Error& error);
  Json state_of(const std::filesystem::path& file) const;
  Answer profile_state(const Json& params);
  void tell_profile_state();

  // Runs.
  void execute_command(const Json& params, Reply reply);
  void profile(const Json& argument, Reply reply);
  Answer cancel(const Json& argument);
  void cancel_progress(const Json& params);
  void start_run(Result<Plan> plan, Reply reply);
  struct ActiveRun;
  void on_run_progress(ActiveRun& run, const runs::Progress& progress);
  void on_run_output(ActiveRun& run, const runs::OutputLine& line);
  void on_run_end(ActiveRun& run, const runs::RunEnd& end);
  void fail_run(ActiveRun& run, const runs::RunEnd& end);
  void finish_run(ActiveRun& run, const std::string& said);  // there is no run afterwards
  std::optional<runs::Frame> place_of(const runs::Failure& failure);
  void publish_failure(const runs::Failure& failure, const std::string& message);
  void clear_failure();
  void run_changed();

  // The timeline.
  static bool answers_timeline(std::string_view method);
  void timeline(std::string_view method, const Json& params, Reply reply);
  void answer_timeline();
  void timeline_cursor(const Json& params);
  void open_timeline(const Json& argument, Reply reply);
  void timeline_opened(Json place, bool in_browser, Reply& reply);
  void reveal(const Json& params, Reply reply);
  void point(const Json& params, Reply reply);
  void light(Json lines);  // in the editor, in place of those before
  bool start_web(std::string& refused);
  void update_timeline();   // what it may show
  void timeline_changed();  // a profile came or went
  void tell_timeline(std::string_view method, const Json& params);
  source::Position place_in(const Document& document, protocol::Position at) const;
  std::string timeline_offer(const Document& document,
                             protocol::Position at) const;  // the last line of a hover; "" where nothing is offered

  struct ActiveRun {
    std::int64_t id = 0;
    std::string name;  // of the script, for people
    std::unique_ptr<ProgressReport> progress;
    std::optional<runs::Run> run;
    std::size_t lines = 0;  // of output, passed on so far
    bool cancelled = false;
    std::string unread;    // why its bundle could not be read
    bool reading = false;  // the child ended; its bundle is being loaded
  };
  struct Waiting {
    std::string uri;
    std::function<std::string(Document*)> make;
    Reply reply;
    Loop::Timer limit;
  };

  Loop& loop_;
  Client client_;
  Log log_;
  Life life_ = Life::fresh;
  Documents documents_;
  std::vector<std::filesystem::path> folders_;
  Settings settings_;
  Json initial_options_;
  std::set<std::filesystem::path> run_folders_;  // where runs left their bundles
  std::set<std::string> complaints_;             // said once
  bool trusted_ = true;
  ProfileStore store_;
  bool profiles_started_ = false;
  std::string last_message_;  // of the last failure; empty after a success
  std::set<std::string> failure_uris_;
  std::map<std::int64_t, Waiting> waiting_;
  std::map<Json, std::int64_t> waiting_ids_;  // request id -> key in waiting_
  std::int64_t next_waiting_ = 1;
  Json current_request_;  // id of the request being handled
  std::optional<ActiveRun> run_;
  std::int64_t next_run_ = 1;
  int binding_ = 0;
  Timeline timeline_;
  Loop::Timer process_timer_, poll_timer_, timeline_timer_;
};

}  // namespace hotlens::session
