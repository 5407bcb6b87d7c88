"""The handwritten digits of scikit-learn as PyTorch data sets."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    """8x8 grey images, values scaled to [-1, 1]; training images are shifted by up to one pixel."""

    def __init__(self, images, labels, augment=False):
        self.images = torch.tensor(images, dtype=torch.float32).unsqueeze(1) / 8.0 - 1.0
        self.labels = torch.tensor(labels, dtype=torch.long)
        self.augment = augment

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        image = self.images[index]
        if self.augment:
            top, left = torch.randint(0, 3, (2,)).tolist()
            image = F.pad(image, (1, 1, 1, 1), value=-1.0)[:, top : top + 8, left : left + 8]
        return image, self.labels[index]


def make_loaders(batch_size, workers=0, seed=0):
    digits = load_digits()
    train_x, test_x, train_y, test_y = train_test_split(
        digits.images, digits.target, test_size=0.2, random_state=seed, stratify=digits.target
    )
    train = DataLoader(
        Digits(train_x, train_y, augment=True), batch_size=batch_size, shuffle=True, drop_last=True, num_workers=workers
    )
    test = DataLoader(Digits(test_x, test_y), batch_size=256, num_workers=workers)
    return train, test
