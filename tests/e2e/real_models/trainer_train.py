"""Train a small BERT with transformers.Trainer: the loop is the package's."""

import torch
from transformers import AutoModelForMaskedLM, BertConfig, Trainer, TrainingArguments

config = BertConfig(vocab_size=200, hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=128)
model = AutoModelForMaskedLM.from_config(config)
rows = [{"input_ids": tokens, "labels": tokens} for tokens in torch.randint(0, 200, (400, 32))]
arguments = TrainingArguments("out", per_device_train_batch_size=8, report_to=[], disable_tqdm=True, save_strategy="no", use_cpu=True)
trainer = Trainer(model, arguments, train_dataset=rows)
trainer.train()
