#include "annotator/causes/path_parts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace hotlens::causes {
namespace {

using profile::CriticalPart;

// Neighbours as one, which is called what the longest of them is; its cause is that of most of its time.
class Run {
 public:
  void add(CriticalPart part) {
    const Ns length = part.end - part.start;
    causes_[part.cause] += length;
    if (length > longest_ || whole_.parts == 0) {
      longest_ = length;
      whole_.on = part.on;
      whole_.what = std::move(part.what);
    }
    if (whole_.parts == 0) whole_.start = part.start;
    whole_.end = part.end;
    whole_.parts += part.parts;
  }

  bool empty() const { return whole_.parts == 0; }

  CriticalPart take() {
    whole_.cause = std::ranges::max_element(causes_, {}, [](const auto& cause) { return cause.second; })->first;
    Run fresh;
    std::swap(*this, fresh);
    return std::move(fresh.whole_);
  }

 private:
  CriticalPart whole_{.what = {}, .parts = 0};
  Ns longest_{};
  std::map<profile::Cause, Ns> causes_;
};

// As they lie side by side: what `together` says of a part and the one before it.
template <class Together>
std::vector<CriticalPart> joined(std::vector<CriticalPart> parts, Together together) {
  std::vector<CriticalPart> result;
  Run run;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    const bool last = at + 1 == parts.size();
    const bool goes_on = !last && together(parts[at], parts[at + 1]);
    run.add(std::move(parts[at]));
    if (!goes_on) result.push_back(run.take());
  }
  return result;
}

// Half of what is left may be too short: short neighbours become one, and between two of these lies a longer part.
Ns shortest_told(const std::vector<CriticalPart>& parts, std::size_t most) {
  std::vector<Ns> lengths;
  for (const CriticalPart& part : parts) lengths.push_back(part.end - part.start);
  const auto at = lengths.begin() + static_cast<std::ptrdiff_t>((most - 1) / 2);
  std::ranges::nth_element(lengths, at, std::ranges::greater{});
  return *at + Ns{1};
}

}  // namespace

std::vector<CriticalPart> readable_path(std::vector<CriticalPart> parts, std::size_t most) {
  const auto alike = [](const CriticalPart& a, const CriticalPart& b) { return a.on == b.on && a.cause == b.cause && a.what == b.what; };
  parts = joined(std::move(parts), alike);
  if (parts.size() <= most) return parts;
  const Ns least = shortest_told(parts, most);
  const auto is_short = [&](const CriticalPart& part) { return part.end - part.start < least; };
  return joined(std::move(parts), [&](const CriticalPart& a, const CriticalPart& b) { return is_short(a) && is_short(b); });
}

}  // namespace hotlens::causes
