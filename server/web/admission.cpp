#include "server/web/admission.h"

#include <sys/random.h>

#include <array>
#include <stdexcept>

namespace hotlens::web {
namespace {

constexpr std::size_t kTokenBytes = 32;

// The value of a parameter of the query; `key` ends with '='.
std::optional<std::string_view> parameter(std::string_view target, std::string_view key) {
  const std::size_t query = target.find('?');
  if (query == std::string_view::npos) return std::nullopt;
  std::string_view rest = target.substr(query + 1);
  while (!rest.empty()) {
    const std::size_t end = rest.find('&');
    const std::string_view part = rest.substr(0, end);
    if (part.starts_with(key)) return part.substr(key.size());
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return std::nullopt;
}

// Addresses of this server as a browser writes them.
bool is_ours(std::string_view host, std::uint16_t port) {
  const std::string suffix = ":" + std::to_string(port);
  return host == "127.0.0.1" + suffix || host == "localhost" + suffix;
}

}  // namespace

std::string random_token() {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("the operating system gives no random bytes");
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

bool same_token(std::string_view given, std::string_view expected) {
  if (given.size() != expected.size() || expected.empty()) return false;
  unsigned char different = 0;
  for (std::size_t at = 0; at < expected.size(); ++at) different |= static_cast<unsigned char>(given[at] ^ expected[at]);
  return different == 0;
}

std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

std::string_view code_in(std::string_view target) {
  return parameter(target, "once=").value_or("");
}

std::string OneUse::make(Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(codes_, [now](const auto& code) { return code.second < now; });
  return codes_.emplace_back(random_token(), now + kValid).first;
}

bool OneUse::take(std::string_view code, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  return std::erase_if(codes_, [&](const auto& each) { return each.second >= now && same_token(code, each.first); }) > 0;
}

Admission admit(const Asked& asked, std::uint16_t port, std::string_view token) {
  if (!is_ours(asked.host, port)) return Admission::wrong_place;
  if (asked.origin && *asked.origin != "http://" + std::string(asked.host)) return Admission::wrong_place;
  const std::string_view path = path_of(asked.target);
  const bool socket = path == "/ws";
  if (path != "/" && !socket) return path.starts_with('/') ? Admission::file : Admission::not_found;
  if (path == "/" && !code_in(asked.target).empty()) return Admission::once;
  const auto given = parameter(asked.target, "token=");
  if (!given && !socket) return Admission::empty_page;
  if (!same_token(given.value_or(""), token)) return Admission::no_token;
  return socket ? Admission::socket : Admission::page;
}

std::string_view refusal(Admission admission) {
  switch (admission) {
    case Admission::wrong_place:
      return "This address serves only its own page. Open the address that hotlens printed.";
    case Admission::once:
      return "This address was for one use and has been used, or is too old. Open the address that hotlens printed.";
    case Admission::no_token:
      return "The address has no token, or an old one. Open the address that hotlens printed last.";
    default:
      return "There is no such page here. Open the address that hotlens printed.";
  }
}

}  // namespace hotlens::web
