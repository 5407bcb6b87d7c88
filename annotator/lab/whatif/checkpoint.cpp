// `torch.utils.checkpoint` around blocks that repeat, such as a transformer's layers: they keep only their inputs for the backward pass and
// run again in it. The edit marks their operators; the worker runs what is marked as torch does (worker/checkpoint.h).
#include <algorithm>
#include <map>
#include <set>

#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {
namespace {

struct Block {
  std::size_t module = kNoModule, begin = 0, end = 0;  // operators [begin, end)
  TensorId out = kNoTensor;
};

bool is_inside(const std::string& path, const std::string& outer) {
  return path == outer || (path.starts_with(outer) && path[outer.size()] == '.');
}

class Finder {
 public:
  explicit Finder(const Program& program) : program_(program) {
    const auto backward = std::ranges::find(program.operators, OperatorKind::backward, &Operator::kind);
    backward_ = static_cast<std::size_t>(backward - program.operators.begin());
  }

  // Why no block of the step can be checkpointed, whichever it is.
  std::string why_none() const {
    if (std::ranges::find(program_.operators, OperatorKind::block, &Operator::kind) != program_.operators.end())
      return "the script checkpoints blocks itself";
    const auto passes = [&](OperatorKind kind) { return std::ranges::count(program_.operators, kind, &Operator::kind); };
    if (passes(OperatorKind::backward) != 1 || passes(OperatorKind::grad) != 0) return "the step has not exactly one backward pass";
    const Operator& pass = program_.operators[backward_];
    const auto keeps = [](const auto& given) { return given.first != "inputs" && is_true(&given.second); };
    return std::ranges::any_of(pass.kwargs, keeps) ? "the backward pass keeps its graph" : "";
  }

  std::expected<std::vector<Block>, NotHere> blocks() {
    std::vector<Block> found;
    for (const bool containers : {false, true}) {
      for (const std::size_t module : outermost(containers)) {
        if (auto block = block_of(module)) found.push_back(*block);
      }
      if (!found.empty()) break;
    }
    std::ranges::sort(found, {}, &Block::begin);
    if (!found.empty()) return found;
    return std::unexpected(first_.value_or(NotHere{.reason = "no module with layers of its own comes more than once in the model"}));
  }

 private:
  bool runs(std::size_t module) const {
    return std::ranges::any_of(program_.operators, [&](const Operator& op) {
      return computes(op) && op.module != kNoModule && is_inside(program_.modules[op.module], program_.modules[module]);
    });
  }

  bool has_layers(std::size_t module) const {
    return std::ranges::any_of(program_.modules, [&](const std::string& path) {
      return path != program_.modules[module] && is_inside(path, program_.modules[module]);
    });
  }

  // Modules with layers of their own whose class comes more than once, and which lie in no other such module.
  std::vector<std::size_t> outermost(bool containers) const {
    std::map<std::string, std::vector<std::size_t>> by_class;
    for (std::size_t module = 0; module < program_.modules.size(); ++module) {
      const std::string& name = program_.classes[module];
      const bool fits = !name.empty() && (name == "Sequential") == containers && name != "ModuleList" && name != "ModuleDict";
      if (fits && !program_.modules[module].empty() && has_layers(module) && runs(module)) by_class[name].push_back(module);
    }
    std::vector<std::size_t> repeated, found;
    for (const auto& [name, modules] : by_class) {
      if (modules.size() > 1) repeated.insert(repeated.end(), modules.begin(), modules.end());
    }
    for (const std::size_t module : repeated) {
      const auto holds = [&](std::size_t other) { return other != module && is_inside(program_.modules[module], program_.modules[other]); };
      if (std::ranges::none_of(repeated, holds)) found.push_back(module);
    }
    return found;
  }

  std::optional<Block> block_of(std::size_t module) {
    Block block{.module = module};
    const std::string& path = program_.modules[module];
    bool begun = false;
    for (std::size_t at = 0; at < backward_; ++at) {
      const Operator& op = program_.operators[at];
      if (!computes(op) || op.module == kNoModule || !is_inside(program_.modules[op.module], path)) continue;
      if (!begun) block.begin = at;
      begun = true;
      block.end = at + 1;
    }
    if (!begun) return std::nullopt;
    const std::string reason = why_not(block);
    if (reason.empty()) return block;
    if (!first_) first_ = NotHere{.reason = reason, .op = {}, .module = path};
    return std::nullopt;
  }

  // Sets the block's result.
  std::string why_not(Block& block) const {
    const std::string& path = program_.modules[block.module];
    std::set<TensorId> made, given;
    std::map<TensorId, std::int64_t> call_of;  // that reads a parameter
    bool graph = false;
    for (std::size_t at = block.begin; at < block.end; ++at) {
      const Operator& op = program_.operators[at];
      if (op.kind == OperatorKind::free || op.kind == OperatorKind::clear_autocast_cache) continue;
      if (!computes(op)) return "within it something else happens than operators";
      if (op.module != kNoModule && !is_inside(program_.modules[op.module], path)) return "other modules run between its operators";
      graph = graph || op.grad;
      bool twice = false;
      for_each_tensor(op, [&](TensorId id) {
        if (made.contains(id)) return;
        given.insert(id);
        if (is_kind(id, TensorKind::parameter)) twice = twice || call_of.try_emplace(id, op.call).first->second != op.call;
      });
      if (twice) return "it is called more than once in a step";
      for (const TensorId id : op.out) {
        if (given.contains(id) && !is_kind(id, TensorKind::buffer)) return "it changes its input in place";
        made.insert(id);
      }
    }
    if (!graph) return "it runs without gradients";
    const auto results = used_after(block.end, made);
    if (results.size() != 1) return "it gives " + std::to_string(results.size()) + " tensors to what follows, where one is expected";
    block.out = *results.begin();
    return {};
  }

  std::set<TensorId> used_after(std::size_t begin, const std::set<TensorId>& made) const {
    std::set<TensorId> used;
    for (std::size_t at = begin; at < program_.operators.size(); ++at) {
      const Operator& op = program_.operators[at];
      if (!computes(op) && op.kind != OperatorKind::backward) continue;
      for_each_tensor(op, [&](TensorId id) {
        if (made.contains(id) && id >= static_cast<TensorId>(program_.tensors.size())) used.insert(id);
      });
    }
    return used;
  }

  bool is_kind(TensorId id, TensorKind kind) const {
    return id >= 0 && static_cast<std::size_t>(id) < program_.tensors.size() && program_.tensors[static_cast<std::size_t>(id)].kind == kind;
  }

  const Program& program_;
  std::size_t backward_ = 0;
  std::optional<NotHere> first_;  // why the first block that was looked at is none
};

Operator mark(const Program& program, const Block& block, std::size_t number, bool begins) {
  const Operator& beside = program.operators[begins ? block.begin : block.end - 1];
  Operator op{.kind = begins ? OperatorKind::block : OperatorKind::block_end,
              .name = begins ? "hotlens::block" : "hotlens::block_end",
              .overload = {},
              .args = {},
              .kwargs = {},
              .out = {},
              .module = block.module,
              .grad = beside.grad,
              .autocast = beside.autocast,
              .stage = beside.stage};
  if (begins) {
    op.args.emplace_back().is = Whole{.offset = static_cast<std::int64_t>(number)};
    op.kwargs.emplace_back("checkpointed", Value{true});
  } else {
    op.args.emplace_back().is = TensorRef{block.out};
  }
  return op;
}

std::size_t batch_norms(const Program& program, const std::vector<Block>& blocks) {
  constexpr std::size_t kRunningMean = 3, kTraining = 5;
  std::size_t found = 0;
  for (const Block& block : blocks) {
    for (std::size_t at = block.begin; at < block.end; ++at) {
      const Operator& op = program.operators[at];
      const bool gathers = op.name == "aten::batch_norm" && is_true(argument(op, kTraining, "training"));
      found += gathers && tensor_of(argument(op, kRunningMean, "running_mean")) != kNoTensor ? 1 : 0;
    }
  }
  return found;
}

}  // namespace

Edited checkpoint_blocks(Program program) {
  Finder finder(program);
  if (std::string reason = finder.why_none(); !reason.empty()) return std::unexpected(NotHere{.reason = std::move(reason)});
  const auto blocks = finder.blocks();
  if (!blocks) return std::unexpected(blocks.error());
  std::string evidence = counted(blocks->size(), "block keeps", "blocks keep") + " what the backward pass needs";
  if (const std::size_t norms = batch_norms(program, *blocks); norms > 0) {
    evidence += "; " + counted(norms, "batch norm in them updates its", "batch norms in them update their") +
                " running statistics twice a step where it is checkpointed";
  }
  std::vector<std::string> modules;
  std::vector<Operator> all;
  auto next = blocks->begin();
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    if (next != blocks->end() && at == next->begin) {
      all.push_back(mark(program, *next, modules.size(), true));
      modules.push_back(program.modules[next->module]);
    }
    all.push_back(program.operators[at]);
    if (next != blocks->end() && at + 1 == next->end) all.push_back(mark(program, *next++, modules.size(), false));
  }
  program.operators = std::move(all);
  release_after_last_use(program);
  return Edit{.program = std::move(program), .evidence = std::move(evidence), .modules = std::move(modules)};
}

}  // namespace hotlens::lab
