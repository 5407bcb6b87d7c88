// Bytes as the JSON parser wants them: readable for a few bytes beyond their end.
#pragma once

#include <cstddef>
#include <utility>

namespace hotlens::trace {

// Owns pages of memory; they are zero and cost nothing until they are touched.
class PaddedBytes {
 public:
  static constexpr std::size_t kPadding = 64;  // what simdjson may read beyond the end

  PaddedBytes() = default;
  explicit PaddedBytes(std::size_t size);  // throws std::bad_alloc
  PaddedBytes(PaddedBytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), mapped_(std::exchange(other.mapped_, 0)) {}
  PaddedBytes& operator=(PaddedBytes&& other) noexcept;
  ~PaddedBytes();

  char* data() { return data_; }
  std::size_t size() const { return size_; }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;  // length of the mapping
};

}  // namespace hotlens::trace
