#include "annotator/common/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <vector>

#include "annotator/common/file.h"

namespace hotlens {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kMostTable = std::size_t{1} << 16;  // bytes of a table of the kernel

std::string table(const fs::path& path) {
  return read_file(path, kMostTable).value_or(std::string());
}

std::optional<std::size_t> number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::size_t value = 0;
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{} ? std::optional(value) : std::nullopt;
}

// The number behind a key at the start of a line.
std::optional<std::size_t> row(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (text.starts_with(key)) return number(text.substr(key.size(), end - key.size()));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

struct Group {
  std::string most, used, stat;
};

// The group of this process and those around it. Inside a container its own group is the root.
std::vector<Group> groups() {
  const std::string own = table("/proc/self/cgroup");
  const std::size_t unified = own.find("0::/");
  std::vector<Group> all;
  if (unified != std::string::npos) {
    const std::size_t end = std::min(own.find('\n', unified), own.size());
    fs::path path = fs::path(own.substr(unified + 4, end - unified - 4));
    for (;; path = path.parent_path()) {
      const fs::path folder = fs::path("/sys/fs/cgroup") / path;
      all.push_back({table(folder / "memory.max"), table(folder / "memory.current"), table(folder / "memory.stat")});
      if (path.empty()) break;
    }
  }
  const fs::path old = "/sys/fs/cgroup/memory";
  all.push_back({table(old / "memory.limit_in_bytes"), table(old / "memory.usage_in_bytes"), table(old / "memory.stat")});
  return all;
}

std::size_t left_in_groups() {
  std::size_t left = kUnknown;
  for (const Group& group : groups()) left = std::min(left, left_in_group(group.most, group.used, group.stat).value_or(kUnknown));
  return left;
}

// What `ulimit -v` and `ulimit -d` leave.
std::size_t left_in_shell() {
  const std::string status = table("/proc/self/status");
  const auto left = [&](auto what, std::string_view key) {
    rlimit limit{};
    const auto used = row(status, key);
    if (::getrlimit(what, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || !used) return kUnknown;
    return static_cast<std::size_t>(limit.rlim_cur) - std::min<std::size_t>(limit.rlim_cur, *used * 1024);
  };
  return std::min(left(RLIMIT_AS, "VmSize:"), left(RLIMIT_DATA, "VmData:"));
}

}  // namespace

std::optional<std::size_t> available_in(std::string_view meminfo) {
  const auto kilobytes = row(meminfo, "MemAvailable:");
  return kilobytes ? std::optional(*kilobytes * 1024) : std::nullopt;
}

std::optional<std::size_t> total_in(std::string_view meminfo) {
  const auto kilobytes = row(meminfo, "MemTotal:");
  return kilobytes ? std::optional(*kilobytes * 1024) : std::nullopt;
}

std::optional<std::size_t> left_in_group(std::string_view most, std::string_view used, std::string_view stat) {
  const auto limit = number(most), taken = number(used);  // "max" is no number
  if (!limit || !taken) return std::nullopt;
  const std::size_t cache = std::min(row(stat, "inactive_file ").value_or(0), *taken);  // given back on demand
  return *limit - std::min(*limit, *taken - cache);
}

std::size_t memory_left() {
  return std::min({available_in(table("/proc/meminfo")).value_or(kUnknown), left_in_groups(), left_in_shell()});
}

std::optional<std::size_t> memory_of_machine() {
  std::size_t least = total_in(table("/proc/meminfo")).value_or(kUnknown);
  for (const Group& group : groups()) least = std::min(least, number(group.most).value_or(kUnknown));
  return least == kUnknown ? std::nullopt : std::optional(least);
}

std::size_t memory_used() {
  const std::string sizes = table("/proc/self/statm");  // in pages: all, resident, …
  const std::size_t resident = std::min(sizes.find(' '), sizes.size());
  return number(std::string_view(sizes).substr(resident)).value_or(0) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

Error out_of_memory(std::string_view where) {
  return {ErrorCode::unreadable,
          "this needs more memory than there is left; close other programs, record fewer steps, or use a machine with more",
          std::string(where)};
}

MemoryBudget::MemoryBudget(std::size_t bytes) {
  const std::size_t used = memory_used();
  most_ = bytes > kUnknown - used ? kUnknown : used + bytes;
}

}  // namespace hotlens
