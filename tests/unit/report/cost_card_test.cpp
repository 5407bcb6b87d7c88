#include "annotator/report/cost_card.h"

#include <nlohmann/json.hpp>

#include "annotator/advice/devices/published.h"
#include "annotator/report/json.h"
#include "annotator/report/text.h"
#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::report;
using nlohmann::json;

namespace {

devices::Row row(double gemm, double copy) {
  return {.name = "GPU",
          .kind = "cuda",
          .torch = "2",
          .measured = "2026-01-01T00:00:00Z",
          .flops_per_s = {{{"gemm", "f32"}, gemm}},
          .copy_bytes_per_s = copy};
}

// A step of 1 ms: products of 1 GFLOP in 500 µs, 50 kB moved in 400 µs; `known` of a whole millisecond.
profile::Profile profile_of(Ns known = Ns{900'000}) {
  profile::Profile profile;
  profile.steps.push_back({.wall = Ns{1'000'000}});
  profile.modules.push_back({.path = "head", .class_name = "Linear"});
  profile.costs.operators = {
      {.name = "aten::mm", .shapes = "[[1]]", .each = {kernels::Work::product, 5e8, 1e3, "f32"}, .calls = 2, .time = Ns{500'000}},
      {.name = "aten::relu", .shapes = "[[2]]", .each = {kernels::Work::move, 0, 5e4, ""}, .calls = 1, .time = Ns{400'000}}};
  profile.costs.known = known;
  profile.costs.whole = Ns{1'000'000};
  profile.modules[0].forward = profile.modules[0].backward = {profile::Times{.cpu_total = Ns{500'000}}};
  profile.modules[0].forward_costs = {.uses = {{.at = 0, .calls = 1, .time = Ns{200'000}}}, .whole = Ns{200'000}};
  profile.modules[0].backward_costs = {.uses = {{.at = 0, .calls = 1, .time = Ns{300'000}}}, .whole = Ns{300'000}};
  return profile;
}

std::vector<std::string> keys(const json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

}  // namespace

TEST_CASE("rates are held against the measured peaks") {
  const devices::Row peaks = row(4e12, 1e12);
  const auto card = cost_card(profile_of(), &peaks);
  REQUIRE(card);
  CHECK(card->misfit.empty());
  REQUIRE(card->rows.size() == 2);
  CHECK(card->rows[0].flops_per_s() == Approx(2e12));
  CHECK(card->rows[0].of_peak == Approx(0.5));
  CHECK(card->rows[1].bytes_per_s() == Approx(1.25e8));
  CHECK(card->mfu == Approx(0.25));  // 1 GFLOP in 1 ms
  REQUIRE(card->headroom.size() == 1);
  CHECK(card->headroom[0].times == Approx(2));
  CHECK(card->headroom[0].saved == Ns{250'000});
}

TEST_CASE("no utilization is given below nine tenths of known shapes") {
  const devices::Row peaks = row(4e12, 1e12);
  CHECK(cost_card(profile_of(Ns{900'000}), &peaks)->mfu);
  const auto card = cost_card(profile_of(Ns{899'000}), &peaks);
  CHECK_FALSE(card->mfu);
  CHECK(card->why_no_mfu == "no utilization (MFU) is given: shapes are known for 90% of the time, 90% are needed");
  CHECK_FALSE(cost_card(profile_of(Ns{100'000}), &peaks)->mfu);
}

TEST_CASE("an operator above a tenth more than its roof disproves the measurement") {
  const devices::Row fits = row(2e12 / 1.09, 1e12), misfits = row(2e12 / 1.11, 1e12);
  CHECK(cost_card(profile_of(), &fits)->misfit.empty());
  const auto card = cost_card(profile_of(), &misfits);
  CHECK_THAT(card->misfit, Catch::Contains("aten::mm reaches 2 TFLOP/s, 111 % of what was measured for f32 on GPU"));
  CHECK_FALSE(card->rows[0].of_peak);
  CHECK_FALSE(card->mfu);
  CHECK(card->headroom.empty());
}

TEST_CASE("what moves faster than memory lay in a cache, and wins nothing") {
  const devices::Row slow = row(4e12, 1e8);
  const auto card = cost_card(profile_of(), &slow);
  CHECK(card->misfit.empty());
  CHECK_FALSE(card->rows[1].of_peak);
  CHECK(card->headroom[0].times == Approx(2));
}

TEST_CASE("what a checkpoint runs again is no useful arithmetic") {
  const devices::Row peaks = row(4e12, 1e12);
  profile::Profile profile = profile_of();
  profile.costs.operators[0].again = 1;
  CHECK(cost_card(profile, &peaks)->mfu == Approx(0.125));
}

TEST_CASE("a module of which too little is known has no headroom") {
  const devices::Row peaks = row(4e12, 1e12);
  profile::Profile profile = profile_of();
  profile.modules[0].forward_costs.whole = Ns{260'000};
  CHECK(cost_card(profile, &peaks)->headroom.empty());
}

TEST_CASE("without shapes nothing is said of costs") {
  const devices::Row peaks = row(4e12, 1e12);
  profile::Profile profile = profile_of();
  profile.costs = {};
  CHECK_FALSE(cost_card(profile, &peaks));
  CHECK(costs_text(profile, {}, "", "").empty());
}

TEST_CASE("the costs and launches of the JSON report have the shape that FORMATS.md names") {
  const costs::Launches launches{
      .kernels = 2, .transfers = {{.direction = "HtoD", .memory = "pinned", .calls = 1, .bytes = 8, .time = Ns{4}, .timed = Ns{4}}}};
  const json report = json::parse(report_json(profile_of(), nullptr, {.launches = launches, .peaks = row(4e12, 1e12), .device = {}}));
  CHECK(keys(report["costs"]) ==
        std::vector<std::string>{"bytes", "coverage", "flops", "kinds", "known_ns", "mfu", "ns", "operators", "peaks", "whole_ns"});
  CHECK(keys(report["costs"]["kinds"][0]) == std::vector<std::string>{"bytes", "bytes_per_s", "calls", "flops", "flops_per_s", "ns",
                                                                      "of_peak", "peak_flops_per_s", "type", "work"});
  CHECK(keys(report["costs"]["operators"][0]) == std::vector<std::string>{"bytes", "bytes_per_s", "calls", "flops", "flops_per_s", "name",
                                                                          "ns", "of_roof", "shapes", "type", "work"});
  CHECK(report["costs"]["operators"][0]["flops_per_s"] == 2'000'000'000'000);
  CHECK(report["costs"]["operators"][0]["of_roof"] == Approx(0.5));
  CHECK(report["costs"]["flops"] == 1'000'000'000);
  CHECK(keys(report["modules"][0]["costs"]) == std::vector<std::string>{"backward", "faster_at_most", "forward", "saved_at_most_ns"});
  CHECK(keys(report["modules"][0]["costs"]["forward"]) == std::vector<std::string>{"bytes", "flops", "ns", "whole_ns"});
  CHECK(keys(report["launches"]) == std::vector<std::string>{"copies", "delay_median_ns", "delay_p90_ns", "host_wait_ns", "kernel_wait_ns",
                                                             "kernels", "kernels_in_graphs", "other_wait_ns", "queue_empty", "queued_mean",
                                                             "shorter_than_launch"});
  CHECK(keys(report["launches"]["copies"][0]) == std::vector<std::string>{"bytes", "bytes_per_s", "calls", "direction", "memory", "ns"});
}

TEST_CASE("bytes that no type tells are unknown, and rates are of the time of those that are known") {
  profile::Profile profile = profile_of();
  profile.costs.operators[1].each.bytes.reset();
  const json unknown = json::parse(report_json(profile, nullptr, {}))["costs"];
  CHECK(keys(unknown["kinds"][1]) == std::vector<std::string>{"calls", "flops", "flops_per_s", "ns", "work"});
  CHECK_FALSE(unknown["operators"][1].contains("bytes"));
  CHECK_THAT(report_text(profile, {}, {}), Catch::Contains("bytes unknown") && !Catch::Contains(" 0 B"));
  profile.costs.operators.push_back(
      {.name = "aten::add", .shapes = "[]", .each = {kernels::Work::move, 0, 1e5, ""}, .calls = 1, .time = Ns{100'000}});
  const json partly = json::parse(report_json(profile, nullptr, {}))["costs"]["kinds"][1];
  CHECK(partly["bytes"] == 100'000);
  CHECK(partly["bytes_known_ns"] == 100'000);
  CHECK(partly["bytes_per_s"] == 1'000'000'000);
  CHECK_THAT(report_text(profile, {}, {}), Catch::Contains("bytes known for 20"));
}

TEST_CASE("products are told by their unique arguments; what takes next to nothing is not") {
  profile::Profile profile = profile_of();
  profile.costs.operators.push_back(
      {.name = "aten::bmm", .shapes = "[[3]]", .each = {kernels::Work::product, 1e3, 1e3, "f32"}, .calls = 1, .time = Ns{1'000}});
  const std::string text = report_text(profile, {}, {.launches = {}, .peaks = row(4e12, 1e12), .device = {}});
  CHECK_THAT(text, Catch::Contains("by unique arguments:"));
  CHECK_THAT(text, Catch::Contains("aten::mm f32 ×2") && Catch::Contains("50% of the roof  [[1]]"));
  CHECK_THAT(text, !Catch::Contains("aten::bmm") && !Catch::Contains("aten::relu"));
}

TEST_CASE("the text says rates, shares and what could be faster") {
  const std::string text = report_text(profile_of(), {}, {.launches = {}, .peaks = row(4e12, 1e12), .device = {}});
  CHECK_THAT(text, Catch::Contains("Arithmetic and bytes, shapes known for 90% of the operator time"));
  CHECK_THAT(text, Catch::Contains("1.00 GFLOP") && Catch::Contains("2.00 TFLOP/s") && Catch::Contains("50% of 4.00 TFLOP/s"));
  CHECK_THAT(text, Catch::Contains("utilization (MFU) 25% of the measured peak"));
  CHECK_THAT(text, Catch::Contains("faster by at most, at the measured peaks: head 2× (250 µs)"));
  const std::string without = report_text(profile_of(), {}, {.launches = {}, .peaks = {}, .device = "GPU\x1b[2J"});
  CHECK_THAT(without, Catch::Contains("no measured peaks of GPU?[2J are kept: run hotlens bench-device there for shares of them"));
  CHECK_THAT(without, !Catch::Contains("faster by at most") && !Catch::Contains("MFU"));
}

TEST_CASE("peaks that a vendor publishes stand in for measured ones, by the exact name of the device, and are called so") {
  const auto peaks = devices::published("NVIDIA H100 80GB HBM3");
  REQUIRE(peaks);
  CHECK(peaks->rate("gemm", "bf16") == Approx(989.4e12));
  CHECK(peaks->copy_bytes_per_s == Approx(3.35e12));
  CHECK_FALSE(devices::published("NVIDIA H100"));
  CHECK_FALSE(devices::published(""));
  const Beside beside{.launches = {}, .peaks = peaks, .device = peaks->name};
  const std::string text = report_text(profile_of(), {}, beside);
  CHECK_THAT(text, Catch::Contains("of the published peak, over the whole step"));
  CHECK_THAT(text, Catch::Contains("peaks as published for NVIDIA H100 80GB HBM3, which no program reaches"));
  CHECK_THAT(text, !Catch::Contains("measured peak"));
  CHECK(json::parse(report_json(profile_of(), nullptr, beside))["costs"]["peaks"]["published"] == true);
}

TEST_CASE("an operator above a published peak ran in another type, and nothing is held against it") {
  devices::Row peaks = row(2e12 / 1.11, 1e12);
  peaks.published = true;
  const auto card = cost_card(profile_of(), &peaks);
  CHECK_THAT(card->misfit, Catch::Contains("of what is published for f32") && Catch::Contains("TF32"));
  CHECK_FALSE(card->mfu);
}
