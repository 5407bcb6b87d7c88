"""Every way to call a layer that people use; a marker names the modules that are called there."""

import functools

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

W = 8
NAMES = "direct a b c twice processed reused functional checkpointed reentrant by_name chosen forwarded multi never kept again"


def loud(forward):
    @functools.wraps(forward)
    def wrapper(self, *args, **kwargs):
        return forward(self, *args, **kwargs)

    return wrapper


class Decorated(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(W, W)

    @loud
    def forward(self, x):
        return self.inner(x)  # call: decorated.inner


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(W, W)

    def __call__(self, x):
        return super().__call__(x)

    def forward(self, x):
        return self.inner(x)  # call: own.inner


class DecoratedCall(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(W, W)

    @loud
    @loud
    def __call__(self, *args):
        return super().__call__(*args)

    def forward(self, x):
        return self.inner(x)  # call: decorated_call.inner


class Processor:
    """Not a module: it calls the layers of one."""

    def __call__(self, net, x):
        return net.processed(x)  # call: processed


class Again(torch.autograd.Function):
    """Forgets what its module computed and calls it again for the gradient, as reversible networks do."""

    @staticmethod
    def forward(ctx, x, module, *parameters):
        ctx.module, ctx.parameters = module, parameters
        ctx.save_for_backward(x)
        return module(x)  # call: again

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.module(x)  # call: again
        into_x, *others = torch.autograd.grad(y, [x, *ctx.parameters], gradient)
        return into_x, None, *others


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        for name in NAMES.split():
            setattr(self, name, nn.Linear(W, W))
        self.loop = nn.ModuleList(nn.Linear(W, W) for _ in range(3))
        self.listed = nn.ModuleList(nn.Linear(W, W) for _ in range(2))
        self.subscripted = nn.ModuleList(nn.Linear(W, W) for _ in range(2))
        self.dictionary = nn.ModuleDict({"key": nn.Linear(W, W)})
        self.sequence = nn.Sequential(nn.Linear(W, W), nn.Sequential(nn.Linear(W, W), nn.Tanh()))
        self.stack = nn.Sequential(nn.Linear(W, W), nn.Linear(W, W))
        self.decorated = Decorated()
        self.own = Own()
        self.decorated_call = DecoratedCall()
        self.processor = Processor()
        self.attention = nn.MultiheadAttention(W, 2, batch_first=True)
        self.encoder = nn.TransformerEncoderLayer(W, 2, W, batch_first=True)

    def forward(self, x):
        x = self.direct(x)  # call: direct
        x = self.a(self.b(x)) + self.c(x)  # call: a b c
        for layer in self.loop:
            x = layer(x)  # call: loop.0 loop.1 loop.2
        x = sum([m(x) for m in self.listed])  # call: listed.0 listed.1
        x = self.subscripted[1](self.subscripted[0](x))  # call: subscripted.0 subscripted.1
        x = self.dictionary["key"](x)  # call: dictionary.key
        x = self.sequence(x)  # call: sequence sequence.0 sequence.1 sequence.1.0 sequence.1.1
        x = checkpoint(self.checkpointed, x, use_reentrant=False)  # call: checkpointed
        x = checkpoint(self.reentrant, x, use_reentrant=True)  # call: reentrant
        name = "by_name"
        x = getattr(self, name)(x)  # call: by_name
        weights = dict(self.functional.named_parameters())
        x = torch.func.functional_call(self.functional, weights, (x,))  # call: functional
        x = self.decorated(x)  # call: decorated
        x = self.own(x)  # call: own
        x = self.decorated_call(x)  # call: decorated_call
        x = self.multi(  # call: multi
            x * 2,
        )
        x = self.twice(x)  # call: twice
        x = self.twice(x)  # call: twice
        x = self.processor(self, x)
        x = (self.chosen if x.ndim == 2 else self.never)(x)  # call: chosen
        x = self.forwarded.forward(x)  # call: forwarded
        keep = self.kept
        x = keep(x)  # call: kept
        x = (lambda y: self.reused(y))(x)  # call: reused
        x = self.helper(x)
        x = Again.apply(x, self.again, *self.again.parameters())
        x = checkpoint(self.stack, x, use_reentrant=False)  # call: stack stack.0 stack.1
        x, _ = self.attention(x[None], x[None], x[None])  # call: attention
        return self.encoder(x)[0]  # call: encoder encoder.self_attn encoder.linear1 encoder.dropout1 encoder.norm1

    def helper(self, x):
        return self.reused(x)  # call: reused


def main():
    torch.manual_seed(0)
    net = Net()
    x = torch.randn(4, W)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for _ in range(30):
        optimizer.zero_grad()
        net(x).pow(2).mean().backward()
        optimizer.step()


if __name__ == "__main__":
    main()
