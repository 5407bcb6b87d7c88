// What `hotlens whatif --verify` would say of pairs of runs, looked at as it looks at them. For verify_same.py: a verification a line in,
// its pairs as "before after before after …" in nanoseconds, in the order in which they would run; a line out, "faster|slower|none PAIRS
// RATIO LOW HIGH", or "short" where more pairs are wanted than were given.
#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "annotator/advice/pairs.h"

int main() {
  using namespace hotlens::advice;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream given(line);
    std::vector<Pair> pairs;
    std::int64_t before = 0, after = 0;
    while (!enough(pairs) && given >> before >> after) pairs.push_back({.before = hotlens::Ns{before}, .after = hotlens::Ns{after}});
    const auto found = measured(pairs);
    if (!enough(pairs) || !found) {
      std::cout << "short" << std::endl;
      continue;
    }
    const char* verdict = found->faster() ? "faster" : found->slower() ? "slower" : "none";
    std::cout << verdict << ' ' << found->pairs << ' ' << found->ratio << ' ' << found->low << ' ' << found->high << std::endl;
  }
}
