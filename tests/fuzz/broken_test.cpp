// Real traces, cut at random bytes and changed at random places.
//
// HOTLENS_TRACES and HOTLENS_OWN_TRACES name their folders; HOTLENS_BROKEN the number of broken files, 10,000 for the full count (an
// everyday run takes some).
#include <simdjson.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "annotator/profile/build/load.h"
#include "annotator/report/events.h"
#include "annotator/report/json.h"
#include "annotator/report/text.h"
#include "annotator/trace/source.h"
#include "annotator/trace/trace.h"
#include "tests/fuzz/promises.h"
#include "tests/unit/catch.h"
#include "tests/unit/traces.h"

using namespace hotlens;

namespace {

constexpr std::size_t kLargest = std::size_t{6} << 20;  // bytes of JSON: larger files only take longer

std::string text_of(const std::filesystem::path& path) {
  Result<trace::Source> source = trace::Source::open(path);
  REQUIRE(source.has_value());
  std::string text(kLargest + 1, '\0');
  const Result<std::size_t> got = source->read(text);
  REQUIRE(got.has_value());
  text.resize(*got);
  return text;
}

// Where the elements of traceEvents end, told by another way of reading than the one under test.
std::vector<std::size_t> element_ends(const std::string& text) {
  const simdjson::padded_string padded(text);
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document = parser.iterate(padded).value();
  const bool is_list = document.type().value() == simdjson::ondemand::json_type::array;
  simdjson::ondemand::array list = is_list ? document.get_array().value() : document["traceEvents"].get_array().value();
  std::vector<std::size_t> ends;
  for (auto element : list) {
    const std::string_view json = element.get_object().value().raw_json().value();
    ends.push_back(static_cast<std::size_t>(json.data() + json.size() - padded.data()));
  }
  return ends;
}

struct Sample {
  std::string name, text;
  std::vector<std::size_t> ends;     // of elements
  std::vector<std::uint32_t> index;  // of complete events, among the elements
};

std::vector<Sample> samples() {
  std::vector<Sample> found;
  std::vector<std::filesystem::path> files = tests::traces(tests::kReal, "real traces are not broken");
  std::ranges::copy(tests::traces(tests::kOwn, "traces of the tests' own are not broken"), std::back_inserter(files));
  for (const std::filesystem::path& file : files) {
    Sample sample{file.filename().string(), text_of(file), {}, {}};
    if (sample.text.size() > kLargest) continue;
    Issues issues;
    const Result<trace::Trace> trace = trace::read_bytes(sample.text, sample.name, issues);
    REQUIRE(trace.has_value());
    sample.ends = element_ends(sample.text);
    sample.index = trace->events.index;
    found.push_back(std::move(sample));
  }
  std::ranges::sort(found, {}, &Sample::name);
  return found;
}

std::size_t rounds(std::size_t everyday) {
  const char* count = std::getenv("HOTLENS_BROKEN");
  return count ? std::strtoull(count, nullptr, 10) : everyday;
}

bool said(const Issues& issues, std::string_view code) {
  return std::ranges::find(issues.items(), code, &Issue::code) != issues.items().end();
}

}  // namespace

TEST_CASE("a real trace cut anywhere keeps every whole event and says that it is cut") {
  const std::vector<Sample> all = samples();
  const unsigned seed = 20261121;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (std::size_t round = 0; !all.empty() && round < rounds(60); ++round) {
    const Sample& sample = all[random() % all.size()];
    const std::size_t cut = random() % sample.text.size();
    CAPTURE(sample.name, cut);
    const auto whole = static_cast<std::uint32_t>(std::ranges::upper_bound(sample.ends, cut) - sample.ends.begin());
    const auto expected = std::ranges::lower_bound(sample.index, whole) - sample.index.begin();
    Issues issues;
    const Result<trace::Trace> trace = trace::read_bytes(std::string_view(sample.text).substr(0, cut), sample.name, issues);
    if (!trace) {
      CHECK(expected == 0);
      continue;
    }
    CHECK(static_cast<std::ptrdiff_t>(trace->events.size()) == expected);
    if (whole < sample.ends.size()) CHECK(said(issues, "truncated-trace"));
    CHECK_FALSE(said(issues, "broken-event"));
  }
}

TEST_CASE("a real trace changed anywhere still adds up") {
  const std::vector<Sample> all = samples();
  const fuzz::MemoryFile file;
  const unsigned seed = 5;
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (std::size_t round = 0; !all.empty() && round < rounds(60); ++round) {
    const Sample& sample = all[random() % all.size()];
    CAPTURE(sample.name, round);
    std::string text = sample.text;
    for (std::size_t change = 0; change <= random() % 8; ++change) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 200);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 200));
          break;
        default:
          text[at] = "\"\\{}[],:-0"[random() % 10];
      }
    }
    REQUIRE(file.put(text));
    const auto loaded = profile::load(file.path());
    if (!loaded) {
      CHECK_FALSE(loaded.error().message.empty());
      continue;
    }
    CHECK(fuzz::broken_promise(**loaded).value_or("") == "");
    CHECK_FALSE(report::report_json(**loaded).empty());
  }
}
