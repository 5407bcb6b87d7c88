#include "server/runs/launchers.h"

#include "tests/unit/catch.h"

using namespace hotlens::runs;
using Words = std::vector<std::string>;

TEST_CASE("a launcher is the module that it is, with its own arguments") {
  CHECK(launcher_command("")->empty());
  for (const char* line :
       {"torchrun --nproc_per_node 2", "/env/bin/torchrun --nproc_per_node 2", "python -m torch.distributed.run --nproc_per_node 2",
        "-m torch.distributed.run --nproc_per_node 2", "/usr/bin/python3.12 -m torch.distributed.run --nproc_per_node 2"}) {
    INFO(line);
    CHECK(launcher_command(line) == Words{"-m", "torch.distributed.run", "--nproc_per_node", "2"});
  }
  CHECK(launcher_command("accelerate launch --config_file ~/a.yaml", "/home/me") ==
        Words{"-m", "accelerate.commands.launch", "--config_file", "/home/me/a.yaml"});
  CHECK(launcher_command("accelerate-launch") == Words{"-m", "accelerate.commands.launch"});
}

TEST_CASE("no other program launches: what it starts could not be recorded") {
  for (const char* line : {"mpirun -n 2 python", "bash -c torchrun", "accelerate config", "python", "python -m http.server", "python -c x",
                           "-m", "pythonx -m torch.distributed.run"}) {
    INFO(line);
    const auto refused = launcher_command(line);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.starts_with("must be `torchrun …`"));
  }
  CHECK(launcher_command("torchrun 'x").error().message.starts_with("cannot be read: the quote"));
}
