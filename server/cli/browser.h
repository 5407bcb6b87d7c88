// The user's browser.
#pragma once

#include <filesystem>
#include <string>

namespace hotlens::cli {

// Starts `opener` with `address`, as a process that has nothing of ours: no blocked signal, no descriptor, no terminal, and nobody who has
// to wait for its end.
void open_in_browser(const std::filesystem::path& opener, const std::string& address);

}  // namespace hotlens::cli
