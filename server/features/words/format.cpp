#include "server/features/words/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "annotator/common/format.h"
#include "annotator/common/harmless.h"

namespace hotlens::features {
namespace {

std::string bounded(std::string_view text, std::size_t limit, bool markdown) {
  // Links, code, emphasis, HTML, tables and entities; what is special only at the start of a line never stands there.
  static constexpr std::string_view kSpecial = "\\`*_[]|<>~&";
  std::string out;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (shown++ == limit) return out + "…";
    const Seen seen = character_at(text.substr(i));
    const std::string_view sequence = text.substr(i, seen.length);
    i += seen.length;
    if (!seen.harmless) {
      out += '?';
      continue;
    }
    // A colon before a slash would make a bare address a link.
    const bool special = kSpecial.contains(sequence.front()) || (sequence == ":" && text.substr(i).starts_with('/'));
    if (markdown && sequence.size() == 1 && special) out += '\\';
    out += sequence;
  }
  return out;
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < left ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += k <= left ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace

std::string escape_markdown(std::string_view text, std::size_t limit) {
  return bounded(text, limit, true);
}

std::string plain(std::string_view text, std::size_t limit) {
  return bounded(text, limit, false);
}

std::string_view trimmed(std::string_view line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

std::string trimmed_line(std::string_view text, std::uint32_t number) {
  for (; number > 0 && !text.empty(); --number) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return plain(trimmed(text.substr(0, text.find('\n'))));
}

std::string block_slice(std::span<const profile::Slice> slices, Ns step, std::size_t cells) {
  static constexpr std::array<std::string_view, 9> kBlocks{"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (step.count() <= 0) return {};
  std::vector<double> covered(cells, 0.0);
  const double cell = static_cast<double>(step.count()) / static_cast<double>(cells);
  for (const profile::Slice& slice : slices) {
    const auto begin = static_cast<double>(std::max<std::int64_t>(slice.start.count(), 0));
    const auto end = std::min(static_cast<double>((slice.start + slice.duration).count()), static_cast<double>(step.count()));
    for (auto i = static_cast<std::size_t>(begin / cell); i < cells && static_cast<double>(i) * cell < end; ++i) {
      const double low = std::max(begin, static_cast<double>(i) * cell);
      const double high = std::min(end, static_cast<double>(i + 1) * cell);
      if (high > low) covered[i] += (high - low) / cell;
    }
  }
  std::string out;
  for (double share : covered) {
    const auto level = share <= 0 ? 0U : static_cast<std::size_t>(std::clamp(std::ceil(share * 8), 1.0, 8.0));
    out += kBlocks[level];
  }
  return out;
}

std::string svg_slice(std::span<const profile::Slice> slices, Ns step) {
  constexpr double kWidth = 480;
  constexpr std::size_t kMostBars = 400;  // keeps the URI far below the 100,000 characters that VS Code shows
  if (step.count() <= 0) return {};
  const double scale = kWidth / static_cast<double>(step.count());
  std::string svg =
      "<svg xmlns='http://www.w3.org/2000/svg' width='480' height='26'>"
      "<rect x='0' y='7' width='480' height='6' rx='2' fill='#808080' fill-opacity='.25'/>";
  const std::size_t stride = slices.size() / kMostBars + 1;
  for (std::size_t i = 0; i < slices.size(); i += stride) {
    const profile::Slice& slice = slices[i];
    const bool forward = slice.direction == profile::Direction::forward;
    const double x = std::clamp(static_cast<double>(slice.start.count()) * scale, 0.0, kWidth);
    const double width = std::clamp(static_cast<double>(slice.duration.count()) * scale, 0.6, std::max(0.6, kWidth - x));
    svg += fmt::format("<rect x='{:.1f}' y='3' width='{:.1f}' height='14' fill='{}'/>", x, width, forward ? "#4e94d4" : "#9673c8");
  }
  svg += fmt::format(
      "<text x='0' y='25' font-size='8' font-family='sans-serif' fill='#888'>0</text>"
      "<text x='480' y='25' font-size='8' font-family='sans-serif' text-anchor='end' fill='#888'>{}</text></svg>",
      format::readable(step));
  return "data:image/svg+xml;base64," + base64(svg);
}

}  // namespace hotlens::features
