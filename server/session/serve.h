// `hotlens lsp`: the language server for one client.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace hotlens::session {

struct LspOptions {
  std::optional<std::uint16_t> socket_port;  // listen for one client on this loopback port; absent: standard input and output
  std::filesystem::path log_file;            // empty: messages go to standard error only when something is wrong
};

// Until the client is gone; then the process ends with 0 after an orderly shutdown, else 1. Returns (1) only when it cannot begin.
int serve(const LspOptions& options);

}  // namespace hotlens::session
