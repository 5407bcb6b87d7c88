#include "protocol/framing.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace hotlens::protocol {
namespace {

constexpr std::string_view kBlankLine = "\r\n\r\n";

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_token(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || kMarks.contains(c);
  });
}

std::expected<std::size_t, FrameFault> length(std::string_view value) {
  if (value.empty() || !std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; })) {
    return std::unexpected(FrameFault::bad_length);
  }
  std::size_t number = 0;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
  if (parsed.ec != std::errc{} || number > kMaxBodyBytes) return std::unexpected(FrameFault::body_too_long);
  return number;
}

// `application/vscode-jsonrpc; charset=utf-8`: only the charset matters, and absence means UTF-8.
bool is_utf8(std::string_view content_type) {
  std::string text(content_type);
  std::ranges::transform(text, text.begin(), lower);
  const auto at = text.find("charset=");
  if (at == std::string::npos) return true;
  std::string_view charset = std::string_view(text).substr(at + 8);
  charset = trimmed(charset.substr(0, charset.find(';')));
  if (charset.size() >= 2 && charset.front() == '"' && charset.back() == '"') charset = charset.substr(1, charset.size() - 2);
  return charset == "utf-8" || charset == "utf8";
}

std::expected<std::size_t, FrameFault> body_length(std::string_view header) {
  std::optional<std::size_t> found;
  while (!header.empty()) {
    const auto end = std::min(header.find("\r\n"), header.size());
    const std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(end + 2, header.size()));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || line.find_first_of("\r\n") != std::string_view::npos) {
      return std::unexpected(FrameFault::bad_header);
    }
    const std::string_view name = trimmed(line.substr(0, colon)), value = trimmed(line.substr(colon + 1));
    if (!is_token(name)) return std::unexpected(FrameFault::bad_header);
    if (same_name(name, "content-length")) {
      if (found) return std::unexpected(FrameFault::duplicate_length);
      const auto number = length(value);
      if (!number) return std::unexpected(number.error());
      found = *number;
    } else if (same_name(name, "content-type") && !is_utf8(value)) {
      return std::unexpected(FrameFault::bad_charset);
    }
  }
  if (!found) return std::unexpected(FrameFault::no_length);
  return *found;
}

}  // namespace

std::string_view describe(FrameFault fault) {
  switch (fault) {
    case FrameFault::header_too_long:
      return "the header of a message is longer than 8 KiB";
    case FrameFault::bad_header:
      return "a header line is not `Name: value` with CRLF at its end";
    case FrameFault::no_length:
      return "a message has no Content-Length header";
    case FrameFault::duplicate_length:
      return "a message has more than one Content-Length header";
    case FrameFault::bad_length:
      return "Content-Length is not a decimal number";
    case FrameFault::body_too_long:
      return "Content-Length is larger than 64 MiB";
    case FrameFault::bad_charset:
      return "Content-Type names a charset other than UTF-8";
    case FrameFault::line_too_long:
      return "a line is longer than 64 MiB";
  }
  return "unknown fault";
}

void FrameReader::feed(std::string_view bytes) {
  if (!fault_) buffer_.append(bytes);
}

void FrameReader::compact() {
  // Moving the rest to the front costs its size; waiting until most of the buffer is spent keeps that linear over a session.
  if (consumed_ < 64 * 1024 && consumed_ < buffer_.size()) return;
  buffer_.erase(0, consumed_);
  searched_ -= std::min(searched_, consumed_);
  consumed_ = 0;
  if (buffer_.empty() && buffer_.capacity() > 1024 * 1024) buffer_.shrink_to_fit();
}

std::optional<std::expected<std::string, FrameFault>> FrameReader::next() {
  if (fault_) return std::unexpected(*fault_);
  const auto fail = [&](FrameFault fault) {
    fault_ = fault;
    buffer_ = {};
    consumed_ = searched_ = 0;
    return std::unexpected(fault);
  };
  if (!body_length_) {
    const auto blank = buffer_.find(kBlankLine, std::max(searched_, consumed_));
    if (blank == std::string::npos || blank - consumed_ > kMaxHeaderBytes) {
      const std::string_view held = std::string_view(buffer_).substr(consumed_);
      if (held.size() > kMaxHeaderBytes) return fail(FrameFault::header_too_long);
      // Garbage without any CRLF would wait for ever: a line feed that no carriage return precedes ends it at once.
      for (auto feed = held.find('\n'); feed != std::string_view::npos; feed = held.find('\n', feed + 1)) {
        if (feed == 0 || held[feed - 1] != '\r') return fail(FrameFault::bad_header);
      }
      searched_ = buffer_.size() - std::min<std::size_t>(held.size(), kBlankLine.size() - 1);
      return std::nullopt;
    }
    const auto number = body_length(std::string_view(buffer_).substr(consumed_, blank - consumed_));
    if (!number) return fail(number.error());
    body_length_ = *number;
    consumed_ = blank + kBlankLine.size();
  }
  if (buffer_.size() - consumed_ < *body_length_) return std::nullopt;
  std::string body = buffer_.substr(consumed_, *body_length_);
  consumed_ += *body_length_;
  searched_ = consumed_;
  body_length_.reset();
  compact();
  return body;
}

std::string frame(std::string_view body) {
  std::string framed = "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  framed.append(body);
  return framed;
}

void LineReader::feed(std::string_view bytes) {
  if (skipping_) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    skipping_ = false;
  }
  buffer_.append(bytes);
}

std::optional<std::expected<std::string, FrameFault>> LineReader::next() {
  while (true) {
    const auto end = buffer_.find('\n', std::max(searched_, consumed_));
    if (end == std::string::npos) break;
    std::string body = buffer_.substr(consumed_, end - consumed_);
    consumed_ = searched_ = end + 1;
    if (body.ends_with('\r')) body.pop_back();
    if (body.size() > kMaxBodyBytes) return std::unexpected(FrameFault::line_too_long);
    if (body.find_first_not_of(" \t\r") != std::string::npos) return body;
  }
  buffer_.erase(0, consumed_);
  consumed_ = 0;
  searched_ = buffer_.size();
  if (buffer_.size() <= kMaxBodyBytes) return std::nullopt;
  buffer_ = {};
  searched_ = 0;
  skipping_ = true;
  return std::unexpected(FrameFault::line_too_long);
}

std::string line(std::string_view body) {
  return std::string(body) + '\n';
}

}  // namespace hotlens::protocol
