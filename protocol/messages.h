// Our own messages and commands, as data: MESSAGES.md describes them for people, a test holds the two together, and the session answers
// exactly these.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hotlens::protocol {

constexpr int kProtocolVersion = 1;  // raised when a message changes shape; `experimental.hotlens.protocolVersion` on both sides

enum class Kind : std::uint8_t { request, notification };
enum class Sender : std::uint8_t { client, server };

struct MessageSpec {
  std::string_view method;
  Sender sender;
  Kind kind;
  std::string_view params;  // keys, separated by a space; `?` marks those that may be absent
  std::string_view result;  // keys of the answer; empty for a notification
};

struct CommandSpec {
  std::string_view id;
  std::string_view argument;  // keys of the one optional object argument
  std::string_view result;
};

namespace message {
inline constexpr std::string_view kHints = "hotlens/hints";
inline constexpr std::string_view kProfileState = "hotlens/profileState";
inline constexpr std::string_view kProfileChanged = "hotlens/profileChanged";
inline constexpr std::string_view kTrust = "hotlens/trust";
}  // namespace message

namespace command {
inline constexpr std::string_view kProfile = "hotlens.server.profile";
inline constexpr std::string_view kCancel = "hotlens.server.cancel";
inline constexpr std::string_view kReload = "hotlens.server.reload";
}  // namespace command

inline constexpr std::string_view kStateKeys = "profile? loading running runId? message?";

inline constexpr std::array<MessageSpec, 4> kMessages{{
    {message::kHints, Sender::client, Kind::request, "textDocument range?", "version hints"},
    {message::kProfileState, Sender::client, Kind::request, "textDocument?", kStateKeys},
    {message::kProfileChanged, Sender::server, Kind::notification, kStateKeys, ""},
    {message::kTrust, Sender::client, Kind::notification, "trusted", ""},
}};

inline constexpr std::array<CommandSpec, 3> kCommands{{
    {command::kProfile, "script? args? python? uri?", "started runId? script? command? message?"},
    {command::kCancel, "runId?", "cancelled"},
    {command::kReload, "", "loading"},
}};

// The table rows of MESSAGES.md.
std::string table_row(const MessageSpec& spec);
std::string table_row(const CommandSpec& spec);

}  // namespace hotlens::protocol
