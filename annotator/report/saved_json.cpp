#include "annotator/common/json_text.h"
#include "annotator/report/saved.h"

namespace hotlens::report {
namespace {

using profile::SavedTensors;

class SavedJsonWriter {
 public:
  SavedJsonWriter(const profile::Profile& profile, const SavedAudit& audit) : profile_(profile), saved_(*profile.saved), audit_(audit) {}

  std::string write() && {
    json_.object([&] {
      json_.member("schema", "hotlens.saved_report/1");
      json_.member("profile", profile_.id);
      json_.member("backward_pass", saved_.pass);
      json_.member("backward_passes", saved_.passes);
      json_.object("totals", [&] { totals(); });
      json_.array("nodes", [&] {
        for (const SavedOfNode& node : audit_.nodes) json_.object([&] { of_node(node); });
      });
      json_.array("savers", [&] {
        for (const SavedRow& row : audit_.rows) json_.object([&] { saver(row); });
      });
      json_.array("not_counted", [&] { not_counted(); });
      json_.member("peak_in_optimizer", audit_.peak_elsewhere);
      json_.array("keep_less", [&] {
        for (const KeepLess& less : audit_.less) json_.object([&] { keep_less(less); });
      });
    });
    return std::move(json_).take();
  }

 private:
  void size(std::string_view name, Bytes value) { json_.member(name, count(value)); }

  void totals() {
    size("saved_bytes", audit_.total);
    json_.member("tensors", audit_.tensors);
    for (std::size_t kind = 0; kind < profile::kSavedKinds; ++kind) {
      size(std::string(name(static_cast<profile::SavedKind>(kind))) + "_bytes", audit_.kinds[kind]);
    }
    size("activations_needed_bytes", audit_.needed);
  }

  void of_node(const SavedOfNode& node) {
    json_.member("node", node.node);
    size("activations_bytes", node.activations);
    size("needed_bytes", node.needed);
    json_.member("tensors", node.tensors);
  }

  void place(const std::optional<SavedTensors::Place>& place) {
    if (!place) return;
    json_.member("file", profile_.files.at(place->file.index).path.string());
    json_.member("line", place->line);
  }

  void who(const SavedTensors::Saver& saver) {
    json_.member("node", saver.node);
    if (saver.module.valid()) {
      json_.member("module", profile_.at(saver.module).path);
      json_.member("class", profile_.at(saver.module).class_name);
    }
    place(saver.place);
  }

  void saver(const SavedRow& row) {
    who(saved_.savers[row.saver]);
    size("activations_bytes", row.activations);
    size("needed_bytes", row.needed);
    size("other_bytes", row.other);
    size("keeps_bytes", row.keeps);
    json_.member("tensors", row.tensors);
    json_.array("shared_with", [&] {
      for (const profile::ModuleId module : row.shared_with) json_.element(profile_.at(module).path);
    });
  }

  void not_counted() {
    for (const SavedTensors::Hooked& hooked : saved_.hooked) {
      json_.object([&] {
        who(saved_.savers[hooked.saver]);
        json_.member("count", hooked.count);
        json_.member("why", "hooks");
      });
    }
    for (const SavedTensors::Opaque& opaque : saved_.opaque) {
      json_.object([&] {
        json_.member("node", opaque.node);
        json_.member("count", opaque.count);
        json_.member("why", "opaque");
      });
    }
    if (saved_.unreadable == 0) return;
    json_.object([&] {
      json_.member("count", saved_.unreadable);
      json_.member("why", "unreadable");
    });
  }

  void keep_less(const KeepLess& less) {
    json_.member("kind", less.kind);
    json_.member("title", less.title);
    if (less.at_least) size("at_least_bytes", *less.at_least);
    place(less.place);
  }

  const profile::Profile& profile_;
  const SavedTensors& saved_;
  const SavedAudit& audit_;
  JsonText json_;
};

}  // namespace

std::string saved_json(const profile::Profile& profile, const SavedAudit& audit) {
  return SavedJsonWriter(profile, audit).write();
}

}  // namespace hotlens::report
