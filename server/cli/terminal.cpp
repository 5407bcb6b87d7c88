#include "server/cli/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace hotlens::cli {
namespace {

std::string wrapped(std::string_view text, std::string_view code, bool colour) {
  if (!colour) return std::string(text);
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace

bool use_colour(int fd) {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(fd) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

std::string dim(std::string_view text, bool colour) {
  return wrapped(text, "2", colour);
}

std::string bold(std::string_view text, bool colour) {
  return wrapped(text, "1", colour);
}

std::size_t cells(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace hotlens::cli
