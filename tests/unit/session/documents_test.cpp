#include "server/session/documents/documents.h"

#include "tests/unit/catch.h"

using namespace hotlens::session;
using hotlens::protocol::Encoding;
using hotlens::protocol::Range;

namespace {

Document document(std::string text) {
  return {"file:///a.py", "/a.py", 1, std::move(text)};
}

}  // namespace

TEST_CASE("changes apply in order, each to the result of the one before") {
  Document doc = document("one\ntwo\n");
  CHECK_FALSE(doc.changed());
  REQUIRE(doc.apply(4, {{Range{{0, 0}, {0, 3}}, "x"}, {Range{{0, 1}, {1, 1}}, "y"}}, Encoding::utf16));
  CHECK(doc.text() == "xywo\n");
  CHECK(doc.version() == 4);
  CHECK(doc.changed());
  CHECK(doc.tree().text() == "xywo\n");
  doc.saved();
  CHECK_FALSE(doc.changed());
}

TEST_CASE("what stands before a whole text does not matter, even when it does not fit") {
  Document doc = document("a");
  REQUIRE(doc.apply(2, {{Range{{90, 0}, {91, 0}}, "x"}, {std::nullopt, "b"}, {Range{{0, 1}, {0, 1}}, "c"}}, Encoding::utf16));
  CHECK(doc.text() == "bc");
}

TEST_CASE("a change that does not fit puts a document out of step until its whole text comes") {
  Document doc = document("a\n");
  CHECK_FALSE(doc.apply(2, {{Range{{7, 0}, {7, 0}}, "x"}}, Encoding::utf16));
  CHECK_FALSE(doc.in_step());
  CHECK_FALSE(doc.apply(3, {{Range{{0, 0}, {0, 0}}, "x"}}, Encoding::utf16));
  CHECK(doc.apply(4, {{std::nullopt, "new"}}, Encoding::utf16));
  CHECK(doc.in_step());
  CHECK(doc.tree().text() == "new");
}

TEST_CASE("a view is of the text as it is now, whatever was asked before") {
  Document doc = document("x = 1\n");
  CHECK(doc.view().tree.text() == "x = 1\n");
  doc.apply(2, {{Range{{0, 4}, {0, 5}}, "'é'"}}, Encoding::utf16);
  doc.apply(3, {{Range{{1, 0}, {1, 0}}, "y = 2\n"}}, Encoding::utf16);
  CHECK(doc.view().tree.text() == "x = 'é'\ny = 2\n");
  CHECK(doc.view().facts == nullptr);
}
