#include "annotator/report/saved.h"

#include <algorithm>
#include <functional>
#include <map>
#include <ranges>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "annotator/common/format.h"

namespace hotlens::report {
namespace {

using profile::ModuleId;
using profile::SavedKind;
using profile::SavedTensors;
using Storage = SavedTensors::Storage;

Error no_answer(const profile::Profile& profile, std::string why) {
  return {ErrorCode::unsupported, "what is kept until the backward pass is not known: " + std::move(why), profile.id};
}

std::vector<SavedRow> rows_of(const profile::Profile& profile) {
  const SavedTensors& saved = *profile.saved;
  std::vector<SavedRow> rows(saved.savers.size());
  std::vector<std::set<ModuleId>> sharing(saved.savers.size());
  for (std::uint32_t saver = 0; saver < rows.size(); ++saver) rows[saver].saver = saver;
  for (const Storage& storage : saved.storages) {
    const Bytes size = profile::whole(storage);
    SavedRow& first = rows[profile::counted_at(saved, storage)];
    if (storage.kind == SavedKind::activation) {
      first.activations = first.activations + size;
      first.needed = first.needed + profile::needed(profile, storage);
    } else {
      first.other = first.other + size;
    }
    std::set<std::uint32_t> savers;  // one may keep it twice
    for (const SavedTensors::Use& use : storage.by) savers.insert(use.saver);
    for (const std::uint32_t saver : savers) {
      rows[saver].keeps = rows[saver].keeps + size;
      rows[saver].tensors += storage.count;
      if (storage.kind != SavedKind::activation) continue;
      for (const std::uint32_t other : savers) {
        const ModuleId module = saved.savers[other].module;
        if (module.valid() && module != saved.savers[saver].module) sharing[saver].insert(module);
      }
    }
  }
  for (SavedRow& row : rows) row.shared_with.assign(sharing[row.saver].begin(), sharing[row.saver].end());
  std::erase_if(rows, [](const SavedRow& row) { return row.tensors == 0; });
  std::ranges::stable_sort(rows, std::greater{}, [](const SavedRow& row) { return std::pair(row.activations, row.keeps); });
  return rows;
}

std::vector<SavedOfNode> nodes_of(const profile::Profile& profile) {
  const SavedTensors& saved = *profile.saved;
  std::map<std::string, SavedOfNode> nodes;
  for (const Storage& storage : saved.storages) {
    if (storage.kind != SavedKind::activation) continue;
    const std::string& name = saved.savers[profile::counted_at(saved, storage)].node;
    SavedOfNode& node = nodes[name];
    node.node = name;
    node.activations = node.activations + profile::whole(storage);
    node.needed = node.needed + profile::needed(profile, storage);
    node.tensors += storage.count;
  }
  std::vector<SavedOfNode> rows;
  for (SavedOfNode& node : nodes | std::views::values) rows.push_back(std::move(node));
  std::ranges::stable_sort(rows, std::greater{}, &SavedOfNode::activations);
  return rows;
}

// The nodes that one line of one module has made, whose formula may be that of GELU.
struct Formula {
  std::set<std::uint32_t> savers;
  bool tanh = false, power = false, erf = false, product = false;

  bool is_gelu() const { return product && ((tanh && power) || erf); }
  // As F.gelu calls it.
  std::string_view operation() const { return tanh ? "F.gelu(x, approximate=\"tanh\")" : "F.gelu(x)"; }
};

// What the formula alone keeps, less the input, which the operator keeps as well: as large as what tanh or erf has saved.
Bytes kept_for_nothing(const SavedTensors& saved, const Formula& formula) {
  std::int64_t alone = 0, inputs = 0;
  for (const Storage& storage : saved.storages) {
    const auto ours = [&](const SavedTensors::Use& use) { return formula.savers.contains(use.saver); };
    if (storage.kind != SavedKind::activation) continue;
    if (std::ranges::all_of(storage.by, ours)) alone += count(profile::whole(storage));
    const auto one_of_each_call = [&](const SavedTensors::Use& use) {
      const std::string& node = saved.savers[use.saver].node;
      return ours(use) && (node == "TanhBackward0" || node == "ErfBackward0");
    };
    if (std::ranges::any_of(storage.by, one_of_each_call)) inputs += count(profile::whole(storage));
  }
  return Bytes{std::max<std::int64_t>(alone - inputs, 0)};
}

std::vector<KeepLess> formulas_of_gelu(const SavedTensors& saved) {
  std::map<std::tuple<std::uint32_t, std::uint32_t>, Formula> by_line;
  for (std::uint32_t at = 0; at < saved.savers.size(); ++at) {
    const SavedTensors::Saver& saver = saved.savers[at];
    if (!saver.place) continue;
    Formula& formula = by_line[{saver.place->file.index, saver.place->line}];  // of all instances
    formula.savers.insert(at);
    formula.tanh |= saver.node == "TanhBackward0";
    formula.power |= saver.node == "PowBackward0";
    formula.erf |= saver.node == "ErfBackward0";
    formula.product |= saver.node == "MulBackward0";
  }
  std::vector<KeepLess> found;
  for (const Formula& formula : by_line | std::views::values) {
    const Bytes bytes = formula.is_gelu() ? kept_for_nothing(saved, formula) : Bytes{};
    if (bytes <= Bytes{}) continue;
    found.push_back(
        {.kind = formula.tanh ? "gelu_tanh" : "gelu",
         .title = std::string(formula.operation()) + " in place of its formula keeps the input alone, and gives the same but for rounding",
         .at_least = bytes,
         .place = saved.savers[*formula.savers.begin()].place});
  }
  std::ranges::stable_sort(found, std::greater{}, [](const KeepLess& less) { return *less.at_least; });
  return found;
}

std::vector<KeepLess> keep_less(const SavedTensors& saved, Bytes activations) {
  std::vector<KeepLess> found = formulas_of_gelu(saved);
  if (activations > Bytes{}) {
    found.push_back({.kind = "checkpoint",
                     .title = "`hotlens whatif checkpoint` tells which blocks to compute again instead, what that frees and what it costs",
                     .at_least = {},
                     .place = {}});
  }
  return found;
}

}  // namespace

Result<SavedAudit> audit_saved(const profile::Profile& profile) {
  if (profile.folder.empty()) {
    return std::unexpected(no_answer(profile, "a trace does not tell; profile the script with `hotlens run`"));
  }
  if (!profile.saved) {
    return std::unexpected(no_answer(
        profile,
        "this profile lacks it (an older Hotlens, a run without a map step, or a rank other than the first); run `hotlens run` again"));
  }
  if (!profile.saved->refused.empty()) return std::unexpected(no_answer(profile, format::harmless(profile.saved->refused)));
  SavedAudit audit{.rows = rows_of(profile), .nodes = nodes_of(profile), .less = {}};
  for (const Storage& storage : profile.saved->storages) {
    Bytes& kind = audit.kinds[static_cast<std::size_t>(storage.kind)];
    kind = kind + profile::whole(storage);
    audit.tensors += storage.count;
  }
  for (const SavedOfNode& node : audit.nodes) audit.needed = audit.needed + node.needed;
  audit.total = profile::total(*profile.saved);
  audit.peak_elsewhere = profile.at_peak.moment && profile.at_peak.moment->stage == profile::Stage::optimizer;
  if (!audit.peak_elsewhere) audit.less = keep_less(*profile.saved, audit.kinds[static_cast<std::size_t>(SavedKind::activation)]);
  return audit;
}

}  // namespace hotlens::report
