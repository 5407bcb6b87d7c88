#include "annotator/attribution/owners/backward_order.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace hotlens::attribution {
namespace {

constexpr std::uint32_t kNoKey = std::numeric_limits<std::uint32_t>::max();

// "_log_softmax" and "LogSoftmax" are one name: letters and digits in lower case, without the namespace.
std::string plain(std::string_view name) {
  if (const std::size_t space = name.find_last_of(": "); space != std::string_view::npos) name.remove_prefix(space + 1);
  std::string result;
  for (const char c : name) {
    if (c != '_') result += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  }
  return result;
}

void drop_end(std::string& text, std::string_view end) {
  if (text.size() > end.size() && text.ends_with(end)) text.resize(text.size() - end.size());
}

std::string made_by(std::string_view backward) {
  std::string name = plain(backward);
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.pop_back();
  drop_end(name, "s");
  drop_end(name, "backward");
  return name;
}

struct Op {
  Ns start{};
  std::uint32_t node = 0, key = 0;
};

// Pairs of positions, both ascending: the longest chain of them that runs forward in both lists.
using Pair = std::pair<std::uint32_t, std::uint32_t>;
std::vector<Pair> ascending(const std::vector<Pair>& pairs) {
  std::vector<std::uint32_t> tails, before(pairs.size(), kNoNode);  // by length: the pair that a chain of it ends with
  for (std::uint32_t at = 0; at < pairs.size(); ++at) {
    const auto place = std::ranges::lower_bound(tails, pairs[at].second, {}, [&](std::uint32_t tail) { return pairs[tail].second; });
    if (place != tails.begin()) before[at] = *(place - 1);
    if (place == tails.end()) {
      tails.push_back(at);
    } else {
      *place = at;
    }
  }
  std::vector<Pair> chain;
  for (std::uint32_t at = tails.empty() ? kNoNode : tails.back(); at != kNoNode; at = before[at]) chain.push_back(pairs[at]);
  std::ranges::reverse(chain);
  return chain;
}

class Orderer {
 public:
  Orderer(const trace::Trace& trace, const Forest& forest) : trace_(trace), forest_(forest) {
    result_.creator.assign(forest.size(), kNoNode);
    name_backward();
    name_forward();
  }

  BackwardOrder run(const Steps& steps) && {
    collect(steps);
    Ns from = Ns::min();
    for (const Pass& pass : steps.passes) {
      const auto backward = part(backward_, pass.start, pass.end);
      std::vector<Op> forward = part(forward_, from, pass.start);
      std::ranges::reverse(forward);
      pair_pass(backward, forward);
      from = pass.end;
    }
    result_.fit.nodes = backward_.size();
    if (result_.fit.confidence() < kLeastConfidence) {
      std::ranges::fill(result_.creator, kNoNode);
      result_.fit.paired = 0;
    }
    lend_to_accumulation();
    return std::move(result_);
  }

 private:
  using Positions = std::vector<std::uint32_t>;
  struct Names {
    Positions backward, forward;
  };

  std::uint32_t name_of(std::uint32_t node) const { return trace_.events.name[forest_.event[node]].index; }

  // Numbers for what backward operators are named after, by name.
  void name_backward() {
    key_of_backward_.assign(trace_.names.size(), kNoKey);
    for (std::uint32_t node = 0; node < forest_.size(); ++node) {
      if (!runs_backward(trace_, forest_, node) || key_of_backward_[name_of(node)] != kNoKey) continue;
      const std::string name = made_by(trace_.names[trace::NameId{name_of(node)}]);
      key_of_backward_[name_of(node)] = keys_.try_emplace(name, static_cast<std::uint32_t>(keys_.size())).first->second;
    }
  }

  void name_forward() {
    key_of_forward_.assign(trace_.names.size(), kNoKey);
    for (std::uint32_t name = 0; name < trace_.names.size() && !keys_.empty(); ++name) {
      std::string text = plain(trace_.names[trace::NameId{name}]);
      auto known = keys_.find(text);
      if (known == keys_.end()) {
        drop_end(text, "forward");  // nll_loss_forward makes NllLossBackward0
        known = keys_.find(text);
      }
      if (known != keys_.end()) key_of_forward_[name] = known->second;
    }
  }

  // Outermost autograd nodes, and outermost operators that nodes are named after, outside the stages that make none.
  void collect(const Steps& steps) {
    enum class Inside : std::uint8_t { nothing, backward, other };
    std::vector<Inside> inside(forest_.size());
    for (const Forest::Thread& thread : forest_.threads) {
      const bool own = steps.main == kNoNode || thread.process == forest_.threads[steps.main].process;
      for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
        const std::uint32_t parent = forest_.parent[node];
        inside[node] = parent == kNoNode ? Inside::nothing : inside[parent];
        if (forest_.kind[node] == Kind::stage) {
          const auto stage = static_cast<Stage>(forest_.value[node]);
          const bool makes = stage == Stage::forward || stage == Stage::loss || stage == Stage::backward || stage == Stage::other;
          if (!makes) inside[node] = Inside::other;
        }
        if (forest_.kind[node] != Kind::op || inside[node] != Inside::nothing || !own) continue;
        if (runs_backward(trace_, forest_, node)) {
          inside[node] = Inside::backward;
          if (!forest_.traits_at(trace_, node).accumulates)
            backward_.push_back({forest_.start[node], node, key_of_backward_[name_of(node)]});
        } else if (const std::uint32_t key = key_of_forward_[name_of(node)]; key != kNoKey) {
          inside[node] = Inside::other;
          forward_.push_back({forest_.start[node], node, key});
        }
      }
    }
    std::ranges::stable_sort(backward_, {}, &Op::start);
    std::ranges::stable_sort(forward_, {}, &Op::start);
  }

  static std::vector<Op> part(const std::vector<Op>& all, Ns from, Ns until) {
    return {std::ranges::lower_bound(all, from, {}, &Op::start), std::ranges::lower_bound(all, until, {}, &Op::start)};
  }

  // `forward`: latest first. Names of equal count first, then what lies between the pairs that these make.
  void pair_pass(const std::vector<Op>& backward, const std::vector<Op>& forward) {
    std::vector<Pair> sure;
    for (const auto& [key, names] : names_between(backward, forward, {0, 0}, {backward.size(), forward.size()})) {
      if (names.backward.size() != names.forward.size()) continue;
      for (std::size_t at = 0; at < names.backward.size(); ++at) sure.emplace_back(names.backward[at], names.forward[at]);
    }
    std::ranges::sort(sure);
    Pair from{0, 0};
    sure = ascending(sure);
    sure.emplace_back(backward.size(), forward.size());
    for (const Pair& next : sure) {
      pair_between(backward, forward, from, next);
      if (next.first < backward.size()) pair(backward[next.first], forward[next.second]);
      from = {next.first + 1, next.second + 1};
    }
  }

  void pair_between(const std::vector<Op>& backward, const std::vector<Op>& forward, Pair from, Pair to) {
    for (const auto& [key, names] : names_between(backward, forward, from, to)) {
      const bool as_many = names.backward.size() == names.forward.size();
      const bool one_module = names.forward.size() > names.backward.size() && !names.backward.empty() &&
                              std::ranges::all_of(names.forward, [&](std::uint32_t at) {
                                return module_around(forward[at].node) == module_around(forward[names.forward.front()].node);
                              });
      if (!as_many && !one_module) continue;
      for (std::size_t at = 0; at < names.backward.size(); ++at) pair(backward[names.backward[at]], forward[names.forward[at]]);
    }
  }

  static std::map<std::uint32_t, Names> names_between(const std::vector<Op>& backward, const std::vector<Op>& forward, Pair from, Pair to) {
    std::map<std::uint32_t, Names> names;
    for (std::uint32_t at = from.first; at < to.first; ++at) names[backward[at].key].backward.push_back(at);
    if (names.empty()) return names;
    for (std::uint32_t at = from.second; at < to.second; ++at) {
      if (const auto known = names.find(forward[at].key); known != names.end()) known->second.forward.push_back(at);
    }
    return names;
  }

  std::uint32_t module_around(std::uint32_t node) const {
    for (node = forest_.parent[node]; node != kNoNode; node = forest_.parent[node]) {
      if (forest_.kind[node] == Kind::frame || forest_.kind[node] == Kind::range) return node;
    }
    return kNoNode;
  }

  void pair(const Op& backward, const Op& forward) {
    result_.creator[backward.node] = forward.node;
    ++result_.fit.paired;
  }

  void lend_to_accumulation() {
    for (const Forest::Thread& thread : forest_.threads) {
      std::uint32_t last = kNoNode;
      for (std::uint32_t node = thread.begin; node < thread.end; ++node) {
        if (!runs_backward(trace_, forest_, node)) continue;
        const std::uint32_t parent = forest_.parent[node];
        if (forest_.traits_at(trace_, node).accumulates) {
          result_.creator[node] = last;
        } else if (parent == kNoNode || !runs_backward(trace_, forest_, parent)) {
          last = result_.creator[node];
        }
      }
    }
  }

  const trace::Trace& trace_;
  const Forest& forest_;
  std::unordered_map<std::string, std::uint32_t> keys_;
  std::vector<std::uint32_t> key_of_backward_, key_of_forward_;  // by name
  std::vector<Op> backward_, forward_;                           // by start
  BackwardOrder result_;
};

}  // namespace

BackwardOrder backward_by_order(const trace::Trace& trace, const Forest& forest, const Steps& steps) {
  return Orderer(trace, forest).run(steps);
}

}  // namespace hotlens::attribution
