#include "protocol/rpc.h"

#include <utility>

namespace hotlens::protocol {
namespace {

Rejected rejected(Json id, std::string message) {
  return {std::move(id), {Code::invalid_request, std::move(message)}};
}

bool is_id(const Json& value) {
  return value.is_number_integer() || value.is_string();
}

Response response(Json& body, Json id) {
  if (const auto error = body.find("error"); error != body.end() && !error->is_null()) {
    RpcError reason{Code::internal_error, "unknown error"};
    if (error->is_object()) {
      if (const auto code = error->find("code"); code != error->end() && code->is_number_integer()) {
        reason.code = static_cast<Code>(code->get<std::int64_t>());
      }
      if (const auto text = error->find("message"); text != error->end() && text->is_string()) reason.message = text->get<std::string>();
    }
    return {std::move(id), std::unexpected(std::move(reason))};
  }
  const auto result = body.find("result");
  return {std::move(id), result == body.end() ? Json() : std::move(*result)};
}

// The rest of a request or notification. Written by hand around dump_json(): large results and params are not copied into a message first.
std::string call(std::string_view method, const Json& params) {
  std::string text = R"(,"method":)" + dump_json(method);
  if (!params.is_null()) text += R"(,"params":)" + dump_json(params);
  return text + "}";
}

}  // namespace

Message decode(std::string_view text) {
  auto parsed = parse_json(text);
  if (!parsed) return Rejected{Json(), {Code::parse_error, std::move(parsed.error())}};
  Json& body = *parsed;
  if (body.is_array()) return rejected(Json(), "batches are not supported: send one message at a time");
  if (!body.is_object()) return rejected(Json(), "a message must be a JSON object");

  const auto id_field = body.find("id");
  const bool has_id = id_field != body.end();
  Json id = has_id && is_id(*id_field) ? *id_field : Json();
  const auto version = body.find("jsonrpc");
  if (version == body.end() || *version != "2.0") return rejected(std::move(id), "`jsonrpc` must be \"2.0\"");

  const auto method = body.find("method");
  if (method == body.end()) {
    const bool answer = body.contains("result") || body.contains("error");
    if (!answer) return rejected(std::move(id), "the message has neither `method` nor `result` nor `error`");
    return response(body, std::move(id));
  }
  if (!method->is_string()) return rejected(std::move(id), "`method` must be a string");
  if (has_id && id.is_null()) return rejected(Json(), "`id` must be an integer or a string");
  const auto params = body.find("params");
  Json arguments = params == body.end() ? Json() : std::move(*params);
  if (!arguments.is_null() && !arguments.is_structured()) return rejected(std::move(id), "`params` must be an object or an array");
  if (has_id) return Request{std::move(id), method->get<std::string>(), std::move(arguments)};
  return Notification{method->get<std::string>(), std::move(arguments)};
}

std::string encode_response(const Json& id, const Outcome& outcome) {
  const std::string head = R"({"jsonrpc":"2.0","id":)" + dump_json(id);
  if (const auto* written = std::get_if<Written>(&outcome)) return head + R"(,"result":)" + written->json + "}";
  const auto& answer = std::get<Answer>(outcome);
  if (answer) return head + R"(,"result":)" + dump_json(*answer) + "}";
  Json error{{"code", static_cast<int>(answer.error().code)}, {"message", answer.error().message}};
  if (!answer.error().data.is_null()) error["data"] = answer.error().data;
  return head + R"(,"error":)" + dump_json(error) + "}";
}

std::string encode_request(const Json& id, std::string_view method, const Json& params) {
  return R"({"jsonrpc":"2.0","id":)" + dump_json(id) + call(method, params);
}

std::string encode_notification(std::string_view method, const Json& params) {
  return R"({"jsonrpc":"2.0")" + call(method, params);
}

Reply& Reply::operator=(Reply&& other) noexcept {
  std::swap(sink_, other.sink_);
  return *this;
}

Reply::~Reply() {
  if (sink_) sink_(std::unexpected(RpcError{Code::internal_error, "the request was dropped without an answer"}));
}

void Reply::operator()(Answer answer) {
  send(std::move(answer));
}

void Reply::operator()(Written result) {
  send(std::move(result));
}

void Reply::send(Outcome outcome) {
  if (auto sink = std::exchange(sink_, nullptr)) sink(std::move(outcome));
}

}  // namespace hotlens::protocol
