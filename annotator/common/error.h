// Errors and issues as values.
//
// An Error ends an operation; its message is the sentence the user reads: what happened, where, what to do next. An Issue is something
// that was survived (a broken event, an unknown key): it is counted by code and shown once, never fatal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace hotlens {

enum class ErrorCode : std::uint8_t { usage, not_found, unreadable, malformed, unsupported, failed, cancelled };

struct Error {
  ErrorCode code = ErrorCode::failed;
  std::string message;  // one sentence, next step last
  std::string where;    // a path, or path:line, or a JSON path; empty where it makes no sense
};

template <class T>
using Result = std::expected<T, Error>;

struct Issue {
  std::string code;     // stable, kebab-case: "truncated-trace"
  std::string message;  // first occurrence, as a sentence
  std::int64_t count = 1;
};

// Collects issues; the same code is kept once and counted.
class Issues {
 public:
  void add(std::string_view code, std::string_view message, std::int64_t count = 1) {
    auto known = std::ranges::find(items_, code, &Issue::code);
    if (known != items_.end()) {
      known->count += count;
    } else {
      items_.push_back({std::string(code), std::string(message), count});
    }
  }
  const std::vector<Issue>& items() const { return items_; }

 private:
  std::vector<Issue> items_;
};

}  // namespace hotlens
