#include "server/lab/beside_layers.h"

#include <utility>

#include "annotator/lab/arguments/function_arguments.h"
#include "annotator/lab/arguments/written_sizes.h"
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

// Takes edits of one kind out of what is left; `rewrite`: what each makes of a step.
template <class Edit>
std::optional<layers::Unclear> take(BesideLayers& all, layers::TakenOut<Edit> read,
                                    std::optional<layers::Unclear> (*rewrite)(layers::Rewritten&, const Edit&)) {
  if (!read) return std::move(read.error());
  if (!*read) return std::nullopt;
  all.executed = std::move((*read)->executed);
  all.edited = std::move((*read)->edited);
  for (Edit& edit : (*read)->edits) {
    all.edits.push_back({.what = edit.what, .at = edit.at, .modules = {}});
    all.rewrites.push_back([edit = std::move(edit), rewrite](layers::Rewritten& rewritten) { return rewrite(rewritten, edit); });
  }
  return std::nullopt;
}

// Also of calls that nobody edited: their numbers stay.
void take_written_sizes(BesideLayers& all) {
  auto read = layers::without_written_sizes(all.executed, all.edited);
  all.edited = std::move(read.edited);
  for (layers::WrittenSizes& call : read.calls) {
    if (!call.what.empty()) all.edits.push_back({.what = call.what, .at = call.at, .modules = {}});
    all.rewrites.push_back([call = std::move(call)](layers::Rewritten& rewritten) { return layers::write_sizes(rewritten, call); });
  }
}

}  // namespace

std::expected<BesideLayers, layers::Unclear> read_beside_layers(const layers::Sources& executed, const layers::Sources& edited,
                                                                bool waits) {
  BesideLayers all{.executed = layers::without_quiet_statements(executed, edited, waits), .edited = {}, .edits = {}, .rewrites = {}};
  all.edited = layers::without_quiet_numbers(all.executed, layers::without_quiet_statements(edited, executed, waits));
  auto unclear = take(all, layers::without_casts(all.executed, all.edited), layers::retype);
  if (!unclear) unclear = take(all, layers::without_clipping(all.executed, all.edited), layers::change_clipping);
  if (!unclear) unclear = take(all, layers::without_arguments(all.executed, all.edited), layers::change_argument);
  if (!unclear) unclear = take(all, layers::without_optimizers(all.executed, all.edited), layers::change_update);
  if (unclear) return std::unexpected(std::move(*unclear));
  take_written_sizes(all);
  all.executed = layers::with_names_of_arguments(all.executed, all.edited);
  return all;
}

}  // namespace hotlens::lab
