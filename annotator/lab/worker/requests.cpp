#include "annotator/lab/worker/requests.h"

#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <malloc.h>
#include <sys/resource.h>
#include <torch/version.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hotlens::lab {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::int64_t kMostRounds = 1000;
constexpr std::size_t kMostBatches = 64;  // each has its own inputs in memory
constexpr std::int64_t kLongestBudget = 3'600'000;

json error(const std::string& code, const std::string& message) {
  return {{"error", {{"code", code}, {"message", message}}}};
}

json error(const Halt& halt) {
  json answer = error(halt.unfollowed ? "unfollowed" : "operator", halt.message);
  if (halt.at != SIZE_MAX) answer["error"]["at"] = halt.at;
  if (!halt.sizes.empty()) answer["error"]["sizes"] = halt.sizes;
  if (!halt.op.empty()) answer["error"]["operator"] = halt.op;
  if (!halt.module.empty()) answer["error"]["module"] = halt.module;
  return answer;
}

struct StepRequest {
  std::vector<std::int64_t> batches = {};
  std::int64_t rounds = 1, budget_ms = kLongestBudget;
  bool events = false, edited = false, alone = false, warm = false;
  std::vector<BlockPlan> plans = {};
};

std::int64_t number(const json& request, const char* key, std::int64_t otherwise, std::int64_t least, std::int64_t most) {
  const auto found = request.find(key);
  if (found == request.end() || !found->is_number_integer()) return otherwise;
  return std::clamp(found->get<std::int64_t>(), least, most);
}

bool is_true(const json& request, const char* key) {
  const auto found = request.find(key);
  return found != request.end() && *found == json(true);
}

constexpr std::size_t kMostPlans = 64;

// Lists of numbers of blocks.
Result<std::vector<BlockPlan>> plans(const json& request) {
  std::vector<BlockPlan> wanted;
  for (const json& plan : request.value("plans", json::array())) {
    std::set<std::int64_t> blocks;
    if (!plan.is_array()) return std::unexpected(Error{ErrorCode::usage, "`plans` takes lists of blocks", {}});
    for (const json& block : plan) blocks.insert(block.get<std::int64_t>());
    wanted.push_back({.checkpointed = std::move(blocks)});
  }
  if (wanted.size() > kMostPlans) return std::unexpected(Error{ErrorCode::usage, "`plans` names too many", {}});
  if (wanted.empty()) wanted.emplace_back();
  return wanted;
}

Result<StepRequest> step_request(const json& request, const Program& program) {
  StepRequest wanted{.rounds = number(request, "rounds", 1, 1, kMostRounds),
                     .budget_ms = number(request, "budget_ms", kLongestBudget, 1, kLongestBudget),
                     .events = is_true(request, "events"),
                     .edited = is_true(request, "edited"),
                     .alone = is_true(request, "alone"),
                     .warm = is_true(request, "warm")};
  const json batches = request.contains("batch") ? request["batch"] : json::array();
  for (const json& batch : batches.is_array() ? batches : json::array({batches})) {
    if (!batch.is_number_integer() || batch.get<std::int64_t>() <= 0) {
      return std::unexpected(Error{ErrorCode::usage, "`batch` takes whole numbers above 0", {}});
    }
    wanted.batches.push_back(batch.get<std::int64_t>());
  }
  if (wanted.batches.empty()) {
    const auto recorded = program.batch ? program.batch->at(0) : std::nullopt;
    wanted.batches.push_back(recorded && *recorded > 0 ? *recorded : 1);
  }
  if (wanted.batches.size() > kMostBatches) return std::unexpected(Error{ErrorCode::usage, "`batch` names too many sizes", {}});
  auto read = plans(request);
  if (!read) return std::unexpected(read.error());
  wanted.plans = *std::move(read);
  return wanted;
}

json numbers(const std::vector<Replayed>& all, std::int64_t (*number_of)(const Replayed&)) {
  json list = json::array();
  for (const Replayed& one : all) list.push_back(number_of(one));
  return list;
}

// What takes turns with others.
struct Turn {
  Replay& replay;
  std::int64_t batch = 0;
  bool edited = false;
  BlockPlan plan = {};
  std::vector<Replayed> done = {};
  std::vector<std::int64_t> events = {};
  std::vector<Segment> segments = {};
};

// By block: how long it ran again, in each round.
json again(const std::vector<Replayed>& all) {
  json blocks = json::array();
  for (const auto& [block, run] : all.front().again) {
    json row{{"block", block}, {"saved", run.saved}, {"again_ns", json::array()}};
    for (const Replayed& one : all) row["again_ns"].push_back(one.again.at(block).took.count());
    blocks.push_back(std::move(row));
  }
  return blocks;
}

json written(const std::vector<Segment>& segments) {
  json rows = json::array();
  for (const Segment& one : segments) {
    rows.push_back({{"block", one.block}, {"backward", one.backward}, {"net_bytes", one.net}, {"rise_bytes", one.rise}});
  }
  return rows;
}

json replays(const Turn& turn, bool events) {
  json row{{"batch", turn.batch},
           {"time_ns", numbers(turn.done, [](const Replayed& one) { return one.time.count(); })},
           {"wall_ns", numbers(turn.done, [](const Replayed& one) { return one.wall.count(); })},
           {"cpu_ns", numbers(turn.done, [](const Replayed& one) { return one.cpu.count(); })},
           {"minor_faults", numbers(turn.done, [](const Replayed& one) { return one.minor_faults; })},
           {"start_bytes", turn.done.front().start_bytes},
           {"peak_bytes", turn.done.front().peak_bytes}};
  if (turn.edited) row["edited"] = true;
  if (events) row["events"] = turn.events;
  if (turn.plan.checkpointed) {
    row["blocks"] = again(turn.done);
    row["segments"] = written(turn.segments);
  }
  return row;
}

// Memory that an operator asks for beyond this is refused, and is that operator's error: the system need not end a process.
void limit_memory(std::int64_t bytes) {
  const rlimit limit{.rlim_cur = static_cast<rlim_t>(bytes), .rlim_max = RLIM_INFINITY};
  ::setrlimit(RLIMIT_DATA, &limit);
}

// What is freed stays with the process, so that no step of a turn pays for pages that another gave back. A script's steps
// have such page faults or not by chance; replays that have them differ in them more than in what was edited.
void keep_freed_memory() {
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

}  // namespace

json Requests::hello() const {
  return {{"torch", TORCH_VERSION}, {"threads", at::get_num_threads()}, {"protocol", 1}};
}

json Requests::load(const json& request) {
  replays_.clear();
  if (!request.contains("program")) return error("usage", "`program` is missing");
  if (request.contains("memory_bytes")) {
    limit_memory(number(request, "memory_bytes", 0, std::int64_t{1} << 28, std::numeric_limits<std::int64_t>::max()));
  }
  keep_freed_memory();
  auto wrong = add(request["program"]);
  if (!wrong && request.contains("edited")) wrong = add(request["edited"]);
  if (wrong) {
    replays_.clear();
    return *std::move(wrong);
  }
  const Program& program = replays_.front()->program();
  return {{"tensors", program.tensors.size()}, {"operators", program.operators.size()}};
}

std::optional<json> Requests::add(const json& document) {
  Result<Program> program = decode(document);
  if (!program) return error("program", program.error().message);
  at::set_num_threads(program->threads);
  auto replay = Replay::prepare(*std::move(program));
  if (!replay) return error(replay.error());
  replays_.push_back(*std::move(replay));
  return std::nullopt;
}

// Literal sizes of the edited program follow its tensors; before its first step.
json Requests::follow(const json& request, std::int64_t id) {
  if (replays_.size() < 2) return error("usage", "no edited program is loaded");
  const auto until = steady_clock::now() + milliseconds(number(request, "budget_ms", kLongestBudget, 1, kLongestBudget));
  const Stop stop = [&] { return steady_clock::now() > until || (id >= 0 && cancelled_ == id); };
  const auto numbers_of = [&](const char* name) {
    std::vector<Numbers> all;
    for (const json& module : request.value(name, json::array())) {
      Numbers& own = all.emplace_back();
      for (const json& pair : module) own.emplace_back(pair.at(0).get<std::int64_t>(), pair.at(1).get<std::int64_t>());
    }
    return all;
  };
  const Followed what{.numbers = numbers_of("numbers"),
                      .cuts = numbers_of("cuts"),
                      .attention = numbers_of("attention"),
                      .recorded = request.value("recorded", std::vector<TensorId>())};
  const std::int64_t batch = number(request, "batch", 1, 1, std::numeric_limits<std::int64_t>::max());
  const bool sampled = is_true(request, "sampled");
  Program as_loaded = replays_.back()->program();
  const auto followed = replays_.back()->follow(*replays_.front(), what, batch, meter_, stop, sampled);
  if (followed) {
    json answer{{"followed", followed->changed}};
    if (sampled) answer.update({{"recorded_ns", followed->recorded.count()}, {"edited_ns", followed->edited.count()}});
    return answer;
  }
  // The sizes of some operators are others now: whoever asks again begins anew.
  if (auto again = Replay::prepare(std::move(as_loaded)); again) replays_.back() = *std::move(again);
  if (id >= 0 && cancelled_ == id) return error("cancelled", "The request was cancelled.");
  return steady_clock::now() > until ? error("budget", "The replay took longer than the time that was given.") : error(followed.error());
}

// Sizes and programs take turns step by step, so that whatever else the machine does hits all of them. The first step of each is not timed,
// unless the programs are `warm`.
json Requests::step(const json& request, std::int64_t id) {
  if (replays_.empty()) return error("usage", "no program is loaded");
  const Result<StepRequest> wanted = step_request(request, replays_.front()->program());
  if (!wanted) return error("usage", wanted.error().message);
  if (wanted->edited && replays_.size() < 2) return error("usage", "no edited program is loaded");
  const auto until = steady_clock::now() + milliseconds(wanted->budget_ms);
  bool late = false;
  const auto cancelled = [&] { return id >= 0 && cancelled_ == id; };
  const Stop stop = [&] {
    late = late || steady_clock::now() > until;
    return late || cancelled();
  };
  struct Forget {
    std::vector<std::unique_ptr<Replay>>& replays;
    ~Forget() {
      for (const auto& replay : replays) replay->forget_batches();
    }
  } forget{replays_};

  std::vector<Turn> turns;
  for (const std::int64_t batch : wanted->batches) {
    for (const BlockPlan& plan : wanted->alone ? std::vector<BlockPlan>() : wanted->plans)
      turns.push_back({.replay = *replays_.front(), .batch = batch, .plan = plan});
    if (wanted->edited) turns.push_back({.replay = *replays_.back(), .batch = batch, .edited = true});
  }
  for (std::int64_t round = wanted->warm ? 0 : -1; round < wanted->rounds; ++round) {
    for (Turn& turn : turns) {
      const bool keeps = wanted->events && round == 0;
      const BlockPlan plan{.checkpointed = turn.plan.checkpointed, .segments = turn.plan.checkpointed && round < 0};
      auto replayed = turn.replay.step(turn.batch, meter_, stop, keeps ? &turn.events : nullptr, plan);
      if (cancelled()) return error("cancelled", "The request was cancelled.");
      if (!replayed && late && !turn.done.empty()) break;
      if (!replayed && late) return error("budget", "The replay took longer than the time that was given.");
      if (!replayed) return error(replayed.error());
      if (plan.segments) turn.segments = std::move(replayed->segments);
      if (round >= 0) turn.done.push_back(*std::move(replayed));
    }
    if (late && round >= 0) break;
  }
  json answer{{"replays", json::array()}};
  for (const Turn& turn : turns) answer["replays"].push_back(replays(turn, wanted->events));
  return answer;
}

json Requests::answer(const json& request) {
  const std::int64_t id = request.is_object() ? number(request, "id", -1, -1, std::numeric_limits<std::int64_t>::max()) : -1;
  json answer;
  try {
    const json what = request.is_object() && request.contains("do") ? request["do"] : json();
    if (what == "hello") {
      answer = hello();
    } else if (what == "load") {
      answer = load(request);
    } else if (what == "follow") {
      answer = follow(request, id);
    } else if (what == "step") {
      answer = step(request, id);
    } else {
      answer = error("usage", "`do` takes hello, load, follow or step");
    }
  } catch (const std::exception& reason) {
    answer = error("failed", reason.what());
  }
  if (id >= 0) answer["id"] = id;
  return answer;
}

}  // namespace hotlens::lab
