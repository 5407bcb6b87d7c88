// The files of a profile as an edit looks for its place: their calls, and the statements of the training loop's stages.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "annotator/advice/edits/edits.h"
#include "annotator/attribution/structure/stage.h"

namespace hotlens::advice {

using Made = std::expected<Edits, NoEdit>;

// A call in one of the files.
struct Found {
  std::size_t file = 0;
  const Call* call = nullptr;
};

class Script {
 public:
  explicit Script(const Sources& sources);

  const Sources& sources() const { return sources_; }
  const std::vector<PythonText>& texts() const { return texts_; }
  std::string name(std::size_t file) const;                       // "train.py"
  std::string place(std::size_t file, std::uint32_t byte) const;  // "train.py:12"
  std::string places(const std::vector<Found>& found) const;

  template <class Fits>
  std::vector<Found> calls(const Fits& fits) const {
    std::vector<Found> found;
    for (std::size_t file = 0; file < texts_.size(); ++file) {
      for (const Call& call : texts_[file].calls()) {
        if (fits(texts_[file], call)) found.push_back({file, &call});
      }
    }
    return found;
  }

  // The one call that makes an optimizer.
  std::expected<Found, NoEdit> optimizer_call() const;
  // The statement of a stage's line, in the file and bytes of it.
  std::optional<std::pair<std::size_t, Span>> stage(attribution::Stage stage) const;
  std::string indentation(std::size_t file, std::uint32_t byte) const;         // of its line; not blank where something stands before it
  std::set<std::string> classes_of(std::span<const std::string> paths) const;  // of modules
  const profile::ModelModule* module(std::string_view path) const;             // null: it is not known

 private:
  const Sources& sources_;
  std::vector<PythonText> texts_;
};

// The call itself as a node, and the name of the class in whose code it stands; empty where it is in none.
TSNode node_of(const PythonText& text, const Call& call);
std::string_view class_around(const PythonText& text, const Call& call);

// The name of the one model whose parameters an optimizer gets; empty where it is not one.
std::string model_of(const PythonText& text, const Call& optimizer);

std::unexpected<NoEdit> no(std::string reason);
// A statement before that of the optimizer's call, on a line of its own.
Made before_statement(const Script& script, const Found& call, const std::string& statement, std::vector<std::string> needs = {});
// `, name=value` behind the last argument.
Replacement appended(const Call& call, const std::string& keyword);
std::vector<Replacement> with_keyword(const Call& call, const std::string& keyword);
// Replacements of one place count once.
using ByPlace = std::map<std::size_t, std::map<std::uint32_t, Replacement>>;  // by file and first byte
Edits listed(ByPlace edits, const std::vector<std::string>& needs = {});

}  // namespace hotlens::advice
