// Who gets in: pure checks of a request's target, Host, Origin and token.
//
// Everybody on this machine can reach a loopback port, and so can a page from anywhere through the user's browser. The token keeps out the
// former; the Host check keeps out a foreign name that resolves to loopback, and the Origin check every page but our own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hotlens::web {

// 256 random bits from the operating system, as hexadecimal digits.
std::string random_token();

// Takes the same time for every wrong token of the right length.
bool same_token(std::string_view given, std::string_view expected);

struct Asked {
  std::string_view target;  // "/ws?token=…"
  std::string_view host;    // the Host header
  std::optional<std::string_view> origin;
};

enum class Admission : std::uint8_t { page, socket, file, wrong_place, no_token, not_found };

// `file`: a part of the page, which holds nothing of a profile and needs no token.
Admission admit(const Asked& asked, std::uint16_t port, std::string_view token);

// The sentence for a person who was refused.
std::string_view refusal(Admission admission);

// The path of a target, without the query. Percent escapes are kept: none of our names needs one.
std::string_view path_of(std::string_view target);

}  // namespace hotlens::web
