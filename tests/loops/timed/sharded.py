"""Parameters sharded by fully_shard under their own process group; two blocks are run again in the backward pass."""

import tempfile

import torch
from clocks import clock, updated
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Stack(nn.Module):
    def __init__(self, width=128, depth=4):
        super().__init__()
        self.embed = nn.Embedding(200, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 200)

    def forward(self, tokens):
        x = self.embed(tokens)
        for number, block in enumerate(self.blocks):
            x = checkpoint(block, x, use_reentrant=False) if number < 2 else block(x)
        return self.head(x).clone()


def main():
    with tempfile.NamedTemporaryFile() as store:
        distributed.init_process_group("gloo", init_method=f"file://{store.name}", rank=0, world_size=1)
        mesh = init_device_mesh("cpu", (1,))
        model = Stack()
        for block in model.blocks:
            fully_shard(block, mesh=mesh)
        fully_shard(model, mesh=mesh)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for _step in range(40):
            with clock("data"):
                tokens = torch.randint(0, 200, (16, 33))
            with clock("forward"):
                logits = model(tokens[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            with clock("backward"):
                loss.backward()
            with clock("clipping"):
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            with clock("optimizer"):
                optimizer.step()
            optimizer.zero_grad()
            updated(loss.item())
        distributed.destroy_process_group()


main()
