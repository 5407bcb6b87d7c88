#include "annotator/trace/names.h"

#include <cstring>

#include "annotator/common/hash.h"

namespace hotlens::trace {
namespace {

constexpr std::size_t kFirstSlots = 1024;

template <class Word>
std::uint64_t word(const char* at) {
  Word bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

// All of at most eight bytes as one number; the parts may overlap.
std::uint64_t short_word(const char* at, std::size_t size) {
  if (size >= 4) return word<std::uint32_t>(at) << 32 | word<std::uint32_t>(at + size - 4);
  if (size >= 2) return word<std::uint16_t>(at) << 16 | word<std::uint16_t>(at + size - 2);
  return size == 1 ? word<std::uint8_t>(at) : 0;
}

// Sixteen bytes at a time, multiplied and folded as in wyhash (Wang Yi, 2019); the last ones may overlap those before.
std::uint64_t hash_of(std::string_view text) {
  const std::uint64_t key = hash_key(), other = key ^ 0x9e3779b97f4a7c15ULL;
  const char* at = text.data();
  const char* const end = at + text.size();
  std::uint64_t hash = text.size() ^ key;
  if (text.size() <= 8) return folded_product(folded_product(short_word(at, text.size()) ^ other, hash), key);
  for (; end - at > 16; at += 16) hash = folded_product(word<std::uint64_t>(at) ^ other, word<std::uint64_t>(at + 8) ^ hash);
  const char* const front = text.size() >= 16 ? end - 16 : text.data();
  hash = folded_product(word<std::uint64_t>(front) ^ other, word<std::uint64_t>(end - 8) ^ hash);
  return folded_product(hash, key);
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
