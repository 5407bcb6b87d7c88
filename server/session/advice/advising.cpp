#include "server/session/advice/advising.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "annotator/advice/edits/edits.h"
#include "annotator/advice/ledger.h"
#include "annotator/advice/seen.h"
#include "annotator/advice/silenced.h"
#include "annotator/common/file.h"
#include "annotator/lab/checkpoint/kept.h"
#include "protocol/messages.h"
#include "protocol/uri.h"
#include "server/features/lines/file_facts.h"
#include "server/features/words/format.h"
#include "server/features/words/suggestions.h"
#include "server/lab/kept.h"
#include "server/lab/suggestions.h"
#include "server/session/client/source_edits.h"
#include "server/session/documents/convert.h"

namespace hotlens::session {
namespace {

namespace fs = std::filesystem;
using advice::Suggestion;
using protocol::Json;
using protocol::Reader;

constexpr const char* kPart = "advice";
constexpr const char* kKind = "quickfix";
// A prediction may come from the command line; it costs a look at a folder entry.
constexpr std::chrono::seconds kLedgerEvery{2};

std::optional<Suggestion> of_kind(const std::vector<Suggestion>& suggestions, std::string_view kind) {
  for (const Suggestion& suggestion : suggestions) {
    for (Suggestion& one : advice::with_instead(suggestion)) {
      if (one.change.kind == kind) return std::move(one);
    }
  }
  return std::nullopt;
}

// Another one where the ledger, what is silenced, or the curve of checkpoints is another.
std::string stamp_of_advice(const fs::path& bundle) {
  return stamp_of(advice::ledger_of(bundle)) + " " + stamp_of(advice::silenced_of(bundle)) + " " + stamp_of(lab::kept_checkpoints(bundle));
}

std::shared_ptr<const sweep::Seen> seen_sweep(const fs::path& bundle) {
  auto seen = sweep::seen(bundle);
  return seen ? std::make_shared<const sweep::Seen>(std::move(*seen)) : nullptr;
}

// What a command of ours is told of a change.
Json argument_of(const Document& document, const Suggestion& of) {
  return {{"uri", document.uri()}, {"profile", of.bundle.filename().string()}, {"kind", of.change.kind}};
}

// The document's file as the profile spells it: links may lead there.
bool shows(const Document& document, const fs::path& file) {
  if (document.path() == file) return true;
  const features::FileFacts* facts = document.facts();
  return facts != nullptr && facts->profile->files.at(facts->file.index).path == file;
}

}  // namespace

// What Apply would do to the texts as they are, or why not. `change`: what is shown here, or what can be made instead.
struct Advising::Edited {
  Here here;
  Suggestion change;
  std::shared_ptr<const advice::Sources> sources;  // null where none could be read
  std::expected<advice::Edits, advice::NoEdit> edits;
};

void Advising::start() {
  look();
  poll_ = loop_.after(kLedgerEvery, [this] { start(); });
}

void Advising::look() {
  if (looking_) return;
  std::vector<std::shared_ptr<const profile::Profile>> profiles = events_.shown();
  if (profiles.empty() && known_.empty()) return;
  looking_ = true;
  std::vector<fs::path> bundles;
  for (const auto& profile : profiles) bundles.push_back(profile->folder);
  using Before = std::pair<std::string, std::shared_ptr<const sweep::Seen>>;
  std::map<fs::path, Before> stamps;
  for (const auto& [bundle, known] : known_) stamps.emplace(bundle, Before{known.stamp, known.sweep});
  auto read = [profiles = std::move(profiles), stamps = std::move(stamps)] {
    Read changed;
    for (const auto& profile : profiles) {
      const auto before = stamps.find(profile->folder);
      std::string stamp = stamp_of_advice(profile->folder);
      if (before != stamps.end() && before->second.first == stamp) continue;
      auto found = lab::suggestions(profile->folder, profile->findings).value_or(std::vector<Suggestion>{});
      changed.emplace(profile->folder, Known{.stamp = std::move(stamp),
                                             .sweep = before != stamps.end() ? before->second.second : seen_sweep(profile->folder),
                                             .suggestions = std::move(found),
                                             .checkpoints = lab::checkpoint_choices(profile->folder)});
    }
    return changed;
  };
  loop_.work(std::move(read), [this, bundles = std::move(bundles)](Result<Read> done) { looked(bundles, std::move(done)); });
}

void Advising::looked(const std::vector<fs::path>& bundles, Result<Read> read) {
  looking_ = false;
  const std::size_t before = known_.size();
  std::erase_if(known_, [&](const auto& one) { return std::ranges::find(bundles, one.first) == bundles.end(); });
  if (!read || (read->empty() && known_.size() == before)) return;
  for (auto& [bundle, known] : *read) known_.insert_or_assign(bundle, std::move(known));
  mark();
  events_.changed();
}

// Of an edited line nothing is shown any more.
std::optional<Suggestion> Advising::known(const std::string& profile, const std::string& kind,
                                          const std::vector<std::string>& blocks) const {
  for (const auto& [bundle, known] : known_) {
    if (bundle.filename().string() != profile) continue;
    const auto is_wanted = [&](const Suggestion& one) { return one.change.kind == kind && one.change.modules == blocks; };
    const auto choice = std::ranges::find_if(known.checkpoints, is_wanted);
    if (choice != known.checkpoints.end()) return *choice;
    if (!blocks.empty()) continue;
    if (auto found = of_kind(known.suggestions, kind)) return found;
  }
  return std::nullopt;
}

void Advising::applied(const Json& argument, protocol::Reply reply) {
  const Reader reader(argument);
  const auto kind = reader.maybe("kind"), profile = reader.maybe("profile");
  const std::string wanted = kind ? kind->string() : "", of = profile ? profile->string() : "";
  std::vector<std::string> blocks;
  if (const auto given = reader.maybe("blocks")) {
    for (const Reader& block : given->items()) blocks.push_back(block.string());
  }
  if (auto error = reader.error()) return reply(std::unexpected(*error));
  const std::optional<Suggestion> found = known(of, wanted, blocks);
  if (!found) return reply(Json{{"kept", false}, {"message", "No such change is recommended."}});
  auto held = std::make_shared<protocol::Reply>(std::move(reply));
  loop_.work([suggestion = *found] { return lab::keep_applied(suggestion); },
             [held](const Result<void>& kept) {
               if (kept) return (*held)(Json{{"kept", true}});
               (*held)(Json{{"kept", false}, {"message", kept.error().message}});
             });
}

void Advising::recorded(const fs::path& bundle) {
  loop_.work([bundle] { return advice::take_up_seen(bundle); },
             [this](const Result<std::vector<advice::Record>>& seen) {
               if (!seen) return client_.log(features::plain(seen.error().message));
               for (const advice::Record& one : *seen) client_.show(MessageType::info, features::plain(advice::sentence(one)) + ".");
             });
}

std::optional<Suggestion> Advising::find(const std::string& profile, const std::string& kind) const {
  std::vector<Suggestion> of_profile = shown_;
  std::erase_if(of_profile, [&](const Suggestion& one) { return one.bundle.filename().string() != profile; });
  return of_kind(of_profile, kind);
}

const sweep::Seen* Advising::sweep(const fs::path& bundle) const {
  const auto found = known_.find(bundle);
  return found == known_.end() ? nullptr : found->second.sweep.get();
}

Document* Advising::document_of(const fs::path& file) const {
  for (auto& [uri, document] : workspace_.documents) {
    if (document.in_step() && shows(document, file)) return &document;
  }
  return nullptr;
}

void Advising::mark() {
  std::vector<Suggestion> all;
  for (const auto& [bundle, known] : known_) {
    for (const Suggestion& one : known.suggestions) {
      const Document* document = document_of(one.file);
      if (document == nullptr || advice::range_now(one.at, document->text())) all.push_back(one);
    }
  }
  shown_ = advice::worth_showing(std::move(all));
  for (const auto& [uri, document] : workspace_.documents) {
    Json list = Json::array();
    for (const Here& one : here(document)) list.push_back(diagnostic(one));
    client_.diagnose(uri, kPart, std::move(list));
  }
}

void Advising::closed(const std::string& uri) {
  client_.diagnose(uri, kPart, Json::array());
}

std::vector<Advising::Here> Advising::standing(const std::vector<Suggestion>& all, const Document& document, bool hinted) const {
  std::vector<Here> found;
  if (!document.in_step()) return found;
  const Places places(document.text(), document.lines(), client_.can.encoding);
  for (const Suggestion& one : all) {
    if (!shows(document, one.file)) continue;
    if (const auto range = advice::range_now(one.at, document.text())) found.push_back({one, places.to_client(*range), hinted});
  }
  return found;
}

std::vector<Advising::Here> Advising::here(const Document& document) const {
  return standing(shown_, document, true);
}

std::vector<Advising::Here> Advising::choices(const Document& document) const {
  const auto known = document.profile() ? known_.find(document.profile()->folder) : known_.end();
  return known == known_.end() ? std::vector<Here>{} : standing(known->second.checkpoints, document, false);
}

std::optional<features::Lens> Advising::lens(const Document& document) const {
  const std::vector<Here> found = choices(document);
  if (found.empty()) return std::nullopt;
  const Suggestion& best = found.front().suggestion;
  const auto range = advice::range_now(best.at, document.text());
  return range ? std::optional(features::Lens{.line = range->begin.line, .title = features::checkpoint_lens(best.change), .command = {}})
               : std::nullopt;
}

Json Advising::diagnostic(const Here& here) const {
  return {{"range", to_json(here.range)},
          {"severity", severity::kHint},
          {"source", "hotlens"},
          {"code", here.suggestion.change.kind},
          {"message", features::message(here.suggestion)}};
}

std::optional<features::Hover> Advising::at(const Document& document, source::Position position) const {
  std::optional<features::Hover> found;
  for (const Suggestion& one : shown_) {
    if (!shows(document, one.file)) continue;
    const auto range = advice::range_now(one.at, document.text());
    if (!range || range->begin.line != position.line) continue;
    // A hover is short: of a further one its title.
    const bool markdown = client_.can.hover_markdown;
    if (found) found->contents += "\n\n" + (markdown ? features::escape_markdown(features::message(one)) : features::message(one));
    if (!found) found = features::Hover{.range = *range, .contents = features::explained(one, markdown)};
  }
  return found;
}

void Advising::add_actions(const Json& params, Json list, protocol::Reply reply) {
  const Reader reader(params);
  const std::string uri = reader["textDocument"]["uri"].string();
  const protocol::Range range = read_range(reader["range"]);
  const bool wanted = wants_kind(reader, kKind);
  const Document* document = workspace_.documents.find(uri);
  if (reader.error() || document == nullptr || !list.is_array() || !wanted || !client_.can.action_literals) return reply(std::move(list));
  std::vector<Here> there = here(*document);
  for (Here& choice : choices(*document)) {
    const auto is_hinted = [&](const Here& one) {
      return one.suggestion.bundle == choice.suggestion.bundle && one.suggestion.change.kind == choice.suggestion.change.kind;
    };
    if (choice.suggestion.change.kind == "checkpoint" || std::ranges::none_of(there, is_hinted)) there.push_back(std::move(choice));
  }
  std::erase_if(there, [&](const Here& one) { return one.range.start.line < range.start.line || one.range.start.line > range.end.line; });
  if (there.empty()) return reply(std::move(list));

  Open open;
  for (const Here& one : there) {
    if (const Document* shown = document_of(one.suggestion.file)) open.emplace_back(one.suggestion.file, shown->text());
  }
  for (const auto& [name, other] : workspace_.documents) open.emplace_back(other.path(), other.text());
  auto edit = [there = std::move(there), open = std::move(open), trusted = workspace_.trusted] { return edited(there, open, trusted); };
  auto held = std::make_shared<protocol::Reply>(std::move(reply));
  loop_.work(std::move(edit),
             [this, held, uri, version = document->version(), list = std::move(list)](Result<std::vector<Edited>> done) mutable {
               const Document* now = workspace_.documents.find(uri);
               const bool same = now != nullptr && now->version() == version;
               for (const Edited& one : done&& same ? *done : std::vector<Edited>{}) {
                 const bool instead = one.change.change.kind != one.here.suggestion.change.kind;
                 if (one.edits || (client_.can.action_disabled && !instead)) list.push_back(apply(*now, one));
                 if (auto verified = one.here.hinted ? verify(*now, one) : std::nullopt) list.push_back(std::move(*verified));
                 if (!instead && one.here.hinted) list.push_back(silence(*now, one));
               }
               (*held)(std::move(list));
             });
}

std::vector<Advising::Edited> Advising::edited(const std::vector<Here>& there, const Open& open, bool trusted) {
  const Error untrusted{ErrorCode::unsupported, "The workspace is not trusted, and other files have to be read for it", {}};
  std::map<fs::path, Result<std::shared_ptr<const advice::Sources>>> read;  // by bundle: several changes are of one
  const auto sources_of = [&](const fs::path& bundle) -> Result<std::shared_ptr<const advice::Sources>> {
    if (!trusted) return std::unexpected(untrusted);
    auto sources = advice::read_sources(bundle);
    if (!sources) return std::unexpected(sources.error());
    for (const auto& [path, text] : open) advice::open_in_editor(*sources, path, text);
    return std::make_shared<const advice::Sources>(*std::move(sources));
  };
  std::vector<Edited> all;
  for (const Here& here : there) {
    const fs::path& bundle = here.suggestion.bundle;
    if (!read.contains(bundle)) read.emplace(bundle, sources_of(bundle));
    const auto& sources = read.at(bundle);
    for (Suggestion& change : advice::with_instead(here.suggestion)) {
      Edited made{.here = here, .change = std::move(change), .sources = sources.value_or(nullptr), .edits = {}};
      if (sources) made.edits = advice::edits_of(made.change.change.parts, *made.sources);
      if (!sources) made.edits = std::unexpected(advice::NoEdit{.reason = sources.error().message, .by_hand = {}});
      all.push_back(std::move(made));
    }
  }
  return all;
}

// Nothing where there is no edit to verify.
std::optional<Json> Advising::verify(const Document& document, const Edited& edited) const {
  const Suggestion& of = edited.change;
  if (!edited.edits) return std::nullopt;
  std::string why;
  if (!of.verification) why = of.verification.error();
  if (events_.verifying()) why = "a change is being verified";
  if (!why.empty() && !client_.can.action_disabled) return std::nullopt;
  const std::string title = features::verify_title(of);
  Json action{{"title", title}, {"kind", kKind}, {"diagnostics", {diagnostic(edited.here)}}};
  if (why.empty()) {
    action["command"] = {{"title", title}, {"command", protocol::command::kVerify}, {"arguments", {argument_of(document, of)}}};
  } else {
    action["disabled"] = {{"reason", why}};
  }
  return action;
}

Json Advising::silence(const Document& document, const Edited& edited) const {
  const Suggestion& of = edited.here.suggestion;
  const std::string title = "Not here: " + of.change.title;
  return {{"title", title},
          {"kind", kKind},
          {"diagnostics", {diagnostic(edited.here)}},
          {"command", {{"title", title}, {"command", protocol::command::kSilence}, {"arguments", {argument_of(document, of)}}}}};
}

Json Advising::apply(const Document& document, const Edited& edited) const {
  Json action{{"title", "Apply: " + features::message(edited.change)}, {"kind", kKind}};
  if (edited.here.hinted) action["diagnostics"] = Json::array({diagnostic(edited.here)});
  if (!edited.edits) {
    action["disabled"] = {{"reason", advice::sentence(edited.edits.error())}};
    return action;
  }
  Json argument = argument_of(document, edited.change);
  if (!edited.here.hinted) argument["blocks"] = edited.change.change.modules;
  action["command"] = {
      {"title", "Keep in the ledger"}, {"command", protocol::command::kApplied}, {"arguments", Json::array({std::move(argument)})}};
  const auto open = [&](const fs::path& file) { return shows(document, file) ? &document : document_of(file); };
  action["edit"] = workspace_edit(*edited.edits, *edited.sources, open, client_.can);
  return action;
}

}  // namespace hotlens::session
