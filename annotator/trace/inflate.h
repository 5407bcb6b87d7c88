// Gzip in pieces, also with several members and cut short.
#pragma once

#include <zlib.h>

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "annotator/common/error.h"

namespace hotlens::trace {

bool is_gzip(std::string_view bytes);

// Inflates a stream as far as it can be: data that is cut short or damaged ends there.
class Inflater {
 public:
  using Read = std::function<Result<std::size_t>(std::span<char>)>;  // as Source::read

  Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater();

  // Fills `into` with text; less than asked only at the end. An error is the reader's, or the first byte's: nothing could be inflated.
  Result<std::size_t> fill(std::span<char> into, const Read& read);

  bool damaged() const { return damaged_; }

 private:
  Result<void> feed(const Read& read);

  z_stream stream_{};
  std::vector<char> input_;
  bool inside_ = true;  // of a member
  bool held_ = false;   // zlib may have text left that found no room
  bool ended_ = false;
  bool damaged_ = false;
};

}  // namespace hotlens::trace
