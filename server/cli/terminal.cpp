#include "server/cli/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

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

int fail(const Error& error) {
  std::cerr << "hotlens: " << error.message;
  if (!error.where.empty() && !error.message.contains(error.where)) std::cerr << " (" << error.where << ")";
  std::cerr << '\n';
  switch (error.code) {
    case ErrorCode::usage:
      return kWrongUsage;
    case ErrorCode::failed:
      return kScriptFailed;
    default:
      return kInputUnusable;
  }
}

}  // namespace hotlens::cli
