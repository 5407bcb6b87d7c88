#include "annotator/advice/sweep/sweep.h"

#include "annotator/advice/sweep/kept.h"

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::sweep;

namespace {

constexpr std::string_view kPlain = R"(import torch
model = torch.nn.Linear(4, 2)
for epoch in range(3):
    for batch in data:
        model(batch).sum().backward()
        optimizer.step()
)";

constexpr std::string_view kInline = R"(for lr in (0.1, 0.01):
    model = torch.nn.Linear(4, 2)
    for epoch in range(3):
        optimizer.step()
)";

constexpr std::string_view kFunction = R"(def train(lr):
    model = torch.nn.Linear(4, 2)
    for epoch in range(3):
        optimizer.step()

for lr in (0.1, 0.01):
    print(lr)
    train(lr)
)";

std::string trial(const std::string& pairs, const std::string& more) {
  return R"({"loss":"loop","why_not_the_loop":null,"passes":1,"clipped":null,"optimizer":"Adam","model":"Net","tried":[{"models":4,)"
         R"("pairs":)" +
         pairs + R"(,"separate_bytes":1000,"together_bytes":4000)" + more + "}]}";
}

const std::string kFaster = "[[4000,2000],[4010,2000],[3990,2000],[4000,2010]]";
const std::string kSlower = "[[4000,5000],[4010,5000],[3990,5000],[4000,5010]]";

}  // namespace

TEST_CASE("a sweep is a loop that makes the model anew, not one of epochs") {
  CHECK(loop_around(kInline, 1, 3) == 0);
  CHECK(loop_around(kFunction, 1, 3) == 5);
  CHECK_FALSE(loop_around(kPlain, 1, 5));
  CHECK_FALSE(loop_around("def train():\n    model = f()\n    for x in y:\n        optimizer.step()\n\ntrain()\n", 1, 3));
  CHECK_FALSE(loop_around(kPlain, 100, 200));
  CHECK_FALSE(loop_around("", 0, 0));
}

TEST_CASE("a script with other numbers is the same script, with another name in it it is not") {
  CHECK(differ_in_literals("lr = 0.1  # high\n", "lr = 0.01\n"));
  CHECK(differ_in_literals("name = 'a'\n", "name = 'b'\n"));
  CHECK_FALSE(differ_in_literals("lr = 0.1\n", "lr = 0.1\n"));
  CHECK_FALSE(differ_in_literals("lr = 0.1\n", "wd = 0.01\n"));
  CHECK_FALSE(differ_in_literals("lr = 0.1\n", "lr = 0.01\nlr = 2\n"));
}

TEST_CASE("a sweep pays where it is surely faster and the results are equal") {
  const auto of = [](const std::string& pairs, const std::string& more) {
    const auto read = read_trial(trial(pairs, more));
    REQUIRE(read);
    return read->attempts.front();
  };
  CHECK(of(kFaster, R"(,"difference":1e-13)").pays());
  CHECK_FALSE(of(kFaster, R"(,"difference":1e-9)").pays());
  CHECK_FALSE(of(kSlower, R"(,"difference":1e-13)").pays());
  CHECK_FALSE(of("[[4000,3000],[4000,5000],[4000,3000],[4000,5000]]", R"(,"difference":0)").pays());
  CHECK(of(kFaster, R"(,"not_compared":"float32 alone")").pays());
}

TEST_CASE("the card says what was measured and why it does not pay") {
  const auto read = read_trial(trial(kSlower, R"(,"difference":1e-13)"));
  REQUIRE(read);
  const Card card{.profile = "p",
                  .samples_per_step = 8,
                  .obstacles = {{.kind = "dropout", .what = "Dropout: …", .where = Place{"/w/t.py", 4}},
                                {.kind = "dropout", .what = "Dropout: …", .where = Place{"/w/t.py", 8}, .count = 2}},
                  .seen = sweep::Seen{.what = "the same script with other arguments", .where = {}, .profiles = {"a", "b"}},
                  .trial = *read};
  const std::string text = as_text(card, false);
  CHECK(text.contains("4 models: does not pay, slower: 0.80x as fast"));
  CHECK(text.contains("4.00 µs (8000000 samples/s)"));
  CHECK(text.contains("peak 1.00 kB with one model at a time, 4.00 kB as one"));
  CHECK(text.contains("needs care: Dropout: …\n    /w/t.py:5\n    /w/t.py:9 (2 times)\n"));
  CHECK(text.contains("a sweep was seen: the same script with other arguments, 2 profiles before"));
  CHECK(as_json(card).contains("\"pays\": false"));
}

TEST_CASE("what cannot be stacked is told with its line, and a broken answer is an error") {
  const auto read =
      read_trial(R"({"loss":"squares","why_not_the_loop":"so","passes":1,"clipped":null,"optimizer":"SGD","tried":[{"models":2,"failed":)"
                 R"({"message":"no rule for lstm","file":"/w/m.py","line":8}}]})");
  REQUIRE(read);
  const std::string text = as_text({.profile = "p", .samples_per_step = {}, .obstacles = {}, .seen = {}, .trial = *read}, false);
  CHECK(text.contains("2 models: cannot be stacked: no rule for lstm  /w/m.py:9"));
  CHECK(text.contains("the loss is the sum of the squared outputs: so"));
  const auto late = read_trial(R"({"loss":"loop","passes":1,"clipped":null,"optimizer":"SGD","tried":[{"models":8,"late":true}]})");
  REQUIRE(late);
  CHECK(as_text({.profile = "p", .samples_per_step = {}, .obstacles = {}, .seen = {}, .trial = *late}, false)
            .contains("8 models: not measured, the time limit was reached"));
  for (const char* broken : {"", "[]", "{}", R"({"loss":"loop"})", R"({"refused":3})"}) CHECK_FALSE(read_trial(broken));
}

TEST_CASE("what a trial measured is read back: the number of models that pays best, and nothing that cannot be") {
  const auto of = [](const std::string& tried) {
    return tried_in(R"({"schema":"hotlens.sweep/1","profile":"p","obstacles":[],"tried":)" + tried + "}", "p");
  };
  const std::string two = R"({"models":2,"pays":false,"speedup":0.8,"low":0.7,"high":0.9})",
                    four = R"({"models":4,"pays":true,"speedup":1.6,"low":1.25,"high":2.0})",
                    never = R"({"models":8,"pays":true,"speedup":0,"low":0,"high":0})",
                    failed = R"({"models":4,"pays":false,"failed":{"reason":"an LSTM cannot be stacked"}})";
  const auto best = of(R"({"attempts":[)" + two + "," + four + "," + never + "]}");
  REQUIRE(best);
  CHECK(best->models == 4);
  CHECK(best->time.low == Approx(0.5));
  CHECK(best->time.high == Approx(0.8));
  CHECK(spelled(*best) == "4 models as one take 0.62 of the time of one after another (0.50 to 0.80)");
  CHECK(spelled(*of(R"({"attempts":[)" + two + "]}")).ends_with("(1.11 to 1.43): it does not pay"));
  CHECK(of(R"({"attempts":[)" + failed + "]}")->refused == "an LSTM cannot be stacked");
  CHECK(of(R"({"refused":"it is a notebook"})")->refused == "it is a notebook");
  CHECK(of(R"({"attempts":[]})")->refused.contains("time limit"));
  for (const char* broken : {"1", "[]", R"({"attempts":3})", R"({"attempts":[{"models":"x","speedup":1,"low":1,"high":1}]})"}) {
    INFO(broken);
    const auto read = of(broken);
    CHECK((!read || read->models == 0));
  }
  CHECK_FALSE(tried_in(R"({"schema":"hotlens.sweep/1","profile":"p","obstacles":[]})", "p"));
  CHECK_FALSE(tried_in(R"({"schema":"hotlens.sweep/1","profile":"q","tried":{"attempts":[]}})", "p"));
  CHECK_FALSE(tried_in("{", "p"));
}
