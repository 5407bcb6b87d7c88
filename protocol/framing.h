// Bytes to message bodies and back: headers as in the base protocol of LSP, or a line for each message as in MCP over stdio.
//
// A FrameReader takes bytes in any chunking and yields whole bodies. Headers are read as HTTP headers are: names in any case, optional
// spaces, unknown names skipped. After the first fault the stream cannot be trusted (a wrong length shifts everything behind it), so the
// reader stays faulty for good and the caller closes. Memory stays below the two limits plus one chunk: nothing is allocated on a header's
// word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace hotlens::protocol {

constexpr std::size_t kMaxHeaderBytes = 8 * 1024;
constexpr std::size_t kMaxBodyBytes = 64 * 1024 * 1024;

enum class FrameFault : std::uint8_t {
  header_too_long,   // no blank line within kMaxHeaderBytes
  bad_header,        // a line without colon, an invalid name, a bare LF or CR
  no_length,         // the header ends without Content-Length
  duplicate_length,  // twice, even with the same value
  bad_length,        // not a plain decimal number
  body_too_long,     // above kMaxBodyBytes
  bad_charset,       // a Content-Type that is not UTF-8
  line_too_long,     // a line above kMaxBodyBytes; those after it can be read
};

std::string_view describe(FrameFault fault);

class FrameReader {
 public:
  void feed(std::string_view bytes);

  // The next whole body; nullopt when more bytes are needed. After a fault: the same fault for ever.
  std::optional<std::expected<std::string, FrameFault>> next();

  // Bytes of an unfinished message are held: at end of input the stream was cut.
  bool mid_message() const { return body_length_.has_value() || consumed_ < buffer_.size(); }

 private:
  void compact();

  std::string buffer_;
  std::size_t consumed_ = 0;  // bytes of buffer_ already handed out
  std::size_t searched_ = 0;  // the blank line does not start before this
  std::optional<std::size_t> body_length_;
  std::optional<FrameFault> fault_;
};

// The exact spelling every client reads: one Content-Length header, nothing else.
std::string frame(std::string_view body);

// Bodies without a line break, a line each; blank lines are skipped. A line that is too long is left out, and costs nothing but itself.
class LineReader {
 public:
  void feed(std::string_view bytes);

  // The next whole line; nullopt when more bytes are needed; the fault once for each line that is too long.
  std::optional<std::expected<std::string, FrameFault>> next();

  bool mid_message() const { return buffer_.find_first_not_of(" \t\r\n", consumed_) != std::string::npos; }

 private:
  std::string buffer_;
  std::size_t consumed_ = 0, searched_ = 0;
  bool skipping_ = false;  // to the end of a line that is too long
};

std::string line(std::string_view body);

}  // namespace hotlens::protocol
