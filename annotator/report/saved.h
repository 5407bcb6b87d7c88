// `hotlens report --saved`: what the forward pass keeps until the backward pass, by module and by the node that keeps it, and what would
// lower the peak (schema hotlens.saved_report/1, FORMATS.md).
//
// Offered is only what really keeps less: a formula of GELU replaced by the operator, and computing blocks again. Where the step holds most
// in its optimizer neither lowers the peak, and that is said. Packing what is kept is not offered: it costs more time than bytes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "annotator/common/error.h"
#include "annotator/profile/saved.h"

namespace hotlens::report {

struct SavedRow {
  std::uint32_t saver = 0;                     // the number in SavedTensors::savers
  Bytes activations{}, needed{};               // of what counts here; over all rows each storage once
  Bytes other{};                               // inputs, parameters and buffers that count here
  Bytes keeps{};                               // everything that it keeps, wherever it counts
  std::int64_t tensors = 0;                    // storages that it keeps
  std::vector<profile::ModuleId> shared_with;  // modules that keep some of the same, itself left out
};

struct SavedOfNode {
  std::string node;
  Bytes activations{}, needed{};
  std::int64_t tensors = 0;  // of activations
};

// What would keep less.
struct KeepLess {
  std::string kind;  // "gelu_tanh", "gelu", "checkpoint"
  std::string title;
  std::optional<Bytes> at_least;
  std::optional<profile::SavedTensors::Place> place;
};

struct SavedAudit {
  std::array<Bytes, profile::kSavedKinds> kinds{};
  Bytes total{}, needed{};  // needed: of the activations
  std::int64_t tensors = 0;
  std::vector<SavedRow> rows;      // that with the most activations first
  std::vector<SavedOfNode> nodes;  // likewise
  std::vector<KeepLess> less;      // empty where the peak is elsewhere
  bool peak_elsewhere = false;     // the step holds most in its optimizer
};

// An error says why a profile has no answer, and what to do.
Result<SavedAudit> audit_saved(const profile::Profile& profile);

// Every row where `unfold`; else the largest.
std::string saved_text(const profile::Profile& profile, const SavedAudit& audit, bool color, bool unfold);
std::string saved_json(const profile::Profile& profile, const SavedAudit& audit);

}  // namespace hotlens::report
