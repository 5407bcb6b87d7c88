// `hotlens mcp`: the server for one agent, over standard input and output.
#pragma once

#include <filesystem>
#include <string>

namespace hotlens::mcp {

struct Options {
  std::filesystem::path folder;  // empty: the current one
  std::string python;
  bool allow_run = false;
};

// Until the client is gone; then the process ends with 0. Returns (3) only when it cannot begin.
int serve(const Options& options);

}  // namespace hotlens::mcp
