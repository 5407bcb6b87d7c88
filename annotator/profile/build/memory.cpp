#include "annotator/profile/build/memory.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "annotator/attribution/owners/stack.h"
#include "annotator/common/hash.h"

namespace hotlens::profile {
namespace {

using attribution::Direction;
using attribution::Forest;
using attribution::Kind;
using attribution::kNoNode;
using attribution::kNothing;
using attribution::Owner;
using attribution::Stage;
using trace::MemoryEvents;

constexpr std::int8_t kHost = 0;                            // c10::DeviceType::CPU
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;  // more than any machine holds: what counts more is no count
constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

class Ledger {
 public:
  explicit Ledger(const MemoryInput& input)
      : input_(input), events_(input.trace.memory), stack_(input.owners.calls, input.module_parent.size(), &input.module_parent) {
    result_.modules.resize(input.module_parent.size());
    for (const Forest::Thread& thread : input.forest.threads) threads_.try_emplace(thread.id.index, input.forest, thread, false);
  }

  MemoryUse run() && {
    const auto [order, peak] = counted_events(events_, input_.step);
    peak_event_ = peak;
    if (order.empty()) return std::move(result_);
    const std::vector<Window> windows = forward_windows();
    auto window = windows.begin();
    for (const std::uint32_t event : order) {
      for (; window != windows.end() && window->end <= events_.time[event]; ++window) hold_activations(*window);
      if (backward_until_ && *backward_until_ <= events_.time[event]) hold_gradients();
      count(event);
    }
    for (; window != windows.end(); ++window) hold_activations(*window);
    hold_gradients();
    settle_temporary();
    settle_moment();
    return std::move(result_);
  }

 private:
  struct Window {
    Ns start{}, end{};
    std::uint32_t thread = 0;  // trace::ThreadId
  };
  struct Peak {
    std::uint32_t event = 0;
    std::size_t at = 0;  // how many events were counted before it
    Owner owner;
  };
  struct Block {
    std::int64_t address = 0, bytes = 0;
    Ns time{};
    Owner owner;
    Ns again_until{};                     // of what a recomputation allocates: when that ends
    bool counts = false;                  // in the peak
    std::size_t born = 0, gone = kNever;  // places in the order of events
    Ns gone_at = Ns::max();
    std::optional<Holding> held_for;  // once that is known

    bool held() const { return gone == kNever; }
  };
  struct Level {
    std::int64_t base = 0, most = 0;
  };

  bool at_the_peaks_device(std::uint32_t event) const { return peak_event_ && events_.device[event] == events_.device[*peak_event_]; }

  // When the outermost forward calls of modules ran, by their end; also when backward ended.
  std::vector<Window> forward_windows() {
    std::vector<Window> windows;
    const Forest& forest = input_.forest;
    for (std::uint32_t node = 0; node < forest.size(); ++node) {
      if (forest.start[node] < input_.step.start || forest.start[node] >= input_.step.end) continue;
      const Owner& owner = input_.owners.of[node];
      if (owner.stage == Stage::backward) {
        backward_from_ = std::min(backward_from_.value_or(Ns::max()), forest.start[node]);
        backward_until_ = std::max(backward_until_.value_or(Ns::min()), forest.end[node]);
      }
      const bool call = forest.kind[node] == Kind::call || forest.kind[node] == Kind::frame;
      if (!call || owner.call == kNothing || owner.direction != Direction::forward) continue;
      if (input_.owners.calls.depth[owner.call] == 1) {
        windows.push_back({forest.start[node], forest.end[node], input_.trace.events.thread[forest.event[node]].index});
      }
    }
    std::ranges::stable_sort(windows, {}, &Window::end);
    return windows;
  }

  std::uint32_t node_at(std::uint32_t event) {
    const auto thread = threads_.find(events_.thread[event].index);
    return thread == threads_.end() ? kNoNode : thread->second.at(events_.time[event]);
  }

  // When the outermost recomputation around a node ends; 0 outside all.
  Ns again_until(std::uint32_t node) const {
    Ns end{};
    for (; node != kNoNode && input_.owners.of[node].direction == Direction::recompute; node = input_.forest.parent[node]) {
      end = input_.forest.end[node];
    }
    return end;
  }

  void count(std::uint32_t event) {
    ++at_;
    const std::int64_t bytes = events_.bytes[event];
    const std::uint32_t node = node_at(event);
    const Owner owner = node == kNoNode ? Owner{} : input_.owners.of[node];
    running_ += bytes;
    const std::int64_t total = total_at(events_, event);
    if (!result_.start && total >= 0 && at_the_peaks_device(event)) result_.start = Bytes{std::max<std::int64_t>(total - bytes, 0)};
    if (event == peak_event_) peak_ = Peak{.event = event, .at = at_, .owner = owner};
    if (owner.direction == Direction::forward) raise(owner, running_ - bytes);
    const std::int64_t address = events_.address[event];
    if (address == trace::kNone) return;
    release(address, events_.time[event]);
    if (bytes <= 0) return;
    const std::uint32_t thread = events_.thread[event].index;
    std::vector<Block>& blocks = blocks_[thread];
    live_[address] = {thread, blocks.size()};
    blocks.push_back({.address = address,
                      .bytes = bytes,
                      .time = events_.time[event],
                      .owner = owner,
                      .again_until = again_until(node),
                      .counts = at_the_peaks_device(event),
                      .born = at_});
  }

  void release(std::int64_t address, Ns when) {
    const auto found = live_.find(address);
    if (found == live_.end()) return;
    Block& block = blocks_[found->second.first][found->second.second];
    block.gone = at_;
    block.gone_at = when;
    live_.erase(found);
  }

  // How far each open call has risen above what was held when it made its first allocation.
  void raise(const Owner& owner, std::int64_t before) {
    for (std::uint32_t call = owner.call; call != kNothing; call = input_.owners.calls.parent[call]) {
      const auto [level, fresh] = levels_.try_emplace(call, Level{before, before});
      level->second.most = std::max(level->second.most, running_);
    }
  }

  static void add(std::optional<Bytes>& sum, std::int64_t bytes) { sum = sum.value_or(Bytes{}) + Bytes{bytes}; }

  // Calls of one thread do not overlap, so each block is looked at once.
  void hold_activations(const Window& window) {
    std::vector<Block>& blocks = blocks_[window.thread];
    for (auto block = std::ranges::lower_bound(blocks, window.start, {}, &Block::time); block != blocks.end(); ++block) {
      if (block->time >= window.end) break;
      if (!block->held() || block->owner.direction != Direction::forward) continue;
      block->held_for = Holding::activations;
      for (const std::uint32_t module : modules_of(block->owner, stack_)) add(result_.modules[module].activations, block->bytes);
    }
  }

  void hold_gradients() {
    for (auto& [thread, blocks] : blocks_) {
      for (Block& block : blocks) {
        if (!block.held() || block.held_for || block.owner.stage != Stage::backward) continue;
        block.held_for = Holding::gradients;
        if (block.owner.direction != Direction::backward) continue;
        for (const std::uint32_t module : modules_of(block.owner, stack_)) add(result_.modules[module].gradients, block.bytes);
      }
    }
    backward_until_ = std::nullopt;
  }

  void settle_temporary() {
    for (const auto& [call, level] : levels_) {
      std::uint32_t module = input_.owners.calls.value[call];
      if (module >= result_.modules.size()) continue;
      std::optional<Bytes>& most = result_.modules[module].temporary;
      most = Bytes{std::max(most ? hotlens::count(*most) : 0, level.most - level.base)};
    }
  }

  Holding holding_of(const Block& block) const {
    const Owner& owner = block.owner;
    if (block.held_for) return *block.held_for;
    if (owner.direction == Direction::recompute) return block.gone_at > block.again_until ? Holding::activations : Holding::workspace;
    const bool computes = owner.stage == Stage::forward || owner.stage == Stage::loss;
    const bool waits_for_backward = backward_from_ && block.time < *backward_from_ && *backward_from_ < block.gone_at;
    if (computes && waits_for_backward && !owner.works_for_module()) return Holding::activations;
    if (owner.stage == Stage::optimizer && block.held()) return Holding::optimizer;
    if (owner.stage == Stage::data || owner.stage == Stage::copy || owner.copies) return Holding::data;
    return Holding::workspace;
  }

  void settle_moment() {
    if (!peak_) return;
    const Peak& peak = *peak_;
    const attribution::Chains& calls = input_.owners.calls;
    const auto module_of = [&](const Owner& owner) {
      const std::uint32_t module = owner.works_for_module() ? calls.value[owner.call] : kNothing;
      return module < result_.modules.size() ? module : kNothing;
    };
    MemoryMoment moment{.time = events_.time[peak.event] - input_.step.start,
                        .stage = peak.owner.stage,
                        .module = module_of(peak.owner),
                        .counts_all = events_.device_type[peak.event] > kHost,
                        .modules = std::vector<Holdings>(result_.modules.size())};
    for (const auto& [thread, blocks] : blocks_) {
      for (const Block& block : blocks) {
        if (!block.counts || block.born > peak.at || block.gone <= peak.at) continue;
        const std::uint32_t module = module_of(block.owner);
        Holdings& of = module == kNothing ? moment.stages[static_cast<std::size_t>(block.owner.stage)] : moment.modules[module];
        Bytes& held = of[static_cast<std::size_t>(holding_of(block))];
        held = held + Bytes{block.bytes};
      }
    }
    result_.peak = Bytes{events_.total_allocated[peak.event]};
    result_.moment = std::move(moment);
  }

  const MemoryInput& input_;
  const MemoryEvents& events_;
  MemoryUse result_;
  attribution::Stack stack_;
  std::unordered_map<std::uint32_t, attribution::Innermost> threads_;                         // by thread id
  std::unordered_map<std::uint32_t, std::vector<Block>> blocks_;                              // by thread id, in order of time
  std::unordered_map<std::int64_t, std::pair<std::uint32_t, std::size_t>, NumberHash> live_;  // by address: thread id, and which block
  std::unordered_map<std::uint32_t, Level> levels_;                                           // by call
  std::int64_t running_ = 0;                                                                  // allocated less freed since the step began
  std::optional<Ns> backward_from_, backward_until_;
  std::size_t at_ = 0;  // how many events were counted
  std::optional<std::uint32_t> peak_event_;
  std::optional<Peak> peak_;
};

}  // namespace

std::int64_t total_at(const MemoryEvents& events, std::uint32_t event) {
  const std::int64_t total = events.total_allocated[event];
  return total <= kMostBytes ? total : -1;
}

CountedEvents counted_events(const MemoryEvents& events, const attribution::StepSpan& step) {
  CountedEvents counted;
  std::int8_t kind = kHost;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (events.time[i] < step.start || events.time[i] >= step.end) continue;
    if (events.device_type[i] > kHost) kind = std::max(kind, events.device_type[i]);
    counted.order.push_back(i);
  }
  std::erase_if(counted.order, [&](std::uint32_t i) { return std::max(events.device_type[i], kHost) != kind; });
  std::ranges::stable_sort(counted.order, {}, [&](std::uint32_t i) { return events.time[i]; });
  const auto fullest = std::ranges::max_element(counted.order, {}, [&](std::uint32_t i) { return total_at(events, i); });
  if (fullest != counted.order.end() && total_at(events, *fullest) >= 0) counted.peak = *fullest;
  return counted;
}

MemoryUse memory_use(const MemoryInput& input) {
  if (input.trace.memory.size() == 0)
    return {.peak = {}, .start = {}, .modules = std::vector<Memory>(input.module_parent.size()), .moment = {}};
  return Ledger(input).run();
}

}  // namespace hotlens::profile
