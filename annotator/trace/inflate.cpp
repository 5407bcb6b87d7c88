#include "annotator/trace/inflate.h"

#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace hotlens::trace {
namespace {

constexpr std::size_t kMaxRatio = 1032;      // deflate cannot do better
constexpr std::size_t kPlausibleRatio = 64;  // traces reach 10 to 30; a larger claim in the last four bytes is not believed at once
constexpr std::size_t kSmallestBuffer = 4096;

struct Free {
  void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
};
using Decompressor = std::unique_ptr<libdeflate_decompressor, Free>;

// The uncompressed size as the last member claims it (modulo 4 GB); garbage when the file is cut short.
std::size_t claimed_size(std::string_view bytes) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) size |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[bytes.size() - 4 + i])) << (8 * i);
  return size;
}

struct Member {
  libdeflate_result result = LIBDEFLATE_BAD_DATA;
  std::size_t consumed = 0, produced = 0;
};

void grow(PaddedBytes& text, std::size_t used, std::size_t size) {
  PaddedBytes larger = PaddedBytes::zeroed(size);
  std::memcpy(larger.data(), text.data(), used);
  text = std::move(larger);
}

// Inflates one member to the end of `text`. `text` is zero-filled beyond `used`, so that what a broken member left can be told.
Member inflate_member(libdeflate_decompressor* decompressor, std::string_view bytes, PaddedBytes& text, std::size_t used) {
  const std::size_t limit = used + bytes.size() * kMaxRatio + kSmallestBuffer;
  for (;;) {
    Member member;
    member.result = libdeflate_gzip_decompress_ex(decompressor, bytes.data(), bytes.size(), text.data() + used, text.size() - used,
                                                  &member.consumed, &member.produced);
    if (member.result != LIBDEFLATE_INSUFFICIENT_SPACE || text.size() >= limit) return member;
    grow(text, used, std::min(text.size() * 2, limit));
  }
}

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

Result<PaddedBytes> inflated(std::string_view bytes, std::string_view where, Issues& issues) {
  const Decompressor decompressor(libdeflate_alloc_decompressor());
  if (!decompressor) return std::unexpected(Error{ErrorCode::failed, "not enough memory to inflate the file", std::string(where)});
  const std::size_t claimed = bytes.size() < 18 ? 0 : claimed_size(bytes);
  PaddedBytes text = PaddedBytes::zeroed(
      std::max(kSmallestBuffer, claimed <= bytes.size() * kPlausibleRatio ? claimed + 1 : bytes.size() * kPlausibleRatio / 4));
  std::size_t used = 0;
  std::string_view rest = bytes;
  while (is_gzip(rest)) {
    const Member member = inflate_member(decompressor.get(), rest, text, used);
    if (member.result != LIBDEFLATE_SUCCESS) {
      // JSON holds no zero byte: up to the last other byte is what was inflated before the break.
      used = std::max(used, text.view().find_last_not_of('\0') + 1);
      issues.add("truncated-gzip", "the compressed file is cut short or damaged; what could be inflated was read");
      break;
    }
    used += member.produced;
    rest.remove_prefix(member.consumed);
    if (is_gzip(rest) && text.size() - used < rest.size()) grow(text, used, used + rest.size() * 2);
  }
  text.shrink(used);
  if (used == 0)
    return std::unexpected(
        Error{ErrorCode::malformed, "the gzip data is damaged from its first byte; copy the file again", std::string(where)});
  return text;
}

}  // namespace hotlens::trace
