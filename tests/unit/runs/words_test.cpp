#include "server/runs/words.h"

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::runs;

namespace {

using Words = std::vector<std::string>;

Words words(std::string_view line) {
  const auto split = split_words(line, "/home/me");
  INFO(line);
  REQUIRE(split);
  return *split;
}

std::string refused(std::string_view line) {
  const auto split = split_words(line, "/home/me");
  INFO(line);
  REQUIRE_FALSE(split);
  return split.error().message;
}

}  // namespace

TEST_CASE("a line is split as a POSIX shell splits it") {
  CHECK(words("").empty());
  CHECK(words(" \t \n").empty());
  CHECK(words("--data data/tiny  --lr 1e-3") == Words{"--data", "data/tiny", "--lr", "1e-3"});
  CHECK(words(R"(--data "my data" --name 'a "b"')") == Words{"--data", "my data", "--name", "a \"b\""});
  CHECK(words(R"(a\ b "c\"d\\e\f" 'g\h')") == Words{"a b", "c\"d\\e\\f", "g\\h"});
  CHECK(words(R"('' "" x"y"'z')") == Words{"", "", "xyz"});
  CHECK(words("a\\\nb \"c\\\nd\"") == Words{"ab", "cd"});
  CHECK(words("model.layers=[1,2] lr=*.5 {a,b} 5$ $5 a#b \u00fc") ==
        Words{"model.layers=[1,2]", "lr=*.5", "{a,b}", "5$", "$5", "a#b", "\u00fc"});
}

TEST_CASE("the home folder stands for ~ at the start of a word only") {
  CHECK(words("~/data ~ a~/b '~/c' \\~/d ~you --x=~/y") == Words{"/home/me/data", "/home/me", "a~/b", "~/c", "~/d", "~you", "--x=~/y"});
  CHECK(*split_words("~/data") == Words{"~/data"});
}

TEST_CASE("what only a shell can do is refused where it stands") {
  CHECK(refused("--data x | tee log") == "`|` means something to a shell only: put it in quotes (character 10)");
  for (const char* line : {"a > b", "a&", "a;b", "(a)", "`a`", "\"`a`\""}) CHECK(refused(line).contains("(character "));
  for (const char* line : {"$DATA", "\"x ${DATA}\"", "$(pwd)"}) CHECK(refused(line).contains("variables are not replaced"));
  CHECK(words(R"('a|b' "c;d" \& '$HOME' "\$x")") == Words{"a|b", "c;d", "&", "$HOME", "$x"});
}

TEST_CASE("an unfinished line says what is not finished") {
  CHECK(refused("--name 'x").contains("quote ' is not closed (character 8)"));
  CHECK(refused("--name \"x").contains("quote \" is not closed (character 8)"));
  CHECK(refused("x\\").contains("nothing comes after the backslash (character 2)"));
  const std::string_view zero("a\0b", 3), quoted_zero("'a\0b'", 5), escaped_zero("a\\\0", 3);
  for (const std::string_view line : {zero, quoted_zero, escaped_zero}) CHECK(refused(line).contains("code 0"));
}

TEST_CASE("quoted words are read back as they were") {
  const Words all{"plain", "", "two words", "it's", "a\"b\\c", "$HOME", "`x`", "~/y", "a\nb", "|", "[1,2]", "\u00fc", "#", "-"};
  CHECK(words(quoted(all)) == all);
}
