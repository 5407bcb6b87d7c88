"""transformers' Trainer with accumulation over four batches, an evaluation every third update and a checkpoint every sixth."""

import torch
from clocks import clock, updated
from torch import nn
from transformers import Trainer, TrainerCallback, TrainingArguments

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 64)
        self.layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.head = nn.Linear(64, 3)

    def forward(self, tokens, labels):
        logits = self.head(self.layer(self.embed(tokens)).mean(1))
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class OwnTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        if not model.training:
            return super().compute_loss(model, inputs, return_outputs)
        with clock("forward"):
            loss = super().compute_loss(model, inputs, return_outputs)
        return loss

    def evaluate(self, *args, **kwargs):
        with clock("evaluation"):
            metrics = super().evaluate(*args, **kwargs)
        return metrics

    def save_model(self, *args, **kwargs):
        with clock("saving"):
            super().save_model(*args, **kwargs)


class Updates(TrainerCallback):
    def on_step_end(self, args, state, control, model=None, **kwargs):
        with clock("histogram"):
            counts = [torch.histc(each.detach(), 40) for each in model.parameters()]
        updated(float(sum(each.max() for each in counts)))


def together(rows):
    tokens = torch.stack([tokens for tokens, _ in rows])
    return {"tokens": tokens, "labels": torch.tensor([label for _, label in rows])}


rows = [(torch.randint(0, 100, (24,)), at % 3) for at in range(960)]
arguments = TrainingArguments(
    "out", per_device_train_batch_size=8, gradient_accumulation_steps=4, eval_strategy="steps", eval_steps=3, save_steps=6,
    num_train_epochs=2, logging_steps=5, report_to=[], disable_tqdm=True, use_cpu=True,
)  # fmt: skip
OwnTrainer(Classifier(), arguments, train_dataset=rows, eval_dataset=rows[:200], data_collator=together, callbacks=[Updates()]).train()
