#include "server/mcp/serve.h"

#include <signal.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "annotator/common/harmless.h"
#include "server/mcp/server.h"
#include "server/session/client/channel.h"

namespace hotlens::mcp {
namespace {

constexpr std::chrono::milliseconds kLastWords{500};
constexpr int kUnusable = 3;

void complain(const std::string& text) {
  std::fprintf(stderr, "hotlens: %s\n", harmless(text).c_str());
}

}  // namespace

int serve(const Options& options) {
  ::signal(SIGPIPE, SIG_IGN);
  std::error_code error;
  const std::filesystem::path root = std::filesystem::canonical(options.folder.empty() ? "." : options.folder, error);
  if (error || !std::filesystem::is_directory(root, error)) {
    complain(options.folder.string() + " is not a folder. Name the folder of the project.");
    return kUnusable;
  }
  session::Loop loop;
  const session::Connection connection = session::standard_streams();
  session::Output output(connection.out.get(), [&loop] { loop.stop(0); }, session::Framing::lines);
  Server server(loop, [&output](const std::string& body, session::Output::Weight weight) { output.send(body, weight); },
                {.folder = {root}, .python = options.python, .allow_run = options.allow_run});
  loop.on_fault([](const Error& fault) { complain(fault.message); });
  loop.on_terminate([&loop] { loop.stop(0); });
  session::Input* source = nullptr;
  const auto take_one = [&] {
    if (auto incoming = source->take()) server.receive(std::move(*incoming));
  };
  // The reading thread may run ahead of the assignment below, its tasks cannot: the strand starts later.
  session::Input input(connection.in.get(),
                       {.arrived = [&] { loop.post(take_one); },
                        .ended = [&](session::Input::End, const std::string&) { loop.post([&server] { server.input_ended(); }); }},
                       session::Framing::lines);
  source = &input;
  const int code = loop.run();
  output.flush(kLastWords);
  server.end();
  // Not by unwinding: the pool may be inside a read that cannot be interrupted.
  std::_Exit(code);
}

}  // namespace hotlens::mcp
