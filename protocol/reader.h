// Reads fields out of a JSON value and remembers the first thing that was wrong, with its path.
//
//   Reader params(json);
//   const std::string uri = params["textDocument"]["uri"].string();
//   if (auto error = params.error()) return std::unexpected(*error);   // "expected a string at /textDocument/uri"
//
// A wrong field reads as its type's empty value, so a whole shape is read first and judged once. Readers made from one another share the
// verdict; they view the JSON and must not outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/rpc.h"

namespace hotlens::protocol {

class Reader {
 public:
  explicit Reader(const Json& value);

  Reader operator[](std::string_view key) const;            // required
  std::optional<Reader> maybe(std::string_view key) const;  // absent or null: nullopt
  std::vector<Reader> items() const;                        // of an array

  std::string string() const;
  std::int64_t integer() const;
  std::uint32_t unsigned32() const;  // 0 … 2^31-1, as LSP's uinteger
  bool boolean() const;
  const Json& json() const { return *value_; }

  void fail(std::string_view expected) const;  // records "expected … at PATH" unless something was wrong before
  std::optional<RpcError> error() const;       // InvalidParams

 private:
  Reader(const Json& value, std::string path, std::shared_ptr<std::string> wrong);

  const Json* value_;
  std::string path_;
  std::shared_ptr<std::string> wrong_;  // empty: nothing wrong so far
};

}  // namespace hotlens::protocol
