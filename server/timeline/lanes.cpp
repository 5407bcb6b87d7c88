// `hotlens/timeline/lanes`: what stands below the tracks of a step: every thread of the host, memory and the device's queue over time.
#include <algorithm>
#include <map>
#include <set>

#include "annotator/trace/python_frame.h"
#include "server/timeline/columns.h"
#include "server/timeline/requests.h"

namespace hotlens::timeline_requests {
namespace {

using features::Bar;
using features::Counter;
using protocol::Answer;
using protocol::Json;
using trace::Category;

constexpr std::size_t kMostOuter = 20;  // functions around everything that are named
constexpr std::size_t kMostName = 200;  // bytes
constexpr std::int64_t kNoPlace = -1;

// Where functions of a person are defined, each once.
class Places {
 public:
  explicit Places(const profile::Profile& profile) : profile_(profile) {}

  std::int64_t at(std::string_view name) {
    const auto frame = trace::frame_named(name);
    if (!frame || !trace::is_own_file(frame->path)) return kNoPlace;
    const std::string file = whole_path(frame->path);
    const auto [entry, fresh] = known_.try_emplace({file, frame->line}, static_cast<std::int64_t>(list_.size()));
    if (fresh) list_.push_back({{"file", file}, {"line", frame->line}});
    return entry->second;
  }
  Json take() { return std::move(list_); }

 private:
  // A trace names a file from a folder of sys.path on; the profile knows the whole path where it found the file.
  std::string whole_path(const std::string& path) const {
    const auto found = std::ranges::find_if(profile_.files, [&](const profile::SourceFile& file) {
      const std::string whole = file.path.string();
      return whole == path || whole.ends_with("/" + path);
    });
    return found == profile_.files.end() ? path : found->path.string();
  }

  const profile::Profile& profile_;
  std::map<std::pair<std::string, std::uint32_t>, std::int64_t> known_;
  Json list_ = Json::array();
};

std::string_view kind_of(Category category, std::string_view name, bool placed) {
  switch (category) {
    case Category::python:
      return placed ? "own" : name.starts_with("nn.Module: ") ? "module" : "python";
    case Category::cpu_op:
      return "operator";
    case Category::annotation:
      return "range";
    default:
      return "launch";
  }
}

// The rows of one thread; texts and places are told once for all of them.
class FlameWriter {
 public:
  explicit FlameWriter(const Subject& subject) : annotated_(subject.opened->annotated()), places_(subject.opened->profile()) {}

  Json write(const features::Flame& flame, const features::FlameView& view) {
    Json outer = Json::array(), rows = Json::array();
    for (std::size_t at = 0; at < std::min(kMostOuter, flame.outer.size()); ++at) outer.push_back(cut(name(flame.outer[at])));
    for (const std::vector<Bar>& row : view.rows) rows.push_back(columns(row));
    return {{"outer", std::move(outer)}, {"deeper", view.deeper},    {"rows", std::move(rows)}, {"labels", labels_.take()},
            {"kinds", kinds_.take()},    {"stages", stages_.take()}, {"places", places_.take()}};
  }

 private:
  struct Told {
    std::size_t label = 0, kind = 0;
    std::int64_t place = kNoPlace;
  };

  std::string_view name(std::uint32_t event) const { return annotated_.trace.names[annotated_.trace.events.name[event]]; }
  static std::string cut(std::string_view text) { return std::string(text.substr(0, kMostName)); }

  std::string_view stage_of(std::uint32_t event) const {
    const std::uint32_t node = annotated_.forest.node_of[event];
    return node == attribution::kNoNode ? "other" : profile::name(annotated_.owners.of[node].stage);
  }

  // What all events of a name and a category have in common: thousands of bars share one.
  const Told& told_of(std::uint32_t event) {
    const Category category = annotated_.trace.events.category[event];
    const auto key = std::pair(annotated_.trace.events.name[event].index, category);
    const auto [entry, fresh] = told_.try_emplace(key);
    if (!fresh) return entry->second;
    const std::string_view text = name(event);
    const std::int64_t place = category == Category::python ? places_.at(text) : kNoPlace;
    entry->second = {labels_.at(cut(text)), kinds_.at(kind_of(category, text, place != kNoPlace)), place};
    return entry->second;
  }

  Json columns(const std::vector<Bar>& row) {
    Json start = Json::array(), duration = Json::array(), label = Json::array(), kind = Json::array(), stage = Json::array(),
         count = Json::array(), place = Json::array();
    for (const Bar& bar : row) {
      const Told& told = told_of(bar.event);
      start.push_back(bar.start.count());
      duration.push_back(bar.duration.count());
      label.push_back(told.label);
      kind.push_back(told.kind);
      stage.push_back(stages_.at(stage_of(bar.event)));
      count.push_back(bar.count);
      place.push_back(told.place);
    }
    return {{"start", std::move(start)}, {"duration", std::move(duration)}, {"label", std::move(label)}, {"kind", std::move(kind)},
            {"stage", std::move(stage)}, {"count", std::move(count)},       {"place", std::move(place)}};
  }

  const profile::Annotated& annotated_;
  features::Texts labels_, kinds_, stages_;
  std::map<std::pair<std::uint32_t, Category>, Told> told_;
  Places places_;
};

Json counter_json(const Counter& counter, Ns from, Ns to, Ns pixel) {
  const features::CounterView view = features::look(counter, from, to, pixel);
  Json start = Json::array();
  for (const Ns each : view.start) start.push_back(each.count());
  const Counter::Peak peak = counter.peak();
  return {{"start", std::move(start)},
          {"least", view.least},
          {"most", view.most},
          {"length", counter.length.count()},
          {"peak", {{"time", peak.time.count()}, {"value", peak.value}}}};
}

Json counters_of(const StepLanes& lanes, Ns from, Ns to, Ns pixel) {
  Json list = Json::array();
  if (lanes.memory) {
    Json memory = counter_json(*lanes.memory, from, to, pixel);
    memory["id"] = "memory";
    memory["name"] = lanes.memory_device < 0 ? "memory, CPU" : "memory, GPU " + std::to_string(lanes.memory_device);
    memory["unit"] = "bytes";
    if (lanes.memory_of_map) memory["laid"] = true;
    list.push_back(std::move(memory));
  }
  if (lanes.queue) {
    Json queue = counter_json(*lanes.queue, from, to, pixel);
    queue["id"] = "queue";
    queue["name"] = "queued work";
    queue["unit"] = "launches";
    queue["mean"] = lanes.queue->mean();
    list.push_back(std::move(queue));
  }
  return list;
}

}  // namespace

Answer lanes(Library& library, const Subject& subject, const protocol::Reader& params) {
  const std::uint32_t width = std::clamp<std::uint32_t>(params["width"].unsigned32(), 1, features::kMaxWidth);
  const auto first = params.maybe("from"), last = params.maybe("to"), opened = params.maybe("open");
  const Ns wall = subject.blocks->wall;
  const Ns from = std::clamp(first ? Ns(first->integer()) : Ns{}, Ns{}, wall - Ns(1));
  const Ns to = std::clamp(last ? Ns(last->integer()) : wall, from + Ns(1), std::max(wall, from + Ns(1)));
  std::set<std::string> open;
  if (opened) {
    for (const protocol::Reader& id : opened->items()) open.insert(id.string());
  }
  if (auto error = params.error()) return std::unexpected(*error);
  const auto of = subject.opened->lanes(subject.step);
  const Ns pixel = std::max(Ns(1), (to - from) / width);
  std::vector<const features::Flame*> flames;
  for (const features::HostThread& thread : of->host.threads) {
    if (open.contains(thread.id)) flames.push_back(&thread.flame.get());
  }
  const std::vector<features::FlameView> views = features::look(flames, from, to, pixel);
  Json threads = Json::array();
  std::size_t at = 0;
  for (const features::HostThread& thread : of->host.threads) {
    Json json{{"id", thread.id}, {"name", thread.name}, {"frames", thread.frames}, {"others", thread.others}};
    if (open.contains(thread.id)) {
      json["flame"] = FlameWriter(subject).write(*flames[at], views[at]);
      ++at;
    }
    threads.push_back(std::move(json));
  }
  Json answer{{"profile", subject.opened->id()},
              {"step", subject.step},
              {"window", {from.count(), to.count()}},
              {"pixel", pixel.count()},
              {"threads", std::move(threads)},
              {"moreThreads", of->host.more},
              {"counters", counters_of(*of, from, to, pixel)}};
  put_ranks(answer, library, subject, {.from = from, .to = to, .pixel = pixel});
  return answer;
}

}  // namespace hotlens::timeline_requests
