#include "annotator/lab/predict/kept.h"

#include <algorithm>

#include "annotator/common/file.h"

namespace hotlens::lab {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 10, kMostPoints = 200;
constexpr std::int64_t kMostBatch = std::int64_t{1} << 40;

bool can_be(const Point& point) {
  const bool timed = !point.time || (point.time->low > Ns{} && point.time->low <= point.time->step && point.time->step <= point.time->high);
  return point.batch > 0 && point.batch <= kMostBatch && point.peak >= Bytes{} && timed;
}

bool has(const BatchSizes& sizes, std::int64_t batch) {
  return std::ranges::find(sizes.points, batch, &Point::batch) != sizes.points.end();
}

}  // namespace

std::filesystem::path kept_batch_sizes(const std::filesystem::path& bundle) {
  return bundle / "batch_sizes.json";
}

std::optional<BatchSizes> read_kept_batch_sizes(const std::filesystem::path& bundle, const std::string& profile) {
  const auto text = read_file_inside(bundle, kept_batch_sizes(bundle), kMostBytes);
  if (!text) return std::nullopt;
  auto read = read_batch_sizes(*text);
  if (!read || read->profile != profile) return std::nullopt;
  std::erase_if(read->points, [](const Point& point) { return !can_be(point); });
  std::ranges::stable_sort(read->points, {}, &Point::batch);
  const auto twice = std::ranges::unique(read->points, {}, &Point::batch);
  read->points.erase(twice.begin(), twice.end());
  if (read->points.size() > kMostPoints) read->points.resize(kMostPoints);
  return std::move(*read);
}

BatchSizes joined(BatchSizes now, const BatchSizes& before) {
  for (const Point& point : before.points) {
    if (!has(now, point.batch)) now.points.push_back(point);
  }
  std::ranges::sort(now.points, {}, &Point::batch);
  if (!now.end) now.end = before.end;
  return now;
}

}  // namespace hotlens::lab
