"""Batches come from a coroutine, the loop awaits them; a report is written beside it."""

import asyncio

import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)


async def produce(queue, count):
    for _ in range(count):
        await asyncio.sleep(0.004)  # a server's answer
        await queue.put((torch.randn(96, 48), torch.randint(0, 4, (96,))))
    await queue.put(None)


async def received(queue):
    while True:
        yield await queue.get()


async def report(losses):
    await asyncio.sleep(0)
    return sorted(losses * 50)


async def main():
    model = nn.Sequential(nn.Linear(48, 256), nn.ReLU(), nn.Linear(256, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    queue, losses = asyncio.Queue(2), []
    source = received(queue)
    making = asyncio.create_task(produce(queue, 120))
    while True:
        with clock("batch"):
            batch = await source.__anext__()
        if batch is None:
            break
        with clock("forward"):
            loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
        optimizer.zero_grad()
        with clock("backward"):
            loss.backward()
        with clock("optimizer"):
            optimizer.step()
        losses.append(loss.item())
        updated(losses[-1])
        if len(losses) % 10 == 0:
            with clock("report"):
                await report(losses)
    await making


asyncio.run(main())
