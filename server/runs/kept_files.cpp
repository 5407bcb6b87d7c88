#include "server/runs/kept_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

namespace hotlens::runs {
namespace {

namespace fs = std::filesystem;

// What git sees of the folder, and what it saw before there was a file to commit.
constexpr std::string_view kIgnored = "*\n!runs.json\n", kIgnoredBefore = "*\n";

Error cannot_write(const fs::path& path, const std::string& why) {
  return {ErrorCode::failed, path.string() + " cannot be written: " + why + ".", path.string()};
}

// What somebody has written there himself stays.
Result<void> let_git_see(const fs::path& ignored) {
  const auto text = read_file(ignored, kMostKeptBytes);
  if (text ? *text != kIgnoredBefore : text.error().code != ErrorCode::not_found) return {};
  return write_whole(ignored, kIgnored);
}

}  // namespace

Result<void> write_whole(const fs::path& path, std::string_view text) {
  const fs::path draft = path.string() + "." + std::to_string(::getpid());
  std::error_code error;
  fs::remove(draft, error);
  std::ofstream out(draft, std::ios::binary | std::ios::noreplace);  // a link that somebody put there is not followed
  out << text;
  out.close();
  if (out) fs::rename(draft, path, error);
  if (out && !error) return {};
  const std::string why = error ? error.message() : std::strerror(errno);
  fs::remove(draft, error);
  return std::unexpected(cannot_write(path, why));
}

Result<void> make_kept_folder(const fs::path& folder) {
  const fs::path kept = folder / ".hotlens";
  std::error_code error;
  fs::create_directories(kept, error);
  if (error) return std::unexpected(cannot_write(kept, error.message()));
  return let_git_see(kept / ".gitignore");
}

// The folder itself is what is locked: no file more that could be left behind.
KeptFilesLock::KeptFilesLock(const fs::path& folder) : kept_(::open((folder / ".hotlens").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  constexpr std::chrono::milliseconds kPause{5}, kPatience{1000};
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (kept_.get() >= 0 && ::flock(kept_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (std::chrono::steady_clock::now() > until) return;
    std::this_thread::sleep_for(kPause);
  }
}

Result<void> write_kept_file(const fs::path& folder, std::string_view name, std::string_view text) {
  if (auto made = make_kept_folder(folder); !made) return made;
  return write_whole(folder / ".hotlens" / name, text);
}

}  // namespace hotlens::runs
