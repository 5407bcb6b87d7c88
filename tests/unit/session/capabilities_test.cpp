#include "server/session/client/capabilities.h"

#include "protocol/messages.h"
#include "tests/unit/catch.h"

using namespace hotlens::session;
using hotlens::protocol::Encoding;
using hotlens::protocol::Json;

namespace {

// What the editors really send, reduced to the parts we look at.
const char* const kVsCode =
    R"({"processId":1,"clientInfo":{"name":"Visual Studio Code","version":"1.105.1"},"rootPath":"/w","rootUri":"file:///w",
 "capabilities":{"workspace":{"configuration":true,"inlayHint":{"refreshSupport":true},"codeLens":{"refreshSupport":true},
 "didChangeConfiguration":{"dynamicRegistration":true},"didChangeWatchedFiles":{"dynamicRegistration":true,"relativePatternSupport":true}},
 "textDocument":{"hover":{"contentFormat":["markdown","plaintext"]},"codeAction":{"disabledSupport":true,"codeActionLiteralSupport":{"codeActionKind":{"valueSet":[""]}}},
 "inlayHint":{"resolveSupport":{"properties":["tooltip","textEdits","label.tooltip","label.location","label.command"]}}},
 "window":{"workDoneProgress":true},"general":{"positionEncodings":["utf-16"]}},
 "workspaceFolders":[{"uri":"file:///w","name":"w"},{"uri":"file:///other%20one/","name":"o"}]})";
const char* const kNeovim =
    R"({"processId":7,"clientInfo":{"name":"Neovim"},"rootUri":"file:///w","workspaceFolders":[{"uri":"file:///w","name":"/w"}],
 "capabilities":{"general":{"positionEncodings":["utf-8","utf-16","utf-32"]},"workspace":{"configuration":true,
 "inlayHint":{"refreshSupport":true},"didChangeWatchedFiles":{"dynamicRegistration":false}},"window":{"workDoneProgress":true},
 "textDocument":{"hover":{"contentFormat":["markdown","plaintext"]},"inlayHint":{"resolveSupport":{"properties":["textEdits","tooltip","location","command"]}},
 "codeAction":{"codeActionLiteralSupport":{"codeActionKind":{"valueSet":["","quickfix"]}}}}}})";
const char* const kEglot =
    R"({"processId":null,"rootPath":"/w/","rootUri":"file:///w","capabilities":{"general":{"positionEncodings":["utf-32","utf-8","utf-16"]},
 "workspace":{"configuration":true,"didChangeWatchedFiles":{"dynamicRegistration":true}},"window":{"workDoneProgress":true},
 "textDocument":{"hover":{"contentFormat":["plaintext"]},"inlayHint":{"dynamicRegistration":false},
 "codeAction":{"codeActionLiteralSupport":{"codeActionKind":{"valueSet":["quickfix"]}}}}}})";

Initialize read(const char* text) {
  return read_initialize(Json::parse(text));
}

}  // namespace

TEST_CASE("VS Code: utf-16, everything dynamic, tooltips on request") {
  const Initialize from = read(kVsCode);
  CHECK(from.process_id == 1);
  CHECK(from.folders == std::vector<std::filesystem::path>{"/w", "/other one"});
  const ClientCapabilities& can = from.client;
  CHECK(can.encoding == Encoding::utf16);
  CHECK((can.hover_markdown && can.hint_refresh && can.lens_refresh && can.hint_lazy_tooltip));
  CHECK((can.action_literals && can.action_disabled && can.progress && can.configuration));
  CHECK(registrations(can).size() == 2);
  CHECK_FALSE(can.own_messages);
}

TEST_CASE("Neovim: utf-8, no file watching, no lens refresh") {
  const ClientCapabilities can = read(kNeovim).client;
  CHECK(can.encoding == Encoding::utf8);
  CHECK((can.hint_refresh && !can.lens_refresh && !can.register_watched_files && !can.action_disabled));
  CHECK(registrations(can).empty());
}

TEST_CASE("show in timeline is offered to clients that say how they show it") {
  const auto can = [](const char* own) {
    return read_initialize(Json{{"capabilities", {{"experimental", {{"hotlens", Json::parse(own)}}}}}}).client;
  };
  CHECK_FALSE(can("{}").shows_timeline);
  CHECK_FALSE(can(R"({"showTimeline":true})").shows_timeline);
  CHECK(
      (can(R"({"showTimeline":{"commandLinks":true}})").shows_timeline && can(R"({"showTimeline":{"commandLinks":true}})").command_links));
  CHECK_FALSE(can(R"({"showTimeline":{"commandLinks":1,"words":7}})").command_links);
  CHECK(can(R"({"showTimeline":{"words":7}})").timeline_words.empty());
  CHECK(can(R"({"showTimeline":{"words":":T"}})").timeline_words == ":T");
}

TEST_CASE("Eglot: code points, plain text, no refresh") {
  const Initialize from = read(kEglot);
  CHECK_FALSE(from.process_id);
  CHECK(from.folders == std::vector<std::filesystem::path>{"/w"});
  CHECK(from.client.encoding == Encoding::utf32);
  CHECK((!from.client.hover_markdown && !from.client.hint_refresh && !from.client.hint_lazy_tooltip));
}

TEST_CASE("a client that says nothing, or nonsense, gets the plain server") {
  const char* const kStrange = R"({"processId":"x","workspaceFolders":{"a":1},"rootUri":5,"clientInfo":[],"capabilities":
    {"general":{"positionEncodings":"utf-8"},"textDocument":[],"window":{"workDoneProgress":"yes"},"workspace":{"inlayHint":true}}})";
  for (const char* text : {R"({})", R"({"capabilities":{}})", kStrange}) {
    const Initialize from = read(text);
    CHECK(from.folders.empty());
    CHECK(from.client.encoding == Encoding::utf16);
    const Json offers = initialize_result(from.client)["capabilities"];
    CHECK(offers["codeActionProvider"] == true);
    CHECK(offers["positionEncoding"] == "utf-16");
    CHECK(offers["inlayHintProvider"]["resolveProvider"] == false);
    CHECK(registrations(from.client).empty());
  }
  CHECK(read(R"({"capabilities":{"general":{"positionEncodings":["utf-7",5,"utf-32"]}}})").client.encoding == Encoding::utf32);
  CHECK(read(R"({"rootPath":"/only/path","rootUri":null})").folders == std::vector<std::filesystem::path>{"/only/path"});
}

TEST_CASE("what we offer follows from what the client can do") {
  CHECK(initialize_result({.hint_lazy_tooltip = true})["capabilities"]["inlayHintProvider"]["resolveProvider"] == true);
  CHECK_FALSE(initialize_result({.renders_hints = true})["capabilities"].contains("inlayHintProvider"));
  CHECK(initialize_result({.action_literals = true})["capabilities"]["codeActionProvider"]["codeActionKinds"].size() == 5);
  const Json symbols = initialize_result({.symbol_trees = true})["capabilities"];
  CHECK(symbols["documentSymbolProvider"]["label"] == "Hotlens");
  CHECK_FALSE(initialize_result({.symbol_trees = true, .register_symbols = true})["capabilities"].contains("documentSymbolProvider"));
  CHECK(registrations({.symbol_trees = true, .register_symbols = true}).size() == 1);
  CHECK_FALSE(initialize_result({.register_symbols = true})["capabilities"].contains("documentSymbolProvider"));
  CHECK(registrations({.register_symbols = true}).empty());
  const Json commands = initialize_result({})["capabilities"]["executeCommandProvider"]["commands"];
  CHECK(commands.size() == hotlens::protocol::kCommands.size());
  for (const Json& command : commands) CHECK(command.get<std::string>().starts_with("hotlens.server."));
}
