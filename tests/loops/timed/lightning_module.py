"""Lightning's loop with a validation every tenth batch, a metric at its end, and a callback after each batch."""

import lightning
import torch
from clocks import clock, updated
from torch import nn

torch.manual_seed(0)


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(40, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 6))
        self.answers = []

    def forward(self, inputs):
        return self.body(inputs)

    def training_step(self, batch, index):
        with clock("augment"):
            inputs = torch.cat([batch[0] + 0.01 * torch.randn_like(batch[0]) for _ in range(3)])
        with clock("forward"):
            out = self(inputs)
        return nn.functional.cross_entropy(out, batch[1].repeat(3))

    def validation_step(self, batch, index):
        with clock("validation"):
            self.answers += self(batch[0]).softmax(1).tolist()

    def on_validation_epoch_end(self):
        with clock("metric"):
            sorted(range(len(self.answers)), key=lambda at: self.answers[at])
        self.answers.clear()

    def on_train_batch_end(self, outputs, batch, index):
        updated(outputs["loss"].item())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


class Smoothing(lightning.Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, index):
        with clock("callback"):
            torch.stack([each.detach().norm() for each in module.parameters() for _ in range(8)]).sum()


def loader(count):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(count, 40), torch.randint(0, 6, (count,))), batch_size=32)


trainer = lightning.Trainer(
    max_epochs=8, val_check_interval=10, num_sanity_val_steps=0, accelerator="cpu", logger=False, callbacks=[Smoothing()],
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
)  # fmt: skip
trainer.fit(Net(), loader(640), loader(512))
