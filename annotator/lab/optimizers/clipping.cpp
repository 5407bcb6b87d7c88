#include "annotator/lab/optimizers/clipping.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "annotator/lab/layers/python/spans.h"
#include "annotator/lab/layers/python/wording.h"
#include "annotator/lab/structure/releases.h"
#include "annotator/lab/whatif/edits.h"
#include "annotator/lab/whatif/update.h"

namespace hotlens::layers {
namespace {

using lab::Operator;
using lab::TensorId;
using lab::Value;
using lab::Values;

constexpr std::string_view kClips = "clip_grad_norm_";

bool is_of_torch(Node callee) {
  if (callee.is("attribute"))
    return callee.field("attribute").text() == kClips && callee.field("object").text().find("nn.utils") != std::string_view::npos;
  const source::Binding* binding = callee.text() == kClips ? only_binding(*callee.code, kClips) : nullptr;
  return binding != nullptr && binding->module.starts_with("torch.nn.utils");
}

bool has_call(Node code, std::string_view method) {
  bool found = false;
  source::walk(code, [&](Node node) {
    const Node callee = node.is("call") ? node.field("function") : Node{};
    found = found || (callee.is("attribute") && callee.field("attribute").text() == method &&
                      callee.field("object").text().find("sched") == std::string_view::npos);
    return !found;
  });
  return found;
}

// Of all parameters of a model, by their usual norm; in a block that goes on to the update, after the backward pass.
bool is_clipping(Node statement) {
  const Node call = statement.is("expression_statement") ? statement.child() : Node{};
  if (!call.is("call") || !is_of_torch(call.field("function"))) return false;
  const auto given = call.field("arguments").children();
  const bool usual = given.size() == 2 && (!given[1].is("keyword_argument") || given[1].field("name").text() == "max_norm");
  if (!usual || !given[0].is("call") || !has_call(given[0], "parameters")) return false;
  bool backward = false, step = false, after = false;
  for (const Node& beside : statement.parent().children()) {
    after = after || beside.id() == statement.id();
    backward = backward || (!after && has_call(beside, "backward"));
    step = step || (after && has_call(beside, "step"));
  }
  return backward && step;
}

std::vector<Node> clippings(const Sources& sources, const Sources& other) {
  std::vector<Node> all;
  for (const source::Code* code : edited_files(sources, other)) {
    if (code->text().find(kClips) == std::string::npos) continue;
    source::walk(code->root(), [&](Node node) {
      if (is_clipping(node)) all.push_back(node);
      return true;
    });
  }
  return all;
}

// The operators of one call, each on the gradients of all parameters.
std::vector<Operator> clipped(const std::vector<lab::Updated>& all, const lab::Fresh& fresh) {
  std::vector<Operator> operators;
  const auto reference = [](TensorId id) { return Value{lab::TensorRef{id}}; };
  const auto add = [&](std::string name, const char* overload, Values args, std::vector<TensorId> out) {
    operators.push_back(lab::update_operator("aten::" + std::move(name), overload, std::move(args), {}, std::move(out)));
    operators.back().stage = lab::Stage::other;
  };
  const Value gradients{lab::gradients_of(all)};
  std::vector<TensorId> norms;
  Values stacked;
  for (std::size_t at = 0; at < all.size(); ++at) stacked.push_back(reference(norms.emplace_back(fresh())));
  const TensorId stack = fresh(), norm = fresh(), more = fresh(), inverse = fresh(), factor = fresh(), clamped = fresh();
  add("_foreach_norm", "Scalar", {gradients, {2.0}}, norms);
  add("stack", "", {{stacked}}, {stack});
  add("linalg_vector_norm", "", {reference(stack), {2.0}}, {norm});
  norms.push_back(stack);
  operators.push_back(lab::release(norms));
  add("add", "Tensor", {reference(norm), {1e-6}}, {more});
  add("reciprocal", "", {reference(more)}, {inverse});
  add("mul", "Tensor", {reference(inverse), {1.0}}, {factor});
  operators.push_back(lab::release({inverse, more}));
  add("clamp", "", {reference(factor), {lab::Nothing{}}, {1.0}}, {clamped});
  add("_foreach_mul_", "Tensor", {gradients, reference(clamped)}, {});
  operators.push_back(lab::release({factor, clamped, norm}));
  return operators;
}

bool takes_gradients(const Operator& op) {
  const auto is_gradient = [](const Value& value) { return std::holds_alternative<lab::GradientRef>(value.is); };
  return std::ranges::any_of(op.args, [&](const Value& value) {
    const auto* list = std::get_if<Values>(&value.is);
    return is_gradient(value) || (list != nullptr && std::ranges::any_of(*list, is_gradient));
  });
}

// What clips right before the update; nullopt: something else is done there with gradients.
std::optional<lab::Replacement> recorded_clipping(const lab::Program& program, const lab::Update& update) {
  constexpr std::array<std::string_view, 11> kOwn{
      "aten::_foreach_norm", "aten::linalg_vector_norm", "aten::stack", "aten::to",    "aten::_to_copy",
      "aten::add",           "aten::reciprocal",         "aten::mul",   "aten::clamp", "aten::_foreach_mul_",
      "aten::mul_"};
  std::size_t begin = update.begin, end = 0;
  for (std::size_t at = update.begin; at-- > 0 && program.operators[at].kind != lab::OperatorKind::backward;) {
    const Operator& op = program.operators[at];
    if (!lab::computes(op) || !takes_gradients(op)) continue;
    begin = at;
    end = std::max(end, at + 1);
  }
  for (std::size_t at = begin; at < end; ++at) {
    const Operator& op = program.operators[at];
    if (op.kind != lab::OperatorKind::free && !is_among(kOwn, op.name)) return std::nullopt;
  }
  const bool whole =
      end > begin && (program.operators[end - 1].name == "aten::_foreach_mul_" || program.operators[end - 1].name == "aten::mul_");
  return whole ? std::optional(lab::Replacement{.begin = begin, .end = end, .operators = {}}) : std::nullopt;
}

// Whether the update is of all parameters that have gradients, on one device and of one type.
bool is_of_all(const lab::Program& program, const lab::Update& update) {
  std::set<TensorId> updated;
  std::set<std::pair<std::string, std::string>> places;
  for (const lab::Updated& one : update.parameters) {
    const lab::Tensor& tensor = program.tensors[static_cast<std::size_t>(one.parameter)];
    updated.insert(one.parameter);
    places.emplace(tensor.device, tensor.dtype);
  }
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const lab::Tensor& tensor = program.tensors[id];
    if (tensor.kind == lab::TensorKind::parameter && tensor.requires_grad && !updated.contains(static_cast<TensorId>(id))) return false;
  }
  return places.size() == 1;
}

}  // namespace

TakenOut<ClippingEdit> without_clipping(const Sources& executed, const Sources& edited) {
  const std::vector<Node> was = clippings(executed, edited), is = clippings(edited, executed);
  if (was.size() + is.size() != 1) return std::nullopt;
  Plain<ClippingEdit> plain{.executed = executed, .edited = edited, .edits = {{.comes = was.empty(), .what = {}, .at = {}}}};
  ClippingEdit& edit = plain.edits[0];
  if (was.empty()) {
    edit.at = line_of(is[0]);
    edit.what = "clip_grad_norm_ added";
    replace_in(plain.edited.files, {{is[0].code, {{span_of(is[0]), passed(is[0])}}}});
  } else {
    edit.what = "clip_grad_norm_ removed";
    replace_in(plain.executed.files, {{was[0].code, {{span_of(was[0]), passed(was[0])}}}});
  }
  return plain;
}

std::optional<Unclear> change_clipping(Rewritten& rewritten, const ClippingEdit& edit) {
  lab::Program& program = rewritten.program;
  const auto updates = lab::read_updates(program);
  if (!updates) return Unclear{.reason = updates.error().reason, .module = updates.error().module, .at = edit.at, .op = updates.error().op};
  if (updates->size() != 1 || !is_of_all(program, updates->front()))
    return Unclear{.reason = "which gradients are clipped is not followed", .at = edit.at};
  const lab::Update& update = updates->front();
  if (edit.comes) {
    if (rewritten.recorded.empty()) {
      rewritten.recorded.resize(program.ids);
      std::iota(rewritten.recorded.begin(), rewritten.recorded.end(), TensorId{0});
    }
    auto operators = clipped(update.parameters, [&] { return static_cast<TensorId>(program.ids++); });
    program.operators.insert(program.operators.begin() + static_cast<std::ptrdiff_t>(update.begin), std::move_iterator(operators.begin()),
                             std::move_iterator(operators.end()));
  } else {
    auto recorded = recorded_clipping(program, update);
    if (!recorded) return Unclear{.reason = "what else the step does with its gradients is not followed", .at = edit.at};
    lab::replace_operators(program, {std::move(*recorded)});
  }
  if (!rewritten.recorded.empty()) rewritten.recorded.resize(program.ids, lab::kNoTensor);
  return std::nullopt;
}

}  // namespace hotlens::layers
