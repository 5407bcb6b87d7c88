#include "server/session/timeline/door.h"

#include <algorithm>

#include "tests/unit/catch.h"
#include "tests/unit/folder.h"
#include "tests/unit/session/heard.h"

using namespace hotlens;
using namespace hotlens::session;
using protocol::Json;

namespace {

// A door without a profile behind it, and without a session around it.
struct Door {
  Loop loop;
  test::Heard heard;
  Workspace workspace;
  int asked_for_sources = 0;
  std::string baseline;
  TimelineDoor door{loop,
                    heard.client,
                    workspace,
                    {.sources =
                         [this] {
                           ++asked_for_sources;
                           return TimelineSources::Known{};
                         },
                     .current = []() -> std::string { return "now"; },
                     .predictions = [](const std::string&) { return Predictions{}; },
                     .predict = [](const std::string& profile, protocol::Reply reply) { reply(Json{{"started", profile == "now"}}); },
                     .plan_state = [](const std::string& profile) { return profile == "now" ? "offered" : "none"; },
                     .plan = [](const std::string& profile, protocol::Reply reply) { reply(Json{{"started", profile == "now"}}); },
                     .baseline = [this](const std::filesystem::path&) { return baseline; }}};

  Json ask(const std::string& method, const Json& params) {
    const test::Asked asked;
    door.request(method, params, asked.reply());
    REQUIRE(test::run_until(loop, [&] { return !asked.outcome->is_null(); }));
    return *asked.outcome;
  }
};

}  // namespace

TEST_CASE("nothing is looked for before somebody asks for the timeline") {
  Door one;
  one.heard.client.can.own_messages = true;
  one.door.profiles_changed();
  CHECK_FALSE(one.door.cursor({{"textDocument", 5}}).has_value());
  CHECK(one.asked_for_sources == 0);
  CHECK(one.heard.messages.empty());
  CHECK(one.ask("hotlens/timeline/profiles", nullptr)["result"]["profiles"] == Json::array());
  CHECK(one.asked_for_sources == 1);
  one.door.profiles_changed();
  CHECK(one.asked_for_sources == 2);
  CHECK(one.heard.of("hotlens/timeline/changed").front()["current"] == "now");
  CHECK(one.door.cursor({{"textDocument", 5}}).has_value());
}

TEST_CASE("a file that a trace names from a folder on is shown where the workspace has it, and nowhere else") {
  const test::Folder folder;
  folder.write("project/pkg/train.py", "pass\n");
  folder.write("outside.py", "pass\n");
  Door one;
  one.heard.client.can.show_document = true;
  one.workspace.folders = {folder.root / "elsewhere", folder.root / "project"};
  const test::Asked shown;
  one.door.request("hotlens/timeline/reveal", {{"file", "pkg/train.py"}, {"line", 3}}, shown.reply());
  const auto asked = one.heard.of("window/showDocument");
  REQUIRE(asked.size() == 1);
  CHECK(asked.front()["uri"].get<std::string>().ends_with("/project/pkg/train.py"));
  CHECK(asked.front()["selection"]["start"]["line"] == 3);
  for (const char* file : {"../outside.py", "train.py"}) {
    CHECK(one.ask("hotlens/timeline/reveal", {{"file", file}, {"line", 0}})["result"]["shown"] == false);
  }
}

TEST_CASE("every request gets its own answer, in order") {
  Door one;
  std::vector<test::Asked> asked(20);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    one.door.request(i % 2 == 0 ? "hotlens/timeline/profiles" : "hotlens/timeline/overview", Json::object(), asked[i].reply());
  }
  REQUIRE(test::run_until(one.loop, [&] { return !asked.back().outcome->is_null(); }));
  for (std::size_t i = 0; i < asked.size(); ++i) CHECK((asked[i].error() == 0) == (i % 2 == 0));
  const std::vector<std::string> methods = TimelineDoor::methods();
  CHECK(std::ranges::find(methods, "hotlens/timeline/point") != methods.end());
}

TEST_CASE("a line is shown and highlighted only by a client that can") {
  Door one;
  const Json place{{"file", "/w/model.py"}, {"line", 3}};
  CHECK(one.ask("hotlens/timeline/reveal", place)["result"]["shown"] == false);
  CHECK(one.ask("hotlens/timeline/reveal", Json::object())["error"]["code"] == -32602);
  one.heard.client.can.show_document = true;
  const test::Asked asked;
  one.door.request("hotlens/timeline/reveal", place, asked.reply());
  REQUIRE(one.heard.of("window/showDocument").size() == 1);
  CHECK(one.heard.of("window/showDocument").front()["selection"]["start"]["line"] == 3);
  one.heard.client.on_response({one.heard.messages.back()["id"], Json{{"success", true}}});
  CHECK(asked.result()["shown"] == true);

  const Document& open = one.workspace.documents.open(Document("file:///w/model.py", "/w/model.py", 1, "x = 1\n"));
  const Json lines{
      {"lines", {{{"file", "/w/model.py"}, {"line", 0}, {"endLine", 0}}, {{"file", "/w/other.py"}, {"line", 0}, {"endLine", 0}}}}};
  CHECK(one.ask("hotlens/timeline/point", lines)["result"]["shown"] == false);
  one.heard.client.can.own_messages = true;
  CHECK(one.ask("hotlens/timeline/point", lines)["result"]["shown"] == true);
  const Json highlighted = one.heard.of("hotlens/timeline/highlight").back()["lines"];
  REQUIRE(highlighted.size() == 1);
  CHECK(highlighted.front()["uri"] == open.uri());
}

TEST_CASE("without a profile there is nothing to open, and a page that asks after the end is refused") {
  Door one;
  const test::Asked asked;
  one.door.open(Json::object(), asked.reply());
  REQUIRE(test::run_until(one.loop, [&] { return !asked.outcome->is_null(); }));
  CHECK(asked.error() == -32803);
  CHECK(one.door.offer(one.workspace.documents.open(Document("file:///w/a.py", "/w/a.py", 1, "x = 1\n")), {0, 0}).empty());
}

TEST_CASE("the batch size that was chosen is one edit of the number, in the version that is open") {
  Door one;
  const std::string file = "/w/\xc3\xa9/train.py";
  const Document& open = one.workspace.documents.open(Document("file:///w/%C3%A9/train.py", file, 5, "s = '\xc3\xa9'; batch_size = 32\n"));
  const Json wish{{"file", file}, {"was", 32}, {"batchSize", 48}};
  const auto refused = [&](const Json& params) {
    const Json result = one.ask("hotlens/timeline/setBatchSize", params)["result"];
    return result.value("applied", true) ? std::string("applied") : result["message"].get<std::string>();
  };
  CHECK_THAT(refused(wish), Catch::Contains("takes no edits"));
  one.heard.client.can.apply_edit = true;
  CHECK_THAT(refused({{"file", file}, {"was", 16}, {"batchSize", 48}}), Catch::Contains("does not set a batch size of 16"));
  CHECK(one.ask("hotlens/timeline/setBatchSize", {{"file", file}, {"was", 0}, {"batchSize", 48}})["error"]["code"] == -32602);
  CHECK(one.heard.of("workspace/applyEdit").empty());

  one.heard.client.can.document_changes = true;
  const test::Asked asked;
  one.door.request("hotlens/timeline/setBatchSize", wish, asked.reply());
  REQUIRE(one.heard.of("workspace/applyEdit").size() == 1);
  const Json change = one.heard.of("workspace/applyEdit").front()["edit"]["documentChanges"][0];
  CHECK(change["textDocument"] == Json{{"uri", open.uri()}, {"version", 5}});
  REQUIRE(change["edits"].size() == 1);
  CHECK(change["edits"][0]["newText"] == "48");
  CHECK(change["edits"][0]["range"]["start"]["character"] == 22);
  CHECK(change["edits"][0]["range"]["end"]["character"] == 24);
  one.heard.client.on_response({one.heard.messages.back()["id"], Json{{"applied", true}}});
  CHECK(asked.result()["applied"] == true);
}

TEST_CASE("a prediction is started for the profile that the page shows") {
  Door one;
  CHECK(one.ask("hotlens/timeline/predict", Json::object())["result"]["started"] == true);
  CHECK(one.ask("hotlens/timeline/predict", {{"profile", "older"}})["result"]["started"] == false);
  CHECK(one.ask("hotlens/timeline/predict", {{"profile", 5}})["error"]["code"] == -32602);
  one.heard.client.can.own_messages = true;
  one.door.batch_sizes_changed();
  CHECK(one.heard.of("hotlens/timeline/batchSizesChanged").empty());  // no page has asked for anything yet
  one.ask("hotlens/timeline/profiles", nullptr);
  one.door.batch_sizes_changed();
  CHECK(one.heard.of("hotlens/timeline/batchSizesChanged").size() == 1);
}

TEST_CASE("blocks to checkpoint are planned for the profile that the page shows") {
  Door one;
  CHECK(one.ask("hotlens/timeline/planCheckpoints", Json::object())["result"]["started"] == true);
  CHECK(one.ask("hotlens/timeline/planCheckpoints", {{"profile", "older"}})["result"]["started"] == false);
  CHECK(one.ask("hotlens/timeline/planCheckpoints", {{"profile", 5}})["error"]["code"] == -32602);
}

TEST_CASE("blocks are checkpointed only by an editor that is trusted, and only as they were replayed") {
  Door one;
  const Json wish{{"profile", "none"}, {"blocks", {"a"}}};
  const auto refused = [&](const Json& params) { return one.ask("hotlens/timeline/setCheckpoints", params)["result"]; };
  CHECK_THAT(refused(wish)["message"].get<std::string>(), Catch::Contains("takes no edits"));
  one.heard.client.can.apply_edit = true;
  one.workspace.trusted = false;
  CHECK_THAT(refused(wish)["message"].get<std::string>(), Catch::Contains("not trusted"));
  one.workspace.trusted = true;
  CHECK(refused(wish)["applied"] == false);
  CHECK(one.ask("hotlens/timeline/setCheckpoints", {{"profile", "none"}, {"blocks", 5}})["error"]["code"] == -32602);
  CHECK(one.heard.of("workspace/applyEdit").empty());
}

TEST_CASE("a page that asked hears of changes that were replayed") {
  Door one;
  one.heard.client.can.own_messages = true;
  one.door.what_ifs_changed();
  CHECK(one.heard.of("hotlens/timeline/whatIfsChanged").empty());
  one.ask("hotlens/timeline/profiles", nullptr);
  one.door.what_ifs_changed();
  CHECK(one.heard.of("hotlens/timeline/whatIfsChanged").size() == 1);
}

TEST_CASE("a comparison is with the baseline, and refused where there is none") {
  Door one;
  const auto compare = [&](const char* profile) {
    const test::Asked asked;
    one.door.open({{"profile", profile}, {"compare", true}}, asked.reply());
    REQUIRE(test::run_until(one.loop, [&] { return !asked.outcome->is_null(); }));
    return *asked.outcome;
  };
  CHECK(compare("new")["error"]["message"] == "There is no baseline. Set one first: it is what the profile is compared with.");
  one.baseline = "old";
  CHECK(compare("new")["result"] == Json({{"profile", "new"}, {"before", "old"}}));
  CHECK(compare("old")["result"] == Json({{"profile", "old"}}));
}
