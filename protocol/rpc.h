// JSON-RPC 2.0 messages: what came in, and the bytes of what goes out.
//
// decode() sorts any body into one of four kinds and never throws; what cannot be used is a Rejected that says whom to tell. A Reply is the
// right to answer one request: it answers exactly once, and if it is dropped unanswered it answers InternalError by itself.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "protocol/json.h"

namespace hotlens::protocol {

enum class Code : int {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  server_not_initialized = -32002,
  request_failed = -32803,
  content_modified = -32801,
  request_cancelled = -32800,
};

struct RpcError {
  Code code = Code::internal_error;
  std::string message;
  Json data = nullptr;  // null: none
};

using Answer = std::expected<Json, RpcError>;

// A result that is JSON text already: large ones are written as they are made, without a tree of them in memory.
struct Written {
  explicit Written(std::string text) : json(std::move(text)) {}
  std::string json;
};
using Outcome = std::variant<Answer, Written>;

struct Request {
  Json id;  // integer or string, echoed with its type
  std::string method;
  Json params;  // null when absent
};

struct Notification {
  std::string method;
  Json params;
};

struct Response {
  Json id;
  Answer answer;
};

struct Rejected {
  Json id;  // null when it could not be read
  RpcError error;
};

using Message = std::variant<Request, Notification, Response, Rejected>;

Message decode(std::string_view body);

// Bodies, without the frame.
std::string encode_response(const Json& id, const Outcome& outcome);
std::string encode_request(const Json& id, std::string_view method, const Json& params);
std::string encode_notification(std::string_view method, const Json& params);

// Optional fields: an absent value leaves no key, never a null.
template <class T>
void put(Json& object, const char* key, const T& optional) {
  if (optional) object[key] = *optional;
}

class Reply {
 public:
  using Sink = std::move_only_function<void(Outcome)>;

  explicit Reply(Sink sink) : sink_(std::move(sink)) {}
  Reply(Reply&& other) noexcept : sink_(std::exchange(other.sink_, nullptr)) {}
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  void operator()(Answer answer);  // later calls are ignored
  void operator()(Written result);
  bool answered() const { return !sink_; }

 private:
  void send(Outcome outcome);

  Sink sink_;
};

}  // namespace hotlens::protocol
