#include "annotator/lab/edited/edited.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "annotator/common/format.h"
#include "annotator/common/json_text.h"
#include "annotator/lab/layers/python/torch_layers.h"

namespace hotlens::lab {
namespace {

using format::harmless;
using format::readable;
using nlohmann::json;

// The dimension that a layer's first argument must equal, from the end; 0: it has none.
std::size_t features_from_end(const std::string& layer, std::size_t rank) {
  if (layer == "Linear" || layer == "LayerNorm" || layer == "LSTM" || layer == "GRU") return 1;
  return (layer.starts_with("Conv") || layer.starts_with("BatchNorm") || layer == "GroupNorm") && rank >= 2 ? rank - 1 : 0;
}

// The layer with weights whose result the tensor is, through whatever keeps its size.
const Operator* made_by_layer(const Program& program, TensorId id, std::size_t before) {
  for (std::size_t at = before; at-- > 0;) {
    const Operator& op = program.operators[at];
    if (!computes(op) || std::ranges::find(op.out, id) == op.out.end()) continue;
    bool weights = false;
    TensorId first = kNoTensor;
    for_each_tensor(op, [&](TensorId one) {
      const bool listed = one >= 0 && static_cast<std::size_t>(one) < program.tensors.size();
      weights = weights || (listed && program.tensors[static_cast<std::size_t>(one)].kind == TensorKind::parameter);
      if (first == kNoTensor) first = one;
    });
    const bool norm = op.name.find("norm") != std::string::npos;
    if (weights && !norm && op.module != kNoModule) return &op;
    if (first == kNoTensor) return nullptr;
    id = first;
  }
  return nullptr;
}

std::string place(const layers::Line& at) {
  return at.line < 0 ? std::string() : fmt::format("{}:{}", std::filesystem::path(at.file).filename().string(), at.line + 1);
}

void write_place(JsonText& to, const layers::Line& at) {
  if (at.line < 0) return;
  to.member("file", at.file);
  to.member("line", at.line);
}

void write_edit(JsonText& to, const EditedStep& step, const LayerEdit& edit) {
  write_place(to, edit.at);
  to.member("what", edit.what);
  to.array("modules", [&] {
    for (const std::string& module : edit.modules) to.element(module);
  });
  if (step.time) {
    to.member("step_ns", step.time->step.count());
    to.member("step_was_ns", step.step_was.count());
    to.member("low_ns", step.time->low.count());
    to.member("high_ns", step.time->high.count());
  }
  if (step.peak) to.member("peak_bytes", count(*step.peak));
  if (step.peak_was) to.member("peak_was_bytes", count(*step.peak_was));
}

layers::Line place_in(const json& of) {
  return {.file = of.value("file", ""), .line = of.value("line", std::int64_t{-1})};
}

void read_step(const json& edit, EditedStep& step) {
  if (edit.contains("step_ns")) {
    step.step_was = Ns{edit.at("step_was_ns")};
    step.time = StepTime{.step = Ns{edit.at("step_ns")}, .low = Ns{edit.at("low_ns")}, .high = Ns{edit.at("high_ns")}};
  }
  if (edit.contains("peak_bytes")) {
    step.peak = Bytes{edit.at("peak_bytes")};
    step.peak_was = Bytes{edit.at("peak_was_bytes")};
  }
}

// What the script may give otherwise now, where that decides whether it fits; empty: nothing is known to.
std::string may_follow(const EditRefusal& refusal, const layers::Changes& changes) {
  const bool beyond = refusal.reason.contains("out of range") || refusal.reason.contains("out of bounds");
  if (refusal.op.starts_with("aten::ctc_loss")) return "the lengths that the script gives may follow, which cannot be known";
  if (beyond && changes.draws) return "the batch named what is not there any more, and what the script draws now cannot be known";
  return "";
}

}  // namespace

std::vector<LayerEdit> edits_of(const layers::Changes& changes) {
  std::vector<LayerEdit> edits;
  const auto add = [&](const auto& change) {
    const auto same = std::ranges::find_if(edits, [&](const LayerEdit& one) {
      return one.what == change.what && one.at.line == change.at.line && one.at.file == change.at.file;
    });
    if (same != edits.end()) {
      same->modules.push_back(change.path);
    } else {
      edits.push_back({change.what, change.at, {change.path}});
    }
  };
  std::ranges::for_each(changes.structural, add);
  std::ranges::for_each(changes.changes, add);
  return edits;
}

EditRefusal misfit(const json& error, const Program& program, const layers::Changes& changes) {
  EditRefusal refusal{.misfit = error.value("code", "") == "operator",
                      .reason = error.value("message", ""),
                      .op = error.value("operator", ""),
                      .module = error.value("module", ""),
                      .at = {}};
  if (const auto line = changes.lines.find(refusal.module); line != changes.lines.end()) refusal.at = line->second;
  if (const std::string unknown = refusal.misfit ? may_follow(refusal, changes) : std::string(); !unknown.empty()) {
    refusal.misfit = false;
    refusal.reason = unknown + ": " + refusal.reason;
    return refusal;
  }
  const auto layer = changes.is.find(refusal.module);
  const std::size_t at = error.value("at", program.operators.size());
  const json sizes = error.value("sizes", json::array());
  if (!refusal.misfit || layer == changes.is.end() || at >= program.operators.size() || sizes.empty()) return refusal;
  const auto first = sizes[0].get<std::vector<std::int64_t>>();
  const std::size_t from_end = features_from_end(layer->second->layer, first.size());
  if (from_end == 0 || from_end > first.size()) return refusal;
  TensorId input = kNoTensor;
  for_each_tensor(program.operators[at], [&](TensorId id) {
    if (input == kNoTensor) input = id;
  });
  const Operator* maker = made_by_layer(program, input, at);
  std::string from = maker == nullptr ? " from the batch" : "";
  if (maker != nullptr) {
    const auto line = changes.lines.find(program.modules[maker->module]);
    if (line != changes.lines.end() && line->second.line >= 0) from = fmt::format(" from line {}", line->second.line + 1);
    if (line != changes.lines.end() && line->second.file != refusal.at.file)
      from += " of " + std::filesystem::path(line->second.file).filename().string();
  }
  const std::string_view features = layer->second->layer.starts_with("Conv") ? "channels" : "features";
  refusal.reason =
      fmt::format("{} gets {} {}{}: {}", shown(*layer->second), first[first.size() - from_end], features, from, refusal.reason);
  return refusal;
}

std::string as_json(const EditedStep& step) {
  JsonText out;
  out.object([&] {
    out.member("schema", std::string_view("hotlens.predict/1"));
    out.member("profile", step.profile);
    out.array("self_check", [&] {
      if (!step.check) return;
      out.object([&] {
        out.member("peak_bytes_real", count(step.check->real));
        out.member("peak_bytes_replayed", count(step.check->replayed));
        out.member("ratio", step.check->ratio());
        out.member("ok", step.check->ok());
      });
    });
    out.array("edits", [&] {
      for (const LayerEdit& edit : step.edits) out.object([&] { write_edit(out, step, edit); });
    });
    for (const bool misfit : {true, false}) {
      out.array(misfit ? "misfits" : "refused", [&] {
        if (!step.refused || step.refused->misfit != misfit) return;
        out.object([&] {
          write_place(out, step.refused->at);
          if (!step.refused->module.empty()) out.member("module", step.refused->module);
          if (!step.refused->op.empty()) out.member("operator", step.refused->op);
          out.member("reason", step.refused->reason);
          if (!step.refused->number.empty()) out.member("number", step.refused->number);
        });
      });
    }
    write_warnings(out, step.faults);
    out.member("built", !step.unbuilt);
    if (step.sampled) out.member("sampled", true);
  });
  return std::move(out).take();
}

Result<EditedStep> read_edited_step(std::string_view text) {
  const Error other{ErrorCode::malformed, "this is no prediction for edited layers", {}};
  try {
    const json document = json::parse(text);
    if (document.at("schema") != "hotlens.predict/1") return std::unexpected(other);
    EditedStep step;
    step.profile = document.at("profile");
    step.unbuilt = !document.at("built");
    step.sampled = document.value("sampled", false);
    for (const json& edit : document.at("edits")) {
      step.edits.push_back({.what = edit.at("what"), .at = place_in(edit), .modules = edit.at("modules")});
      read_step(edit, step);
    }
    for (const json& faults : document.at("warnings")) {
      step.faults = PageFaults{.count = faults.at("count"), .time = Ns{faults.at("time_ns")}, .step = step.step_was};
    }
    for (const char* list : {"misfits", "refused"}) {
      for (const json& one : document.at(list)) {
        step.refused = EditRefusal{.misfit = list == std::string_view("misfits"),
                                   .reason = one.at("reason"),
                                   .op = one.value("operator", ""),
                                   .module = one.value("module", ""),
                                   .at = place_in(one),
                                   .number = one.value("number", "")};
      }
    }
    return step;
  } catch (const json::exception&) {
    return std::unexpected(other);
  }
}

std::string as_text(const EditedStep& step, bool color) {
  const format::Style style = format::style(color);
  std::string out;
  for (const LayerEdit& edit : step.edits) {
    const std::string more = edit.modules.size() > 1 ? fmt::format(" ×{}", edit.modules.size()) : "";
    const std::string first = edit.modules.empty() ? "" : "  " + harmless(edit.modules.front());
    out += fmt::format("{}{}{}{}{}  {}\n", style.bold, harmless(edit.what), style.off, more, first, harmless(place(edit.at)));
  }
  if (step.edits.empty() && !step.refused) out += "no layer differs from the text that was recorded\n";
  if (step.refused) {
    const EditRefusal& why = *step.refused;
    std::string where = why.op;
    if (!why.module.empty()) where += (where.empty() ? "" : " in ") + why.module;
    const std::string line = place(why.at);
    out += fmt::format("{}: {}{}{}\n", why.misfit ? "does not fit" : "not predicted", harmless(why.reason),
                       where.empty() ? "" : " (" + harmless(where) + ")", line.empty() ? "" : ", " + harmless(line));
  }
  if (step.unbuilt) out += "not predicted: the worker is not built yet\n";
  if (step.faults) out += warning(*step.faults, style);
  if (step.time) {
    out += fmt::format("step   {} → ≈ {} ({} .. {})\n", readable(step.step_was), readable(step.time->step), readable(step.time->low),
                       readable(step.time->high));
  }
  if (step.peak && step.peak_was) out += fmt::format("memory {} → {}\n", readable(*step.peak_was), readable(*step.peak));
  return out;
}

}  // namespace hotlens::lab
