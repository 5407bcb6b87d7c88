#include "annotator/trace/inflate.h"

#include <libdeflate.h>

#include <memory>

#include "tests/unit/catch.h"

using namespace hotlens;
using namespace hotlens::trace;

namespace {

std::string gzip(const std::string& text) {
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(libdeflate_alloc_compressor(6),
                                                                                                 libdeflate_free_compressor);
  std::string bytes(libdeflate_gzip_compress_bound(compressor.get(), text.size()), '\0');
  bytes.resize(libdeflate_gzip_compress(compressor.get(), text.data(), text.size(), bytes.data(), bytes.size()));
  return bytes;
}

std::string sample() {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "{\"ph\": \"X\", \"ts\": " + std::to_string(i * 7919 % 10007) + "},\n";
  return text;
}

}  // namespace

TEST_CASE("gzip is told by its first bytes") {
  CHECK(is_gzip(gzip("x")));
  CHECK_FALSE(is_gzip("{\"traceEvents\": []}"));
  CHECK_FALSE(is_gzip(""));
}

TEST_CASE("a whole file inflates to the text it was made of") {
  Issues issues;
  CHECK(inflated(gzip(sample()), "t.gz", issues).value().view() == sample());
  CHECK(issues.items().empty());
}

TEST_CASE("several gzip members are one text") {
  Issues issues;
  CHECK(inflated(gzip(sample()) + gzip("tail") + gzip(sample()), "t.gz", issues).value().view() == sample() + "tail" + sample());
}

TEST_CASE("a text that compresses a thousandfold still fits") {
  Issues issues;
  const std::string text(5'000'000, ' ');
  CHECK(inflated(gzip(text), "t.gz", issues).value().view() == text);
}

TEST_CASE("a file cut short gives what is whole and says so") {
  const std::string whole = gzip(sample());
  for (const std::size_t size : {whole.size() / 4, whole.size() / 2, whole.size() - 1}) {
    Issues issues;
    const Result<PaddedBytes> text = inflated(whole.substr(0, size), "t.gz", issues);
    REQUIRE(text.has_value());
    CAPTURE(size, text->size());
    CHECK(text->size() > sample().size() * size / whole.size() / 2);
    CHECK(sample().starts_with(text->view().substr(0, text->size() - std::min<std::size_t>(text->size(), 64))));
    REQUIRE(issues.items().size() == 1);
    CHECK(issues.items()[0].code == "truncated-gzip");
  }
}

TEST_CASE("gzip with nothing usable in it is an error that names the file") {
  Issues issues;
  const Result<PaddedBytes> text = inflated("\x1f\x8b\x08 nothing", "broken.gz", issues);
  REQUIRE_FALSE(text.has_value());
  CHECK(text.error().where == "broken.gz");
}
