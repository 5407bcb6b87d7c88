#include "server/web/peer.h"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace hotlens::web {
namespace {

// "0100007F:1F90": the address in the byte order of the machine, the port as people write it.
std::optional<std::uint16_t> port_of(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::uint16_t port = 0;
  const char* end = address.data() + address.size();
  const bool read = std::from_chars(address.data() + colon + 1, end, port, 16).ptr == end;
  return read ? std::optional(port) : std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> owner_in(std::string_view table, std::uint16_t from, std::uint16_t to) {
  std::istringstream rows{std::string(table)};
  for (std::string row; std::getline(rows, row);) {
    // sl local_address rem_address st tx:rx tr:when retrnsmt uid …
    std::istringstream words(row);
    std::vector<std::string> column(8);
    for (std::string& word : column) words >> word;
    const std::string_view user = column[7];
    std::uint32_t owner = 0;
    const bool read = !user.empty() && std::from_chars(user.data(), user.data() + user.size(), owner).ec == std::errc{};
    if (read && port_of(column[1]) == from && port_of(column[2]) == to) return owner;
  }
  return std::nullopt;
}

bool is_of_this_user(std::uint16_t from, std::uint16_t to) {
  bool told = false;
  // A socket of IPv6 reaches an address of IPv4, too.
  for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(path);
    if (!file) continue;
    told = true;
    const std::string table(std::istreambuf_iterator<char>(file), {});
    const std::optional<std::uint32_t> owner = owner_in(table, from, to);
    if (owner) return *owner == ::getuid() || *owner == 0;
  }
  return !told;
}

}  // namespace hotlens::web
