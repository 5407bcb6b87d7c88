#include "annotator/trace/names.h"

#include <cstring>

#include "annotator/common/hash.h"

namespace hotlens::trace {
namespace {

constexpr std::size_t kFirstSlots = 1024;

// Eight bytes at a time, multiplied and folded.
std::uint64_t hash_of(std::string_view text) {
  const std::uint64_t key = hash_key();
  std::uint64_t hash = text.size() ^ key;
  const char* at = text.data();
  std::size_t left = text.size();
  const auto take = [&](std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, bytes);
    hash = folded_product(hash ^ word, key);
  };
  for (; left >= 8; left -= 8, at += 8) take(8);
  if (left > 0) take(left);
  return folded_product(hash, key ^ 0x9e3779b97f4a7c15ULL);
}

}  // namespace

NameId Names::intern(std::string_view text) {
  if ((texts_.size() + 1) * 2 > slots_.size()) grow();
  const std::uint64_t hash = hash_of(text);
  const std::size_t slot = slot_of(text, hash);
  if (slots_[slot] == 0) {
    texts_.emplace_back(text);
    hashes_.push_back(hash);
    slots_[slot] = static_cast<std::uint32_t>(texts_.size());
  }
  return NameId{slots_[slot] - 1};
}

std::optional<NameId> Names::find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t found = slots_[slot_of(text, hash_of(text))];
  if (found == 0) return std::nullopt;
  return NameId{found - 1};
}

// The slot that holds `text`, or the free slot where it belongs.
std::size_t Names::slot_of(std::string_view text, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    const std::uint32_t held = slots_[slot];
    if (held == 0 || (hashes_[held - 1] == hash && texts_[held - 1] == text)) return slot;
  }
}

void Names::grow() {
  slots_.assign(slots_.empty() ? kFirstSlots : slots_.size() * 2, 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t id = 0; id < texts_.size(); ++id) {
    std::size_t slot = hashes_[id] & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = id + 1;
  }
}

}  // namespace hotlens::trace
