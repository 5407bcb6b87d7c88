#include "server/text/draw.h"

#include <algorithm>
#include <cmath>

#include "annotator/common/format.h"
#include "server/text/words.h"

namespace hotlens::text {
namespace {

using features::ShownBlock;
using features::ShownTrack;
using format::readable;

constexpr std::size_t kTick = 16;       // cells from one time of the axis to the next, about
constexpr std::size_t kLeastLabel = 4;  // cells: narrower blocks have none

struct Cell {
  std::string text = " ";  // empty: the second half of a wide character
  std::string_view what = {};
};
using Row = std::vector<Cell>;

// Characters of one column each; a wide one is followed by an empty cell. What is too long ends in "…".
std::vector<std::string> cells_of(std::string_view text, std::size_t room) {
  std::vector<std::string> cells;
  const std::string clean = format::harmless(text);
  for (std::string_view rest = clean; !rest.empty() && cells.size() <= room;) {
    const std::string_view character = rest.substr(0, character_at(rest).length);
    rest.remove_prefix(character.size());
    const std::size_t columns = format::width(character);
    if (columns > 0) cells.emplace_back(character);
    if (columns > 1) cells.emplace_back();
  }
  if (cells.size() <= room) return cells;
  if (room > 1 && cells[room - 1].empty()) cells[room - 2] = " ";  // half of a wide one
  cells.resize(room);
  if (room > 0) cells.back() = "…";
  return cells;
}

void put(Row& row, std::size_t at, const std::vector<std::string>& cells, std::string_view what) {
  for (std::size_t each = 0; each < cells.size() && at + each < row.size(); ++each) row[at + each] = {cells[each], what};
}

void fill(Row& row, Cells stretch, const Cell& cell) {
  std::fill(row.begin() + static_cast<std::ptrdiff_t>(stretch.first), row.begin() + static_cast<std::ptrdiff_t>(stretch.end), cell);
}

void add(Picture& picture, std::string line, const Row& row) {
  Mark mark{.line = picture.lines.size(), .from = line.size(), .to = line.size(), .what = {}};
  const auto finish = [&] {
    if (!mark.what.empty()) picture.marks.push_back(mark);
  };
  for (const Cell& cell : row) {
    if (cell.what != mark.what) {
      finish();
      mark = {mark.line, line.size(), line.size(), cell.what};
    }
    line += cell.text;
    mark.to = line.size();
  }
  finish();
  picture.lines.push_back(std::move(line));
}

// Communication looks the same at every level, whatever stage it is part of.
std::string_view colour_of(const ShownTrack& track, const ShownBlock& block) {
  if (block.kind == "idle") return "idle";
  if (block.kind == "wait") return "waiting";
  return track.kind == "communication" ? "communication" : block.stage;
}

// As much of it as fits.
std::string label_of(const ShownTrack& track, const ShownBlock& block, std::size_t room) {
  const std::string name = name_of(track, block);
  for (const std::string& time : {busy_of(block), readable(block.busy)}) {
    if (format::width(name) + 1 + format::width(time) <= room) return name + " " + time;
  }
  return name;
}

// As many of a block's cells are filled as it is busy.
void fill_busy(Row& row, Cells at, const ShownBlock& block, const Cell& filler) {
  const double busy = block.duration > Ns{} ? static_cast<double>(block.busy.count()) / static_cast<double>(block.duration.count()) : 1;
  const auto filled = [share = std::min(1.0, busy)](std::size_t cells) { return std::lround(static_cast<double>(cells) * share); };
  for (std::size_t cell = at.first; cell < at.end; ++cell) {
    const bool fills = filled(cell - at.first + 1) > filled(cell - at.first);
    row[cell] = fills ? filler : Cell{};
  }
}

// What shares one cell with a block that is drawn gives it its colour, idle time not even that.
bool gives_way(Row& row, Cells at, std::string_view what) {
  std::string_view& there = row[at.first].what;
  if (at.count() > 1 || there.empty() || there == "dim") return false;
  if (what != "idle") there = what;
  return true;
}

// What a host does without operators is told where it fits; a device says the same at every gap.
void name_idle(Row& row, Cells at, const ShownTrack& track, const ShownBlock& block) {
  const std::string label = name_of(track, block) + " " + readable(block.busy);
  if (track.kind == "host" && format::width(label) + 2 <= at.count()) put(row, at.first + 1, cells_of(label, at.count() - 2), "idle");
}

void draw_block(Row& row, Cells at, const ShownTrack& track, const ShownBlock& block) {
  const std::string_view what = colour_of(track, block);
  if (gives_way(row, at, what)) return;
  const bool hatched = what == "waiting" || what == "earlier_step", idle = block.kind == "idle";
  fill_busy(row, at, block, {idle ? "·" : hatched ? "▒" : " ", what});
  if (idle) return name_idle(row, at, track, block);
  row[at.first] = {hatched ? "▒" : "▏", what};
  if (at.count() < kLeastLabel) return;
  put(row, at.first + 1, cells_of(label_of(track, block, at.count() - 1), at.count() - 1), what);
}

void draw_track(Picture& picture, const ShownTrack& track, const Axis& axis, const std::size_t* chosen) {
  Row row(axis.width);
  if (axis.gap) fill(row, axis.cells(*axis.gap), {"┈", "dim"});
  const auto cells = [&](const ShownBlock& block) { return axis.cells({block.start, block.start + block.duration}); };
  for (const ShownBlock& block : track.blocks) draw_block(row, cells(block), track, block);
  const std::string name = format::left(format::shortened(track.name, kNameColumns - 1), kNameColumns);
  if (chosen != nullptr && *chosen < track.blocks.size()) {
    const Cells at = cells(track.blocks[*chosen]);
    std::size_t byte = name.size();
    for (std::size_t cell = 0; cell < at.first; ++cell) byte += row[cell].text.size();
    picture.chosen = {picture.lines.size(), byte};
    for (std::size_t cell = at.first; cell < at.end; ++cell) row[cell].what = "selected";
  }
  add(picture, name, row);
}

void draw_axis(Picture& picture, const Axis& axis) {
  Row row(axis.width);
  const std::size_t ticks = std::max<std::size_t>(1, axis.width / kTick);
  for (std::size_t tick = 0; tick < ticks; ++tick) {
    const std::size_t at = tick * axis.width / ticks;
    const Ns time = axis.time_at(static_cast<double>(at));
    put(row, at, cells_of("╷" + (time == Ns{} ? "0" : readable(time)), kTick - 1), "dim");
  }
  if (axis.gap) {
    const std::vector<std::string> length = cells_of("⟨" + readable(axis.gap->length()) + "⟩", kTick - 1);
    const Cells gap = axis.cells(*axis.gap);
    const std::size_t middle = (gap.first + gap.end) / 2;
    put(row, middle - std::min(middle, length.size() / 2), length, "title");  // over the ticks
  }
  add(picture, std::string(kNameColumns, ' '), row);
}

}  // namespace

std::size_t width_of(std::size_t columns) {
  return std::clamp(columns, kLeastColumns, kMostColumns) - kNameColumns;
}

void add_text(Picture& picture, std::string_view line, std::string_view what) {
  std::string clean = format::shortened(line, kMostColumns);
  if (!clean.empty()) picture.marks.push_back({picture.lines.size(), 0, clean.size(), what});
  picture.lines.push_back(std::move(clean));
}

void draw(Picture& picture, const ShownLevel& level, const std::optional<Chosen>& chosen) {
  add_text(picture, level.title, "title");
  draw_axis(picture, level.axis);
  for (std::size_t track = 0; track < level.tracks.size(); ++track) {
    draw_track(picture, level.tracks[track], level.axis, chosen && chosen->track == track ? &chosen->index : nullptr);
  }
  const std::string indent(kNameColumns, ' ');
  if (level.more_tracks > 0) add_text(picture, indent + std::to_string(level.more_tracks) + " more tracks, less busy than these", "dim");
  if (level.axis.gap) {
    add_text(picture, indent + readable(level.axis.gap->length()) + " without work of this block, drawn short", "dim");
  }
}

}  // namespace hotlens::text
