#include "annotator/trace/inflate.h"

#include <algorithm>
#include <limits>
#include <new>

namespace hotlens::trace {
namespace {

constexpr std::size_t kInput = 256 * 1024;  // bytes read at a time
constexpr int kGzip = 15 + 16;              // zlib: the largest window, gzip's header

}  // namespace

bool is_gzip(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

Inflater::Inflater() : input_(kInput) {
  if (inflateInit2(&stream_, kGzip) != Z_OK) throw std::bad_alloc();
}

Inflater::~Inflater() {
  inflateEnd(&stream_);
}

Result<void> Inflater::feed(const Read& read) {
  const Result<std::size_t> got = read(input_);
  if (!got) return std::unexpected(got.error());
  stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
  stream_.avail_in = static_cast<uInt>(*got);
  return {};
}

Result<std::size_t> Inflater::fill(std::span<char> into, const Read& read) {
  std::size_t used = 0;
  while (used < into.size() && !ended_) {
    if (stream_.avail_in == 0) {
      if (const Result<void> fed = feed(read); !fed) return std::unexpected(fed.error());
      if (stream_.avail_in == 0 && !held_) {
        ended_ = true;
        damaged_ |= inside_;
        break;
      }
    }
    if (!inside_) {
      // What follows a member is another one, or padding that gzip itself ignores.
      if (*stream_.next_in != 0x1f || inflateReset(&stream_) != Z_OK) {
        ended_ = true;
        break;
      }
      inside_ = true;
    }
    const auto room = static_cast<uInt>(std::min<std::size_t>(into.size() - used, std::numeric_limits<uInt>::max()));
    stream_.next_out = reinterpret_cast<Bytef*>(into.data() + used);
    stream_.avail_out = room;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    const std::size_t produced = room - stream_.avail_out;
    used += produced;
    held_ = produced > 0 && stream_.avail_out == 0;
    if (status == Z_STREAM_END) {
      inside_ = false;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      ended_ = damaged_ = true;
    }
  }
  return used;
}

}  // namespace hotlens::trace
