// The bytes of a trace's JSON in order, from a file, a pipe or memory, inflated on the way where they are gzipped.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <variant>

#include "annotator/common/error.h"
#include "annotator/common/file.h"

namespace hotlens::trace {

class Inflater;

class Source {
 public:
  static Result<Source> open(const std::filesystem::path& path);
  // `bytes` must outlive the source.
  static Result<Source> of(std::string_view bytes, std::string_view where);
  Source(Source&&) noexcept;
  Source& operator=(Source&&) noexcept;
  ~Source();

  // Fills `into` from its front and returns how much; less than asked only at the end. Blocks. Several threads may call it in turn.
  Result<std::size_t> read(std::span<char> into);

  // How many bytes to expect in all; 0 where nothing tells.
  std::size_t expected() const { return expected_; }

  // The gzip data ended before its end or is wrong: what came before was given.
  bool damaged() const;

 private:
  using Raw = std::variant<Descriptor, std::string_view>;
  Source(Raw raw, std::size_t size, std::string where);
  Result<void> detect(std::size_t size);
  Result<std::size_t> read_raw(std::span<char> into);

  Raw raw_;
  std::string where_;
  std::string front_;  // raw bytes that were read to tell what they are
  std::size_t front_used_ = 0;
  std::size_t expected_ = 0;
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace hotlens::trace
