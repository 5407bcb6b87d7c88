// `F.scaled_dot_product_attention(q, k, v, …)` where the script multiplies, scales, masks, takes the softmax, drops and multiplies again.
// torch chooses the kernel when it is replayed: on a CPU with dropout, or with tensors of three dimensions, that is no fused one.
#include <algorithm>

#include "annotator/lab/whatif/attention.h"
#include "annotator/lab/whatif/edits.h"

namespace hotlens::lab {
namespace {

void replace(Program& program, std::vector<Attention> all) {
  std::vector<Replacement> replacements;
  for (Attention& one : all) {
    const std::size_t last = one.replaced.back();
    hold(program, one.used, one.replaced.front(), last, one.operators);
    for (const std::size_t at : one.replaced) replacements.push_back({.begin = at, .end = at + 1, .operators = {}});
    replacements.back().operators = std::move(one.operators);
  }
  std::ranges::sort(replacements, {}, &Replacement::begin);
  replace_operators(program, std::move(replacements));
}

}  // namespace

Edited fused_attention(Program program) {
  const Dataflow flow(program);
  std::vector<Attention> all;
  std::vector<std::string> modules;
  std::optional<NotHere> first;
  std::size_t left = 0, drop = 0;
  for (std::size_t at = 0; at < program.operators.size(); ++at) {
    if (program.operators[at].name != "aten::softmax") continue;
    auto attention = attention_around(program, flow, at);
    if (!attention) continue;
    if (!*attention) {
      ++left;
      if (!first) first = std::move(attention->error());
      continue;
    }
    add_module(modules, program, program.operators[at]);
    drop += (*attention)->drops ? 1 : 0;
    all.push_back(std::move(**attention));
  }
  if (all.empty())
    return std::unexpected(first.value_or(NotHere{.reason = "no product, softmax and product of an attention follow each other"}));
  std::string evidence = counted(all.size(), "attention", "attentions") + " as product, softmax, product";
  if (drop > 0) evidence += ", " + std::to_string(drop) + " with dropout, which torch does not fuse on a CPU";
  if (left > 0) evidence += "; " + std::to_string(left) + " more stay: " + first->reason;
  replace(program, std::move(all));
  release_after_last_use(program);
  return Edit{.program = std::move(program), .evidence = std::move(evidence), .modules = std::move(modules)};
}

}  // namespace hotlens::lab
