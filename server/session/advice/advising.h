// What would help: changes that the ledger predicts to make the step faster, and those that the recording alone gives evidence for, as
// hints at the lines where they are made, with code actions.
//
// The ledger of every profile that is shown is looked at again and again on the pool; where it predicts a gain, or the profile has
// findings, the recorded step is read once for the evidence. Nothing is replayed here and no user code runs. A line that was edited since
// has no hint.
//
// Beside Apply a change can be verified (verifying.h), and silenced at its place (silencing.h).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "annotator/advice/suggestion.h"
#include "annotator/advice/sweep/sweep.h"
#include "protocol/rpc.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/client/workspace.h"

namespace hotlens::session {

class Advising {
 public:
  using Json = protocol::Json;
  struct Events {
    std::function<std::vector<std::shared_ptr<const profile::Profile>>()> shown;  // the profiles that documents show, of bundles
    std::function<bool()> verifying;                                              // a change is being verified: no other one can be
    std::function<void()> changed;                                                // what is known of changes
  };

  Advising(Loop& loop, Client& client, Workspace& workspace, Events events)
      : loop_(loop), client_(client), workspace_(workspace), events_(std::move(events)) {}
  Advising(const Advising&) = delete;
  Advising& operator=(const Advising&) = delete;

  void start();  // looks, again and again
  void stop() { poll_ = {}; }
  void look();
  void mark();  // texts, or what they show, changed
  void closed(const std::string& uri);

  // The client made an edit of ours: the ledger has it, so that the next profile tells what came of it.
  void applied(const Json& argument, protocol::Reply reply);
  // What a new profile tells of applied changes.
  void recorded(const std::filesystem::path& bundle);

  // What is shown of a kind, or offered instead of it; by the id of its profile.
  std::optional<advice::Suggestion> find(const std::string& profile, const std::string& kind) const;
  // That the bundle is one of several models of a script; null where nothing says so.
  const sweep::Seen* sweep(const std::filesystem::path& bundle) const;
  std::optional<features::Hover> at(const Document& document, source::Position position) const;
  // Blocks to checkpoint, where choices of them were replayed: in the line of their edit.
  std::optional<features::Lens> lens(const Document& document) const;
  // Answers a request for code actions: `list`, and what can be done about the advice there.
  void add_actions(const Json& params, Json list, protocol::Reply reply);

 private:
  // Of one bundle, as the ledger was then.
  struct Known {
    std::string stamp;
    std::shared_ptr<const sweep::Seen> sweep;  // null where none was seen when the bundle was first looked at
    std::vector<advice::Suggestion> suggestions, checkpoints;
  };
  using Read = std::map<std::filesystem::path, Known>;
  struct Here {
    advice::Suggestion suggestion;
    protocol::Range range;
    bool hinted = true;  // a diagnostic says so
  };
  struct Edited;
  using Open = std::vector<std::pair<std::filesystem::path, std::string>>;  // texts as editors have them

  void looked(const std::vector<std::filesystem::path>& bundles, Result<Read> read);
  // `blocks`: of a choice of those to checkpoint; empty: of what is recommended.
  std::optional<advice::Suggestion> known(const std::string& profile, const std::string& kind,
                                          const std::vector<std::string>& blocks) const;
  Document* document_of(const std::filesystem::path& file) const;
  Json diagnostic(const Here& here) const;
  std::vector<Here> here(const Document& document) const;
  std::vector<Here> choices(const Document& document) const;  // of blocks to checkpoint
  std::vector<Here> standing(const std::vector<advice::Suggestion>& all, const Document& document, bool hinted) const;
  static std::vector<Edited> edited(const std::vector<Here>& there, const Open& open, bool trusted);
  Json apply(const Document& document, const Edited& edited) const;
  std::optional<Json> verify(const Document& document, const Edited& edited) const;
  Json silence(const Document& document, const Edited& edited) const;

  Loop& loop_;
  Client& client_;
  Workspace& workspace_;
  Events events_;
  Read known_;
  std::vector<advice::Suggestion> shown_;
  Loop::Timer poll_;
  bool looking_ = false;
};

}  // namespace hotlens::session
