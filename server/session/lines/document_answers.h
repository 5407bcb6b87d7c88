// Requests about a document: the features' results in the client's terms. Functions of what is known now; nothing here waits or remembers.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "protocol/rpc.h"
#include "server/runs/offers.h"
#include "server/session/advice/edited_layers.h"
#include "server/session/client/workspace.h"

namespace hotlens::session {

// What an answer depends on beside its params.
struct Known {
  Workspace& workspace;
  const ClientCapabilities& can;
  bool running = false;  // a profiling run
  bool predicting = false;
  // What was predicted from the profile with this id; null: nothing.
  std::function<std::shared_ptr<const lab::BatchSizes>(const std::string& profile)> predicted;
  // What was predicted of edits in this text.
  std::function<const std::vector<EditNote>&(const Document& document)> edited;
  // What the lens says of a profile that somebody chose, or is compared with another; "" otherwise.
  std::function<std::string(const Document& document)> label;
  std::function<std::shared_ptr<const report::CostCard>(const std::string& profile)> costs;  // against measured peaks; may be null
  // The run configurations of a script.
  std::function<runs::Offers(const std::filesystem::path& script)> configured;
  // What would help at a line (advice/advising.h).
  std::function<std::optional<features::Hover>(const Document& document, source::Position at)> advice;
  // Blocks to checkpoint, where choices were replayed.
  std::function<std::optional<features::Lens>(const Document& document)> checkpoints;
  // What the marks of a line say (marks.h); "" elsewhere.
  std::function<std::string(const Document& document, std::uint32_t line)> evidence;
  // What is offered for a place in the last line of its hover; "" where nothing is.
  std::function<std::string(const Document& document, protocol::Position at)> offer;
};

// `own`: for clients that draw themselves; labels are plain text and tooltips complete.
enum class HintForm : std::uint8_t { own, eager, lazy };

// The list as JSON text.
std::string hints_json(const Known& known, const Document& document, const std::optional<protocol::Range>& range, HintForm form);
// The answer to `hotlens/hints`.
std::string own_hints_json(const Known& known, const Document& document, const std::optional<protocol::Range>& range);
// The answer to `hotlens/heat`.
std::string heat_json(const Known& known, const Document& document);
// The answer to `textDocument/documentSymbol`; "null" where a file has no facts.
std::string symbols_json(const Known& known, const Document& document);

protocol::Answer resolved_hint(const Known& known, const protocol::Json& params);
// What a person copies of a line: the answer to `hotlens.server.describe`.
protocol::Answer described(const Known& known, const protocol::Json& argument);
protocol::Answer hover(const Known& known, const protocol::Json& params);
protocol::Answer code_lenses(const Known& known, const protocol::Json& params);
protocol::Answer code_actions(const Known& known, const protocol::Json& params);

}  // namespace hotlens::session
