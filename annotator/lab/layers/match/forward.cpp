#include "annotator/lab/layers/match/forward.h"

#include <algorithm>
#include <optional>
#include <set>

#include "annotator/lab/layers/match/subsequence.h"
#include "annotator/lab/layers/python/wording.h"

namespace hotlens::layers {
namespace {

class ForwardComparison {
 public:
  ForwardComparison(const Reading& held, const Reading& holds) : held_(held), holds_(holds), edited_(edited_parts(held, holds)) {}

  std::expected<std::vector<Gap>, Unclear> run(Node was, Node is) {
    if (!same_wording(was.field("parameters"), is.field("parameters"))) return refuse(is);
    if (const auto refused = statements(was.field("body"), is.field("body"), is)) return refuse(*refused);
    return std::move(gaps_);
  }

 private:
  // Of a function, or of a loop in it. What is refused; nullopt: nothing.
  std::optional<Node> statements(Node was_block, Node is_block, Node is) {
    const Node was = source::enclosing(was_block, "function_definition");
    const auto before = chains_of(was_block, held_), after = chains_of(is_block, holds_);
    std::size_t i = 0, j = 0;
    while (i < before.size() || j < after.size()) {
      if (i < before.size() && j < after.size() && is_pair(before[i], after[j])) {
        const bool begins = before[i].steps.empty() && !after[j].steps.empty();
        const std::size_t known = gaps_.size();
        if (!compare(before[i], after[j])) return refused_ ? refused_ : after[j].node;
        if (gaps_.size() == known + 1 && after[j].steps.empty()) gaps_.back().named = lives_on(after[j], is);
        if (begins && j + 1 < after.size() && !anchor(gaps_.back(), after[j], after[j + 1], is))
          gaps_.back().branches = is_branch(after[j], after[j + 1], is);
        ++i, ++j;
      } else if (j + 1 < after.size() && is_branch(after[j], after[j + 1], is) && follows(before, i, after[j + 1]) &&
                 is_alias(before, after[j])) {
        gaps_.push_back(empty(after[j]));
        gaps_.back().inserted = after[j++].steps;
        gaps_.back().branches = true;
      } else if (i + 1 < before.size() && is_branch(before[i], before[i + 1], was) && follows(after, j, before[i + 1]) &&
                 is_alias(after, before[i])) {
        gaps_.push_back(empty(after[j]));
        gaps_.back().removed = before[i++].steps;
      } else if (j + 1 < after.size() && is_lone(after[j]) && !calls_entries(after[j].steps)) {
        if (!insert(after[j], after[j + 1], is)) return after[j].node;
        ++j;
      } else if (i < before.size() && is_lone(before[i]) && !calls_entries(before[i].steps) && !after.empty()) {
        Gap gap = empty(j < after.size() ? after[j] : after.back());
        gap.removed = before[i++].steps;
        gaps_.push_back(std::move(gap));
      } else {
        return j < after.size() ? after[j].node : is;
      }
    }
    return std::nullopt;
  }

  std::unexpected<Unclear> refuse(Node at) const {
    if (const auto missing = missing_module(at); !missing.empty())
      return std::unexpected(Unclear{.reason = "`" + std::string(missing) + "` is not imported", .at = line_of(at)});
    return std::unexpected(Unclear{.reason = source::qualified_name(at.is("function_definition") ? at.field("body") : at) +
                                             " was edited; only plain calls of layers in it are followed",
                                   .at = line_of(at)});
  }

  // `y = x`, and nothing is given the name `x` after that.
  static bool lives_on(const Chain& chain, Node function) {
    bool given = function.field("name").text() != "forward" || !chain.base.is("identifier") || chain.base.text() == chain.target ||
                 chain.target == "return";
    for_each_name(function.field("body"), chain.base.text(), [&](Node use) {
      const Node above = use.parent();
      const bool target =
          (above.is("assignment") && above.field("left").id() == use.id()) || above.is("pattern_list") || above.is("for_statement");
      given = given || (target && ts_node_start_byte(use.node) > ts_node_start_byte(chain.node.node));
    });
    return !given;
  }

  // Whether entries of a list are called once more, or once less.
  static bool calls_entries(const std::vector<Step>& steps) {
    return std::ranges::any_of(steps, [](const Step& step) { return step.path.ends_with(kEach); });
  }

  // `x = self.drop(x)`, a statement of its own.
  static bool is_lone(const Chain& chain) {
    return !chain.steps.empty() && chain.base.is("identifier") && chain.base.text() == chain.target;
  }

  static bool is_pair(const Chain& was, const Chain& is) {
    if (was.target != is.target || is_lone(was) != is_lone(is)) return false;
    return !is_lone(was) || was.base.text() == is.base.text();
  }

  // A new statement: before the call of a layer with the same name in the next one.
  bool insert(const Chain& chain, const Chain& next, Node function) {
    Gap gap = empty(chain);
    gap.inserted = chain.steps;
    gaps_.push_back(std::move(gap));
    return anchor(gaps_.back(), chain, next, function);
  }

  // What comes last in a statement, with no call before it: its place is before the next statement's call with the same name.
  bool anchor(Gap& gap, const Chain& chain, const Chain& next, Node function) const {
    if (!gap.before.empty() || !gap.after.empty() || !gap.removed.empty()) return true;
    const auto call = first_call(next.node, chain.target);
    if (!call || is_also(function, chain.target)) return false;
    gap.after.push_back(first_in(*call));
    gap.in_part = function.field("name").text() != "forward";
    return gap.rebinds = true;
  }

  // Whether the name stood for what the layers get now: `short = x`.
  static bool is_alias(const std::vector<Chain>& other, const Chain& chain) {
    return std::ranges::any_of(other, [&](const Chain& one) {
      return one.target == chain.target && one.steps.empty() && one.base.is("identifier") && one.base.text() == chain.base.text();
    });
  }

  // Whether the other text goes on with this statement.
  bool follows(const std::vector<Chain>& other, std::size_t at, const Chain& next) const {
    return at < other.size() && other[at].target == next.target && is_same(other[at].node, next.node);
  }

  // `short = self.down(x)`, of what the method takes, where the next statement adds it to something and nothing else has it.
  static bool is_branch(const Chain& chain, const Chain& next, Node function) {
    const auto parameters = function.field("parameters").children();
    if (function.field("name").text() != "forward") return false;
    const bool layers = std::ranges::all_of(chain.steps, [](const Step& step) { return step.function.empty(); });
    if (chain.steps.empty() || !layers || !chain.base.is("identifier") || chain.base.text() == chain.target) return false;
    if (parameters.size() != 2 || parameters[1].text() != chain.base.text()) return false;
    const auto count = [&](Node within, std::string_view name, bool read) {
      std::size_t found = 0;
      source::walk(within, [&](Node node) {
        const Node above = node.parent();
        const bool given = above.is("assignment") && above.field("left").id() == node.id();
        if (node.is("identifier") && node.text() == name && given != read) ++found;
        return true;
      });
      return found;
    };
    const Node body = function.field("body");
    return count(body, chain.base.text(), false) == 0 && count(next.node, chain.target, true) == 1 && count(body, chain.target, true) == 1;
  }

  static std::optional<Step> first_call(Node node, const std::string& name) {
    if (const auto step = node.is("call") ? step_of(node) : std::nullopt;
        step && step->first.function.empty() && step->second.is("identifier") && step->second.text() == name)
      return step->first;
    for (const Node& child : node.children()) {
      if (auto found = first_call(child, name)) return found;
    }
    return std::nullopt;
  }

  // Whether something else may hold what the name stands for: `kept = x`, `all.append(x)`.
  static bool is_also(Node node, const std::string& name) {
    const auto means = [&](Node one) { return one && one.is("identifier") && one.text() == name; };
    if (node.is("assignment") && means(node.field("right"))) return true;
    if (node.is("list") || node.is("tuple") || node.is("dictionary")) {
      if (std::ranges::any_of(node.children(), means)) return true;
    }
    if (node.is("call") && node.field("function").is("attribute") && node.field("function").field("attribute").text() == "append")
      return true;
    return std::ranges::any_of(node.children(), [&](const Node& child) { return is_also(child, name); });
  }

  // `x + skip`, `self.last(wide)`: of other variables than the one that is given the result.
  static bool is_of_names(Node value, std::string_view target) {
    const bool call = value.is("call");
    if (!call && !value.is("binary_operator")) return false;
    return std::ranges::all_of(call ? value.field("arguments").children() : value.children(), [&](const Node& one) {
      return (one.is("identifier") && one.text() != target) || one.is("integer") || one.is("float");
    });
  }

  bool compare(const Chain& was, const Chain& is) {
    if (!same(was.base, is.base)) return false;
    const std::size_t n = was.steps.size(), m = is.steps.size();
    auto pairs = common_subsequence(n, m, [&](std::size_t i, std::size_t j) { return std::size_t{key(was.steps[i]) == key(is.steps[j])}; });
    pairs.emplace_back(n, m);
    std::vector<std::size_t> kept;
    std::size_t i = 0, j = 0;
    for (const auto& [next_i, next_j] : pairs) {
      Gap gap = empty(is);
      for (; i < next_i; ++i) gap.removed.push_back(was.steps[i]);
      for (; j < next_j; ++j) {
        gap.at = line_of(is.steps[j].at);
        gap.inserted.push_back(is.steps[j]);
      }
      if (gap.removed.empty()) {
        const Node value = kept.empty() ? was.base : was.steps[kept.back()].at;
        gap.value = lines_of_value(value);
        gap.of_names = is_of_names(value, was.target);
      }
      for (std::size_t one = kept.size(); one-- > 0;) add_before(was.steps[kept[one]], gap);
      if (i < n) gap.after.push_back(first_in(was.steps[i]));
      if (calls_entries(gap.removed) || calls_entries(gap.inserted)) return false;
      if (!gap.removed.empty() || !gap.inserted.empty()) gaps_.push_back(std::move(gap));
      kept.push_back(i);
      ++i, ++j;
    }
    return true;
  }

  // Of a call that stays; where it is one of a part, what comes last in that is nearer.
  void add_before(const Step& step, Gap& gap) const {
    if (const auto part = part_of(step)) {
      const auto chains = chains_of(part->field("body"), held_);
      if (!chains.empty() && chains.back().target == "return" && returns(*part) == 1) {
        const Chain& last = chains.back();
        const bool nearest = gap.removed.empty() && gap.before.empty() && last.steps.empty();
        if (nearest && !gap.value) gap.value = lines_of_value(last.base);
        for (std::size_t one = last.steps.size(); one-- > 0;) add_before(last.steps[one], gap);
      }
    }
    gap.before.push_back(step);
  }

  // What a call of a part calls with what it gets, if that is all it does with it; else the call.
  Step first_in(const Step& step) const {
    const auto part = part_of(step);
    const auto parameters = part ? part->field("parameters").children() : std::vector<Node>();
    const auto chains = part ? chains_of(part->field("body"), held_) : std::vector<Chain>();
    if (parameters.size() != 2 || chains.empty() || chains[0].steps.empty()) return step;
    const std::string_view name = parameters[1].text();
    std::size_t uses = 0;
    for_each_name(part->field("body"), name, [&](Node) { ++uses; });
    const bool all = chains[0].base.text() == name && (chains[0].target == name || uses == 1);
    return all ? first_in(chains[0].steps[0]) : step;
  }

  std::optional<Node> part_of(const Step& step) const {
    const auto found = held_.parts.find(step.path);
    return step.function.empty() && found != held_.parts.end() && found->first != "forward" ? std::optional(found->second) : std::nullopt;
  }

  static std::size_t returns(Node function) {
    std::size_t found = 0;
    source::walk(function.field("body"), [&](Node node) {
      found += node.is("return_statement") ? 1 : 0;
      return true;
    });
    return found;
  }

  // Of a loop.
  static bool is_body(Node block) { return block.parent().is("for_statement") && block.parent().field("body").id() == block.id(); }

  static Gap empty(const Chain& chain) {
    return {.holder = {}, .sequence = true, .removed = {}, .inserted = {}, .before = {}, .after = {}, .at = line_of(chain.node)};
  }

  // Equal texts, or equal but for calls that are compared.
  bool same(Node was, Node is) {
    if (is_same(was, is)) return true;
    if (++depth_ > 10'000) return false;
    const Chain before = chain_of(was, held_), after = chain_of(is, holds_);
    if (!before.steps.empty() || !after.steps.empty()) return compare(before, after);
    if (was.is("block") && is.is("block") && is_body(was) && is_body(is)) {
      const auto refused = statements(was, is, source::enclosing(is, "function_definition"));
      if (refused && !refused_) refused_ = *refused;
      return !refused;
    }
    const auto a = was.children(), b = is.children();
    if (was.kind() != is.kind() || a.empty() || a.size() != b.size() || marks(was) != marks(is)) {
      if (!refused_) refused_ = is;
      return false;
    }
    for (std::size_t at = 0; at < a.size(); ++at) {
      if (!same(a[at], b[at])) return false;
    }
    return true;
  }

  bool is_same(Node was, Node is) const {
    return same_wording(was, is) && std::ranges::none_of(edited_, [&](const std::string& part) { return mentions(was, part); });
  }

  // Parts that call something else now, themselves or by way of others.
  static std::set<std::string> edited_parts(const Reading& was, const Reading& is) {
    std::set<std::string> all;
    for (std::size_t known = 1; known != all.size();) {
      known = all.size();
      for (const auto& [name, part] : was.parts) {
        const auto found = is.parts.find(name);
        const bool own = found == is.parts.end() || !same_wording(part, found->second);
        if (own || std::ranges::any_of(all, [&](const std::string& other) { return mentions(part, other); })) all.insert(name);
      }
    }
    return all;
  }

  const Reading &held_, &holds_;  // in the recorded module, in the edited one
  const std::set<std::string> edited_;
  std::vector<Gap> gaps_;
  Node refused_;
  int depth_ = 0;
};

}  // namespace

std::expected<std::vector<Gap>, Unclear> forward_gaps(Node was, Node is, const Reading& held, const Reading& holds) {
  return ForwardComparison(held, holds).run(was, is);
}

}  // namespace hotlens::layers
