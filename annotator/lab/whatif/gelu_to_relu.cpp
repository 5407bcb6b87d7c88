// `nn.ReLU()` where `nn.GELU()` stands: ReLU keeps its result, which the next layer needs anyway, and GELU its input.
#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {

Edited gelu_to_relu(Program program) {
  std::size_t changed = 0;
  std::vector<std::string> modules;
  for (Operator& op : program.operators) {
    if ((op.name != "aten::gelu" && op.name != "aten::gelu_") || op.args.empty()) continue;
    op.name = op.name == "aten::gelu" ? "aten::relu" : "aten::relu_";
    op.args.resize(1);
    op.kwargs.clear();
    add_module(modules, program, op);
    ++changed;
  }
  if (changed == 0) return std::unexpected(NotHere{.reason = "no operator is a GELU; one written out in parts is not recognized"});
  release_after_last_use(program);
  return Edit{.program = std::move(program),
              .evidence = counted(changed, "operator is a GELU", "operators are GELUs"),
              .modules = std::move(modules)};
}

}  // namespace hotlens::lab
