"""Layers that a subclass in another file inherits, and makers it calls."""

from torch import nn

REGISTRY = {}


def register(cls):
    REGISTRY[cls.__name__] = cls
    return cls


@register
class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weigh = nn.Linear(width, width)  # def: factory.weigh registered.weigh

    def forward(self, x):
        return x * self.weigh(x).sigmoid()  # call: factory.weigh registered.weigh


def make_gate(width):
    return Gate(width)  # made: factory


class Base(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inherited = nn.Linear(width, width)  # def: inherited
        self.build(width)

    def build(self, width):
        raise NotImplementedError

    def stem(self, x):
        return self.inherited(x)  # call: inherited
