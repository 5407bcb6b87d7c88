#include "annotator/report/compiled_text.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>
#include <vector>

#include "annotator/profile/build/regions.h"
#include "annotator/profile/compiled.h"
#include "annotator/profile/place_name.h"

namespace hotlens::report {
namespace {

using format::counted;
using format::harmless;
using format::left;
using format::percent;
using format::readable;
using format::right;
using format::shortened;
using profile::Compilation;
using profile::CompilationLog;
using profile::GraphBreak;

constexpr std::size_t kMostListed = 8;  // of a list; all are in the JSON
constexpr std::size_t kCodeColumns = 24;
constexpr std::size_t kReasonColumns = 100;

// One code object that was compiled more than once.
struct Again {
  const Compilation* last = nullptr;
  std::int64_t count = 0;
};

std::vector<Again> compiled_again(const CompilationLog& log) {
  std::vector<Again> rows;
  std::map<std::tuple<std::string, std::uint32_t, std::string>, std::size_t> known;
  for (const Compilation& each : log.compilations) {
    if (each.again.empty()) continue;
    const auto [at, fresh] = known.try_emplace({each.file, each.line, each.function}, rows.size());
    if (fresh) rows.emplace_back();
    rows[at->second].last = &each;
    ++rows[at->second].count;
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &Again::count);
  return rows;
}

class CompiledWriter {
 public:
  CompiledWriter(const profile::Profile& profile, const format::Style& style)
      : profile_(profile), compiled_(*profile.compiled), style_(style) {}

  std::string write() && {
    const bool replays =
        std::ranges::find(compiled_.regions, profile::Region::Kind::replayed, &profile::Region::kind) != compiled_.regions.end();
    out_.append("\n")
        .append(style_.bold)
        .append("Compiled code")
        .append(replays ? " and replayed graphs" : "")
        .append(style_.off)
        .append("\n");
    step();
    regions();
    if (compiled_.log) {
      breaks(*compiled_.log);
      compilations(*compiled_.log);
      for (const std::string& each : compiled_.log->missing) line("  not known: " + shortened(each, kReasonColumns));
    }
    return std::move(out_);
  }

 private:
  void line(const std::string& text) { out_.append(text).append("\n"); }

  void step() {
    if (compiled_.calls == 0) {
      if (compiled_.regions.empty()) line("  no compiled code ran in the step");
      return;
    }
    std::string row = "  " + left("of the step", 22) + right(readable(compiled_.wall), 10) +
                      right(percent(compiled_.wall, profile_.step_wall()), 9) + "   in " + counted(compiled_.calls, "graph", "graphs") +
                      ": forward " + readable(compiled_.forward) + ", backward " + readable(compiled_.backward);
    if (profile_.has_device()) row += ", device busy with it " + readable(compiled_.device);
    line(row);
    if (compiled_.in_modules == Ns{}) return;
    row = "  " + left("of it in layers", 22) + right(readable(compiled_.in_modules), 10) +
          right(percent(compiled_.in_modules, profile_.step_wall()), 9);
    if (compiled_.estimated > Ns{}) row += "   " + readable(compiled_.estimated) + " by an estimate: kernels fused of several layers";
    line(row);
  }

  // Device work without a module of its own, and why.
  void regions() {
    for (const profile::Region& region : compiled_.regions) {
      std::string row = "  " + left("without a module", 22) + right(readable(region.device), 10) +
                        right(percent(region.device, profile_.step_wall()), 9) + "   " + counted(region.works, "kernel", "kernels") +
                        " of " + counted(region.runs, "run", "runs") + " of " + shortened(region.name, 40);
      if (!region.inside.empty()) row += " in " + shortened(region.inside, 60);
      line(row);
      if (const profile::Region::Repeat& repeat = region.repeat; repeat.time * 2 > region.durations && region.runs == 1) {
        line("    " + counted(repeat.works, "kernel repeats ", "kernels repeat ") + std::to_string(repeat.times) + " times in a row, " +
             readable(repeat.time) + " in all (" + percent(repeat.time, region.durations) + "): probably equal layers");
      }
    }
    for (const auto kind : {profile::Region::Kind::replayed, profile::Region::Kind::compiled}) {
      if (std::ranges::find(compiled_.regions, kind, &profile::Region::kind) != compiled_.regions.end())
        line("  " + std::string(profile::reason(kind)));
    }
  }

  // torch names files by path; those of a notebook are told by cell.
  std::string place(const std::string& file, std::uint32_t line) const {
    const auto known = std::ranges::find(profile_.files, std::filesystem::path(file), &profile::SourceFile::path);
    const std::string name = harmless(std::filesystem::path(file).filename().string());
    return profile::place_name(name, known == profile_.files.end() ? profile::SourceFile{} : *known, line);
  }

  // A list, cut where it becomes long.
  template <class Row, class Text>
  void rows(const std::vector<Row>& list, Text text) {
    for (std::size_t at = 0; at < std::min(list.size(), kMostListed); ++at) line("    " + text(list[at]));
    if (list.size() > kMostListed) line("    " + std::to_string(list.size() - kMostListed) + " more");
  }

  void breaks(const CompilationLog& log) {
    const auto count = static_cast<std::int64_t>(log.breaks.size());
    line("  " + (count == 0 ? std::string("no graph breaks") : counted(count, "graph break", "graph breaks") + ", where a graph ends"));
    rows(log.breaks, [this](const GraphBreak& each) {
      return left(place(each.file, each.line) + " ", kCodeColumns) + shortened(each.reason, kReasonColumns);
    });
  }

  void compilations(const CompilationLog& log) {
    const auto in_step = std::ranges::count_if(log.compilations, &Compilation::in_step);
    std::string said = "  compiled " + counted(log.count, "graph", "graphs") + " in " + readable(log.took) + ", ";
    said += in_step == 0 ? "outside the measured steps" : std::to_string(in_step) + " of them inside the measured steps";
    const std::vector<Again> again = compiled_again(log);
    if (!again.empty()) said += "; compiled again:";
    line(said);
    rows(again, [this](const Again& each) {
      const std::string times = each.count > 1 ? "×" + std::to_string(each.count) + "  " : "";
      return left(place(each.last->file, each.last->line) + " ", kCodeColumns) + times + shortened(each.last->again, kReasonColumns);
    });
    for (const Compilation& each : log.compilations) {
      if (!each.failed.empty())
        line("    " + left(place(each.file, each.line) + " ", kCodeColumns) + shortened(each.failed, kReasonColumns));
    }
  }

  const profile::Profile& profile_;
  const profile::Compiled& compiled_;
  format::Style style_;
  std::string out_;
};

void place_json(const std::string& file, std::uint32_t line, const std::string& function, JsonText& json) {
  json.member("file", file);
  json.member("line", line);
  json.member("function", function);
}

void regions_json(const profile::Compiled& compiled, JsonText& json) {
  for (const profile::Region& region : compiled.regions) {
    json.object([&] {
      json.member("kind", profile::name(region.kind));
      json.member("name", region.name);
      if (!region.inside.empty()) json.member("module", region.inside);
      json.member("runs", region.runs);
      json.member("works", region.works);
      json.member("device_ns", region.device.count());
      if (region.repeat.times == 0) return;
      json.object("repeat", [&] {
        json.member("works", region.repeat.works);
        json.member("times", region.repeat.times);
        json.member("ns", region.repeat.time.count());
      });
    });
  }
}

void log_json(const CompilationLog& log, JsonText& json) {
  json.member("graphs", log.count);
  json.member("compilation_ns", log.took.count());
  json.array("breaks", [&] {
    for (const GraphBreak& each : log.breaks) {
      json.object([&] {
        place_json(each.file, each.line, each.function, json);
        json.member("reason", each.reason);
        json.member("count", each.count);
      });
    }
  });
  json.array("compilations", [&] {
    for (const Compilation& each : log.compilations) {
      json.object([&] {
        json.member("region", each.region);
        place_json(each.file, each.line, each.function, json);
        json.member("ns", each.took.count());
        json.member("backward", each.backward);
        json.member("in_step", each.in_step);
        if (!each.again.empty()) json.member("again", each.again);
        if (!each.failed.empty()) json.member("failed", each.failed);
      });
    }
  });
  if (log.missing.empty()) return;
  json.array("missing", [&] {
    for (const std::string& each : log.missing) json.element(each);
  });
}

}  // namespace

std::string compiled_text(const profile::Profile& profile, const format::Style& style) {
  return profile.compiled ? CompiledWriter(profile, style).write() : std::string();
}

void compiled_json(const profile::Profile& profile, JsonText& json) {
  const profile::Compiled& compiled = *profile.compiled;
  const Ns step = profile.step_wall();
  json.member("calls", compiled.calls);
  json.member("wall_ns", compiled.wall.count());
  json.member("share", step > Ns{} ? static_cast<double>(compiled.wall.count()) / static_cast<double>(step.count()) : 0.0);
  json.member("forward_ns", compiled.forward.count());
  json.member("backward_ns", compiled.backward.count());
  json.member("device_ns", compiled.device.count());
  json.member("in_modules_ns", compiled.in_modules.count());
  json.member("estimated_ns", compiled.estimated.count());
  if (!compiled.regions.empty()) json.array("regions", [&] { regions_json(compiled, json); });
  if (compiled.log) log_json(*compiled.log, json);
}

}  // namespace hotlens::report
