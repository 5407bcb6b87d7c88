// JSON text in and out, made safe for a peer that may send anything and for strings that came from a file system.
#pragma once

#include <expected>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace hotlens::protocol {

using Json = nlohmann::json;

// Deeper nesting has no use in LSP and would exhaust the stack of whoever walks the value.
constexpr int kMaxJsonDepth = 256;

// The error is a sentence for the peer. Lone surrogate escapes (`\ud800`), which editors send for half an emoji, become U+FFFD, one UTF-16
// unit for one unit: dropping the message instead would leave our copy of the document wrong.
std::expected<Json, std::string> parse_json(std::string_view text);

// Bytes that are not UTF-8 become U+FFFD; never throws for content.
std::string dump_json(const Json& value);

}  // namespace hotlens::protocol
