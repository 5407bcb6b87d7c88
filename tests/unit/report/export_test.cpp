#include "annotator/profile/build/load.h"
#include "annotator/report/export/csv.h"
#include "annotator/report/export/json.h"
#include "annotator/report/export/perfetto.h"
#include "annotator/report/export/speedscope.h"

#include <map>
#include <sstream>

#include "annotator/profile/build/spans.h"
#include "annotator/report/events.h"
#include "annotator/report/json.h"
#include "annotator/report/text.h"
#include "tests/unit/catch.h"
#include "tests/unit/profile/fixture.h"

using namespace hotlens;
using namespace hotlens::report;
using namespace hotlens::profile;

namespace {

template <class Value>
std::string text_of(void (*write)(const Value&, std::ostream&), const Value& value) {
  std::ostringstream out;
  write(value, out);
  return out.str();
}

std::string perfetto(const std::filesystem::path& path) {
  const profile::Annotated annotated = *annotate(path);
  std::ostringstream out;
  REQUIRE(export_perfetto(annotated, out).has_value());
  return out.str();
}

std::string trace_text() {
  TraceWriter trace;
  write_step(trace, 0, 3, 10, false);
  write_step(trace, 1000, 4, 20, false);
  return trace.text();
}

}  // namespace

TEST_CASE("spans nest, cover the step, and tell two calls of a module apart") {
  const TemporaryFolder folder;
  const profile::Annotated annotated = *annotate(write_bundle(folder.path() / "b"));
  const std::vector<profile::Track> tracks = tracks_of(annotated);
  REQUIRE(tracks.size() == 1);
  std::vector<const profile::Span*> open;
  Ns steps{};
  for (const profile::Span& span : tracks[0].spans) {
    REQUIRE(span.depth <= open.size());
    open.resize(span.depth);
    if (!open.empty()) {
      CHECK(span.start >= open.back()->start);
      CHECK(span.end <= open.back()->end);
    }
    open.push_back(&span);
    if (span.frame.layer == profile::Frame::Layer::step) steps += span.end - span.start;
  }
  CHECK(steps == std::chrono::microseconds(2000));
  const auto names = names_of_modules(annotated);
  std::map<std::string, Ns> forward;
  for (const profile::Span& span : tracks[0].spans) {
    if (span.frame.layer == profile::Frame::Layer::module && span.frame.direction == Direction::forward) {
      forward[names.at(span.frame.id).path] += span.end - span.start;
    }
  }
  CHECK(forward["a"] == std::chrono::microseconds(2 * 100));
  CHECK(forward["b"] == std::chrono::microseconds(2 * 60));
  CHECK(forward[""] == std::chrono::microseconds(2 * 180));
}

TEST_CASE("the Perfetto export keeps the trace's text and adds tracks") {
  const TemporaryFolder folder;
  const std::filesystem::path bundle = write_bundle(folder.path() / "b");
  const std::string text = perfetto(bundle);
  std::ifstream in(bundle / "trace-0.json.gz");
  const std::string original(std::istreambuf_iterator<char>(in), {});
  CHECK(text.starts_with(original.substr(0, original.rfind(']'))));
  const Json json = Json::parse(text);
  std::map<std::string, int> tracks;
  std::map<std::string, std::map<std::string, double>> durations;
  std::map<int, std::string> track_of;
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "thread_name") track_of[event["tid"]] = event["args"]["name"];
    if (event.value("cat", "") == "hotlens") durations[track_of[event["tid"]]][event["name"]] += event["dur"].get<double>();
  }
  CHECK(durations.size() == 5);
  CHECK(durations["steps"]["step 0"] == Approx(1000));
  CHECK(durations["stages"]["forward"] == Approx(2 * 180));
  CHECK(durations["buckets"]["optimizer"] == Approx(2 * 80));
  CHECK(durations["modules forward, thread 1"]["a"] == Approx(2 * 100));
  CHECK(durations["modules backward, thread 1"]["b"] == Approx(2 * 100));
}

TEST_CASE("a Perfetto export reads back as the trace that it was made from") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "x.json";
  std::string text = trace_text();
  SECTION("as written") {}
  SECTION("the list of events last, with space around it") {
    text = "{\"schemaVersion\": 1, \"note\": \"]}\\\"\", \"traceEvents\": " + Json::parse(text)["traceEvents"].dump() + " \n } ";
  }
  SECTION("a bare list") {
    text = Json::parse(text)["traceEvents"].dump();
  }
  write_text(file, text);
  const std::filesystem::path again = folder.path() / "again" / "x.json";
  std::filesystem::create_directories(again.parent_path());
  write_text(again, perfetto(file));
  Json before = Json::parse(report_json(*load(file).value()));
  Json after = Json::parse(report_json(*load(again).value()));
  before["profile"].erase("source");
  after["profile"].erase("source");
  CHECK(before == after);
}

TEST_CASE("a trace that is broken JSON is written anew as valid JSON with the same steps") {
  const TemporaryFolder folder;
  const std::string whole = trace_text();
  write_text(folder.path() / "cut.json", whole.substr(0, whole.size() - 60));
  const std::string text = perfetto(folder.path() / "cut.json");
  REQUIRE(Json::accept(text));
  write_text(folder.path() / "again.json", text);
  const auto before = load(folder.path() / "cut.json").value();
  const auto after = load(folder.path() / "again.json").value();
  REQUIRE(before->steps.size() == after->steps.size());
  for (std::size_t step = 0; step < before->steps.size(); ++step) {
    CHECK(before->steps[step].start == after->steps[step].start);
    CHECK(before->steps[step].wall == after->steps[step].wall);
    for (std::size_t bucket = 0; bucket < before->buckets.size(); ++bucket) {
      CHECK(before->buckets[bucket].wall[step] == after->buckets[bucket].wall[step]);
    }
  }
}

TEST_CASE("CSV quotes hostile names and keeps spreadsheets from running them") {
  profile::Profile profile;
  profile.steps.push_back({.wall = Ns{1}});
  for (const char* path : {"=cmd|'/c calc'!A1", "+1", "-1", "@SUM(A1)", "\tx", "a,\"b\"\r\nc", "\xff", "plain"}) {
    profile::Module module{.path = path, .class_name = "C"};
    module.forward = module.backward = {profile::Times{.cpu_total = Ns{7}}};
    profile.modules.push_back(module);
  }
  const std::string text = text_of(export_csv, profile);
  CHECK(text.starts_with("path,class,how,calls,forward_cpu_total_ns,"));
  for (const char* expected : {"\n\"'=cmd|'/c calc'!A1\",\"C\"", "\n\"'+1\"", "\n\"'-1\"", "\n\"'@SUM(A1)\"", "\n\"'\tx\"",
                               "\n\"a,\"\"b\"\"\r\nc\"", "\n\"\xef\xbf\xbd\"", "\n\"plain\",\"C\",none,0,7,0,0,0,7,0,0,0,,,,\r\n"}) {
    CAPTURE(expected);
    CHECK(text.find(expected) != std::string::npos);
  }
}

TEST_CASE("speedscope gets balanced events in order of time, on frames that exist") {
  const TemporaryFolder folder;
  const Json json = Json::parse(text_of(export_speedscope, *annotate(write_bundle(folder.path() / "b"))));
  const Json& frames = json["shared"]["frames"];
  REQUIRE(json["profiles"].size() == 1);
  const Json& profile = json["profiles"][0];
  CHECK(profile["unit"] == "nanoseconds");
  CHECK(profile["endValue"].get<std::int64_t>() - profile["startValue"].get<std::int64_t>() == 2'000'000);
  std::vector<std::size_t> open;
  std::int64_t last = profile["startValue"];
  for (const Json& event : profile["events"]) {
    const std::size_t frame = event["frame"];
    REQUIRE(frame < frames.size());
    CHECK(event["at"].get<std::int64_t>() >= last);
    last = event["at"];
    if (event["type"] == "O") {
      open.push_back(frame);
    } else {
      REQUIRE_FALSE(open.empty());
      CHECK(open.back() == frame);
      open.pop_back();
    }
  }
  CHECK(open.empty());
  const Json expected = {{"name", "a"}, {"file", "/w/model.py"}, {"line", 6}};
  CHECK(std::ranges::count(frames, expected) == 1);
}

TEST_CASE("the JSON export holds the report and the numbers of every step") {
  const TemporaryFolder folder;
  const auto profile = load(write_bundle(folder.path() / "b")).value();
  std::ostringstream out;
  export_json(*profile, {std::chrono::microseconds(900), std::chrono::microseconds(910)}, out);
  const Json json = Json::parse(out.str());
  CHECK(json["schema"] == "hotlens.export/1");
  CHECK(json["report"] == Json::parse(report_json(*profile)));
  CHECK(json["plain_steps_ns"] == Json::parse("[900000,910000]"));
  CHECK(json["modules"].size() == 5);
  CHECK(json["modules"][1]["path"] == "a");
  CHECK(json["modules"][1]["parent"] == 0);
  CHECK(json["modules"][1]["forward"]["cpu_total_ns"] == Json::parse("[100000,100000]"));
  CHECK(json["modules"][1]["attached"]["line"] == 5);
  CHECK(json["call_sites"][0]["modules"] == Json::parse("[0]"));
  std::int64_t wall = 0;
  for (const Json& bucket : json["buckets"]) wall += bucket["wall_ns"][1].get<std::int64_t>();
  CHECK(wall == 1'000'000);
}
