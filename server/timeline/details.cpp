// `hotlens/timeline/details` and `arrows`: one block, told in full.
#include <algorithm>
#include <span>

#include "annotator/causes/cause_table.h"
#include "annotator/common/compact_list.h"
#include "annotator/profile/build/regions.h"
#include "annotator/profile/loop.h"
#include "annotator/profile/source_text.h"
#include "annotator/profile/statistics.h"
#include "server/features/lines/line_clock.h"
#include "server/features/timeline/facts.h"
#include "server/timeline/requests.h"
#include "server/timeline/rows.h"

namespace hotlens::timeline_requests {
namespace {

using blocks::Block;
using blocks::Blocks;
using features::Place;
using profile::Profile;
using profile::Times;
using protocol::Answer;
using protocol::Json;
using Kind = Block::Kind;

constexpr std::uint32_t kLinesAround = 3;
constexpr std::size_t kMaxPlaces = 12;
constexpr std::size_t kMaxKernels = 40;
constexpr std::size_t kMaxLine = 300;   // bytes of one line of code
constexpr std::size_t kMaxName = 1000;  // bytes of a kernel's name; templates grow to tens of kilobytes

Json times_json(const Times& times) {
  return {{"cpuTotal", times.cpu_total.count()},
          {"cpuSelf", times.cpu_self.count()},
          {"device", times.device.count()},
          {"waiting", times.waiting.count()},
          {"span", times.span.count()},
          {"idleBefore", times.idle_before.count()},
          {"idleInside", times.idle_inside.count()},
          {"exposedCommunication", times.exposed_communication.count()}};
}

Json times_json(const features::BlockTimes& times) {
  return {{"cpuTotal", times.host.count()},
          {"cpuSelf", times.host_self.count()},
          {"device", times.device.count()},
          {"waiting", times.waiting.count()},
          {"span", times.span.count()}};
}

// `of` names the time, as the page's rows do: the others of the block are of the shown step alone.
Json spread_json(std::string_view of, const std::vector<Ns>& steps) {
  const profile::Spread spread = profile::spread(steps);
  return {{"of", of}, {"p10", spread.p10.count()}, {"median", spread.median.count()}, {"p90", spread.p90.count()}, {"steps", steps.size()}};
}

Json lines_around(const std::string& text, std::uint32_t first, std::uint32_t last) {
  Json lines = Json::array();
  std::uint32_t number = 0;
  for (std::size_t begin = 0; begin < text.size() && number <= last; ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (number >= first) lines.push_back(cut(std::string_view(text).substr(begin, end - begin), kMaxLine));
    begin = end + 1;
  }
  return lines;
}

Json place_json(const Place& place, const Profile& profile, bool guessed) {
  const profile::SourceFile& file = profile.files[place.site.file.index];
  const std::uint32_t first = place.site.line - std::min(place.site.line, kLinesAround);
  const std::uint32_t last = std::min(place.site.end_line, place.site.line + 20) + kLinesAround;
  return {{"what", features::name(place.what)},
          {"file", file.path.string()},
          {"line", place.site.line},
          {"endLine", place.site.end_line},
          {"function", place.site.function},
          {"text", lines_around(profile::executed_text(profile, place.site.file).value_or(std::string()), first, last)},
          {"firstLine", first},
          {"guessed", guessed},
          {"workspace", file.workspace}};
}

}  // namespace

void put_uses(Json& answer, const char* key, const char* more, const std::vector<features::Use>& uses) {
  Json list = Json::array();
  const std::size_t shown = std::min(uses.size(), kMaxKernels);
  for (const features::Use& use : std::span(uses).first(shown)) {
    const kernels::KernelName parts = use.device ? kernels::kernel_name(use.name) : kernels::operator_name(use.name);
    Json kernel{{"name", cut(use.name, kMaxName)},
                {"short", cut(parts.label, 200)},
                {"family", kernels::name(parts.family)},
                {"calls", use.calls},
                {"time", use.time.count()}};
    if (!parts.type.empty()) kernel["type"] = parts.type;
    if (!parts.tile.empty()) kernel["tile"] = parts.tile;
    list.push_back(std::move(kernel));
  }
  answer[key] = std::move(list);
  if (shown == uses.size()) return;
  Ns rest{};
  for (const features::Use& use : std::span(uses).subspan(shown)) rest += use.time;
  answer[more] = {{"count", uses.size() - shown}, {"time", rest.count()}};
}

namespace {

void put_memory(Json& details, const profile::Memory& memory, Bytes at_peak) {
  Json json = Json::object();
  const auto put = [&](const char* key, const std::optional<Bytes>& size) {
    if (size) json[key] = count(*size);
  };
  put("parameters", memory.parameters);
  put("gradients", memory.gradients);
  put("optimizer", memory.optimizer);
  put("activations", memory.activations);
  put("temporary", memory.temporary);
  if (at_peak > Bytes{}) json["atPeak"] = count(at_peak);
  if (!json.empty()) details["memory"] = std::move(json);
}

void put_module(Json& details, const Subject& subject, profile::ModuleId id) {
  const Profile& profile = subject.opened->profile();
  const profile::Module& module = profile.at(id);
  details["module"] = module.path;
  details["calls"] = module.calls;
  if (subject.step < module.forward.size()) {
    details["forward"] = times_json(module.forward[subject.step]);
    details["backward"] = times_json(module.backward[subject.step]);
    details["spread"] = spread_json(profile.has_device() ? "device busy" : "CPU total", profile::headlines(module, profile.has_device()));
  }
  put_memory(details, module.memory, profile::held_at_peak(profile, id));
}

// Why a kernel has no module of its own: a graph that was replayed ran it, or compiled code.
void put_region(Json& details, const Blocks& blocks, const Block& block) {
  if (block.kind != Kind::kernel && block.kind != Kind::copy && block.kind != Kind::communication) return;
  const profile::Regions regions(*blocks.annotated);
  if (const auto kind = regions.hides(blocks.annotated->account.work[block.id])) details["withoutModule"] = profile::reason(*kind);
}

bool same_line(const profile::Site& one, const profile::Site& other) {
  return one.file == other.file && one.line == other.line;
}

// Of an update, as the clocks of the stage's lines had it without a profiler: what their hints say. Nothing where one of them has none, or
// enters another stage too.
std::optional<Ns> clocked(const Profile& profile, profile::Stage stage) {
  if (!profile.loop) return std::nullopt;
  Ns sum{};
  std::vector<const profile::Site*> lines;
  for (const profile::StageSite& one : profile.stage_sites) {
    const auto is_here = [&](const profile::Site* line) { return same_line(*line, one.site); };
    if (one.stage != stage || std::ranges::any_of(lines, is_here)) continue;
    const bool shared = std::ranges::any_of(
        profile.stage_sites, [&](const profile::StageSite& other) { return other.stage != stage && same_line(other.site, one.site); });
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; row < profile.loop->statements.size(); ++row) {
      if (same_line(profile.loop->statements[row].site, one.site)) rows.push_back(row);
    }
    const auto clock = features::clock_of(*profile.loop, rows);
    if (shared || !clock) return std::nullopt;
    sum += clock->per_update;
    lines.push_back(&one.site);
  }
  return sum > Ns{} ? std::optional(sum) : std::nullopt;
}

void put_stage(Json& details, const Subject& subject, profile::Stage stage) {
  const Profile& profile = subject.opened->profile();
  if (const auto plain = clocked(profile, stage)) details["plain"] = plain->count();
  const auto times = std::ranges::find(profile.stages, stage, &profile::StageTimes::stage);
  if (times == profile.stages.end()) return;
  details["spread"] = profile.has_device() ? spread_json("device busy", times->device) : spread_json("wall", times->wall);
}

// What would shorten the step: its critical path by cause. Of the shown step alone, and of a run with a device: else it is the host.
void put_shortens(Json& details, const Subject& subject) {
  const Profile& profile = subject.opened->profile();
  if (!profile.has_device() || subject.step != profile.representative) return;
  std::vector<std::pair<Ns, profile::Cause>> sums;
  for (std::size_t cause = 0; cause < profile::kCauses; ++cause) {
    if (profile.critical[cause] > Ns{}) sums.emplace_back(profile.critical[cause], static_cast<profile::Cause>(cause));
  }
  std::ranges::stable_sort(sums, std::ranges::greater{}, &std::pair<Ns, profile::Cause>::first);
  Json rows = Json::array();
  for (const auto& [time, cause] : sums) rows.push_back({{"what", causes::words_on_path(cause)}, {"time", time.count()}});
  if (!rows.empty()) details["shortens"] = std::move(rows);
}

}  // namespace

Answer details(const Subject& subject, const protocol::Reader&) {
  const Blocks& blocks = *subject.blocks;
  const Profile& profile = subject.opened->profile();
  const Block& block = blocks.blocks[subject.block];
  const features::BlockTimes times = features::times_of(blocks, subject.block);
  Json answer = block_json(blocks, subject.block);
  answer["profile"] = subject.opened->id();
  answer["step"] = subject.step;
  answer["name"] = cut(blocks::name_of(blocks, subject.block), kMaxName);
  answer["calls"] = features::calls_of(blocks, subject.block);
  const bool on_device = profile.has_device() && times.device > Ns{};
  const Ns shown = on_device ? times.device : times.host;
  // A host that waits for earlier steps as well is in its step for longer than the step takes.
  const Ns whole = on_device ? blocks.takes : std::max(blocks.takes, blocks.wall);
  answer["share"] = whole > Ns{} ? static_cast<double>(shown.count()) / static_cast<double>(whole.count()) : 0.0;
  answer["times"] = times_json(times);
  put_uses(answer, "kernels", "moreKernels", features::uses_of(blocks, subject.block));
  put_collectives(answer, blocks, subject.block);
  const profile::ModuleId id = features::module_of(blocks, profile, subject.block);
  if (id.valid()) put_module(answer, subject, id);
  if (id.valid() || block.kind == Kind::step) put_costs(answer, subject, id);
  if (block.kind == Kind::step) put_shortens(answer, subject);
  if (block.kind == Kind::stage) put_stage(answer, subject, block.stage);
  put_region(answer, blocks, block);
  if (block.kind == Kind::step) answer["spread"] = spread_json("wall", profile::walls(profile.steps));
  if (const auto verdict = features::verdict_of(blocks, profile, subject.block))
    answer["verdict"] = verdict_json(*verdict, profile, &blocks);
  if (const std::string_view shapes = features::shapes_of(blocks, subject.block); !shapes.empty())
    answer["shapes"] = cut(compact_list(shapes), kMaxName);
  answer["places"] = Json::array();
  for (const Place& place : features::places_of(blocks, profile, subject.block)) {
    if (answer["places"].size() < kMaxPlaces) answer["places"].push_back(place_json(place, profile, profile.guessed));
  }
  return answer;
}

Answer arrows(const Subject& subject, const protocol::Reader& params) {
  const auto from = params.maybe("from"), to = params.maybe("to");
  const Ns begin = from ? Ns(from->integer()) : Ns::min(), end = to ? Ns(to->integer()) : Ns::max();
  if (auto error = params.error()) return std::unexpected(*error);
  const features::Arrows found = features::arrows_of(*subject.blocks, subject.block, begin, end);
  Json list = Json::array();
  for (const features::Arrow& arrow : found.arrows) {
    list.push_back({{"launchTrack", arrow.launch_track},
                    {"launch", arrow.launch.count()},
                    {"deviceTrack", arrow.device_track},
                    {"start", arrow.start.count()},
                    {"end", arrow.end.count()},
                    {"name", blocks::label_of(*subject.blocks, arrow.work)},
                    {"delay", arrow.delay.count()}});
  }
  return Json{{"arrows", std::move(list)}, {"total", found.total}};
}

}  // namespace hotlens::timeline_requests
