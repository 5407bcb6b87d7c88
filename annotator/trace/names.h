// Interned text: names repeat a hundredfold in a trace, so each is kept once and events carry a number.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/common/units.h"

namespace hotlens::trace {

struct NameTag;
using NameId = Id<NameTag>;

// Open addressing over a power-of-two table; ids are dense and in order of first sight.
class Names {
 public:
  NameId intern(std::string_view text);
  std::optional<NameId> find(std::string_view text) const;
  std::string_view operator[](NameId id) const { return texts_[id.index]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::size_t slot_of(std::string_view text, std::uint64_t hash) const;
  void grow();

  std::deque<std::string> texts_;      // a deque never moves its elements
  std::vector<std::uint64_t> hashes_;  // by id
  std::vector<std::uint32_t> slots_;   // id + 1; 0 is free
};

}  // namespace hotlens::trace
