#include "server/text/terminal.h"

#include <algorithm>
#include <array>
#include <utility>

#include "annotator/common/format.h"
#include "server/text/draw.h"

namespace hotlens::text {
namespace {

using blocks::Block;
using blocks::Blocks;
using blocks::kNoBlock;

constexpr int kExplains = 20;  // a block with less than one in so many of the time around it explains nothing

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
    {"title", "\x1b[1m"},
    {"dim", "\x1b[2m"},
    {"idle", "\x1b[2m"},
    {"waiting", "\x1b[2m"},
    {"earlier_step", "\x1b[2m"},
});

std::string_view colour(std::string_view what) {
  const auto found = std::ranges::find(kColours, what, &std::pair<std::string_view, std::string_view>::first);
  return found == kColours.end() ? "\x1b[48;5;245;38;5;233m" : found->second;
}

// Without colours a line ends with its last character.
std::string written(const Picture& picture, bool color) {
  std::string text;
  auto mark = picture.marks.begin();
  for (std::size_t line = 0; line < picture.lines.size(); ++line) {
    const std::string_view of = picture.lines[line];
    std::size_t at = 0;
    for (; mark != picture.marks.end() && mark->line == line; ++mark) {
      if (!color) continue;
      text.append(of.substr(at, mark->from - at)).append(colour(mark->what));
      text.append(of.substr(mark->from, mark->to - mark->from)).append(format::style(true).off);
      at = mark->to;
    }
    text.append(color ? of.substr(at) : of.substr(0, of.find_last_not_of(' ') + 1)).append("\n");
  }
  return text;
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

std::string timeline(const Blocks& blocks, const Terminal& terminal) {
  Picture picture;
  std::uint32_t block = blocks::kStepBlock;
  for (std::size_t depth = 0; depth < terminal.levels && block != kNoBlock; ++depth) {
    if (depth > 0) picture.lines.emplace_back();
    draw(picture, level_of(blocks, block, nullptr, {.width = width_of(terminal.columns)}), std::nullopt);
    block = heaviest(blocks, block);
  }
  return written(picture, terminal.color);
}

}  // namespace hotlens::text
