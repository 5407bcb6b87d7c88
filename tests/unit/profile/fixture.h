// A bundle of two measured steps and a map step, written into a folder of its own. Times in microseconds.
//
// train.py line 9 calls the model (two layers, attached in model.py lines 5 and 6), line 10 the criterion, line 11 backward, 12 the
// optimizer. In a measured step of 1000: data 100, zero_grad 20, layer a 100 (two operators of 40 and 50 around a gap of 10), layer b 60,
// loss 30, backward 30 + 100 + 150 + 15 (AccumulateGrad of a) with gaps of 5, optimizer 80.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "annotator/profile/profile.h"

namespace hotlens::profile {

using Json = nlohmann::json;

// A folder that is gone when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hotlens-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

struct TraceWriter {
  Json events = Json::array();

  void add(const char* category, const std::string& name, double start, double duration, Json args = Json::object()) {
    events.push_back(
        {{"ph", "X"}, {"cat", category}, {"name", name}, {"pid", 1}, {"tid", 1}, {"ts", start}, {"dur", duration}, {"args", args}});
  }
  void range(const std::string& name, double start, double duration) { add("user_annotation", name, start, duration); }
  void op(const std::string& name, double start, double duration, int sequence = -1, int forward_thread = 0) {
    Json args = Json::object();
    if (sequence >= 0) args = {{"Sequence number", sequence}, {"Fwd thread id", forward_thread}};
    add("cpu_op", name, start, duration, args);
  }
  std::string text() const { return Json{{"schemaVersion", 1}, {"baseTimeNanoseconds", 1000}, {"traceEvents", events}}.dump(); }
};

inline void write_step(TraceWriter& trace, double at, int index, int sequence, bool markers) {
  const std::string evaluate = "autograd::engine::evaluate_function: ";
  const auto mark = [&](const char* name, double start, double duration) {
    if (markers) trace.range(name, at + start, duration);
  };
  trace.range("ProfilerStep#" + std::to_string(index), at, 1000);
  mark("hotlens.line#0", 1, 998);
  mark("hotlens.stage#data", 9, 102);
  trace.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 10, 100);
  trace.op("aten::stack", at + 50, 20);
  trace.range("Optimizer.zero_grad#SGD.zero_grad", at + 120, 20);
  mark("hotlens.line#1", 150, 200);
  mark("hotlens.call#0", 152, 196);
  mark("hotlens.call#1", 155, 110);
  trace.op("aten::linear", at + 160, 40, sequence);
  trace.op("aten::mul", at + 210, 50, sequence + 1);
  mark("hotlens.call#2", 275, 70);
  trace.op("aten::linear", at + 280, 60, sequence + 2);
  mark("hotlens.line#2", 355, 40);
  mark("hotlens.call#3", 356, 38);
  trace.op("aten::mse_loss", at + 360, 30, sequence + 3);
  mark("hotlens.line#3", 400, 350);
  mark("hotlens.stage#backward", 401, 348);
  trace.op(evaluate + "MseLossBackward0", at + 410, 30, sequence + 3, 1);
  trace.op(evaluate + "AddmmBackward0", at + 445, 100, sequence + 2, 1);
  trace.op(evaluate + "MulBackward0", at + 550, 150, sequence + 1, 1);
  trace.op(evaluate + "torch::autograd::AccumulateGrad", at + 705, 15);
  mark("hotlens.param#0", 710, 0);
  mark("hotlens.line#4", 800, 100);
  trace.range("Optimizer.step#SGD.step", at + 810, 80);
  trace.op("aten::_foreach_add_", at + 820, 60);
}

inline Json site(int line, int column = 4) {
  return {{"file", 1}, {"line", line}, {"end_line", line}, {"column", column}, {"end_column", column + 9}, {"function", "main"}};
}

inline Json model_json() {
  const auto attached = [](int line) {
    return Json{{"file", 0}, {"line", line}, {"end_line", line}, {"column", 8}, {"end_column", 30}, {"function", "Net.__init__"}};
  };
  return {
      {"schema", "hotlens.model/1"},
      {"files",
       {{{"path", "/w/model.py"}, {"sha256", "aa"}, {"copy", "files/0-model.py"}, {"workspace", true}},
        {{"path", "/w/train.py"}, {"sha256", "bb"}, {"copy", nullptr}, {"workspace", true}}}},
      {"modules",
       {{{"id", 0}, {"path", ""}, {"class", "Net"}, {"parent", -1}, {"root", 0}, {"parameters_bytes", 480}},
        {{"id", 1}, {"path", "unused"}, {"class", "Identity"}, {"parent", 0}, {"root", 0}, {"parameters_bytes", 0}},
        {{"id", 2}, {"path", "b"}, {"class", "Linear"}, {"parent", 0}, {"root", 0}, {"parameters_bytes", 80}, {"attached", attached(6)}},
        {{"id", 3}, {"path", "a"}, {"class", "Linear"}, {"parent", 0}, {"root", 0}, {"parameters_bytes", 400}, {"attached", attached(5)}},
        {{"id", 4}, {"path", "MSELoss"}, {"class", "MSELoss"}, {"parent", -1}, {"root", 4}, {"parameters_bytes", 0}}}},
      {"roots", {{{"module", 0}, {"role", "model"}}, {{"module", 4}, {"role", "loss"}}}},
      {"parameters", {{{"id", 0}, {"module", 3}, {"name", "weight"}, {"bytes", 400}}}},
      {"calls",
       {{{"id", 0}, {"module", 0}, {"parent", -1}, {"site", site(9)}},
        {{"id", 1}, {"module", 3}, {"parent", 0}, {"site", attached(20)}},
        {{"id", 2}, {"module", 2}, {"parent", 0}, {"site", attached(20)}},
        {{"id", 3}, {"module", 4}, {"parent", -1}, {"site", site(10)}}}},
      {"lines",
       {{{"id", 0}, {"file", 1}, {"line", 8}, {"function", "main"}},
        {{"id", 1}, {"file", 1}, {"line", 9}, {"function", "main"}},
        {{"id", 2}, {"file", 1}, {"line", 10}, {"function", "main"}},
        {{"id", 3}, {"file", 1}, {"line", 11}, {"function", "main"}},
        {{"id", 4}, {"file", 1}, {"line", 12}, {"function", "main"}}}},
      {"stages", {{{"stage", "forward"}, {"site", site(9)}}, {{"stage", "backward"}, {"site", site(11)}}}}};
}

inline Json manifest_json() {
  return {{"schema", "hotlens.bundle/1"},
          {"id", "20261121T102300Z-1f3a9c"},
          {"created", "2026-11-21T10:23:00Z"},
          {"hotlens", "0.1.0"},
          {"argv", {"train.py", "--lr", "0.1"}},
          {"libraries", {{"torch", "2.13.0"}}},
          {"devices", {{{"kind", "cpu"}, {"name", "A CPU"}}}},
          {"samples_per_step", 64},
          {"plain_step_ns", {900000, 910000, 920000}},
          {"profiled_step_ns", {1000000, 1000000}},
          {"warnings", {{{"code", "few-steps"}, {"message", "2 steps instead of 5"}, {"count", 1}}}},
          {"traces", {{{"file", "trace-0.json.gz"}, {"rank", 0}}}},
          {"map_trace", "trace-map.json.gz"}};
}

// The files are named as the recorder names them; what they hold is told by their first bytes, so plain JSON will do.
inline std::filesystem::path write_bundle(const std::filesystem::path& folder, const Json& manifest = manifest_json(),
                                          const Json& model = model_json()) {
  std::filesystem::create_directories(folder);
  TraceWriter measured;
  write_step(measured, 0, 0, 10, false);
  write_step(measured, 1000, 1, 20, false);
  TraceWriter map;
  write_step(map, 5000, 0, 50, true);
  write_text(folder / "trace-0.json.gz", measured.text());
  write_text(folder / "trace-map.json.gz", map.text());
  write_text(folder / "model.json", model.dump());
  write_text(folder / "manifest.json", manifest.dump());
  return folder;
}

}  // namespace hotlens::profile
