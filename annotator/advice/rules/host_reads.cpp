#include "annotator/advice/rules/marks.h"

namespace hotlens::rules {

// Certain: the host waits inside an operator that brings a number back. That the step needs the number at once is not told.
std::optional<Found> host_reads(const Recording& recording) {
  if (recording.account.work.empty()) return std::nullopt;
  const Marks reading = named(recording, [](std::string_view name) {
    return name == "aten::item" || name == "aten::_local_scalar_dense" || name == "aten::is_nonzero" || name == "aten::equal";
  });
  if (reading.empty()) return std::nullopt;
  Ns waiting{};
  std::int64_t times = 0;
  std::uint32_t at = attribution::kNoNode;
  for (const attribution::Piece& piece : recording.step().wall) {
    if (piece.bucket != attribution::Bucket::waiting || !has(reading, piece)) continue;
    if (at == attribution::kNoNode) at = piece.node;
    waiting += piece.end - piece.start;
    ++times;
  }
  if (times == 0) return std::nullopt;
  return Found{
      .evidence = {{"the host waits for a number from the device, " + counted(times, "time", "times"), waiting, ""}},
      .assumes = {"the number can be read later, or less often: .item(), float(), print() and `if` on a tensor wait for all work before"},
      .node = at,
      .change = without(reading)};
}

}  // namespace hotlens::rules
