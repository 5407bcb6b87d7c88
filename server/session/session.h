// The language server's strand: objects that know little of each other, and what joins them.
//
//   documents/   open documents and notebooks, and places in them as the client counts
//   client/      Conversation: which message is handled when; Client: what is sent; Loop: the strand; settings, Workspace
//   profiles/    ShownProfiles: which profile each document shows; History: what it is compared with; Peaks: measured ones of the device
//   profiling/   Profiling: runs of the user's script; RunArguments and RunChoice: with what; ProfileOnSave; StoredRuns: as seen last
//   advice/      Advising: what would help, at its lines; Silencing; WhatHelps, Predicting, Verifying: on request, in a child process;
//                EditedLayers: what edits would cost, while somebody types
//   timeline/    TimelineDoor: the timeline, over this connection and in a browser
//   lines/       DocumentAnswers: hints, hovers and more; WaitingHints: requests that came too early; Marks; HotLines
//
// Each folder knows those above it alone, `timeline/` nothing of `advice/`.
//
// They share a Workspace (what the client told) and ShownProfiles (which profile each document shows); events go up to the session, which
// passes them on. Everything runs on the strand. Invariants: a document that showed something never shows less because something is being
// loaded; user code runs only after an explicit command in a workspace that the client did not call untrusted, and never outlives this.
#pragma once

#include <set>
#include <string>

#include "protocol/reader.h"
#include "server/session/advice/advising.h"
#include "server/session/advice/edited_layers.h"
#include "server/session/advice/predicting.h"
#include "server/session/advice/silencing.h"
#include "server/session/advice/verifying.h"
#include "server/session/advice/what_helps.h"
#include "server/session/client/client.h"
#include "server/session/client/client_process.h"
#include "server/session/client/conversation.h"
#include "server/session/lines/calls.h"
#include "server/session/lines/document_answers.h"
#include "server/session/lines/hot_lines.h"
#include "server/session/lines/marks.h"
#include "server/session/lines/waiting_hints.h"
#include "server/session/profiles/history.h"
#include "server/session/profiles/peaks.h"
#include "server/session/profiles/shown_profiles.h"
#include "server/session/profiling/arguments.h"
#include "server/session/profiling/choice.h"
#include "server/session/profiling/interpreter_choice.h"
#include "server/session/profiling/profile_on_save.h"
#include "server/session/profiling/profiling.h"
#include "server/session/profiling/stored_runs.h"
#include "server/session/timeline/door.h"

namespace hotlens::session {

class Session {
 public:
  Session(Loop& loop, Client::Send send, Log log);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void receive(Incoming incoming) { conversation_.receive(std::move(incoming)); }
  void input_ended(bool broken, const std::string& reason) { conversation_.input_ended(broken, reason); }
  // Kills a run or a prediction that is left and waits for its end.
  void end_run();

 private:
  using Json = protocol::Json;
  using Wrong = std::optional<protocol::RpcError>;

  void register_requests();
  void register_notifications();

  protocol::Answer initialize(const Json& params);
  Wrong initialized();
  void shut_down();

  Wrong did_open(const Json& params);
  Wrong did_change(const Json& params);
  Wrong did_save(const Json& params);
  Wrong did_close(const Json& params);
  Wrong did_open_notebook(const Json& params);
  Wrong did_change_notebook(const Json& params);
  Wrong did_save_notebook(const Json& params);
  Wrong did_close_notebook(const Json& params);
  void script_changed(const std::string& uri);
  Wrong did_change_folders(const Json& params);
  Wrong did_change_configuration(const Json& params);
  Wrong set_trust(const Json& params);
  void pull_configuration();
  void apply_settings(const Json& value);

  void inlay_hints(const Json& params, protocol::Reply reply);
  void own_hints(const Json& params, protocol::Reply reply);
  // Of the whole document as it is now, "null" where there is none.
  void about_lines(const Json& params, std::string (*make)(const Known&, const Document&), protocol::Reply reply);
  bool waits_for_hints(const std::string& uri);
  Document* in_step(const std::string& uri);
  // `make` gives the answer for the document as it is then; "null" where there is none.
  void when_hints_known(const std::string& uri, std::function<std::string(const Document&)> make, protocol::Reply reply);

  void execute_command(const Json& params, protocol::Reply reply);
  void code_actions(const Json& params, protocol::Reply reply);
  std::vector<ProfileStore::Shared> shown_runs() const;
  std::vector<std::filesystem::path> shown_bundles() const;
  ProfileStore::Shared current_profile() const;
  ProfileStore::Shared newest_of(const std::filesystem::path& file) const;  // that may be shown for it
  ProfileStore::Shared shown_in(const std::string& uri);                    // empty: the current one
  void take_up_predictions();
  void profile(const Json& argument, protocol::Reply reply);
  void predict(const Json& argument, protocol::Reply reply);
  struct Shown {
    std::string uri;  // of a document; empty: of none
    ProfileStore::Shared profile;
  };
  Shown shown_with(const std::string& profile) const;
  std::string no_prediction(const Shown& shown) const;
  Predictions predictions_for(const std::string& profile) const;
  void predict_for(const std::string& profile, protocol::Reply reply);
  std::string plan_state(const std::string& profile) const;
  void plan_for(const std::string& profile, protocol::Reply reply);
  protocol::Answer cancel(const Json& argument);
  protocol::Answer change_unit(const Json& argument);
  std::string busy() const;
  std::vector<std::filesystem::path> silenced_lists() const;
  std::optional<Silencing::Entry> place_to_silence(const std::string& profile, const std::string& kind,
                                                   std::optional<std::uint32_t> line) const;
  protocol::Answer profile_state(const Json& params) const;
  Json state_of(const std::filesystem::path& file) const;
  void tell_state();

  void profiles_changed();
  void profiles_bound();
  void profiles_settled();
  void profile_unreadable(const Error& error);
  const char* run_blocked() const;  // why no run may begin now; "" where it may
  void run_changed();
  void run_refused();
  void run_recorded(const std::filesystem::path& bundle);
  void predictions_changed();
  void history_changed();
  void advice_changed();
  void verification_changed();
  void what_helps_changed();
  void silenced_changed();
  TimelineSources::Known timeline_sources() const;
  Known known();

  Loop& loop_;
  Workspace workspace_;
  Client client_;
  Json initial_options_;
  std::set<std::string> complaints_;  // said once
  Conversation conversation_;
  ClientProcess client_process_;
  ShownProfiles profiles_;
  StoredRuns stored_;
  Profiling profiling_;
  ProfileOnSave on_save_;
  Predicting predicting_;
  EditedLayers edited_;
  RunChoice choice_;
  RunArguments arguments_;
  InterpreterChoice interpreters_;
  History history_;
  HotLines hot_lines_;
  Calls calls_;
  Peaks peaks_;
  Advising advising_;
  Verifying verifying_;
  WhatHelps what_helps_;
  Marks marks_;
  Silencing silencing_;
  TimelineDoor timeline_;
  WaitingHints waiting_;
};

}  // namespace hotlens::session
