// Edits of attention that a script writes out.
#include "tests/unit/advice/script_text.h"

using namespace hotlens;
using namespace hotlens::advice;

namespace {

const std::string kHead =
    "import math, torch\nfrom torch.nn import functional as F\nclass Net:\n    def forward(self, q, k, v, mask=None):\n";

std::string fused(const std::string& body) {
  Sources from = sources(kHead + body);
  for (const auto& [path, name] :
       std::vector<std::pair<std::string, std::string>>{{"net", "Net"}, {"net.drop", "Dropout"}, {"net.act", "GELU"}}) {
    profile::ModelModule module;
    module.path = path;
    module.class_name = name;
    from.model.modules.push_back(std::move(module));
  }
  const std::string all = edited(from, "fused_attention", {"net"});
  return all.starts_with(kHead) ? all.substr(kHead.size()) : all;
}

// Scores, what comes between, and the product with the softmax of `s`.
std::string of_scores(const std::string& between, const std::string& end = "F.softmax(s, -1) @ v") {
  return fused("        s = q @ k.transpose(-2, -1)\n" + between + "        return " + end + "\n");
}

std::string call(const std::string& arguments) {
  return "        return F.scaled_dot_product_attention(" + arguments + ")\n";
}

}  // namespace

TEST_CASE("attention in one expression is one call") {
  CHECK(fused("        return F.softmax(q @ k.mT / math.sqrt(q.size(-1)), dim=-1) @ v\n") == call("q, k, v"));
  CHECK(fused("        return torch.matmul(torch.softmax(q @ k.mT * q.shape[-1] ** -0.5, -1), v)\n") == call("q, k, v"));
  CHECK(fused("        return (q @ k.mT).softmax(-1) @ v\n") == call("q, k, v, scale=1.0"));
  CHECK(fused("        return F.softmax(q @ k.mT, -1).to(v.dtype).matmul(v)\n") == call("q, k, v, scale=1.0"));
  CHECK(fused("        return F.softmax(q @ keys, -1) @ v\n") == call("q, keys.transpose(-2, -1), v, scale=1.0"));
  CHECK(fused("        return F.softmax(q @ k.transpose(2, 3), 3) @ v\n") == call("q, k, v, scale=1.0"));
  CHECK(fused("        return F.softmax(q @ k.transpose(1, 2), -1) @ v\n") == call("q, k.transpose(1, 2).transpose(-2, -1), v, scale=1.0"));
}

TEST_CASE("scale, masks and dropout between become arguments, and their statements go") {
  CHECK(of_scores("") == call("q, k, v, scale=1.0"));
  CHECK(of_scores("        s = s / math.sqrt(self.width)\n") == call("q, k, v, scale=1.0 / math.sqrt(self.width)"));
  CHECK(of_scores("        s *= self.scale\n") == call("q, k, v, scale=float(self.scale)"));
  CHECK(of_scores("        s = s / 8\n        s += mask\n") == call("q, k, v, attn_mask=mask, scale=1.0 / 8"));
  CHECK(of_scores("        s = s.masked_fill(mask == 0, float('-inf'))\n") == call("q, k, v, attn_mask=mask != 0, scale=1.0"));
  CHECK(of_scores("        s = s.masked_fill(~mask[:, None], -1e9)\n") == call("q, k, v, attn_mask=mask[:, None], scale=1.0"));
  CHECK(of_scores("        s = s.masked_fill(a | b, torch.finfo(s2.dtype).min)\n") == call("q, k, v, attn_mask=~(a | b), scale=1.0"));
  CHECK(of_scores("        s = torch.where(mask, s, -1e9)\n") == call("q, k, v, attn_mask=mask, scale=1.0"));
  CHECK(of_scores("        if mask is not None:\n            s = s + mask\n") == call("q, k, v, attn_mask=mask, scale=1.0"));
  CHECK(of_scores("        if mask is not None:\n            s = s.masked_fill(mask, -1e9)\n") ==
        call("q, k, v, attn_mask=~mask if mask is not None else None, scale=1.0"));
  CHECK(of_scores("", "self.drop(F.softmax(s, -1)) @ v") == call("q, k, v, dropout_p=self.drop.p if self.training else 0.0, scale=1.0"));
  CHECK(of_scores("        s = F.softmax(s, -1)\n        # drop\n", "F.dropout(s, 0.1, self.training) @ v") ==
        "        # drop\n" + call("q, k, v, dropout_p=0.1 if self.training else 0.0, scale=1.0"));
  CHECK(of_scores("        n = len(q)\n", "F.dropout(F.softmax(s, -1), p=0.2).view(n, -1) @ v").starts_with("refused: no product"));
}

TEST_CASE("an attention of which something is used elsewhere, or changes on the way, stays") {
  CHECK(of_scores("        f(s)\n").contains("`s` is used elsewhere in the function, too"));
  CHECK(of_scores("", "F.softmax(s, -1) @ v, s").contains("`s` is used elsewhere"));
  CHECK(of_scores("        q = q + 1\n").contains("`q` changes before the second product"));
  CHECK(of_scores("        k.mul_(2)\n").contains("`k` changes before the second product"));
  CHECK(of_scores("        for q in z:\n            pass\n").contains("`q` changes before the second product"));
  CHECK(of_scores("        t = 1; s = s / 8\n").contains("another statement stands on a line of it"));
}

TEST_CASE("what the fused operator does not do is said") {
  CHECK(of_scores("        s = s + mask\n        s = s / 8\n").contains("scaled after the mask was applied"));
  CHECK(of_scores("        s = s + a\n        s = s + b\n").contains("two masks are applied"));
  CHECK(of_scores("        s = s * 2\n        s = s * 3\n").contains("scaled twice"));
  CHECK(of_scores("        s = s + 1\n").contains("a number is added to the scores"));
  CHECK(of_scores("        s = s.masked_fill(mask, 0)\n").contains("`masked_fill` is no operation on scores that the fused one does"));
  CHECK(of_scores("        if self.hot:\n            s = s / 8\n").contains("scaled under a condition"));
  CHECK(of_scores("        if self.hot:\n            s = z\n").contains("under a condition"));
  CHECK(of_scores("        s = torch.tanh(s)\n").contains("`tanh` is no operation on scores"));
  CHECK(of_scores("", "F.softmax(s, dim=self.dim) @ v").contains("not certain that the softmax is over the last dimension"));
  CHECK(of_scores("", "F.dropout(F.dropout(F.softmax(s, -1))) @ v").contains("dropout is applied twice"));
  CHECK(of_scores("", "self.act(F.softmax(s, -1)) @ v").starts_with("refused: no product"));
  CHECK(fused("        s = f(q)\n        return F.softmax(s, -1) @ v\n").contains("the attention at train.py:6: "));
  CHECK(fused("        return q @ v\n").starts_with("refused: no product, softmax and product"));
}

TEST_CASE("functions of no class are edited only for a class that writes no attention itself") {
  const std::string function = "def attend(q, k, v):\n    s = q @ k.mT\n    return F.softmax(s, -1) @ v, s\n";
  const std::string import = "import torch\nfrom torch.nn import functional as F\n";
  const auto with_class = [&](const std::string& body) {
    Sources from = sources(import + function + "class Net:\n    def forward(self, q, k, v):\n        return " + body + "\n");
    profile::ModelModule module;
    module.path = "net";
    module.class_name = "Net";
    from.model.modules.push_back(std::move(module));
    return edited(from, "fused_attention", {"net"});
  };
  CHECK(with_class("F.softmax(q @ k.mT, -1) @ v").starts_with(import + function));
  CHECK(with_class("attend(q, k, v)").contains("`s` is used elsewhere in the function, too"));
}
