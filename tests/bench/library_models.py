"""Small models of installed packages as a training script: `library_models.py NAME`; those of tests/e2e/real_models and a few more."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e/real_models"))
from catalog import MODELS as CATALOG
from catalog import images, on, square

Made = tuple[torch.nn.Module, Callable[[Any], torch.Tensor]]
WORDS, LENGTH = 100, 40


def words(name: str, **options: Any) -> Made:
    """A model of transformers that reads numbers of words."""
    import transformers

    config = getattr(transformers, name + "Config")(vocab_size=WORDS, **options)
    ids = torch.randint(3, WORDS, (2, LENGTH))
    given = {"input_ids": ids, **({"decoder_input_ids": ids} if config.is_encoder_decoder else {})}
    return getattr(transformers, name + "Model")(config), lambda model: square(model(**given))


def pictures(name: str, size: int = 64, **options: Any) -> Made:
    import timm

    return on(timm.create_model(name, num_classes=10, **options), images(size))


SMALL = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64}
BART = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}
HEADS = {"encoder_attention_heads": 4, "decoder_attention_heads": 4}

MODELS: dict[str, Callable[[], Made]] = {
    **CATALOG,
    "albert": lambda: words("Albert", **{**SMALL, "num_hidden_layers": 24, "embedding_size": 16}),
    "deberta": lambda: words("DebertaV2", **SMALL),
    "distilbert": lambda: words("DistilBert", dim=32, n_layers=3, n_heads=4, hidden_dim=64),
    "opt": lambda: words("OPT", hidden_size=32, num_hidden_layers=3, num_attention_heads=4, ffn_dim=64, word_embed_proj_dim=32),
    "bart": lambda: words("Bart", **BART, **HEADS),
    "cait": lambda: pictures("cait_xxs24_224", img_size=64),
    "deit": lambda: pictures("deit_tiny_distilled_patch16_224", img_size=64),
    "xcit": lambda: pictures("xcit_nano_12_p16_224", img_size=64),
    "ghostnet": lambda: pictures("ghostnet_050"),
    "densenet_timm": lambda: pictures("densenet121"),
    # Their slow forms go over time step by step.
    "mamba": lambda: words("Mamba", hidden_size=32, num_hidden_layers=2),
    "falcon_mamba": lambda: words("FalconMamba", hidden_size=32, num_hidden_layers=2),
    "rwkv": lambda: words("Rwkv", hidden_size=256, num_hidden_layers=2, attention_hidden_size=256),
}
LOOPS = ["mamba", "falcon_mamba", "rwkv"]


def main() -> None:
    torch.manual_seed(0)
    model, compute_loss = MODELS[sys.argv[1]]()
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for _ in range(40):
        optimizer.zero_grad()
        loss = compute_loss(model)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
