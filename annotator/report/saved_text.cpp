#include <algorithm>

#include "annotator/common/format.h"
#include "annotator/profile/place_name.h"
#include "annotator/report/saved.h"

namespace hotlens::report {
namespace {

using format::counted;
using format::harmless;
using format::left;
using format::readable;
using format::right;
using format::shortened;
using profile::SavedTensors;

constexpr std::size_t kSaverColumns = 64;
constexpr std::size_t kNodes = 8, kRows = 20;  // what is smaller is one row

class SavedWriter {
 public:
  SavedWriter(const profile::Profile& profile, const SavedAudit& audit, bool color, bool unfold)
      : profile_(profile), saved_(*profile.saved), audit_(audit), style_(format::style(color)), all_(unfold) {}

  std::string write() && {
    line(std::string(style_.bold) + harmless(profile_.source) + std::string(style_.off));
    line("kept from the forward to the backward pass: " + readable(audit_.total) + " in " + counted(audit_.tensors, "tensor", "tensors") +
         ", each storage once");
    kinds();
    not_counted();
    nodes();
    rows();
    less();
    return std::move(out_);
  }

 private:
  void line(std::string_view text) { out_.append(text).append("\n"); }
  void dim(std::string_view text) { out_.append(style_.dim).append(text).append(style_.off).append("\n"); }
  void title(std::string_view text) { out_.append("\n").append(style_.bold).append(text).append(style_.off).append("\n"); }

  Bytes activations() const { return audit_.kinds[static_cast<std::size_t>(profile::SavedKind::activation)]; }

  std::string numbers(Bytes kept, Bytes needed) const {
    const auto whole = static_cast<double>(std::max<std::int64_t>(count(activations()), 1));
    return right(readable(kept), 10) + right(format::share(static_cast<double>(count(kept)) / whole), 6) +
           right(needed < kept ? readable(needed) : "all", 12);
  }

  void kinds() {
    for (std::size_t kind = 0; kind < profile::kSavedKinds; ++kind) {
      if (audit_.kinds[kind] <= Bytes{}) continue;
      std::string row = "  " + left(std::string(name(static_cast<profile::SavedKind>(kind))), 12) + right(readable(audit_.kinds[kind]), 10);
      const bool less = kind == static_cast<std::size_t>(profile::SavedKind::activation) && audit_.needed < audit_.kinds[kind];
      if (less) row += ", " + readable(audit_.needed) + " needed: a mask of bits would do for some";
      line(row);
    }
    if (saved_.passes > 1) {
      dim("  of backward pass " + std::to_string(saved_.pass) + " of " + std::to_string(saved_.passes) +
          " in a step, the one that keeps most");
    }
  }

  void not_counted() {
    std::int64_t hooked = 0, opaque = 0;
    for (const SavedTensors::Hooked& each : saved_.hooked) hooked += each.count;
    for (const SavedTensors::Opaque& each : saved_.opaque) opaque += each.count;
    if (hooked > 0) {
      const profile::ModuleId module = saved_.savers[saved_.hooked.back().saver].module;
      const std::string where = module.valid() ? " in " + module_name(module) + (saved_.hooked.size() > 1 ? " and others" : "") : "";
      dim("  not counted: " + counted(hooked, "node", "nodes") + where + " under hooks of the script's own (checkpointing, save_on_cpu)");
    }
    if (opaque > 0) {
      dim("  not counted: " + counted(opaque, "node", "nodes") +
          (opaque == 1 ? " that does not show what it keeps (" : " that do not show what they keep (") +
          shortened(saved_.opaque.front().node, 40) + (saved_.opaque.size() > 1 ? ", …)" : ")"));
    }
    if (saved_.unreadable > 0)
      dim("  not counted: " + counted(saved_.unreadable, "tensor", "tensors") + " that cannot be read (sparse, or written to since)");
  }

  void nodes() {
    if (audit_.nodes.empty()) return;
    title(left("Activations by the node that keeps them", kSaverColumns) + right("kept", 10) + right("", 6) + right("needed", 12));
    SavedOfNode rest;
    std::size_t left_out = 0;
    for (std::size_t at = 0; at < audit_.nodes.size(); ++at) {
      const SavedOfNode& node = audit_.nodes[at];
      if (all_ || at < kNodes) {
        const std::string name = shortened(node.node, 48) + (node.tensors > 1 ? " ×" + std::to_string(node.tensors) : "");
        line(left("  " + name, kSaverColumns) + numbers(node.activations, node.needed));
      } else {
        ++left_out;
        rest.activations = rest.activations + node.activations;
        rest.needed = rest.needed + node.needed;
      }
    }
    if (left_out > 0) dim(left("  " + std::to_string(left_out) + " smaller", kSaverColumns) + numbers(rest.activations, rest.needed));
  }

  std::string module_name(profile::ModuleId id) const {
    const profile::Module& module = profile_.at(id);
    return shortened(module.path.empty() ? module.class_name : module.path, 32);
  }

  std::string row_name(const SavedTensors::Saver& saver) const {
    return (saver.module.valid() ? module_name(saver.module) : "(the loop)") + "  " + shortened(saver.node, 30);
  }

  std::string spelled(const std::optional<SavedTensors::Place>& place) const {
    if (!place) return "";
    const profile::SourceFile& file = profile_.files.at(place->file.index);
    return profile::place_name(shortened(file.path.filename().string(), 30), file, place->line);
  }

  std::string notes(const SavedRow& row) const {
    std::string out = spelled(saved_.savers[row.saver].place);
    if (row.shared_with.empty()) return out;
    out += (out.empty() ? "" : "  ") + std::string("shared with ") + module_name(row.shared_with.front());
    if (row.shared_with.size() > 1) out += " and " + std::to_string(row.shared_with.size() - 1) + " more";
    return out;
  }

  void rows() {
    if (audit_.nodes.empty()) return;
    title(left("By module and node; what several keep counts for the first", kSaverColumns) + right("kept", 10) + right("", 6) +
          right("needed", 12));
    Bytes rest{}, rest_needed{};
    std::size_t left_out = 0, shown = 0;
    for (const SavedRow& row : audit_.rows) {
      if (row.activations <= Bytes{}) break;
      if (all_ || shown < kRows) {
        ++shown;
        line(left("  " + row_name(saved_.savers[row.saver]), kSaverColumns) + numbers(row.activations, row.needed) + "  " + notes(row));
      } else {
        ++left_out;
        rest = rest + row.activations;
        rest_needed = rest_needed + row.needed;
      }
    }
    if (left_out > 0)
      dim(left("  " + std::to_string(left_out) + " smaller (--unfold shows them)", kSaverColumns) + numbers(rest, rest_needed));
  }

  void less() {
    if (audit_.peak_elsewhere) {
      title("The step holds most in its optimizer: keeping less until the backward pass does not lower that peak");
      line("  `hotlens whatif` tells whether a fused optimizer would");
      return;
    }
    if (audit_.less.empty()) return;
    title("What keeps less");
    for (const KeepLess& less : audit_.less) {
      const std::string where = spelled(less.place);
      line("  " + (where.empty() ? "" : where + ": ") + less.title +
           (less.at_least ? "; at least " + readable(*less.at_least) + " less" : ""));
    }
  }

  const profile::Profile& profile_;
  const SavedTensors& saved_;
  const SavedAudit& audit_;
  format::Style style_;
  bool all_;
  std::string out_;
};

}  // namespace

std::string saved_text(const profile::Profile& profile, const SavedAudit& audit, bool color, bool unfold) {
  return SavedWriter(profile, audit, color, unfold).write();
}

}  // namespace hotlens::report
