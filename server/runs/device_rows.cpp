#include "server/runs/device_rows.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "annotator/advice/devices/published.h"

namespace hotlens::runs {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRows = 1000;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  return text;
}

// Letters and digits alone, so that a name is a file's whatever it holds; a CPU's row is of one number of threads.
std::string file_name(const devices::Row& row) {
  std::string name;
  for (const char c : lower(row.name)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain || (!name.empty() && name.back() != '-')) name += plain ? c : '-';
  }
  return (name.empty() ? "device" : name.substr(0, 100)) + (row.threads > 0 ? "-" + std::to_string(row.threads) : "") + ".json";
}

std::vector<devices::Row> kept_rows(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json" && files.size() < kMostRows) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<devices::Row> rows;
  for (const fs::path& file : files) {
    if (auto row = devices::read(file)) rows.push_back(std::move(*row));
  }
  return rows;
}

}  // namespace

Result<fs::path> device_folder(const Environment& environment) {
  const auto cache = cache_folder(environment);
  if (!cache) return std::unexpected(Error{ErrorCode::not_found, "there is no folder for measurements: set HOME or XDG_CACHE_HOME", {}});
  return *cache / "hotlens" / "devices";
}

Result<void> keep_row(const devices::Row& row, const std::string& text, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path file = folder / file_name(row), draft = file.string() + ".partial";
  std::ofstream out(draft, std::ios::binary);
  out << text << '\n';
  out.close();
  if (out) fs::rename(draft, file, error);
  if (!out || error) return std::unexpected(Error{ErrorCode::unreadable, file.string() + " cannot be written", file.string()});
  return {};
}

std::optional<devices::Row> kept_row(std::string_view name, std::int64_t threads, const fs::path& folder) {
  std::vector<devices::Row> rows = kept_rows(folder);
  const auto found = std::ranges::find_if(rows, [&](const devices::Row& row) { return row.name == name && row.threads == threads; });
  return found == rows.end() ? std::nullopt : std::optional(std::move(*found));
}

std::optional<devices::Row> peaks_of(std::string_view name, std::int64_t threads, const Environment& environment) {
  const auto folder = device_folder(environment);
  auto kept = folder ? kept_row(name, threads, *folder) : std::nullopt;
  return kept ? kept : devices::published(name);
}

Result<devices::Row> find_row(const std::string& wanted, const fs::path& folder) {
  std::error_code error;
  if (fs::is_regular_file(wanted, error)) return devices::read(wanted);
  std::string known;
  std::vector<devices::Row> rows = kept_rows(folder);
  for (devices::Row& row : rows) {
    if (lower(row.name).contains(lower(wanted))) return std::move(row);
    known += (known.empty() ? "" : "; ") + devices::label(row);
  }
  return std::unexpected(Error{ErrorCode::not_found,
                               "no measurement of `" + wanted + "` is kept (" + (known.empty() ? "there is none" : "there are " + known) +
                                   "); run hotlens bench-device --out FILE on that machine and name the file",
                               {}});
}

}  // namespace hotlens::runs
