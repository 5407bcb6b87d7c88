// `nn.ReLU(inplace=True)`: the result takes the memory of what comes in, where nothing needs that any more.
#include <algorithm>
#include <set>
#include <string>

#include "annotator/lab/structure/draft.h"
#include "annotator/lab/whatif/edits.h"
#include "annotator/lab/whatif/relu.h"

namespace hotlens::lab {
namespace {

// ReLUs that one place of the script calls: those of a layer, and all that a class calls in its own code.
std::string home_of(const Program& program, const Operator& op) {
  if (op.module == kNoModule) return {};
  const bool is_layer = op.module < program.classes.size() && program.classes[op.module] == "ReLU";
  return is_layer || op.module >= program.classes.size() ? program.modules[op.module] : "class " + program.classes[op.module];
}

// The tensor is let go where the later of its two names was.
void let_go_once(Program& program, const std::set<TensorId>& ids) {
  std::set<TensorId> gone;
  for (std::size_t at = program.operators.size(); at-- > 0;) {
    Operator& op = program.operators[at];
    if (op.kind == OperatorKind::free) keep_only(op, [&](TensorId id) { return !ids.contains(id) || gone.insert(id).second; });
  }
  std::erase_if(program.operators, [](const Operator& op) { return op.kind == OperatorKind::free && op.args.empty(); });
}

}  // namespace

Edited inplace_relu(Program program) {
  const Dataflow flow(program);
  std::vector<std::size_t> relus;
  std::set<std::string> needed{""};  // homes with a ReLU whose input is
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    if (program.operators[at].name != "aten::relu") continue;
    relus.push_back(at);
    if (!may_write_in_place(program, flow, at)) needed.insert(home_of(program, program.operators[at]));
  }
  std::erase_if(relus, [&](std::size_t at) { return needed.contains(home_of(program, program.operators[at])); });
  if (relus.empty())
    return std::unexpected(NotHere{.reason = "no layer has only ReLUs whose input nothing else needs, and that are not in place already"});
  std::vector<std::string> modules;
  Ids written;  // what they gave: what they write to
  std::set<TensorId> kept;
  for (const std::size_t at : relus) {
    Operator& op = program.operators[at];
    const TensorId input = tensor_of(argument(op, 0, "self"));
    const auto already = written.find(input);
    const TensorId over = already == written.end() ? input : already->second;
    written[op.out[0]] = over;
    kept.insert(over);
    op.name = "aten::relu_";
    add_module(modules, program, op);
  }
  for (Operator& op : program.operators) rename(op, written);
  let_go_once(program, kept);
  release_after_last_use(program);
  return Edit{.program = std::move(program),
              .evidence = counted(relus.size(), "ReLU gets", "ReLUs get") + " a tensor that nothing else needs",
              .modules = std::move(modules)};
}

}  // namespace hotlens::lab
