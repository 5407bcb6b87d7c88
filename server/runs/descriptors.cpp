#include "server/runs/descriptors.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hotlens::runs {
namespace {

// What Linux allows a process by default at most (fs.nr_open).
constexpr rlim_t kMostDescriptors = 1U << 20U;

// The library's own function is younger than some kernels and libraries. False where the kernel lacks it (before Linux 5.9), or the flag
// (before 5.11), or somebody forbids it.
bool close_range(unsigned first, unsigned last, unsigned flags) {
  return ::syscall(SYS_close_range, first, last, flags) == 0;
}

// One by one, where there is no other way.
template <class Each>
void for_each_number(int first, const Each& each) {
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kMostDescriptors;
  const int end = static_cast<int>(known ? limit.rlim_cur : kMostDescriptors);
  for (int fd = first; fd < end; ++fd) each(fd);
}

}  // namespace

void close_from_at_exec(int first) {
  if (close_range(static_cast<unsigned>(first), ~0U, CLOSE_RANGE_CLOEXEC)) return;
  for_each_number(first, [](int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); });
}

void close_all_but(int kept) {
  const auto number = static_cast<unsigned>(kept);
  if ((kept == 0 || close_range(0, number - 1, 0)) && close_range(number + 1, ~0U, 0)) return;
  for_each_number(0, [&](int fd) {
    if (fd != kept) ::close(fd);
  });
}

}  // namespace hotlens::runs
