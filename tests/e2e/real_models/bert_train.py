"""Train a small BERT from a configuration on random tokens: no download."""

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForMaskedLM

torch.manual_seed(0)
config = BertConfig(vocab_size=200, hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=128)
model = BertForMaskedLM(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
tokens = torch.randint(0, 200, (512, 32))
loader = DataLoader(TensorDataset(tokens), batch_size=16, shuffle=True)

for (batch,) in loader:
    optimizer.zero_grad()
    output = model(input_ids=batch, labels=batch)
    output.loss.backward()
    optimizer.step()
print("trained")
