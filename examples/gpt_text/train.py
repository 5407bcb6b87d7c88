"""Train a character-level GPT on generated text and let it write.

    python train.py --steps 500
"""

import argparse
import time

import torch

from gpt import GPT, GPTConfig
from text import CharVocabulary, generate_text


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--block-size", type=int, default=64)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--eval-every", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def get_batch(data, batch_size, block_size, device):
    starts = torch.randint(len(data) - block_size - 1, (batch_size,))
    x = torch.stack([data[s : s + block_size] for s in starts])
    y = torch.stack([data[s + 1 : s + 1 + block_size] for s in starts])
    return x.to(device), y.to(device)


@torch.no_grad()
def evaluate(model, data, args, device, batches=5):
    model.eval()
    losses = [model(*get_batch(data, args.batch_size, args.block_size, device))[1].item() for _ in range(batches)]
    model.train()
    return sum(losses) / len(losses)


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    text = generate_text(sentences=4000, seed=args.seed)
    vocabulary = CharVocabulary(text)
    data = vocabulary.encode(text)
    train_data, val_data = data[: int(0.9 * len(data))], data[int(0.9 * len(data)) :]

    model = GPT(GPTConfig(vocab_size=len(vocabulary), block_size=args.block_size, n_layer=args.layers)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {len(train_data)} characters")

    start = time.time()
    for step in range(1, args.steps + 1):
        x, y = get_batch(train_data, args.batch_size, args.block_size, device)
        logits, loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % args.eval_every == 0:
            val_loss = evaluate(model, val_data, args, device)
            print(f"step {step:4d}: loss {loss.item():.3f}, validation {val_loss:.3f}, {time.time() - start:.1f} s")

    prompt = vocabulary.encode("Ada had 3 ").unsqueeze(0).to(device)
    print(vocabulary.decode(model.generate(prompt, length=120)[0].tolist()))


if __name__ == "__main__":
    main()
