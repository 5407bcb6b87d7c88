#include "server/session/client/crash_note.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "tests/unit/catch.h"

using namespace hotlens::session;

namespace {

// What a child wrote to standard error, and the signal that ended it.
template <class Body>
std::pair<std::string, int> last_words(Body body) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    note_crashes();
    body();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string said;
  std::array<char, 256> part{};
  for (ssize_t size = 0; (size = ::read(ends[0], part.data(), part.size())) > 0;) said.append(part.data(), static_cast<std::size_t>(size));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return {said, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

}  // namespace

TEST_CASE("a crash names the message that was being handled, and ends the program by its signal") {
  const auto [said, signal] = last_words([] {
    const Handling now("textDocument/hover");
    ::raise(SIGSEGV);
  });
  CHECK(said == "hotlens: crashed while handling textDocument/hover; please report this\n");
  CHECK(signal == SIGSEGV);
}

TEST_CASE("a crash between messages says so; a name that somebody sent cannot write to a terminal as it likes") {
  CHECK(last_words([] {
          {
            const Handling before("initialized");
          }
          ::raise(SIGABRT);
        }).first == "hotlens: crashed between messages; please report this\n");
  const auto hostile = last_words([] {
    const Handling now("\x1b[2J" + std::string(1000, 'x'));
    ::raise(SIGILL);
  });
  CHECK_FALSE(hostile.first.contains('\x1b'));
  CHECK(hostile.first.size() < 200);
}
