// What every verb needs to speak to a terminal: colour when it is one, and text from traces that cannot move the cursor.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

#include "annotator/common/error.h"

namespace hotlens::cli {

// Exit codes of CONTRACT: scripts rely on them.
enum ExitCode : std::uint8_t { kDone = 0, kThresholdCrossed = 1, kWrongUsage = 2, kInputUnusable = 3, kScriptFailed = 4 };

enum class OutputFormat : std::uint8_t { text, json };

// True when `fd` is a terminal and NO_COLOR is not set.
bool use_colour(int fd);

std::string dim(std::string_view text, bool colour);
std::string bold(std::string_view text, bool colour);

// How what a verb prints is made harmless: as text, or as JSON, which stays the same for who parses it.
enum class Printed : std::uint8_t { text, json };

// Where std::cout or std::cerr goes while this lives: to a descriptor, cleaned of everything that steers a terminal, whoever printed it. It
// is the one sink of the program, so a name that was forgotten elsewhere is caught here.
class Sink : public std::streambuf {
 public:
  Sink(std::ostream& stream, int fd, Printed as);
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  ~Sink() override;

  // Writes what is left. What could not be written; nothing where the reader went away, which is its good right.
  Result<void> finish();

 protected:
  int_type overflow(int_type next) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  void write(std::size_t size);  // that many bytes from the front

  std::ostream& stream_;
  std::streambuf* before_;
  int fd_;
  Printed as_;
  bool styled_;
  std::string waiting_;
  int failed_ = 0;  // errno
};

// Prints the error as one sentence on stderr and gives the exit code it means.
int fail(const Error& error);

}  // namespace hotlens::cli
