#include "protocol/messages.h"

namespace hotlens::protocol {
namespace {

std::string code(std::string_view text) {
  return text.empty() ? "–" : std::string("`").append(text).append("`");
}

}  // namespace

std::string table_row(const MessageSpec& spec) {
  const std::string_view way = spec.sender == Sender::client ? "client → server" : "server → client";
  const std::string_view kind = spec.kind == Kind::request ? "request" : "notification";
  return "| " + code(spec.method) + " | " + std::string(way) + " " + std::string(kind) + " | " + code(spec.params) + " | " +
         code(spec.result) + " |";
}

std::string table_row(const CommandSpec& spec) {
  return "| " + code(spec.id) + " | " + code(spec.argument) + " | " + code(spec.result) + " |";
}

}  // namespace hotlens::protocol
