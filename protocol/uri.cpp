#include "protocol/uri.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace hotlens::protocol {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("-._~/").contains(c);
}

bool starts_with_scheme(std::string_view uri, std::string_view scheme) {
  return uri.size() > scheme.size() && uri[scheme.size()] == ':' &&
         std::ranges::equal(uri.substr(0, scheme.size()), scheme,
                            [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

}  // namespace

std::optional<std::filesystem::path> path_of_uri(std::string_view uri) {
  if (!starts_with_scheme(uri, "file")) return std::nullopt;
  uri.remove_prefix(5);
  if (uri.starts_with("//")) {
    const auto slash = uri.find('/', 2);
    const std::string_view authority = uri.substr(2, slash == std::string_view::npos ? slash : slash - 2);
    if (slash == std::string_view::npos || !(authority.empty() || authority == "localhost")) return std::nullopt;
    uri.remove_prefix(slash);
  }
  uri = uri.substr(0, uri.find_first_of("?#"));
  if (!uri.starts_with('/')) return std::nullopt;
  std::string path;
  for (std::size_t i = 0; i < uri.size(); ++i) {
    if (uri[i] != '%') {
      path += uri[i];
      continue;
    }
    const int high = i + 2 < uri.size() ? hex_digit(uri[i + 1]) : -1, low = i + 2 < uri.size() ? hex_digit(uri[i + 2]) : -1;
    const int byte = high * 16 + low;
    if (high < 0 || low < 0 || byte == 0) return std::nullopt;
    path += static_cast<char>(byte);
    i += 2;
  }
  return std::filesystem::path(path).lexically_normal();
}

std::string uri_of_path(const std::filesystem::path& path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string uri = "file://";
  for (const char c : path.string()) {
    if (is_unreserved(c)) {
      uri += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      uri += {'%', kHex[byte >> 4U], kHex[byte & 15U]};
    }
  }
  return uri;
}

}  // namespace hotlens::protocol
