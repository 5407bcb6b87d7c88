// Who is at the other end of a connection on this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hotlens::web {

// The user whose socket on 127.0.0.1:`from` is connected to 127.0.0.1:`to`, by the kernel's table (/proc/net/tcp).
std::optional<std::uint32_t> owner_in(std::string_view table, std::uint16_t from, std::uint16_t to);

// Whether the socket at `from` is of the user that runs this program, or of root. True where the system keeps no such table.
bool is_of_this_user(std::uint16_t from, std::uint16_t to);

}  // namespace hotlens::web
