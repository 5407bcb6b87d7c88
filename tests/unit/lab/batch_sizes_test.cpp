#include "annotator/lab/predict/batch_sizes.h"

#include <nlohmann/json.hpp>

#include "annotator/lab/predict/kept.h"
#include "tests/unit/catch.h"
#include "tests/unit/folder.h"

using namespace hotlens;
using namespace hotlens::lab;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// Weights of 1,000 bytes are there; a gradient of the same size comes after activations of 100 bytes a sample have gone.
Replays replays(std::int64_t batch) {
  return {.batch = batch,
          .times = {},
          .start = Bytes{1000 + 8 * batch},
          .peak = {},
          .events = {100 * batch, 50 * batch, -50 * batch, -100 * batch, 1000, -1000}};
}

Replays timed(std::vector<Ns> times) {
  return {.batch = 8, .times = std::move(times), .start = {}, .peak = {}, .events = {}};
}

}  // namespace

TEST_CASE("the peak at another size is the larger of several lines") {
  const Replays six = replays(6), eight = replays(8);
  CHECK(peak_at(six, eight, 1) == Bytes{1000 + 8 + 1000});
  CHECK(peak_at(six, eight, 6) == Bytes{1000 + 48 + 1000});
  CHECK(peak_at(six, eight, 64) == Bytes{1000 + 8 * 64 + 150 * 64});
  CHECK(peak_at(eight, six, 64) == peak_at(six, eight, 64));
}

TEST_CASE("memory ends at the largest size whose peak is within it") {
  const Replays six = replays(6), eight = replays(8);
  CHECK(largest_within(six, eight, *peak_at(six, eight, 64)) == 64);
  CHECK(largest_within(six, eight, Bytes{count(*peak_at(six, eight, 64)) - 1}) == 63);
  CHECK(largest_within(six, eight, Bytes{2008}) == 1);
  CHECK(largest_within(six, eight, Bytes{2007}) == 0);
  CHECK(!largest_within(eight, eight, Bytes{5000}));
  const Replays fixed{.batch = 8, .start = Bytes{1000}, .events = {10, -10}};
  Replays again = fixed;
  again.batch = 6;
  CHECK(!largest_within(again, fixed, Bytes{5000}));  // nothing grows
}

TEST_CASE("no peak where the sizes allocate differently, or beyond what can be counted") {
  Replays other = replays(8);
  other.events.pop_back();
  CHECK(!peak_at(replays(6), other, 16));
  other = replays(8);
  other.events[1] = -1;
  CHECK(!peak_at(replays(6), other, 16));
  CHECK(!peak_at(replays(8), replays(8), 16));
  CHECK(!peak_at(replays(6), replays(8), std::numeric_limits<std::int64_t>::max()));
}

TEST_CASE("what Python takes is added and does not grow") {
  // 10 ms, of which 6 are operators; at four times the size operators take 24.
  const auto time = step_time({10ms, 10ms, 10ms}, {}, {}, timed({6ms, 6ms, 6ms}), timed({24ms, 24ms, 24ms}));
  REQUIRE(time);
  CHECK(time->step == 28ms);
  CHECK(time->low < 28ms);
  CHECK(time->high > 28ms);
}

TEST_CASE("what a loader takes to make a batch in the script's own process grows with the batch") {
  Replays eight = timed({6ms, 6ms, 6ms}), other = timed({24ms, 24ms, 24ms});
  other.batch = 4 * eight.batch;
  const auto time = step_time({10ms, 10ms, 10ms}, {}, 2ms, eight, other);
  REQUIRE(time);
  CHECK(time->step == 10ms + 18ms + 5700us);  // 0.1 ms is the batch's, not its samples'
  CHECK(step_time({10ms, 10ms, 10ms}, {}, 80us, eight, other)->step == 28ms);
  const auto alone = step_time({10ms, 10ms, 10ms}, {}, {}, eight, other);
  REQUIRE(alone);
  CHECK(time->high - time->step == alone->high - alone->step + 1140us);
  // A step that only loads.
  CHECK(step_time({10ms, 10ms, 10ms}, {}, 20ms, eight, other)->step == 39700us);
}

TEST_CASE("a machine that is slow for a while is slow for both sizes of a turn") {
  const auto time = step_time({10ms, 10ms, 10ms}, {}, {}, timed({6ms, 16ms, 6ms, 16ms, 6ms}), timed({24ms, 34ms, 24ms, 34ms, 24ms}));
  REQUIRE(time);
  CHECK(time->step == 28ms);
}

TEST_CASE("the interval of what was measured is that of its median alone") {
  const auto time = measured_time({9ms, 10ms, 11ms});
  REQUIRE(time);
  CHECK(time->step == 10ms);
  CHECK(time->low < 10ms);
  CHECK(!measured_time({}));
  CHECK(!step_time({}, {}, {}, timed({6ms}), timed({6ms})));
  CHECK(!step_time({10ms}, {}, {}, timed({}), timed({6ms})));
}

TEST_CASE("a replay slower than the script was is scaled to its pace") {
  const auto time = step_time({10ms, 10ms, 10ms}, {}, {}, timed({20ms, 20ms, 20ms}), timed({5ms, 5ms, 5ms}));
  REQUIRE(time);
  CHECK(time->step == 2500us);
}

TEST_CASE("page faults grow with the memory that a step needs, and the interval reaches from none to all") {
  Replays eight = timed({6ms, 6ms, 6ms}), sixteen = timed({12ms, 12ms, 12ms});
  eight.peak = Bytes{1000 * 4096};
  sixteen.peak = Bytes{2000 * 4096};
  // Of 1,000 pages half are taken anew, 2 µs each: 1 of 10 ms.
  const auto time = step_time({10ms, 10ms, 10ms}, {.count = 500, .each = 2us}, {}, eight, sixteen);
  REQUIRE(time);
  CHECK(time->step == 9ms + 6ms + 2ms);
  CHECK(time->faults == 4ms);
  CHECK(time->low < 15ms);
  CHECK(time->low > 14ms);
  CHECK(time->high > 19ms);
  CHECK(time->high < 20ms);
  // None at the recorded size: they may begin at the other one.
  const auto none = step_time({10ms, 10ms, 10ms}, {.count = 0, .each = 2us}, {}, eight, sixteen);
  REQUIRE(none);
  CHECK(none->step == 16ms);
  CHECK(none->low < 16ms);
  CHECK(none->high > 20ms);
  // More than one a page of the peak: not more time than the step took.
  CHECK(step_time({1ms, 1ms, 1ms}, {.count = 5000, .each = 2us}, {}, eight, timed({6ms, 6ms, 6ms})) == std::nullopt);
}

TEST_CASE("a replay that takes other memory than the script predicts nothing") {
  CHECK(SelfCheck{8, Bytes{1'000'000}, Bytes{1'000'150}}.ok());
  CHECK(!SelfCheck{8, Bytes{1'000'000}, Bytes{1'000'300}}.ok());
  CHECK(!SelfCheck{8, Bytes{1'000'000}, Bytes{999'000}}.ok());
  CHECK(!SelfCheck{8, Bytes{0}, Bytes{1}}.ok());
  const Recorded on_gpu{.id = {}, .torch = {}, .batch = 8, .peak = Bytes{1'000'000}, .steps = {}, .on_cpu = false, .document = {}};
  CHECK(self_check(on_gpu, Bytes{996'000}).ok());  // blocks of a caching allocator
  CHECK(!self_check(on_gpu, Bytes{970'000}).ok());
}

TEST_CASE("answers of the worker are values, broken ones refusals") {
  const auto good =
      read_replays(json::parse(R"({"replays": [{"batch": 8, "time_ns": [5, 6], "start_bytes": 1, "peak_bytes": 2, "events": [3]}]})"));
  REQUIRE(good);
  CHECK(good->front().times == std::vector<Ns>{Ns{5}, Ns{6}});
  CHECK(good->front().peak == Bytes{2});
  const auto refused = read_replays(json::parse(R"({"error": {"message": "shapes differ", "operator": "aten::mm", "module": "fc"}})"));
  REQUIRE(!refused);
  CHECK(refused.error().reason == "shapes differ");
  CHECK(refused.error().op == "aten::mm");
  CHECK(refused.error().module == "fc");
  for (const char* text : {"null", "[]", "{}", R"({"replays": 3})", R"({"replays": [{}]})", R"({"replays": [{"batch": "8"}]})"}) {
    CHECK(!read_replays(json::parse(text)));
  }
}

TEST_CASE("a prediction in JSON and as a table") {
  const BatchSizes predicted{
      .profile = "p",
      .checks = {{8, Bytes{1000}, Bytes{1000}}},
      .points =
          {{.batch = 8, .method = Method::run, .time = StepTime{10ms, 9ms, 11ms}, .peak = Bytes{1000}, .note = {}},
           {.batch = 512, .method = Method::line, .time = {}, .peak = Bytes{64'000'000'000}, .note = "not tried: 20 GB are free here"}},
      .refused = {{.batch = 7, .reason = "is not whole", .op = "aten::view", .module = "net\x1b[2J"}}};
  const json written = json::parse(as_json(predicted));
  CHECK(written["schema"] == "hotlens.predict/1");
  CHECK(written["self_check"][0]["ok"] == true);
  CHECK(written["points"][0]["measured"] == true);
  CHECK(written["points"][0]["samples_per_s"] == 800.0);
  CHECK(!written.contains("batches_per_step"));
  CHECK(!written["points"][1].contains("step_ns"));
  CHECK(written["points"][1]["method"] == "line");
  CHECK(written["refused"][0]["operator"] == "aten::view");
  const std::string text = as_text(predicted, false);
  CHECK_THAT(text, Catch::Contains("10.0 ms") && Catch::Contains("64.0 GB") && Catch::Contains("20 GB are free here"));
  CHECK_THAT(text, Catch::Contains("7 not predicted: is not whole (aten::view in net?[2J)"));
  CHECK_THAT(text, !Catch::Contains("page faults"));
}

TEST_CASE("where gradients of several batches are accumulated the samples of all of them count") {
  const BatchSizes written{
      .profile = "p",
      .batches = 4,
      .checks = {},
      .points = {{.batch = 8, .method = Method::run, .time = StepTime{10ms, 9ms, 11ms}, .peak = Bytes{1000}, .note = {}}},
      .refused = {}};
  CHECK(json::parse(as_json(written))["points"][0]["samples_per_s"] == 3200.0);
  CHECK_THAT(as_text(written, false), Catch::Contains(" 3200 "));
  const auto read = read_batch_sizes(as_json(written));
  REQUIRE(read);
  CHECK(samples_per_second(*read, read->points[0]) == 3200.0);
}

TEST_CASE("much of a step that no replay has is told") {
  BatchSizes predicted{.profile = "p",
                       .checks = {},
                       .points = {{.batch = 8, .method = Method::run, .time = StepTime{10ms, 9ms, 11ms}, .peak = Bytes{1000}, .note = {}}},
                       .refused = {},
                       .not_replayed = 1ms};
  CHECK_THAT(as_text(predicted, false), !Catch::Contains("Python"));
  CHECK(json::parse(as_json(predicted))["not_replayed_ns"] == 1'000'000);
  predicted.not_replayed = 4ms;
  CHECK_THAT(as_text(predicted, false), Catch::Contains("At batch size 8, 4.00 ms of the step are beside its operators"));
  CHECK(read_batch_sizes(as_json(predicted))->not_replayed == 4ms);
}

TEST_CASE("page faults that may take a tenth of a step are told") {
  BatchSizes predicted{
      .profile = "p",
      .checks = {},
      .points = {{.batch = 16, .time = StepTime{.step = 20ms, .low = 19ms, .high = 23ms, .faults = 1900us}, .peak = Bytes{1}, .note = {}}},
      .refused = {}};
  CHECK_THAT(as_text(predicted, false), !Catch::Contains("page faults"));
  predicted.points.front().time->faults = 2ms;
  CHECK_THAT(as_text(predicted, false), Catch::Contains("at batch size 16 that is up to 2.00 ms of the step (page faults)"));
  CHECK(json::parse(as_json(predicted))["points"][0]["page_faults_ns"] == 2'000'000);
}

TEST_CASE("a prediction is read as it was written") {
  const BatchSizes written{
      .profile = "one",
      .checks = {{8, Bytes{100}, Bytes{100}}},
      .points = {{.batch = 8, .method = Method::run, .time = StepTime{10ms, 9ms, 11ms}, .peak = Bytes{100}, .note = {}},
                 {.batch = 16, .method = Method::replay, .time = StepTime{15ms, 14ms, 16ms}, .peak = Bytes{180}, .note = {}},
                 {.batch = 1 << 20, .method = Method::line, .time = {}, .peak = Bytes{9'000'000}, .note = "not tried: 5 MB are free here"}},
      .refused = {{.batch = 3, .reason = "no", .op = "aten::view", .module = "head"}}};
  const auto read = read_batch_sizes(as_json(written));
  REQUIRE(read);
  CHECK(read->profile == "one");
  REQUIRE(read->points.size() == 3);
  CHECK(read->points[1].time->low == 14ms);
  CHECK(read->points[2].method == Method::line);
  CHECK(!read->points[2].time);
  CHECK(read->points[2].note == written.points[2].note);
  REQUIRE(read->refused.size() == 1);
  CHECK(read->refused[0].op == "aten::view");
  for (const char* other :
       {"", "[]", "{}", R"({"schema":"hotlens.predict/1"})", R"({"schema":"hotlens.predict/1","points":[{}],"refused":[]})"}) {
    CHECK(!read_batch_sizes(other));
  }
  const auto faster = rate(written.points[0], written.points[1]);
  REQUIRE(faster);
  CHECK(faster->ratio == Approx(2 * 10.0 / 15));
  CHECK(faster->low == Approx(2 * 10.0 / 16));
  CHECK(!rate(written.points[0], written.points[2]));
}

TEST_CASE("what was predicted before stays beside what is predicted now, and is found in its bundle") {
  const auto point = [](std::int64_t batch, Ns step) {
    return Point{
        .batch = batch, .time = StepTime{.step = step, .low = step, .high = step, .faults = 1ms}, .peak = Bytes{batch}, .note = {}};
  };
  const BatchSizes before{.profile = "one",
                          .checks = {},
                          .points = {point(4, 5ms), point(16, 20ms)},
                          .refused = {{.batch = 3, .reason = "no", .op = {}, .module = {}}},
                          .end = MemoryEnd{.memory = Bytes{1000}, .whose = "the device", .largest_batch = 40}};
  const BatchSizes all = joined({.profile = "one", .checks = {}, .points = {point(8, 9ms), point(16, 15ms)}, .refused = {}}, before);
  REQUIRE(all.points.size() == 3);
  CHECK(all.points[0].batch == 4);
  CHECK(all.points[2].time->step == 15ms);
  CHECK(all.end->largest_batch == 40);
  CHECK(all.refused.empty());

  const test::Folder bundle;
  CHECK(!read_kept_batch_sizes(bundle.root, "one"));
  bundle.write("batch_sizes.json", as_json(all));
  const auto kept = read_kept_batch_sizes(bundle.root, "one");
  REQUIRE(kept);
  CHECK(kept->points.size() == 3);
  CHECK(kept->points[1].time->faults == 1ms);
  CHECK(!read_kept_batch_sizes(bundle.root, "another"));
}

TEST_CASE("half, twice and four times the batch size is what is predicted where nobody names sizes") {
  CHECK(sizes_around(32) == "16,64,128");
  CHECK(sizes_around(1) == "2,4");
}
