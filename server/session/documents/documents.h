// The open documents: the text as the client has it, and what the features see of it.
//
// An edit only changes the text; the tree and the view follow when someone asks, so a burst of edits costs one parse. A document whose
// edits do not fit any more is out of step: it shows nothing until the client sends the whole text again, rather than hints on wrong lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocol/reader.h"
#include "protocol/text.h"
#include "server/features/features.h"
#include "server/features/hints/heat.h"
#include "server/features/hints/hint_memory.h"
#include "server/features/words/baseline.h"

namespace hotlens::session {

struct Change {
  std::optional<protocol::Range> range;  // absent: the whole text
  std::string text;
};

// LSP's `TextDocumentContentChangeEvent[]`.
std::vector<Change> read_changes(const protocol::Reader& list);

// Which profile a document shows, and where its facts stand. Both may be null.
struct Binding {
  std::shared_ptr<const profile::Profile> profile;
  std::shared_ptr<const features::FileFacts> facts;
  // What it is compared with; null where there is no baseline, or it says nothing about the file.
  std::shared_ptr<const profile::Profile> baseline = {};
  std::shared_ptr<const features::FileFacts> baseline_facts = {};
  std::optional<report::ModuleJudge> judge = {};  // of both profiles, where there are baseline facts
};

class Document {
 public:
  Document(std::string uri, std::filesystem::path path, std::int64_t version, std::string text);

  // False when a change did not fit and the document fell out of step.
  bool apply(std::int64_t version, const std::vector<Change>& changes, protocol::Encoding encoding);
  void bind(Binding binding);
  void saved() { changed_ = false; }

  std::int64_t serial() const { return serial_; }  // of this opening; never used again
  const std::string& uri() const { return uri_; }  // as the client spells it
  const std::filesystem::path& path() const { return path_; }
  std::int64_t version() const { return version_; }
  const std::string& text() const { return text_; }
  const protocol::LineIndex& lines() const { return lines_; }
  bool in_step() const { return in_step_; }
  bool changed() const { return changed_; }            // since it was opened or saved
  bool bound() const { return binding_.has_value(); }  // somebody looked for its profile
  bool has_facts() const { return facts() != nullptr; }
  const features::FileFacts* facts() const { return binding_ ? binding_->facts.get() : nullptr; }  // null: none; needs no parse
  const std::shared_ptr<const profile::Profile>& profile() const;

  const source::Tree& tree() const;
  const features::FileView& view() const;
  const std::shared_ptr<const features::Baseline>& baseline() const;  // null: none
  const std::vector<features::Hint>& hints(features::LineRange lines, const features::Options& options) const;
  const std::vector<features::Heat>& heat(double min_share) const;

 private:
  friend class Documents;
  std::int64_t serial_ = 0;
  std::string uri_;
  std::filesystem::path path_;
  std::int64_t version_;
  std::string text_;
  protocol::LineIndex lines_;
  bool in_step_ = true, changed_ = false;
  std::optional<Binding> binding_;
  mutable std::optional<source::Tree> tree_;  // of text_ or of an earlier text
  struct Hints {                              // the last that were asked for: editors ask again after every refresh and redraw
    features::LineRange lines;
    features::Options options;
    std::vector<features::Hint> hints;
  };
  mutable std::optional<Hints> hints_;  // of view_
  mutable features::HintMemory said_;   // of earlier texts, too
  struct Marks {
    double min_share;
    std::vector<features::Heat> marks;
  };
  mutable std::optional<Marks> marks_;                          // of view_
  mutable features::HintMemory marked_;                         // as said_
  mutable std::optional<features::FileView> view_;              // of text_ and binding_
  mutable std::shared_ptr<const features::Baseline> baseline_;  // the same
};

class Documents {
 public:
  Document& open(Document document);  // replaces one that was open under the same URI
  void close(const std::string& uri) { open_.erase(uri); }
  Document* find(const std::string& uri);
  Document* find(std::int64_t serial);
  Document* at(const std::filesystem::path& path);

  auto begin() { return open_.begin(); }
  auto end() { return open_.end(); }
  auto begin() const { return open_.begin(); }
  auto end() const { return open_.end(); }

 private:
  std::unordered_map<std::string, Document> open_;
  std::int64_t next_serial_ = 1;
};

}  // namespace hotlens::session
