"""A training that a library loops over: `trainers.py transformers|lightning --device cpu|cuda`."""

from __future__ import annotations

import argparse
from typing import Any

import torch
from models import GPT, ResNet
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

ROWS, LENGTH, VOCABULARY = 320, 64, 512


class Labelled(nn.Module):
    """The GPT as transformers' Trainer calls a model: with its labels, for a loss."""

    def __init__(self) -> None:
        super().__init__()
        self.gpt = GPT(VOCABULARY, 256, 4, LENGTH)

    def forward(self, input_ids: Tensor, labels: Tensor) -> dict[str, Tensor]:
        logits = self.gpt(input_ids)
        return {"loss": F.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}


def with_transformers(device: str) -> None:
    """Two batches an update, an evaluation every tenth update, bfloat16 on a GPU."""
    from transformers import Trainer, TrainingArguments

    words = torch.randint(VOCABULARY, (ROWS, LENGTH + 1))
    rows = [{"input_ids": each[:-1], "labels": each[1:]} for each in words]
    arguments = TrainingArguments(
        "out",
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        eval_strategy="steps",
        eval_steps=10,
        save_strategy="no",
        bf16=device != "cpu",
        use_cpu=device == "cpu",
        report_to=[],
        disable_tqdm=True,
    )
    Trainer(Labelled(), arguments, train_dataset=rows, eval_dataset=rows[:32]).train()  # type: ignore[arg-type]


def with_lightning(device: str) -> None:
    """A ResNet of mixed precision whose loss is logged at every step."""
    import lightning

    class Classifier(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = ResNet(64)

        def training_step(self, batch: Any, _: int) -> Tensor:
            x, y = batch
            loss = F.cross_entropy(self.net(x), y)
            self.log("loss", loss, prog_bar=True)
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), 1e-3, momentum=0.9)

    data = TensorDataset(torch.randn(1280, 3, 32, 32), torch.randint(10, (1280,)))
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu" if device == "cpu" else "gpu",
        devices=1,
        precision="32-true" if device == "cpu" else "16-mixed",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    trainer.fit(Classifier(), DataLoader(data, 32, pin_memory=device != "cpu"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=["transformers", "lightning"])
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.manual_seed(0)
    {"transformers": with_transformers, "lightning": with_lightning}[options.library](options.device)


if __name__ == "__main__":
    main()
