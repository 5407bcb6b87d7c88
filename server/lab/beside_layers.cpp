#include "server/lab/beside_layers.h"

#include <utility>

#include "annotator/lab/arguments/function_arguments.h"
#include "annotator/lab/casts/casts.h"
#include "annotator/lab/casts/retype.h"
#include "annotator/lab/layers/effects/left_out.h"
#include "annotator/lab/layers/quiet/numbers.h"
#include "annotator/lab/layers/quiet/statements.h"
#include "annotator/lab/optimizers/change_update.h"
#include "annotator/lab/optimizers/clipping.h"
#include "annotator/lab/optimizers/script_optimizers.h"

namespace hotlens::lab {
namespace {

// The edit, with what it makes of a step by `rewrite`.
template <class Edit>
void add(BesideLayers& all, Edit edit, std::optional<layers::Unclear> (*rewrite)(layers::Rewritten&, const Edit&)) {
  all.edits.push_back({.what = edit.what, .at = edit.at, .modules = {}});
  all.rewrites.push_back([edit = std::move(edit), rewrite](layers::Rewritten& rewritten) { return rewrite(rewritten, edit); });
}

template <class Plain>
void go_on(BesideLayers& all, Plain& plain) {
  all.executed = std::move(plain.executed);
  all.edited = std::move(plain.edited);
}

}  // namespace

std::expected<BesideLayers, layers::Unclear> read_beside_layers(const layers::Sources& executed, const layers::Sources& edited,
                                                                bool waits) {
  BesideLayers all{.executed = layers::without_quiet_statements(executed, edited, waits), .edited = {}, .edits = {}, .rewrites = {}};
  all.edited = layers::without_quiet_numbers(all.executed, layers::without_quiet_statements(edited, executed, waits));
  auto casts = layers::without_casts(all.executed, all.edited);
  if (!casts) return std::unexpected(std::move(casts.error()));
  if (*casts) {
    go_on(all, **casts);
    if (!(*casts)->edit.what.empty()) add(all, std::move((*casts)->edit), layers::retype);
  }
  if (auto clipping = layers::without_clipping(all.executed, all.edited)) {
    go_on(all, *clipping);
    add(all, std::move(clipping->edit), layers::change_clipping);
  }
  auto arguments = layers::without_arguments(all.executed, all.edited);
  if (!arguments) return std::unexpected(std::move(arguments.error()));
  if (*arguments) {
    go_on(all, **arguments);
    for (layers::ArgumentEdit& one : (*arguments)->edits) add(all, std::move(one), layers::change_argument);
  }
  auto optimizers = layers::without_optimizers(all.executed, all.edited);
  if (!optimizers) return std::unexpected(std::move(optimizers.error()));
  if (*optimizers) {
    go_on(all, **optimizers);
    for (layers::OptimizerEdit& one : (*optimizers)->edits) add(all, std::move(one), layers::change_update);
  }
  all.executed = layers::with_names_of_arguments(all.executed, all.edited);
  return all;
}

}  // namespace hotlens::lab
