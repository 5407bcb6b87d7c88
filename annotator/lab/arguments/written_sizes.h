// Sizes that a text writes as numbers, `x.view(-1, 16 * 5 * 5)`: they stay what they are where the tensor has other sizes, unless they are
// edited, too. All other sizes of the recorded step were computed, and follow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "annotator/lab/edited/rewrite.h"
#include "annotator/lab/layers/python/interpreter.h"

namespace hotlens::layers {

// A call of `view` or `reshape`.
struct WrittenSizes {
  struct Size {
    std::size_t place = 0;
    std::int64_t was = 0, is = 0;
  };
  std::string_view method;           // "view"
  std::int64_t first = 0, last = 0;  // lines of the executed text, from 1; 0: of the script's own loop
  std::size_t count = 0;             // sizes, with those that are no numbers
  std::vector<Size> sizes;           // those that are, but for -1
  std::string what;                  // "view(-1, 400 → 800)"; empty: as it was
  Line at;                           // in the edited text
};

struct WrittenInTexts {
  Sources edited;  // with the numbers of the executed texts
  std::vector<WrittenSizes> calls;
};

WrittenInTexts without_written_sizes(const Sources& executed, const Sources& edited);

// Of the operators of that call. The error: it was edited, and which one it is cannot be known.
std::optional<Unclear> write_sizes(Rewritten& rewritten, const WrittenSizes& call);

}  // namespace hotlens::layers
