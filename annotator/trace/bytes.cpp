#include "annotator/trace/bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace hotlens::trace {
namespace {

std::size_t whole_pages(std::size_t size) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

}  // namespace

PaddedBytes::PaddedBytes(std::size_t size) : size_(size), mapped_(whole_pages(size + kPadding)) {
  void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<char*>(memory);
}

PaddedBytes& PaddedBytes::operator=(PaddedBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

PaddedBytes::~PaddedBytes() {
  if (data_) munmap(data_, mapped_);
}

}  // namespace hotlens::trace
