#include "annotator/lab/structure/structure.h"

#include <algorithm>
#include <set>

#include "annotator/lab/layers/match/forward.h"
#include "annotator/lab/structure/calls.h"
#include "annotator/lab/structure/carried.h"
#include "annotator/lab/structure/gathered.h"
#include "annotator/lab/structure/handover.h"
#include "annotator/lab/structure/insertion.h"
#include "annotator/lab/structure/leaving.h"
#include "annotator/lab/structure/locate.h"
#include "annotator/lab/structure/loop_edit.h"
#include "annotator/lab/structure/parameters.h"
#include "annotator/lab/structure/releases.h"

namespace hotlens::layers {
namespace {

using lab::Call;
using lab::Operator;
using lab::OperatorKind;
using lab::Tensor;
using lab::TensorId;

std::ptrdiff_t at(std::size_t place) {
  return static_cast<std::ptrdiff_t>(place);
}

class Restructuring {
 public:
  Restructuring(lab::Program program, const Changes& changes)
      : changes_(changes), draft_(std::move(program)), insertion_(draft_, changes) {}

  std::expected<lab::Finished, Unclear> run() {
    lab::release_after_last_use(draft_.program);
    recorded_ = draft_.program;
    std::vector<Gap> gaps = changes_.alignment.gaps;
    std::ranges::stable_sort(gaps, std::greater(),
                             [](const Gap& gap) { return std::ranges::count(gap.holder, '.') + (gap.holder.empty() ? 0 : 1); });
    std::set<const Gap*> closed;
    for (const Gap& gap : gaps) {
      if (closed.contains(&gap)) continue;
      auto why = gap.rounds ? close_loop(lists_of(gap, gaps, closed)) : gap.gathered ? close_gathered(gap) : close(gap);
      if (why) return std::unexpected(*why);
    }
    for (const Gap& gap : gaps) {
      for (const Step& step : gap.removed) {
        if (!step.function.empty()) continue;
        const auto why = gap.is_forward() ? leave_uncalled(draft_, step.path) : remove_tensors(draft_, step.path);
        if (why) return std::unexpected(unclear(step.path, *why));
      }
    }
    if (auto why = insertion_.update()) return std::unexpected(*why);
    lab::let_go_in_time(draft_);
    lab::carry_over(draft_, recorded_);
    take_edited_paths(draft_, changes_.alignment);
    return lab::finish(std::move(draft_));
  }

 private:
  Unclear unclear(const Gap& gap, std::string reason, const Call* call = nullptr) const {
    const Step& step = gap.inserted.empty() ? gap.removed.front() : gap.inserted.front();
    Unclear why = unclear(step.function.empty() ? step.path : gap.holder, std::move(reason), call);
    if (gap.is_forward()) why.at = gap.at;
    return why;
  }

  Unclear unclear(const std::string& path, std::string reason, const Call* call = nullptr) const {
    const auto line = changes_.lines.find(path);
    return {.reason = std::move(reason),
            .module = path,
            .at = line == changes_.lines.end() ? Line{} : line->second,
            .op = call == nullptr ? std::string() : draft_.program.operators[call->begin].name};
  }

  using Calls = std::vector<std::vector<Call>>;
  static bool add(std::vector<Call> found, Calls& to) {
    if (found.empty()) return false;
    to.push_back(std::move(found));
    return true;
  }

  // Everywhere that the step comes by the gap, the last time first.
  std::optional<Unclear> close(const Gap& gap) {
    for (const Step& step : gap.inserted) {
      if (!step.function.empty()) continue;
      if (auto why = insertion_.add_tensors(step.path)) return why;
    }
    if (gap.branches) return branch(gap);
    std::vector<Step> steps(gap.removed.rbegin(), gap.removed.rend());
    steps.insert(steps.end(), gap.before.begin(), gap.before.end());
    Calls removed, before, after;
    bool all = true;
    for (std::size_t at = gap.removed.size(); at-- > 0;)
      all = add(locate(draft_.program, gap, steps, at).value_or(std::vector<Call>()), removed) && all;
    for (std::size_t at = 0; gap.sequence && at < gap.before.size() && before.empty(); ++at) {
      auto found = locate(draft_.program, gap, gap.before, at);
      if (!found) break;
      add(std::move(*found), before);
    }
    for (std::size_t at = 0; gap.sequence && at < gap.after.size() && after.empty(); ++at) {
      if (gap.after[at].function.empty()) add(locate(draft_.program, gap, gap.after, at).value_or(std::vector<Call>()), after);
      if (gap.is_forward()) break;
    }
    const auto value = gap.removed.empty() && gap.is_forward() ? locate_value(draft_.program, gap) : std::nullopt;
    if (value) before = {*value};
    if (gap.is_forward() && !before.empty()) after.clear();
    std::size_t times = 0;
    for (const auto* some : {&removed, &before, &after}) {
      for (const auto& one : *some) {
        if (times != 0 && one.size() != times) return unclear(gap, "layers beside it are called another number of times", one.data());
        times = one.size();
      }
    }
    if (gap.is_forward() && ((times == 0 && is_called(gap)) || (!all && !gap.removed.empty())))
      return unclear(gap, "where this is called in the recorded step cannot be told");
    if (!gap.sequence && removed.empty()) return std::nullopt;  // nothing that ran knows of it
    if (!gap.sequence && gap.inserted.empty()) return unclear(gap, "it is gone, and the step calls it", removed[0].data());
    for (std::size_t number = times; number-- > 0;) {
      auto why = removed.empty()
                     ? insert(gap, before.empty() ? nullptr : &before[0][number], after.empty() ? nullptr : &after[0][number], number)
                     : replace(gap, {removed.front()[number].begin, removed.back()[number].end}, number);
      if (why) return why;
    }
    return std::nullopt;
  }

  // Beside what the module does with its input: what an operator of its own took is handed to the new layers first.
  std::optional<Unclear> branch(const Gap& gap) {
    const auto calls = lab::calls_of(draft_.program, gap.recorded_holder);
    for (std::size_t number = calls.size(); number-- > 0;) {
      const Call whole = calls[number];
      const auto flow = lab::through(draft_, whole);
      if (!flow) return unclear(gap, "the module around it " + flow.error(), &whole);
      auto& operators = draft_.program.operators;
      std::vector<std::size_t> places;
      for (std::size_t place = whole.begin; place < whole.end; ++place) {
        const Operator& op = operators[place];
        const bool own = op.module != lab::kNoModule && draft_.program.modules[op.module] == gap.recorded_holder;
        if (own && op.kind != OperatorKind::free && lab::uses(op, flow->in)) places.push_back(place);
      }
      if (places.size() != 1) return unclear(gap, "where this is called in the recorded step cannot be told", &whole);
      auto made = call(gap, flow->in, Operator(operators[places[0]]), number);
      if (!made) return made.error();
      lab::rename(operators[places[0]], {{flow->in, made->out}});
      // The variable goes when the method returns.
      draft_.made.erase(made->out);
      operators.insert(operators.begin() + at(whole.end), lab::release({made->out}));
      operators.insert(operators.begin() + at(places[0]), made->operators.begin(), made->operators.end());
    }
    return std::nullopt;
  }

  // The lists that a loop goes through.
  static std::vector<Gap> lists_of(const Gap& gap, const std::vector<Gap>& gaps, std::set<const Gap*>& closed) {
    std::vector<Gap> lists;
    for (const Gap& other : gaps) {
      const bool same = other.rounds && other.rounds->loop == gap.rounds->loop &&
                        lab::split_name(other.holder).first == lab::split_name(gap.holder).first;
      if (same && closed.insert(&other).second) lists.push_back(other);
    }
    return lists;
  }

  // Entries that stand where others stood are called as those were; of the rest there are tensors then.
  std::optional<Unclear> exchange(Gap& list) {
    const std::size_t both = std::min(list.removed.size(), list.inserted.size());
    for (std::size_t place = 0; place < both; ++place) {
      const Step &was = list.removed[place], &is = list.inserted[place];
      if (auto why = close({.holder = list.holder, .sequence = true, .removed = {was}, .inserted = {is}, .before = {}, .after = {}}))
        return why;
      if (list.rounds) std::ranges::replace(list.rounds->entries, was.path, kNew + is.path);
    }
    if (both > 0) list.before.insert(list.before.begin(), {.path = kNew + list.inserted[both - 1].path});
    list.removed.erase(list.removed.begin(), list.removed.begin() + at(both));
    list.inserted.erase(list.inserted.begin(), list.inserted.begin() + at(both));
    for (const Step& step : list.inserted) {
      if (auto why = insertion_.add_tensors(step.path)) return why;
    }
    return std::nullopt;
  }

  // Entries of a list come and go beside each other.
  std::optional<Unclear> close_gathered(Gap list) {
    if (auto why = exchange(list)) return why;
    for (const Step& step : list.removed) {
      const auto calls = lab::calls_of(draft_.program, step.path);
      for (std::size_t number = calls.size(); number-- > 0;) {
        const auto done = lab::remove_gathered(draft_, calls[number]);
        if (!done) return unclear(list, done.error(), &calls[number]);
      }
    }
    if (list.inserted.empty()) return std::nullopt;
    if (list.before.empty()) return unclear(list, "what is done with the first of them is not known");
    for (auto step = list.inserted.rbegin(); step != list.inserted.rend(); ++step) {
      const auto calls = lab::calls_of(draft_.program, list.before.front().path);
      for (std::size_t number = calls.size(); number-- > 0;) {
        const Call beside = calls[number];
        const auto flow = lab::through(draft_, beside);
        if (!flow) return unclear(list, "the layer beside it " + flow.error(), &beside);
        auto made = insertion_.call(step->path, flow->in, Operator(draft_.program.operators[beside.begin]), number);
        if (!made) return made.error();
        const auto done = lab::insert_gathered(draft_, beside, std::move(*made));
        if (!done) return unclear(list, done.error(), &beside);
      }
    }
    return std::nullopt;
  }

  // Rounds of all lists of a loop come and go.
  std::optional<Unclear> close_loop(std::vector<Gap> lists) {
    for (Gap& list : lists) {
      const bool both = !list.removed.empty() && !list.inserted.empty();
      if (both && list.rounds->layers.size() > 1) return unclear(list, "its parts are called at several places of a loop");
      if (auto why = exchange(list)) return why;
    }
    std::erase_if(lists, [](const Gap& list) { return list.removed.empty() && list.inserted.empty(); });
    return edit_loop(draft_, insertion_, changes_, lists);
  }

  bool is_called(const Gap& gap) const { return !lab::calls_of(draft_.program, gap.recorded_holder).empty(); }

  std::expected<lab::Called, Unclear> call(const Gap& gap, TensorId in, const Operator& like, std::size_t number) {
    lab::Called all{.operators = {}, .out = in};
    for (const Step& step : gap.inserted) {
      auto one =
          step.function.empty() ? insertion_.call(step.path, all.out, like, number) : insertion_.call(step, gap.holder, all.out, like);
      if (!one) return one;
      std::ranges::move(one->operators, std::back_inserter(all.operators));
      all.out = one->out;
    }
    return all;
  }

  // Whether layers that go work with parameters of others: `embed.weight = head.weight`.
  bool shares_weights(const Gap& gap, const Call& old) const {
    bool shares = false;
    for (std::size_t place = old.begin; place < old.end; ++place) {
      const Operator& op = draft_.program.operators[place];
      const std::string holder = op.module == lab::kNoModule ? std::string() : draft_.program.modules[op.module];
      const auto goes = [&](const std::string& path) {
        return std::ranges::any_of(gap.removed, [&](const Step& step) { return step.function.empty() && lab::is_within(path, step.path); });
      };
      if (!goes(holder) || op.kind == OperatorKind::free) continue;
      lab::for_each_tensor(op, [&](TensorId id) {
        const Tensor* tensor = draft_.listed(id);
        const bool parameter = tensor != nullptr && tensor->kind == lab::TensorKind::parameter;
        shares = shares || (parameter && !goes(lab::split_name(tensor->name).first));
      });
    }
    return shares;
  }

  std::optional<Unclear> replace(const Gap& gap, Call old, std::size_t number) {
    const auto flow = lab::through(draft_, old);
    if (!flow) return unclear(gap, "what was there " + flow.error(), &old);
    if (shares_weights(gap, old)) return unclear(gap, "what was there has its weights from another layer", &old);
    const auto held = held_longer(old, flow->out);
    std::vector<Operator>& operators = draft_.program.operators;
    auto made = call(gap, flow->in, Operator(operators[old.begin]), number);
    if (!made) return made.error();
    for (const Operator& op : made->operators) {
      for (std::size_t one = 1; lab::is_recurrent(op) && one < op.out.size() && held; ++one) draft_.goes_with[op.out[one]] = *held;
    }
    std::vector<Operator> kept = std::move(made->operators);
    const std::size_t end = old.begin + kept.size();
    std::copy_if(operators.begin() + at(old.begin), operators.begin() + at(old.end), std::back_inserter(kept),
                 [](const Operator& op) { return op.kind == OperatorKind::free; });
    operators.erase(operators.begin() + at(old.begin), operators.begin() + at(old.end));
    operators.insert(operators.begin() + at(old.begin), kept.begin(), kept.end());
    lab::hand_over(draft_, flow->out, made->out, end);
    if (gap.named && gap.inserted.empty()) hold_until_return(gap, flow->in, end);
    const bool no_more_in_place = flow->out == flow->in && made->out != flow->in && draft_.listed(flow->in) == nullptr;
    if (no_more_in_place) draft_.made.insert(flow->in);
    return std::nullopt;
  }

  void hold_until_return(const Gap& gap, TensorId id, std::size_t place) {
    if (draft_.listed(id) != nullptr) return;
    auto& operators = draft_.program.operators;
    const std::size_t end = end_of_call(gap, place == 0 ? 0 : place - 1);
    for (Operator& op : operators) {
      if (op.kind == OperatorKind::free) lab::keep_only(op, [&](TensorId one) { return one != id; });
    }
    if (end < operators.size()) operators.insert(operators.begin() + at(end), lab::release({id}));
  }

  // What a call gives beside its result, and somebody holds although nobody uses it: `out, _ = self.rnn(x)`.
  std::optional<TensorId> held_longer(const Call& call, TensorId out) const {
    const auto& operators = draft_.program.operators;
    std::set<TensorId> others;
    for (std::size_t place = call.begin; place < call.end; ++place) {
      const Operator& op = operators[place];
      if (lab::is_recurrent(op) && op.out.size() > 1) others.insert(op.out.begin() + 1, op.out.end());
    }
    others.erase(out);
    for (std::size_t place = lab::after_releases(draft_.program, call.end); place < operators.size(); ++place) {
      if (operators[place].kind != OperatorKind::free) continue;
      for (const TensorId id : others) {
        if (lab::uses(operators[place], id)) return id;
      }
    }
    return std::nullopt;
  }

  std::optional<Unclear> insert(const Gap& gap, const Call* before, const Call* after, std::size_t number) {
    const Call beside = after != nullptr ? *after : *before;
    auto flow = lab::through(draft_, beside);
    if (!flow && after == nullptr && beside.end == beside.begin + 1) flow = given_by(beside);
    if (!flow) return unclear(gap, "the layer beside it " + flow.error(), &beside);
    const TensorId in = after != nullptr ? flow->in : flow->out;
    std::size_t place = after != nullptr ? after->begin : left_behind(before->end, in);
    const Operator like = draft_.program.operators[after != nullptr ? after->begin : before->end - 1];
    std::size_t end = after == nullptr ? draft_.program.operators.size() : after->end;
    const bool more_uses = gap.rebinds && (is_used_between(in, place) || (gap.in_part && is_used(in, end)));
    if (more_uses) return unclear(gap, "which of several uses comes before this cannot be told", &beside);
    if (gap.rebinds) end = end_of_call(gap, place);
    auto made = call(gap, in, like, number);
    if (!made) return made.error();
    const std::size_t more = made->operators.size();
    std::vector<Operator>& operators = draft_.program.operators;
    operators.insert(operators.begin() + at(place), made->operators.begin(), made->operators.end());
    if (after == nullptr) lab::postpone_others(draft_.program, gap.of_names ? before->end : before->begin, before->end, place, more);
    place += more;
    if (made->out == in) return std::nullopt;
    const bool last = flow->out == in || !is_used(in, end + more);
    if (last) {
      lab::hand_over(draft_, in, made->out, place);
      draft_.made.insert(in);
      let_go_with(in);
      return std::nullopt;
    }
    for (std::size_t one = place; one < end + more; ++one) {
      if (operators[one].kind != OperatorKind::free) lab::rename(operators[one], {{in, made->out}});
    }
    return std::nullopt;
  }

  // Of the call of the gap's module that an operator is in.
  std::size_t end_of_call(const Gap& gap, std::size_t place) const {
    for (const Call& call : lab::calls_of(draft_.program, gap.recorded_holder)) {
      if (call.begin <= place && place < call.end) return call.end;
    }
    return draft_.program.operators.size();
  }

  // Of an operator, however many tensors it takes.
  std::expected<lab::Through, std::string> given_by(const Call& call) const {
    const auto given = lab::passing(draft_, call).out;
    if (given.size() != 1) return std::unexpected(given.empty() ? "gives nothing that is used" : "gives more than one tensor");
    return lab::Through{.in = lab::kNoTensor, .out = given.front()};
  }

  // A view keeps what it is a view of: where the recorded step keeps both, they go together.
  void let_go_with(TensorId view) {
    const auto& operators = draft_.program.operators;
    for (std::size_t place = operators.size(); place-- > 0;) {
      const Operator& op = operators[place];
      if (op.kind != OperatorKind::library || std::ranges::find(op.out, view) == op.out.end() || op.args.empty()) continue;
      const auto* base = std::get_if<lab::TensorRef>(&op.args[0].is);
      if (!lab::is_view(op) || base == nullptr || draft_.listed(base->id) != nullptr) return;
      const bool released =
          std::ranges::any_of(operators, [&](const Operator& one) { return one.kind == OperatorKind::free && lab::uses(one, base->id); });
      if (released) return;
      draft_.made.insert(base->id);
      view = base->id;
    }
  }

  // What a call's variables held goes when it returns, right after its last operator.
  std::size_t left_behind(std::size_t place, TensorId out) const {
    const auto& operators = draft_.program.operators;
    while (place < operators.size() && operators[place].kind == OperatorKind::free && !lab::uses(operators[place], out)) ++place;
    return place;
  }

  bool is_used_between(TensorId id, std::size_t end) const {
    const auto& operators = draft_.program.operators;
    return std::any_of(operators.begin(), operators.begin() + at(end), [&](const Operator& op) {
      return op.kind != OperatorKind::free && lab::uses(op, id) && std::ranges::find(op.out, id) == op.out.end();
    });
  }

  bool is_used(TensorId id, std::size_t from) const {
    const auto& operators = draft_.program.operators;
    return std::any_of(operators.begin() + at(from), operators.end(),
                       [&](const Operator& op) { return op.kind != OperatorKind::free && lab::uses(op, id); });
  }

  const Changes& changes_;
  lab::Draft draft_;
  lab::Program recorded_;
  Insertion insertion_;
};

}  // namespace

std::expected<lab::Finished, Unclear> restructure(lab::Program program, const Changes& changes) {
  return Restructuring(std::move(program), changes).run();
}

}  // namespace hotlens::layers
