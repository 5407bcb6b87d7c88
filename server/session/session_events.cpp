// What one part tells, and which other parts are told of it in turn.
#include "server/session/session.h"

namespace hotlens::session {

namespace fs = std::filesystem;

void Session::profiles_changed() {
  tell_state();
  take_up_predictions();
  peaks_.look(shown_runs());
  advising_.look();
  timeline_.profiles_changed();
}

void Session::profiles_bound() {
  client_.refresh_hints();
  take_up_predictions();
  history_.mark();
  edited_.profiles_bound();
  advising_.mark();
  marks_.look();  // another profile may be of another workspace
  marks_.mark();
  if (!profiling_.reading()) client_.refresh_lenses();  // the end of the run asks for them
}

void Session::profiles_settled() {
  waiting_.answer([this](const std::string& uri) { return !waits_for_hints(uri); });
  profiling_.bundle_read();
}

void Session::profile_unreadable(const Error& error) {
  profiling_.bundle_unreadable(error.message);
  client_.show(MessageType::warning, error.message);
}

void Session::run_refused() {
  predicting_.recorded(std::nullopt);
  tell_state();
}

// Lenses and actions name what can be done now.
void Session::run_changed() {
  if (!profiling_.running()) predicting_.recorded(std::nullopt);
  if (profiling_.running()) edited_.stop();
  client_.refresh_lenses();
  timeline_.batch_sizes_changed();
  tell_state();
  if (!profiling_.running()) on_save_.run_ended();
}

// <root>/.hotlens/profiles/<id>: the place is the folder that the run started in.
void Session::run_recorded(const fs::path& bundle) {
  history_.recorded(bundle);
  workspace_.run_folders.insert(bundle.parent_path().parent_path().parent_path());
  profiles_.follow_places();
  profiles_.look_again();
  predicting_.recorded(bundle);
  advising_.recorded(bundle);
}

const char* Session::run_blocked() const {
  if (what_helps_.running()) return "What would help is being replayed: a run would disturb its times. Cancel it, or wait.";
  return verifying_.running() ? "A change is being verified: a run would disturb its times. Cancel it, or wait." : "";
}

void Session::predictions_changed() {
  client_.refresh_lenses();
  timeline_.batch_sizes_changed();
}

void Session::history_changed() {
  client_.refresh_lenses();
  tell_state();
}

void Session::advice_changed() {
  client_.refresh_lenses();
  timeline_.what_ifs_changed();
}

void Session::verification_changed() {
  if (verifying_.running() || what_helps_.running()) edited_.stop();
  timeline_.batch_sizes_changed();
  advising_.look();
}

void Session::what_helps_changed() {
  verification_changed();
  timeline_.what_ifs_changed();
}

void Session::silenced_changed() {
  advising_.look();
  marks_.look();
}

}  // namespace hotlens::session
