#include "server/cli/browser.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hotlens::cli {
namespace {

constexpr int kMostDescriptors = 65536;  // beyond that nobody opened one here

// Only async-signal-safe calls: other threads may hold any lock.
[[noreturn]] void become(const char* opener, const char* address, long descriptors) {
  ::setsid();
  if (::fork() != 0) ::_exit(0);  // the grandchild is the system's to reap
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) ::signal(signal, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int stream = 0; stream < 3; ++stream) ::dup2(nothing, stream);
  for (int fd = 3; fd < descriptors; ++fd) ::close(fd);
  ::execl(opener, opener, address, static_cast<char*>(nullptr));
  ::_exit(127);
}

}  // namespace

void open_in_browser(const std::filesystem::path& opener, const std::string& address) {
  const long most = ::sysconf(_SC_OPEN_MAX);
  const pid_t child = ::fork();
  if (child == 0) become(opener.c_str(), address.c_str(), most < 0 || most > kMostDescriptors ? kMostDescriptors : most);
  if (child > 0) ::waitpid(child, nullptr, 0);
}

}  // namespace hotlens::cli
