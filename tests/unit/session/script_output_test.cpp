#include "server/session/profiling/script_output.h"

#include "tests/unit/catch.h"
#include "tests/unit/session/heard.h"

using namespace hotlens;
using session::Loop;
using session::ScriptOutput;
using session::whole_characters;

namespace {

struct Terminal {
  Loop loop;
  test::Heard heard;
  ScriptOutput output{heard.client, loop};
  Terminal() { heard.client.can.output = true; }

  // All texts after the command line, once `last` came.
  std::string text_up_to(const std::string& last) {
    CHECK(test::run_until(loop, [&] { return text().ends_with(last); }));
    return text();
  }

 private:
  std::string text() const {
    std::string all;
    for (const protocol::Json& one : heard.of("hotlens/output")) {
      if (!one.contains("begins")) all += one["text"].get<std::string>();
    }
    return all;
  }
};

}  // namespace

TEST_CASE("a character is whole when all its bytes came") {
  CHECK(whole_characters("") == 0);
  CHECK(whole_characters("ab") == 2);
  CHECK(whole_characters("aé") == 3);
  CHECK(whole_characters("a\xc3") == 1);
  CHECK(whole_characters("█") == 3);
  CHECK(whole_characters("x\xe2\x96") == 1);
  CHECK(whole_characters("x\xf0\x9f\x98") == 1);
  CHECK(whole_characters("😀") == 4);
}

TEST_CASE("what is no UTF-8 does not wait for more") {
  CHECK(whole_characters("\x80") == 1);
  CHECK(whole_characters("\x80\x80\x80\x80\x80") == 5);
  CHECK(whole_characters("\xff") == 1);
}

TEST_CASE("a run begins with its command and ends with what became of it") {
  Terminal terminal;
  terminal.output.begin("python train.py");
  terminal.output.write("10%\r20%\n", true);
  terminal.output.end("The hints are new.");
  const auto said = terminal.heard.of("hotlens/output");
  REQUIRE(said.size() == 2);
  CHECK(said[0] == protocol::Json{{"text", "\x1b[2m$ python train.py\x1b[0m\n"}, {"begins", true}});
  CHECK(said[1] == protocol::Json{{"text", "10%\r20%\n\n\x1b[2mThe hints are new.\x1b[0m\n"}});
}

TEST_CASE("bytes of one character that come apart are sent together, on each stream") {
  Terminal terminal;
  terminal.output.write("a\xe2\x96", false);
  terminal.output.write("err", true);
  terminal.output.write("\x88.", false);
  CHECK(terminal.text_up_to(".") == "aerr█.");
}

TEST_CASE("of a flood the newest lines are sent, and it is said how much was not") {
  Terminal terminal;
  for (int n = 0; n < 1000; ++n) terminal.output.write(std::string(199, 'x') + "\n", false);
  terminal.output.write("last", false);
  const std::string text = terminal.text_up_to("last");
  CHECK(text.size() < 66000);
  CHECK(text.starts_with("\n\x1b[2m(134600 bytes came too fast to be shown)\x1b[0m\n"));
  CHECK(text.find("\n" + std::string(199, 'x') + "\n") != std::string::npos);
}

TEST_CASE("a client that shows no output is told nothing") {
  Terminal terminal;
  terminal.heard.client.can.output = false;
  terminal.output.begin("python train.py");
  terminal.output.write("x", false);
  terminal.output.end("done");
  CHECK(terminal.heard.messages.empty());
}
