#include "server/web/peer.h"

#include "tests/unit/catch.h"

using namespace hotlens::web;

TEST_CASE("the owner of a socket is read from the kernel's table, by both ends") {
  // Port 8080 (0x1F90) is ours; a page at 40000 (0x9C40) is of user 1000, another one at 40001 of user 1001. Each connection has two rows.
  const char* table =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0\n"
      "   1: 0100007F:1F90 0100007F:9C41 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 20 4 30 10 -1\n"
      "   2: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 3 1 0 20 4 30 10 -1\n"
      "   3: 0100007F:9C41 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 4 1 0 20 4 30 10 -1\n";
  CHECK(owner_in(table, 40000, 8080) == 1000);
  CHECK(owner_in(table, 40001, 8080) == 1001);
  CHECK_FALSE(owner_in(table, 40002, 8080).has_value());
  CHECK_FALSE(owner_in(table, 40000, 8081).has_value());
  CHECK_FALSE(owner_in("nonsense\n:::\n", 1, 2).has_value());
  const char* mapped = "   0: 0000000000000000FFFF00000100007F:9C40 0000000000000000FFFF00000100007F:1F90 01 0:0 00:0 0  1002 0 1\n";
  CHECK(owner_in(mapped, 40000, 8080) == 1002);
}
