// A prediction as people and as scripts read it (annotator/report/FORMATS.md).
#include <fmt/format.h>

#include <algorithm>

#include "annotator/common/format.h"
#include "annotator/common/json_text.h"
#include "annotator/lab/predict/batch_sizes.h"
#include "annotator/profile/page_faults.h"

namespace hotlens::lab {
namespace {

constexpr double kMuch = 0.1, kMuchPython = 0.25;  // of the step

using format::harmless;
using format::readable;
using format::right;

void write_point(JsonText& json, const BatchSizes& of, const Point& point) {
  json.member("batch_size", point.batch);
  json.member("measured", point.method == Method::run);
  if (point.time) {
    json.member("step_ns", point.time->step.count());
    json.member("low_ns", point.time->low.count());
    json.member("high_ns", point.time->high.count());
    if (point.time->faults > Ns{}) json.member("page_faults_ns", point.time->faults.count());
    json.member("samples_per_s", samples_per_second(of, point));
  }
  json.member("peak_bytes", count(point.peak));
  json.member("method", name(point.method));
  if (!point.note.empty()) json.member("note", point.note);
}

void write_refusal(JsonText& json, const Refusal& refusal) {
  json.member("batch_size", refusal.batch);
  if (!refusal.module.empty()) json.member("module", refusal.module);
  if (!refusal.op.empty()) json.member("operator", refusal.op);
  json.member("reason", refusal.reason);
}

std::string row(const BatchSizes& of, const Point& point) {
  const std::string time = point.time ? readable(point.time->step) : "";
  const std::string interval = point.time ? readable(point.time->low) + " .. " + readable(point.time->high) : "";
  const std::string rate = point.time ? fmt::format("{:.4g}", samples_per_second(of, point)) : "";
  return right(std::to_string(point.batch), 10) + right(time, 11) + right(rate, 12) + right(readable(point.peak), 11) + "  " +
         format::left(interval, 22) + "  " + (point.method == Method::run ? "measured" : point.note);
}

// Empty where they are no large part of any step.
std::string about_faults(const BatchSizes& predicted) {
  const Point* most = nullptr;
  const auto share = [](const Point& point) {
    return point.time ? static_cast<double>(point.time->faults.count()) / static_cast<double>(point.time->step.count()) : 0;
  };
  for (const Point& point : predicted.points) {
    if (share(point) >= kMuch && (most == nullptr || share(point) > share(*most))) most = &point;
  }
  if (most == nullptr) return {};
  return fmt::format(
      "A step may give its memory back to the system and take it anew each time, or keep it: at batch size {} that is up to {} of the step "
      "(page faults), and chance decides. {} keeps it.\n",
      most->batch, readable(most->time->faults), profile::kKeepsFreed);
}

// What Python takes need not stay the same: a script may make its batches by itself.
std::string about_the_rest(const BatchSizes& predicted) {
  const auto measured = std::ranges::find(predicted.points, Method::run, &Point::method);
  if (measured == predicted.points.end() || !measured->time) return {};
  if (static_cast<double>(predicted.not_replayed.count()) < kMuchPython * static_cast<double>(measured->time->step.count())) return {};
  return fmt::format(
      "At batch size {}, {} of the step are beside its operators: Python, taken to be the same at every size. Where the script makes its "
      "batches without a DataLoader it grows, and the step with it.\n",
      measured->batch, readable(predicted.not_replayed));
}

std::string about_memory(const MemoryEnd& end) {
  const std::string memory = readable(end.memory) + (end.whose.empty() ? "" : " of " + end.whose);
  if (end.largest_batch == 0) return fmt::format("Not even batch size 1 fits into {}.\n", memory);
  return fmt::format("Up to batch size {} its tensors fit into {}; other memory of the process comes on top.\n", end.largest_batch, memory);
}

std::string place(const Refusal& refusal) {
  if (refusal.op.empty()) return {};
  return " (" + refusal.op + (refusal.module.empty() ? "" : " in " + refusal.module) + ")";
}

}  // namespace

double samples_per_second(const BatchSizes& predicted, const Point& point) {
  const double samples = static_cast<double>(point.batch) * static_cast<double>(predicted.batches);
  return samples / std::chrono::duration<double>(point.time->step).count();
}

std::string as_json(const BatchSizes& predicted) {
  JsonText json;
  json.object([&] {
    json.member("schema", std::string_view("hotlens.predict/1"));
    json.member("profile", predicted.profile);
    if (predicted.batches > 1) json.member("batches_per_step", predicted.batches);
    if (predicted.not_replayed > Ns{}) json.member("not_replayed_ns", predicted.not_replayed.count());
    json.array("self_check", [&] {
      for (const SelfCheck& check : predicted.checks) {
        json.object([&] {
          json.member("batch_size", check.batch);
          json.member("peak_bytes_real", count(check.real));
          json.member("peak_bytes_replayed", count(check.replayed));
          json.member("ratio", check.ratio());
          json.member("ok", check.ok());
        });
      }
    });
    json.array("points", [&] {
      for (const Point& point : predicted.points) json.object([&] { write_point(json, predicted, point); });
    });
    if (predicted.end) {
      json.object("memory", [&] {
        json.member("bytes", count(predicted.end->memory));
        json.member("of", predicted.end->whose);
        json.member("largest_batch_size", predicted.end->largest_batch);
      });
    }
    json.array("refused", [&] {
      for (const Refusal& refusal : predicted.refused) json.object([&] { write_refusal(json, refusal); });
    });
  });
  return std::move(json).take();
}

std::string as_text(const BatchSizes& predicted, bool color) {
  const format::Style style = format::style(color);
  std::string out = fmt::format("{}{}{}{}{}  {}{}\n", style.bold, right("batch size", 10), right("step", 11), right("samples/s", 12),
                                right("memory", 11), format::left("interval", 22), style.off);
  for (const Point& point : predicted.points) out += harmless(row(predicted, point)) + '\n';
  for (const Refusal& refusal : predicted.refused) {
    out += fmt::format("{} not predicted: {}{}\n", right(std::to_string(refusal.batch), 10), harmless(refusal.reason),
                       harmless(place(refusal)));
  }
  return out + (predicted.end ? about_memory(*predicted.end) : "") + about_the_rest(predicted) + about_faults(predicted);
}

}  // namespace hotlens::lab
