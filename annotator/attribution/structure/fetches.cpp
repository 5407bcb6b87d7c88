#include "annotator/attribution/structure/fetches.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "annotator/trace/python_frame.h"

namespace hotlens::attribution {
namespace {

constexpr std::size_t kLeastTurns = 2;  // one call tells nothing of a loop
constexpr std::size_t kMostOf = 4;      // it runs before one call of a model in so many: a step may call several

// Operators that make a tensor from numbers of the host or from chance.
constexpr auto kFromNone = std::to_array<std::string_view>(
    {"aten::lift_fresh", "aten::rand", "aten::randn", "aten::randint", "aten::randperm", "aten::normal", "aten::from_file"});

// A function without the line at which it was entered.
using Function = std::pair<std::string, std::string>;  // path, name

// What the name of a frame says.
struct Entry {
  std::uint32_t function = 0, line = 0;  // function: into Loop::functions_
};

// By name: nothing before it was looked at, then what it says where the function is one's own.
using Known = std::vector<std::optional<std::optional<Entry>>>;

struct Frame {
  std::uint32_t event = 0;
  std::uint32_t function = 0;
};

struct Own {
  std::string name;
  std::map<std::uint32_t, std::size_t> entered;  // by line, how often
};

// Entered at its definition once for each time that it is begun, and at the line of a `yield` from then on. Functions of one name in a file
// are entered at several lines too, and what has no name of its own ("<listcomp>") tells nothing.
bool is_generator(const Own& function) {
  if (function.entered.size() < 2 || function.name.starts_with('<')) return false;
  std::size_t again = 0;
  for (const auto& [line, times] : function.entered) again += times;
  const std::size_t begun = function.entered.begin()->second;
  return begun * 2 < again - begun;
}

class Loop {
 public:
  Loop(const trace::Trace& trace, std::span<const Meaning> meanings, trace::ThreadId thread)
      : trace_(trace), events_(trace.events), meanings_(meanings), thread_(thread) {
    gather();
  }

  std::vector<std::uint32_t> fetches() {
    std::map<std::uint32_t, std::size_t> turns;  // by function: in how many it is the last one before the model
    std::vector<Frame> all;
    for (std::size_t call = 0; call + 1 < calls_.size(); ++call) {
      std::set<std::uint32_t> seen;
      for (const Frame& frame : between(events_.end(calls_[call]), events_.start[calls_[call + 1]])) {
        if (seen.insert(frame.function).second) ++turns[frame.function];
        all.push_back(frame);
      }
    }
    std::vector<std::uint32_t> found;
    const auto fetches = [&](std::uint32_t function) {
      return turns[function] >= kLeastTurns && turns[function] * kMostOf >= calls_.size() - 1 && makes_batches(function);
    };
    if (!calls_.empty()) {  // the first turn has none before it
      for (const Frame& frame : between(Ns::min(), events_.start[calls_.front()])) all.push_back(frame);
    }
    for (const Frame& frame : all) {
      if (fetches(frame.function)) found.push_back(frame.event);
    }
    return found;
  }

 private:
  // Frames of people's own functions, outermost calls of the model, what else belongs to the loop, and operators; by start.
  void gather() {
    std::map<Function, std::uint32_t> numbers;
    Known known(trace_.names.size());
    std::vector<std::uint32_t> order;
    for (std::uint32_t event = 0; event < events_.size(); ++event) {
      if (events_.thread[event] != thread_) continue;
      const bool counts = meanings_[event].kind != Kind::none || events_.category[event] == trace::Category::python;
      if (counts && (meanings_[event].kind != Kind::none || own_function(event, numbers, known))) order.push_back(event);
    }
    if (functions_.empty()) return;
    std::ranges::sort(order, {}, [&](std::uint32_t event) { return std::tuple(events_.start[event], -events_.duration[event], event); });
    Ns inside = Ns::min();  // a call of the model until here
    for (const std::uint32_t event : order) {
      const Meaning& meaning = meanings_[event];
      if (meaning.kind == Kind::frame) {
        if (events_.start[event] >= inside) calls_.push_back(event);
        inside = std::max(inside, events_.end(event));
        loop_.push_back(events_.start[event]);
      } else if (meaning.kind == Kind::stage || (meaning.kind == Kind::op && is_backward(event))) {
        loop_.push_back(events_.start[event]);
        if (ends_a_turn(meaning)) loop_end_.push_back(events_.end(event));
      } else if (meaning.kind == Kind::op) {
        operators_.push_back(event);
      } else if (events_.category[event] == trace::Category::python) {
        const auto [function, line] = *own_function(event, numbers, known);
        frames_.push_back({event, function});
        ++functions_[function].entered[line];
      }
    }
    std::ranges::sort(loop_end_);
  }

  bool is_backward(std::uint32_t event) {
    const std::uint32_t name = events_.name[event].index;
    const auto [at, fresh] = backward_.try_emplace(name);
    if (fresh) at->second = traits_of(trace_.names[events_.name[event]]).backward;
    return at->second || events_.forward_thread[event] > 0;
  }

  // Gradients are set to zero before the batch is made as well as after it.
  static bool ends_a_turn(const Meaning& meaning) {
    return meaning.kind == Kind::op || meaning.value == static_cast<std::uint32_t>(Stage::optimizer) ||
           meaning.value == static_cast<std::uint32_t>(Stage::backward);
  }

  std::optional<Entry> own_function(std::uint32_t event, std::map<Function, std::uint32_t>& numbers, Known& known) {
    const trace::NameId name = events_.name[event];
    std::optional<std::optional<Entry>>& entry = known[name.index];
    if (!entry) entry = entry_of(name, numbers);
    return *entry;
  }

  std::optional<Entry> entry_of(trace::NameId name, std::map<Function, std::uint32_t>& numbers) {
    const auto frame = trace::frame_named(trace_.names[name]);
    if (!frame || !trace::is_own_file(frame->path)) return std::nullopt;
    const auto [at, fresh] = numbers.try_emplace({frame->path, frame->function}, static_cast<std::uint32_t>(functions_.size()));
    if (fresh) functions_.push_back({frame->function, {}});
    return Entry{at->second, frame->line};
  }

  bool holds_loop(std::uint32_t event) const {
    const auto first = std::ranges::lower_bound(loop_, events_.start[event]);
    return first != loop_.end() && *first < events_.end(event);
  }

  // Outermost frames after all that the turn before did.
  std::vector<Frame> between(Ns from, Ns to) const {
    const auto last = std::ranges::lower_bound(loop_end_, to);
    if (last != loop_end_.begin()) from = std::max(from, *std::prev(last));
    std::vector<Frame> found;
    Ns reached = from;
    auto frame = std::ranges::lower_bound(frames_, from, {}, [&](const Frame& each) { return events_.start[each.event]; });
    for (; frame != frames_.end() && events_.start[frame->event] < to; ++frame) {
      if (events_.start[frame->event] < reached || events_.end(frame->event) > to || holds_loop(frame->event)) continue;
      reached = events_.end(frame->event);
      found.push_back(*frame);
    }
    return found;
  }

  bool makes_batches(std::uint32_t function) const {
    const Meaning name = meaning_of_range(functions_[function].name);
    const bool says_so = name.kind == Kind::stage && name.value == static_cast<std::uint32_t>(Stage::data);
    return says_so || is_generator(functions_[function]) ||
           std::ranges::any_of(frames_, [&](const Frame& frame) { return frame.function == function && makes_tensors(frame.event); });
  }

  bool makes_tensors(std::uint32_t frame) const {
    auto at = std::ranges::lower_bound(operators_, events_.start[frame], {}, [&](std::uint32_t event) { return events_.start[event]; });
    for (; at != operators_.end() && events_.start[*at] < events_.end(frame); ++at) {
      if (std::ranges::find(kFromNone, trace_.names[events_.name[*at]]) != kFromNone.end()) return true;
    }
    return false;
  }

  const trace::Trace& trace_;
  const trace::Events& events_;
  std::span<const Meaning> meanings_;
  trace::ThreadId thread_;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> calls_, operators_;
  std::vector<Ns> loop_, loop_end_;  // starts of calls of the model and of what belongs to the loop; ends of the latter
  std::vector<Own> functions_;
  std::unordered_map<std::uint32_t, bool> backward_;  // by name of an operator
};

}  // namespace

std::vector<std::uint32_t> python_fetches(const trace::Trace& trace, std::span<const Meaning> meanings) {
  std::set<std::uint32_t> threads;  // with calls of a model
  for (std::uint32_t event = 0; event < meanings.size(); ++event) {
    const Meaning& meaning = meanings[event];
    if (meaning.kind == Kind::stage && meaning.value == static_cast<std::uint32_t>(Stage::data)) return {};
    if (meaning.kind == Kind::frame) threads.insert(trace.events.thread[event].index);
  }
  std::vector<std::uint32_t> found;
  for (const std::uint32_t thread : threads) {
    for (const std::uint32_t event : Loop(trace, meanings, trace::ThreadId{thread}).fetches()) found.push_back(event);
  }
  return found;
}

}  // namespace hotlens::attribution
