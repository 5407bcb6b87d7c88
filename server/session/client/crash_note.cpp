#include "server/session/client/crash_note.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "annotator/common/harmless.h"

namespace hotlens::session {
namespace {

// A signal's handler has no other way to them than by a name.
thread_local std::array<char, 120> handled;
thread_local volatile sig_atomic_t length = 0;

void write_all(std::string_view text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

// The default action was set back when the signal came: it ends the program once the handler returns.
void note(int signal) {
  write_all("hotlens: crashed ");
  write_all(length > 0 ? "while handling " : "between messages");
  write_all({handled.data(), static_cast<std::size_t>(length)});
  write_all("; please report this\n");
  ::raise(signal);
}

}  // namespace

Handling::Handling(std::string_view what) {
  const std::string text = harmless(what.substr(0, handled.size()));
  const std::size_t most = std::min(text.size(), handled.size());
  std::copy_n(text.begin(), most, handled.begin());
  length = static_cast<sig_atomic_t>(most);
}

Handling::~Handling() {
  length = 0;
}

void note_crashes() {
  struct sigaction action{};
  action.sa_handler = note;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigaction(signal, &action, nullptr);
}

}  // namespace hotlens::session
