#include "server/session/serve.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
#include <array>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "annotator/common/harmless.h"
#include "server/session/client/channel.h"
#include "server/session/client/crash_note.h"
#include "server/session/client/loop.h"
#include "server/session/session.h"

namespace hotlens::session {
namespace {

using runs::Fd;

// What was answered must reach the client before we leave, but a client that does not read must not hold us.
constexpr std::chrono::milliseconds kLastWords{500};
constexpr std::size_t kMaxLogLine = 2000;

class LogFile {
 public:
  explicit LogFile(const std::filesystem::path& path) : file_(path.empty() ? nullptr : std::fopen(path.c_str(), "ae")) {}
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile() {
    if (file_ != nullptr) std::fclose(file_);
  }

  void note(std::string_view text) const {
    if (file_ != nullptr) write(file_, text);
  }
  // Editors show what comes on standard error as errors, so only this goes there.
  void warn(std::string_view text) const { write(file_ != nullptr ? file_ : stderr, text); }

 private:
  // Part of a text may be the peer's.
  static void write(std::FILE* to, std::string_view said) {
    const std::string text = harmless(said.substr(0, kMaxLogLine));
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::array<char, 32> stamp{};
    std::strftime(stamp.data(), stamp.size(), "%H:%M:%S", &parts);
    std::fprintf(to, "%s hotlens: %s\n", stamp.data(), text.c_str());
    std::fflush(to);
  }

  std::FILE* file_;
};

Result<Connection> accept_one(std::uint16_t port) {
  const auto failed = [&] {
    return std::unexpected(Error{ErrorCode::failed, "Cannot listen on 127.0.0.1:" + std::to_string(port) + ". Choose another port.", {}});
  };
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return failed();
  if (::listen(listener.get(), 1) != 0) return failed();
  Fd in(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!in) return failed();
  Fd out(::fcntl(in.get(), F_DUPFD_CLOEXEC, 3));
  return Connection{std::move(in), std::move(out)};
}

[[noreturn]] void converse(const Connection& connection, const LogFile& log) {
  Loop loop;
  Output output(connection.out.get(), [&loop] { loop.stop(1); });
  Session session(loop, [&output](const std::string& body, Output::Weight weight) { output.send(body, weight); },
                  {.note = [&log](std::string_view text) { log.note(text); }, .warn = [&log](std::string_view text) { log.warn(text); }});
  loop.on_fault([&log](const Error& error) { log.warn(error.message); });
  loop.on_terminate([&loop] { loop.stop(1); });
  Input* source = nullptr;
  const auto take_one = [&] {
    if (auto incoming = source->take()) session.receive(std::move(*incoming));
  };
  // The reading thread may run ahead of the assignment below, its tasks cannot: the strand starts later.
  Input input(connection.in.get(),
              {.arrived = [&] { loop.post(take_one); },
               .ended =
                   [&](Input::End end, std::string reason) {
                     loop.post([&session, end, reason = std::move(reason)] { session.input_ended(end == Input::End::broken, reason); });
                   }});
  source = &input;
  const int code = loop.run();
  output.flush(kLastWords);
  session.end_run();
  // Not by unwinding: the pool may be inside a read that cannot be interrupted, and tasks hold replies to a client that is gone.
  std::_Exit(code);
}

}  // namespace

int serve(const LspOptions& options) {
  ::signal(SIGPIPE, SIG_IGN);
  note_crashes();
  const LogFile log(options.log_file);
  if (!options.socket_port) converse(standard_streams(), log);
  const auto connection = accept_one(*options.socket_port);
  if (connection) converse(*connection, log);
  log.warn(connection.error().message);
  return 1;
}

}  // namespace hotlens::session
