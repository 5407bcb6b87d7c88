// Lines that are marked by a hint among the diagnostics, as advice is (advice/advising.h): what holds the step up, an evaluation with
// gradients on.
//
// Which line and which words is known with the document's facts (features/marks.h); here it follows the text. A line that was edited
// has no mark, nor has one where somebody silenced it (advice/silencing.h): that list is looked at again and again on the pool.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/session/advice/silencing.h"
#include "server/session/client/client.h"
#include "server/session/client/loop.h"
#include "server/session/client/workspace.h"

namespace hotlens::session {

class Marks {
 public:
  using Json = protocol::Json;
  // `shown`: the bundles of the profiles that documents show.
  Marks(Loop& loop, Client& client, Workspace& workspace, std::function<std::vector<std::filesystem::path>()> shown)
      : loop_(loop), client_(client), workspace_(workspace), shown_(std::move(shown)) {}
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  void start();  // looks, again and again
  void stop() { poll_ = {}; }
  void look();
  void mark();  // texts, or what they show, changed
  void closed(const std::string& uri);

  // Where a mark of this profile and kind would be silenced; `line`: in the text that ran, where it tells which.
  std::optional<Silencing::Entry> find(const std::string& profile, const std::string& kind, std::optional<std::uint32_t> line) const;
  // What marks say of this line: what limits the step with its evidence, paragraphs; "" elsewhere.
  std::string evidence(const Document& document, std::uint32_t line) const;
  // What can be done about the marks in the range of a request for code actions.
  void add_actions(const Json& params, Json& list) const;

 private:
  struct Known {
    std::string stamp;
    std::vector<advice::Silenced> places;
  };
  using Lists = std::map<std::filesystem::path, Known>;  // by file
  struct Here {
    const features::Mark& mark;
    source::Range range;
    std::filesystem::path bundle;
    Silencing::Entry place;
  };

  void seen(Result<Lists> read);
  std::vector<Here> here(const Document& document) const;
  Json diagnostic(const Document& document, const Here& here) const;
  void add_actions(const Document& document, const Here& here, const protocol::Range& at, Json& list) const;

  Loop& loop_;
  Client& client_;
  Workspace& workspace_;
  std::function<std::vector<std::filesystem::path>()> shown_;
  Lists silenced_;
  Loop::Timer poll_;
  bool looking_ = false;
};

}  // namespace hotlens::session
