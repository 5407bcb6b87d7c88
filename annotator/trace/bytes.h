// Bytes as the JSON parser wants them: readable for a few bytes beyond their end.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>

#include "annotator/common/error.h"

namespace hotlens::trace {

// Owns pages of memory.
class PaddedBytes {
 public:
  static constexpr std::size_t kPadding = 64;  // what simdjson may read beyond the end

  PaddedBytes() = default;
  PaddedBytes(PaddedBytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), mapped_(std::exchange(other.mapped_, 0)) {}
  PaddedBytes& operator=(PaddedBytes&& other) noexcept;
  ~PaddedBytes();

  // `size` zero bytes; pages cost nothing until they are touched. Throws std::bad_alloc.
  static PaddedBytes zeroed(std::size_t size);
  static PaddedBytes copy_of(std::string_view text);

  char* data() { return data_; }
  std::string_view view() const { return {data_, size_}; }
  std::size_t size() const { return size_; }
  void shrink(std::size_t size) { size_ = size; }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;  // length of the mapping
};

// Read, not mapped: a trace that its writer cuts while we look at a mapping would end the process.
Result<PaddedBytes> file_bytes(const std::filesystem::path& path);

}  // namespace hotlens::trace
