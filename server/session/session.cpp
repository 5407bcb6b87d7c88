#include "server/session/session.h"

#include <algorithm>
#include <utility>

#include "annotator/common/format.h"
#include "annotator/profile/loop.h"
#include "protocol/messages.h"
#include "protocol/uri.h"
#include "server/runs/packages.h"
#include "server/session/documents/convert.h"

namespace hotlens::session {

namespace fs = std::filesystem;
using protocol::Answer;
using protocol::Json;
using protocol::Reader;
using protocol::Reply;

Session::Session(Loop& loop, Client::Send send, Log log)
    : loop_(loop),
      client_(std::move(send), workspace_.notebooks),
      conversation_(
          client_, std::move(log),
          {.initialize = [this](const Json& params) { return initialize(params); },
           .translate = [this](std::string_view method, Json& params) { return ask_script(workspace_.notebooks, method, params); },
           .shut_down = [this] { shut_down(); },
           .leave = [this](int code) { loop_.stop(code); }}),
      client_process_(loop,
                      [this] {
                        conversation_.log().warn("closing: the client's process is gone");
                        loop_.stop(1);
                      }),
      profiles_(loop, workspace_, conversation_.log(),
                {.changed = [this] { profiles_changed(); },
                 .bound = [this] { profiles_bound(); },
                 .settled = [this] { profiles_settled(); },
                 .failed = [this](const Error& error) { profile_unreadable(error); }}),
      stored_(loop, workspace_, [this] { client_.refresh_lenses(); }),
      profiling_(
          loop, client_, workspace_,
          {.plan = [](const PlanInput& input) { return plan_run(input, runs::process_environment(), runs::find_recorder()); },
           .latest = [this](const fs::path& file) { return newest_of(file); },
           .changed = [this] { run_changed(); },
           .refused = [this] { run_refused(); },
           .recorded = [this](const fs::path& bundle) { run_recorded(bundle); },
           .arguments_refused = [this](const ProfileArguments& asked, const std::string& message) { arguments_.refused(asked, message); },
           .python_unfit = [this](const ProfileArguments& asked, const std::string& message) { interpreters_.unfit(asked, message); },
           .blocked = [this] { return run_blocked(); },
           .undecided = [this](const ProfileArguments& asked, const Target& target) { choice_.decide(asked, target); },
           .finished = [this](const std::string& name, const std::string& uri, bool first) { hot_lines_.announce(name, uri, first); }}),
      on_save_(workspace_,
               {.running = [this] { return profiling_.running().has_value(); },
                .profile = [this](const ProfileArguments& asked, Reply reply) { profiling_.profile(asked, std::move(reply)); }}),
      predicting_(loop, client_, workspace_,
                  {.shown = [this](const std::string& uri) { return shown_in(uri); },
                   .record = [this](const std::string& uri, const std::string& sizes,
                                    Reply reply) { profiling_.profile(Json{{"uri", uri}, {"batchSizes", sizes}}, std::move(reply)); },
                   .changed = [this] { predictions_changed(); }}),
      edited_(loop, client_, workspace_,
              {.disturbs = [this] { return profiling_.running().has_value() || verifying_.running() || what_helps_.running(); },
               .changed = [this] { client_.refresh_hints(); }}),
      choice_(loop, client_, profiling_, [this] { stored_.look(); }),
      arguments_(loop, client_, profiling_, choice_, [this] { stored_.look(); }),
      interpreters_(loop, client_, profiling_, [this] { stored_.look(); }),
      history_(
          loop, client_, workspace_,
          {.shown = [this](const fs::path& file) { return newest_of(file); },
           .folders = [this] { return timeline_sources().folders; },
           .choose = [this](const fs::path& home, const fs::path& bundle) { profiles_.choose(home, bundle); },
           .compare_with = [this](const fs::path& home, const ProfileStore::Shared& baseline) { profiles_.compare_with(home, baseline); },
           .changed = [this] { history_changed(); }}),
      hot_lines_(loop, client_, workspace_, [this](const fs::path& file) { return newest_of(file); }),
      calls_(loop, client_, workspace_),
      peaks_(loop),
      advising_(loop, client_, workspace_,
                {.shown = [this] { return shown_runs(); },
                 .verifying = [this] { return verifying_.running(); },
                 .changed = [this] { advice_changed(); }}),
      verifying_(loop, client_, workspace_,
                 {.find = [this](const std::string& profile, const std::string& kind) { return advising_.find(profile, kind); },
                  .busy = [this] { return busy(); },
                  .changed = [this] { verification_changed(); }}),
      what_helps_(loop, client_, workspace_,
                  {.shown = [this](const std::string& uri) { return shown_in(uri); },
                   .busy = [this]() -> std::string { return verifying_.running() ? "A change is being verified." : busy(); },
                   .sweep = [this](const fs::path& bundle) { return advising_.sweep(bundle); },
                   .changed = [this] { what_helps_changed(); }}),
      marks_(loop, client_, workspace_, [this] { return shown_bundles(); }),
      silencing_(loop, client_,
                 {.find = [this](const std::string& profile, const std::string& kind,
                                 std::optional<std::uint32_t> line) { return place_to_silence(profile, kind, line); },
                  .lists = [this] { return silenced_lists(); },
                  .changed = [this] { silenced_changed(); }}),
      timeline_(loop, client_, workspace_,
                {.sources = [this] { return timeline_sources(); },
                 .current = [this]() -> std::string {
                   const ProfileStore::Shared shown = current_profile();
                   return shown ? shown->id : "";
                 },
                 .predictions = [this](const std::string& profile) { return predictions_for(profile); },
                 .predict = [this](const std::string& profile, Reply reply) { predict_for(profile, std::move(reply)); },
                 .plan_state = [this](const std::string& profile) { return plan_state(profile); },
                 .plan = [this](const std::string& profile, Reply reply) { plan_for(profile, std::move(reply)); },
                 .baseline = [this](const fs::path& file) { return history_.baseline(file); }}),
      waiting_(loop) {
  register_requests();
  register_notifications();
}

void Session::register_requests() {
  const auto about_document = [this](Answer (*answer)(const Known&, const Json&)) {
    return [this, answer](const Json& params) { return answer(known(), params); };
  };
  conversation_.on_request("textDocument/inlayHint", [this](const Json& params, Reply reply) { inlay_hints(params, std::move(reply)); });
  conversation_.on_request("hotlens/hints", [this](const Json& params, Reply reply) { own_hints(params, std::move(reply)); });
  conversation_.on_request("hotlens/heat", [this](const Json& params, Reply reply) { about_lines(params, heat_json, std::move(reply)); });
  conversation_.on_request("textDocument/documentSymbol",
                           [this](const Json& params, Reply reply) { about_lines(params, symbols_json, std::move(reply)); });
  conversation_.on_request("hotlens/hotLines", [this](const Json& params, Reply reply) { hot_lines_.list(params, std::move(reply)); });
  conversation_.on_request("hotlens/history", [this](const Json& params, Reply reply) { history_.list(params, std::move(reply)); });
  conversation_.answer("inlayHint/resolve", about_document(resolved_hint));
  conversation_.answer("textDocument/hover", about_document(hover));
  conversation_.answer("textDocument/codeLens", about_document(code_lenses));
  conversation_.on_request("textDocument/codeAction", [this](const Json& params, Reply reply) { code_actions(params, std::move(reply)); });
  conversation_.answer("hotlens/profileState", [this](const Json& params) { return profile_state(params); });
  conversation_.on_request("workspace/executeCommand",
                           [this](const Json& params, Reply reply) { execute_command(params, std::move(reply)); });
  for (const std::string& method : TimelineDoor::methods()) {
    conversation_.on_request(method,
                             [this, method](const Json& params, Reply reply) { timeline_.request(method, params, std::move(reply)); });
  }
}

void Session::register_notifications() {
  const auto to = [this](std::string method, Wrong (Session::*handler)(const Json&)) {
    conversation_.on_notification(std::move(method), [this, handler](const Json& params) { return (this->*handler)(params); });
  };
  to("textDocument/didOpen", &Session::did_open);
  to("textDocument/didChange", &Session::did_change);
  to("textDocument/didSave", &Session::did_save);
  to("textDocument/didClose", &Session::did_close);
  to("notebookDocument/didOpen", &Session::did_open_notebook);
  to("notebookDocument/didChange", &Session::did_change_notebook);
  to("notebookDocument/didSave", &Session::did_save_notebook);
  to("notebookDocument/didClose", &Session::did_close_notebook);
  to("workspace/didChangeWorkspaceFolders", &Session::did_change_folders);
  to("workspace/didChangeConfiguration", &Session::did_change_configuration);
  to("hotlens/trust", &Session::set_trust);
  conversation_.on_notification("initialized", [this](const Json&) { return initialized(); });
  conversation_.on_notification("workspace/didChangeWatchedFiles", [this](const Json&) {
    stored_.look();
    return profiles_.look(), Wrong();
  });
  conversation_.on_notification("hotlens/timeline/cursor", [this](const Json& params) { return timeline_.cursor(params); });
  conversation_.on_notification("window/workDoneProgress/cancel", [this](const Json& params) {
    profiling_.cancel_progress(params);
    predicting_.cancel_progress(params);
    verifying_.cancel_progress(params);
    what_helps_.cancel_progress(params);
    edited_.cancel_progress(params);
    return Wrong();
  });
  conversation_.on_notification("$/cancelRequest", [this](const Json& params) {
    const auto id = params.is_object() ? params.find("id") : params.end();
    if (params.is_object() && id != params.end()) waiting_.cancel(*id);
    return Wrong();
  });
}

Answer Session::initialize(const Json& params) {
  const Reader reader(params);
  if (!params.is_object()) reader.fail("an object");
  if (const auto capabilities = reader.maybe("capabilities"); capabilities && !capabilities->json().is_object()) {
    capabilities->fail("an object");
  }
  if (auto error = reader.error()) return std::unexpected(*error);

  Initialize from = read_initialize(params);
  client_.can = from.client;
  workspace_.folders = std::move(from.folders);
  initial_options_ = std::move(from.options);
  if (initial_options_.is_object()) {
    const auto trusted = initial_options_.find("trusted");
    if (trusted != initial_options_.end() && trusted->is_boolean()) workspace_.trusted = trusted->get<bool>();
  }
  workspace_.settings = read_settings(initial_options_, Settings{}).settings;
  if (from.process_id) client_process_.watch(*from.process_id);
  conversation_.log().note("client " + from.client_name + ", " + std::to_string(workspace_.folders.size()) + " folders, " +
                           std::string(name(client_.can.encoding)));
  return initialize_result(client_.can);
}

Session::Wrong Session::initialized() {
  if (const Json list = registrations(client_.can); !list.empty()) {
    client_.request("client/registerCapability", {{"registrations", list}});
  }
  apply_settings(Json());  // complaints about the initial options could not be shown before
  pull_configuration();
  profiles_.start();
  history_.take_up();
  stored_.start();
  advising_.start();
  marks_.start();
  return std::nullopt;
}

void Session::shut_down() {
  profiles_.stop();
  stored_.stop();
  advising_.stop();
  marks_.stop();
  timeline_.shut_down();
  waiting_.end();
  profiling_.shut_down();
  edited_.stop();
}

void Session::end_run() {
  profiling_.end();
  predicting_.end();
  verifying_.end();
  what_helps_.end();
  edited_.end();
}

Known Session::known() {
  return {.workspace = workspace_,
          .can = client_.can,
          .running = profiling_.running().has_value(),
          .predicting = predicting_.running(),
          .predicted = [this](const std::string& profile) { return predicting_.of(profile); },
          .edited = [this](const Document& document) -> const std::vector<EditNote>& { return edited_.of(document); },
          .label = [this](const Document& document) { return history_.label(document); },
          .costs = [this](const std::string& profile) { return peaks_.of(profile); },
          .configured = [this](const fs::path& script) { return stored_.of(script); },
          .advice = [this](const Document& document, source::Position at) { return advising_.at(document, at); },
          .checkpoints = [this](const Document& document) { return advising_.lens(document); },
          .evidence = [this](const Document& document, std::uint32_t line) { return marks_.evidence(document, line); },
          .offer = [this](const Document& document, protocol::Position at) { return timeline_.offer(document, at); }};
}

void Session::inlay_hints(const Json& params, Reply reply) {
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  const protocol::Range range = read_range(reader["range"]);
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  const HintForm form = client_.can.hint_lazy_tooltip ? HintForm::lazy : HintForm::eager;
  when_hints_known(
      uri, [this, range, form](const Document& document) { return hints_json(known(), document, range, form); }, std::move(reply));
}

void Session::own_hints(const Json& params, Reply reply) {
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  const auto wanted = reader.maybe("range");
  const std::optional<protocol::Range> range = wanted ? std::optional(read_range(*wanted)) : std::nullopt;
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  when_hints_known(uri, [this, range](const Document& document) { return own_hints_json(known(), document, range); }, std::move(reply));
}

void Session::about_lines(const Json& params, std::string (*make)(const Known&, const Document&), Reply reply) {
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  const Document* document = in_step(uri);
  reply(protocol::Written(document != nullptr ? make(known(), *document) : "null"));
}

Document* Session::in_step(const std::string& uri) {
  Document* document = workspace_.documents.find(uri);
  return document != nullptr && document->in_step() ? document : nullptr;
}

// The document's first binding is still under way, and the client has no way to learn of a better answer.
bool Session::waits_for_hints(const std::string& uri) {
  const Document* document = in_step(uri);
  const bool told_later = client_.can.hint_refresh || client_.can.own_messages;
  return document != nullptr && !told_later && profiles_.is_expected(*document);
}

void Session::when_hints_known(const std::string& uri, std::function<std::string(const Document&)> make, Reply reply) {
  auto answer = [this, uri, make = std::move(make)]() -> std::string {
    const Document* document = in_step(uri);
    return document != nullptr ? make(*document) : "null";
  };
  if (!waits_for_hints(uri)) return reply(protocol::Written(answer()));
  waiting_.wait(conversation_.current(), uri, std::move(answer), std::move(reply));
}

// What the workspace shows; may be null.
ProfileStore::Shared Session::newest_of(const fs::path& file) const {
  const auto shown = profiles_.candidates(file);
  return shown.empty() ? nullptr : shown.front();
}

ProfileStore::Shared Session::shown_in(const std::string& uri) {
  if (uri.empty()) return current_profile();
  const Document* document = workspace_.documents.find(uri);
  return document != nullptr ? document->profile() : nullptr;
}

ProfileStore::Shared Session::current_profile() const {
  const auto shown = profiles_.candidates({});
  return shown.empty() ? nullptr : shown.front();
}

// Best first: of each place alone what its files show, no bare traces.
std::vector<ProfileStore::Shared> Session::shown_runs() const {
  std::vector<ProfileStore::Shared> runs;
  const auto add = [&](const fs::path& file) {
    const auto shown = profiles_.candidates(file);
    if (shown.empty() || shown.front()->folder.empty()) return;
    const auto same = [&](const ProfileStore::Shared& one) { return one->folder == shown.front()->folder; };
    if (std::ranges::none_of(runs, same)) runs.push_back(shown.front());
  };
  add({});
  for (const auto& [uri, document] : workspace_.documents) add(document.path());
  return runs;
}

std::vector<fs::path> Session::shown_bundles() const {
  std::vector<fs::path> bundles;
  for (const ProfileStore::Shared& run : shown_runs()) bundles.push_back(run->folder);
  return bundles;
}

void Session::take_up_predictions() {
  predicting_.take_up(current_profile());
  for (const auto& [uri, document] : workspace_.documents) predicting_.take_up(document.profile());
}

Json Session::state_of(const fs::path& file) const {
  const auto run = profiling_.running();
  Json state{{"loading", profiles_.loading()}, {"running", run.has_value()}};
  const auto candidates = profiles_.candidates(file);
  if (!candidates.empty()) {
    const profile::Profile& shown = *candidates.front();
    const Ns step = step_time(mean_update(shown));
    state["profile"] = {{"id", shown.id},
                        {"source", shown.source},
                        {"created", shown.created},
                        {"torch", shown.torch},
                        {"folder", shown.folder.string()},
                        {"stepNs", step.count()},
                        {"step", format::readable(step)}};
  }
  if (run) state["runId"] = *run;
  if (!profiling_.message().empty()) state["message"] = profiling_.message();
  if (std::string chosen = history_.chosen(file); !chosen.empty()) state["chosen"] = std::move(chosen);
  if (std::string baseline = history_.baseline(file); !baseline.empty()) state["baseline"] = std::move(baseline);
  return state;
}

Answer Session::profile_state(const Json& params) const {
  const Reader reader(params);
  fs::path file;
  if (const auto document = reader.maybe("textDocument")) {
    file = protocol::path_of_uri((*document)["uri"].string()).value_or(fs::path());
  }
  if (auto error = reader.error()) return std::unexpected(*error);
  return state_of(file);
}

void Session::tell_state() {
  if (client_.can.own_messages) client_.notify(protocol::message::kProfileChanged, state_of(fs::path()));
}

TimelineSources::Known Session::timeline_sources() const {
  TimelineSources::Known known{.folders = workspace_.folders, .roots = workspace_.folders, .python = workspace_.settings.python};
  known.folders.insert(known.folders.end(), workspace_.run_folders.begin(), workspace_.run_folders.end());
  for (const auto& [uri, document] : workspace_.documents) {
    for (fs::path& folder : runs::import_folders(document.path())) known.roots.push_back(std::move(folder));
    known.folders.push_back(document.path().parent_path());
  }
  for (const ProfileStore::Shared& shown : profiles_.candidates({})) {
    known.shown.push_back(shown->folder.empty() ? fs::path(shown->source) : shown->folder);
  }
  return known;
}

}  // namespace hotlens::session
