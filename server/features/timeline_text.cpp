#include "server/features/timeline_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "annotator/common/format.h"

namespace hotlens::features {
namespace {

using blocks::Block;
using blocks::Blocks;
using blocks::kNoBlock;
using format::readable;

constexpr std::size_t kNameColumns = 18;  // of a track
constexpr std::size_t kTick = 16;         // columns from one time of the axis to the next
constexpr int kExplains = 20;             // a block with less than one in so many of the time around it explains nothing
constexpr std::size_t kLeastLabel = 4;    // columns: narrower blocks have none

// The page's colours, as terminals with 256 of them have them: background and text.
constexpr auto kColours = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"data", "\x1b[48;5;102;38;5;233m"},
    {"copy", "\x1b[48;5;144;38;5;233m"},
    {"zero_grad", "\x1b[48;5;60;38;5;231m"},
    {"forward", "\x1b[48;5;74;38;5;233m"},
    {"evaluation", "\x1b[48;5;74;38;5;233m"},
    {"loss", "\x1b[48;5;43;38;5;233m"},
    {"backward", "\x1b[48;5;97;38;5;231m"},
    {"optimizer", "\x1b[48;5;179;38;5;233m"},
    {"communication", "\x1b[48;5;167;38;5;233m"},
    {"idle", "\x1b[2m"},
    {"waiting", "\x1b[2m"},
    {"earlier_step", "\x1b[2m"},
});

std::string_view colour(std::string_view what) {
  const auto found = std::ranges::find(kColours, what, &std::pair<std::string_view, std::string_view>::first);
  return found == kColours.end() ? "\x1b[48;5;245;38;5;233m" : found->second;
}

// Characters of one column each; a wide one is followed by an empty cell. What is too long ends in "…".
std::vector<std::string> cells_of(std::string_view text, std::size_t room) {
  std::vector<std::string> cells;
  const std::string clean = format::harmless(text);
  for (std::size_t at = 0; at < clean.size();) {
    std::size_t end = at + 1;
    while (end < clean.size() && (static_cast<unsigned char>(clean[end]) & 0xc0) == 0x80) ++end;
    const std::string character = clean.substr(at, end - at);
    at = end;
    const std::size_t columns = format::width(character);
    if (columns == 0) continue;
    if (cells.size() + columns > room) {
      if (room > 0) {
        while (cells.size() >= room) cells.pop_back();
        if (!cells.empty() && cells.back().empty()) cells.pop_back();  // not the second half of a wide one
        if (cells.size() + 1 < room) cells.emplace_back(" ");
        cells.emplace_back("…");
      }
      return cells;
    }
    cells.push_back(character);
    for (std::size_t more = 1; more < columns; ++more) cells.emplace_back();
  }
  return cells;
}

struct Cell {
  std::string text = " ";
  std::string_view colour = {};  // of the page
};

class Row {
 public:
  Row(const Blocks& blocks, const Level& level, std::size_t width) : blocks_(blocks), level_(level), cells_(width) {}

  std::string draw(const LevelTrack& track, const format::Style& style) && {
    const bool color = !style.off.empty();
    for (const Rectangle& rectangle : track.rectangles) draw(rectangle);
    std::string text;
    std::string_view now;
    for (const Cell& cell : cells_) {
      if (color && cell.colour != now) {
        if (!now.empty()) text += style.off;
        if (!cell.colour.empty()) text += colour(cell.colour);
        now = cell.colour;
      }
      text += cell.text;
    }
    if (color && !now.empty()) return text + std::string(style.off);
    return text.substr(0, text.find_last_not_of(' ') + 1);
  }

 private:
  std::size_t column(Ns at) const {
    const auto whole = static_cast<double>((level_.window_to - level_.window_from).count());
    const double place = whole > 0 ? static_cast<double>((at - level_.window_from).count()) / whole : 0;
    return static_cast<std::size_t>(
        std::clamp(std::lround(place * static_cast<double>(cells_.size())), 0L, static_cast<long>(cells_.size())));
  }

  void draw(const Rectangle& rectangle) {
    const std::size_t first = std::min(column(rectangle.start), cells_.size() - 1);
    const std::size_t end = std::clamp(column(rectangle.start + rectangle.duration), first + 1, cells_.size());
    const bool idle = rectangle.block == kNoBlock;
    const std::string_view what = idle ? "idle" : blocks::colour_of(blocks_.blocks[rectangle.block]);
    const bool waits = what == "waiting";
    if (idle && end - first == 1 && !cells_[first].colour.empty()) return;  // what ran there is seen
    for (std::size_t at = first; at < end; ++at) cells_[at] = {idle ? "·" : waits ? "▒" : " ", what};
    if (idle) return;
    cells_[first].text = waits ? "▒" : "▏";
    if (end - first < kLeastLabel) return;
    const std::vector<std::string> label = cells_of(label_of(rectangle, end - first - 1), end - first - 1);
    for (std::size_t at = 0; at < label.size(); ++at) cells_[first + 1 + at].text = label[at];
  }

  // With its time where that fits beside the name.
  std::string label_of(const Rectangle& rectangle, std::size_t room) const {
    const std::string name = rectangle.count > 1 ? std::to_string(rectangle.count) + " blocks" : blocks::label_of(blocks_, rectangle.block);
    const std::string timed = name + " " + readable(rectangle.busy);
    return format::width(timed) <= room ? timed : name;
  }

  const Blocks& blocks_;
  const Level& level_;
  std::vector<Cell> cells_;
};

std::string axis(const Level& level, std::size_t width) {
  std::string text(kNameColumns, ' ');
  const std::size_t ticks = std::max<std::size_t>(1, width / kTick);
  for (std::size_t tick = 0; tick < ticks; ++tick) {
    const auto part = static_cast<std::int64_t>(tick), parts = static_cast<std::int64_t>(ticks);
    const Ns at = level.window_from - level.from + (level.window_to - level.window_from) * part / parts;
    const std::size_t next = (tick + 1) * width / ticks - tick * width / ticks;
    text += format::left("╷" + (at == Ns{} ? "0" : readable(at)), next);
  }
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string title(const Blocks& blocks, std::uint32_t block) {
  const Block& of = blocks.blocks[block];
  if (block == blocks::kStepBlock) {
    return "step  " + readable(blocks.wall) + (of.last > blocks.wall ? ", its device work until " + readable(of.last) : "");
  }
  std::string way;
  for (const std::uint32_t at : blocks::way_to(blocks, block)) {
    if (at != blocks::kStepBlock) way += (way.empty() ? "" : " › ") + format::shortened(blocks::label_of(blocks, at), 40);
  }
  return way + "  " + readable(of.last - of.first) + ", host " + readable(of.host) +
         (of.device > Ns{} ? ", device " + readable(of.device) : "");
}

Ns work_of(const Block& block) {
  return std::max(block.host - block.waiting, block.device);
}

// The one inside that takes most time and can be opened; kNoBlock where none explains much of the block.
std::uint32_t heaviest_in(const Blocks& blocks, std::uint32_t block) {
  std::uint32_t best = kNoBlock;
  Ns most{};
  for (const std::uint32_t child : blocks.below(block)) {
    const Block& of = blocks.blocks[child];
    const bool is_work = of.kind == Block::Kind::stage || of.kind == Block::Kind::module || of.kind == Block::Kind::op;
    if (!is_work || !blocks.opens(child) || work_of(of) <= most) continue;
    best = child;
    most = work_of(of);
  }
  return most * kExplains >= work_of(blocks.blocks[block]) ? best : kNoBlock;
}

// A block that is all there is in the one around it costs no level of its own.
std::uint32_t heaviest(const Blocks& blocks, std::uint32_t block) {
  std::uint32_t best = heaviest_in(blocks, block);
  while (best != kNoBlock && blocks.below(best).size() == 1 && heaviest_in(blocks, best) != kNoBlock) best = heaviest_in(blocks, best);
  return best;
}

}  // namespace

std::string timeline_text(const Blocks& blocks, const TextPicture& picture) {
  const std::size_t columns = std::clamp(picture.columns, kLeastColumns, kMostColumns);
  const std::size_t width = columns - kNameColumns;
  const format::Style style = format::style(picture.color);
  std::string text;
  std::uint32_t block = blocks::kStepBlock;
  for (std::size_t depth = 0; depth < picture.levels && block != kNoBlock; ++depth) {
    const Level shown = level(blocks, block, {.from = {}, .to = {}, .width = static_cast<std::uint32_t>(width), .unfold = false});
    if (depth > 0) text += '\n';
    text.append(style.bold).append(title(blocks, block)).append(style.off).append("\n");
    text.append(style.dim).append(axis(shown, width)).append(style.off).append("\n");
    for (const LevelTrack& track : shown.tracks) {
      const std::string name = format::shortened(blocks.tracks[track.track].name, kNameColumns - 1);
      text += format::left(name, kNameColumns) + Row(blocks, shown, width).draw(track, style) + '\n';
    }
    if (shown.more_tracks > 0)
      text += std::string(kNameColumns, ' ') + std::to_string(shown.more_tracks) + " more tracks, less busy than these\n";
    block = heaviest(blocks, block);
  }
  return text;
}

}  // namespace hotlens::features
