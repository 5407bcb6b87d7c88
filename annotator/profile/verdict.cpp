#include "annotator/profile/verdict.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace hotlens::profile {
namespace {

constexpr double kMajor = 1.0 / 3.0;        // of the path: what is worth naming
constexpr double kMajorIdle = 0.5;          // of the idle time: what starves the device
constexpr double kFull = 0.9;               // of the step: a device that is busy so long hardly idles
constexpr double kLead = 1.15;              // over the next cause: closer ones are one noisy step apart
constexpr double kPrevails = 0.55;          // of the arithmetic: one family of operators has the clear majority
constexpr double kSmallestEvidence = 0.01;  // of the path
constexpr double kMostOf = 0.5;             // a module is named as the place where it holds at least half of the time

Ns& at(Causes& causes, Cause cause) {
  return causes[static_cast<std::size_t>(cause)];
}
Ns of(const Causes& causes, Cause cause) {
  return causes[static_cast<std::size_t>(cause)];
}

Ns sum(const Causes& causes) {
  return std::accumulate(causes.begin(), causes.end(), Ns{});
}

bool is_share(Ns part, Ns whole, double share) {
  return static_cast<double>(part.count()) >= share * static_cast<double>(whole.count());
}

struct Account {
  Causes spent{}, critical{};
  Ns waiting{};
};

// What synchronisations drained is moved to them, and the host's own code is counted to launching.
Causes starved(Causes causes, Ns waiting) {
  at(causes, Cause::launch) += std::exchange(at(causes, Cause::host), Ns{});
  const Ns drained = std::clamp(waiting - of(causes, Cause::sync), Ns{}, of(causes, Cause::launch));
  at(causes, Cause::launch) -= drained;
  at(causes, Cause::sync) += drained;
  return causes;
}

struct Candidate {
  std::string_view kind;
  Ns time{};
};

// The greatest, where it is at least `share` of the whole and leads.
std::string_view clear_winner(std::vector<Candidate> candidates, Ns whole, double share) {
  std::ranges::stable_sort(candidates, std::ranges::greater{}, &Candidate::time);
  const bool clear =
      candidates[0].time > Ns{} && is_share(candidates[0].time, whole, share) && is_share(candidates[0].time, candidates[1].time, kLead);
  return clear ? candidates[0].kind : "unclear";
}

std::string_view arithmetic_kind(const Causes& causes) {
  const Ns compute = of(causes, Cause::compute);
  const Ns memory = of(causes, Cause::memory);
  if (is_share(compute, compute + memory, kPrevails)) return "compute";
  return is_share(memory, compute + memory, kPrevails) ? "memory" : "unclear";
}

std::vector<Candidate> work_of(const Causes& causes) {
  return {{"copy", of(causes, Cause::copy)},
          {"communication", of(causes, Cause::communication)},
          {"arithmetic", of(causes, Cause::compute) + of(causes, Cause::memory)},
          {"unclear", of(causes, Cause::other)}};
}

std::vector<Candidate> host_causes(const Causes& causes) {
  return {{"data", of(causes, Cause::data)}, {"sync", of(causes, Cause::sync)}, {"launch", of(causes, Cause::launch)}};
}

Ns total(const std::vector<Candidate>& candidates) {
  Ns sum{};
  for (const Candidate& each : candidates) sum += each.time;
  return sum;
}

std::string kind_of(const Account& account, bool has_device) {
  const Causes& path = account.critical;
  const Ns host = of(path, Cause::data) + of(path, Cause::sync) + of(path, Cause::launch) + of(path, Cause::host);
  std::vector<Candidate> candidates = work_of(path);
  Ns whole = sum(path);
  double share = kMajor;
  if (!has_device) {
    const std::vector<Candidate> more = host_causes(path);
    candidates.insert(candidates.end(), more.begin(), more.end());
    candidates.push_back({"unclear", of(path, Cause::host)});
  } else if (host > sum(path) - host && !is_share(total(work_of(account.spent)), sum(account.spent), kFull)) {
    const Causes idle = starved(account.spent, account.waiting);
    candidates = host_causes(idle);
    whole = total(candidates);
    // What the host waited for is told by the path: a synchronisation that only met a collective or a copy is not to blame.
    candidates.push_back({"copy", of(path, Cause::copy)});
    candidates.push_back({"communication", of(path, Cause::communication)});
    share = kMajorIdle;
  }
  const std::string_view winner = clear_winner(std::move(candidates), whole, share);
  return std::string(winner == "arithmetic" ? arithmetic_kind(path) : winner);
}

std::string_view words(Cause cause, bool has_device) {
  switch (cause) {
    case Cause::data:
      return has_device ? "device idle, host loads data" : "host loads data";
    case Cause::copy:
      return "copies between host and device";
    case Cause::sync:
      return "device idle for a synchronisation";
    case Cause::launch:
      return has_device ? "device idle, waiting for launches" : "overhead of Python and operators";
    case Cause::compute:
      return "products, convolutions, attention";
    case Cause::memory:
      return "operators that mostly move data";
    case Cause::communication:
      return "communication between processes";
    case Cause::host:
      return "host code outside operators";
    case Cause::other:
      return has_device ? "device idle although work is queued" : "operators of unknown kind";
  }
  std::unreachable();
}

std::string stage_place(const Profile& profile, Stage stage) {
  const auto at = std::ranges::find(profile.stage_sites, stage, &StageSite::stage);
  return at == profile.stage_sites.end() ? std::string() : place_of(profile, *at);
}

std::vector<ModuleId> roots(const Profile& profile) {
  std::vector<ModuleId> found;
  for (std::uint32_t module = 0; module < profile.modules.size(); ++module) {
    if (!profile.modules[module].parent.valid()) found.push_back(ModuleId{module});
  }
  return found;
}

// From `among` down to the innermost module that still has half of the time.
std::string module_place(const Profile& profile, std::vector<ModuleId> among, Cause cause, Ns time) {
  std::string place;
  while (!among.empty()) {
    const ModuleId most = std::ranges::max(among, {}, [&](ModuleId id) { return of(profile.at(id).spent, cause); });
    const Module& module = profile.at(most);
    if (of(module.spent, cause) <= Ns{} || !is_share(of(module.spent, cause), time, kMostOf)) break;
    place = module.path.empty() ? module.class_name : module.path;
    among = module.children;
  }
  return place;
}

// What the verdict names comes first, though others may take more time: a device may be busy and yet wait for the host at every turn.
std::vector<Verdict::Evidence> evidence_of(const Profile& profile, const Causes& causes, const std::vector<ModuleId>& among,
                                           std::string_view kind) {
  std::vector<Cause> order;
  for (std::size_t i = 0; i < kCauses; ++i) order.push_back(static_cast<Cause>(i));
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](Cause cause) { return std::pair(name(cause) == kind, of(causes, cause)); });
  std::vector<Verdict::Evidence> evidence;
  for (const Cause cause : order) {
    const Ns time = of(causes, cause);
    if (time <= Ns{} || !is_share(time, sum(causes), kSmallestEvidence)) continue;
    std::string where = cause == Cause::data ? stage_place(profile, Stage::data) : module_place(profile, among, cause, time);
    evidence.push_back({std::string(words(cause, profile.has_device())), time, std::move(where)});
  }
  return evidence;
}

Ns waiting_in(const PerStep& steps, std::size_t step) {
  return step < steps.size() ? steps[step].waiting : Ns{};
}

Ns waiting_of_step(const Profile& profile) {
  const auto at = std::ranges::find(profile.buckets, Bucket::waiting, &BucketTimes::bucket);
  return at == profile.buckets.end() || profile.representative >= at->wall.size() ? Ns{} : at->wall[profile.representative];
}

Verdict verdict_of(const Profile& profile, const Account& account, const std::vector<ModuleId>& among) {
  const bool device = profile.has_device();
  const std::string kind = kind_of(account, device);
  return {kind, evidence_of(profile, device ? starved(account.spent, account.waiting) : account.spent, among, kind)};
}

void add(Causes& sum, const Causes& part) {
  for (std::size_t cause = 0; cause < kCauses; ++cause) sum[cause] += part[cause];
}

}  // namespace

Verdict judge(const Profile& profile) {
  return verdict_of(profile, {profile.spent, profile.critical, waiting_of_step(profile)}, roots(profile));
}

Verdict judge(const Profile& profile, std::span<const ModuleId> modules) {
  Account account;
  std::vector<ModuleId> inside;
  for (const ModuleId id : modules) {
    const Module& module = profile.at(id);
    add(account.spent, module.spent);
    add(account.critical, module.critical);
    account.waiting += waiting_in(module.forward, profile.representative) + waiting_in(module.backward, profile.representative);
    inside.insert(inside.end(), module.children.begin(), module.children.end());
  }
  return verdict_of(profile, account, inside);
}

std::string place_of(const Profile& profile, const StageSite& stage) {
  return profile.files[stage.site.file.index].path.string() + ":" + std::to_string(stage.site.line + 1);
}

}  // namespace hotlens::profile
