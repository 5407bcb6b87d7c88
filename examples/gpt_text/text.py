"""Text to learn from: sums and small stories, written by a seeded generator, and a character vocabulary."""

import random

import torch

NAMES = ["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana"]
THINGS = ["apples", "books", "coins", "pens", "shells", "stamps"]
PLACES = ["the market", "the station", "school", "the river", "the library"]


def sentence(rng):
    name, thing, place = rng.choice(NAMES), rng.choice(THINGS), rng.choice(PLACES)
    a, b = rng.randint(1, 20), rng.randint(1, 20)
    return rng.choice(
        [
            f"{name} had {a} {thing} and found {b} more at {place}. Now {name} has {a + b} {thing}.",
            f"{a} plus {b} is {a + b}.",
            f"{name} walked to {place} with {a} {thing}.",
            f"{rng.choice(NAMES)} met {name} at {place} at {a % 12 + 1} o'clock.",
        ]
    )


def generate_text(sentences, seed=0):
    rng = random.Random(seed)
    return "\n".join(sentence(rng) for _ in range(sentences))


class CharVocabulary:
    def __init__(self, text):
        self.chars = sorted(set(text))
        self.index = {c: i for i, c in enumerate(self.chars)}

    def __len__(self):
        return len(self.chars)

    def encode(self, text):
        return torch.tensor([self.index[c] for c in text], dtype=torch.long)

    def decode(self, ids):
        return "".join(self.chars[i] for i in ids)
