"""Syntax trees of a script before and after a what-if's edit: whether they are the same once the change is taken out."""

from __future__ import annotations

import ast
import copy

CHANNELS_LAST = "torch.channels_last"


def masked(tree: ast.AST, call: ast.expr) -> ast.Call | None:
    """The call that begins where `call` does, of the same function."""
    assert isinstance(call, ast.Call)
    begins = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and (node.lineno, node.col_offset) == (call.lineno, call.col_offset)
    ]
    return next((node for node in begins if ast.dump(node.func) == ast.dump(call.func)), None)


def keyword_of(call: ast.Call, name: str) -> ast.expr | None:
    return next((one.value for one in call.keywords if one.arg == name), None)


def without_keywords(call: ast.Call, names: set[str]) -> None:
    call.keywords = [one for one in call.keywords if one.arg not in names]


def is_constant(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is type(value) and node.value == value


def option_set(option: str, value: object, also: set[str], call: ast.expr, was: ast.AST, now: ast.AST) -> str | None:
    before, after = masked(was, call), masked(now, call)
    if before is None or after is None:
        return "the call is another one"
    if not is_constant(keyword_of(after, option), value):
        return f"{option} is not set"
    others = [name for name in also if name != option and is_constant(keyword_of(after, name), True)]
    if others:
        return f"{option} and {others[0]} are both set"
    for one in (before, after):
        without_keywords(one, also | {option})
    return None


def gradients_none(call: ast.expr, was: ast.AST, now: ast.AST) -> str | None:
    before, after = masked(was, call), masked(now, call)
    if before is None or after is None:
        return "the call is another one"
    if not is_constant(after.args[0] if after.args else keyword_of(after, "set_to_none"), True):
        return "set_to_none is not set"
    for one in (before, after):
        one.args, one.keywords = [], []
    return None


def dropout_off(call: ast.expr, was: ast.AST, now: ast.AST) -> str | None:
    before, after = masked(was, call), masked(now, call)
    if before is None or after is None:
        return "the call is another one"
    if not is_constant(after.args[0] if after.args else keyword_of(after, "p"), 0.0):
        return "the probability is not 0"
    for one in (before, after):
        one.args = one.args[1:]
        without_keywords(one, {"p"})
    return None


def relu_made(call: ast.expr, was: ast.AST, now: ast.AST) -> str | None:
    before = masked(was, call)
    assert isinstance(call, ast.Call)
    relu: ast.expr = ast.Name("ReLU", ast.Load())
    if isinstance(call.func, ast.Attribute) and call.func.attr == "GELU":
        relu = copy.deepcopy(call.func)
        relu.attr = "ReLU"
    if before is None:
        return "the call is another one"
    after = masked(now, ast.copy_location(ast.Call(relu, [], []), call))
    if after is None or after.args or after.keywords:
        return "no ReLU is made there"
    for one in (before, after):
        one.func, one.args, one.keywords = ast.Name("made"), [], []
    return None


class TakeOut(ast.NodeTransformer):
    """Takes changes out that put something around code; `count`: how many."""

    def __init__(self, kind: str) -> None:
        self.kind, self.count = kind, 0

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        context = node.items[0].context_expr
        if self.kind != "autocast_bf16" or len(node.items) > 1 or ast.unparse(context) != "torch.autocast('cpu', torch.bfloat16)":
            return node
        self.count += 1
        return node.body

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = ast.unparse(node.func)
        if self.kind == "checkpoint" and called == "torch.utils.checkpoint.checkpoint":
            self.count += 1
            without_keywords(node, {"use_reentrant"})
            return ast.Call(node.args[0], node.args[1:], node.keywords)
        if self.kind == "channels_last" and self.converts(node) and isinstance(node.func, ast.Attribute):
            self.count += 1
            return node.func.value
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if self.kind == "channels_last" and self.converts(node.value):
            self.count += 1
            return None
        self.generic_visit(node)
        return node

    @staticmethod
    def converts(node: ast.expr) -> bool:
        is_to = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to" and not node.args
        return is_to and ast.unparse(node).endswith(f".to(memory_format={CHANNELS_LAST})")


NEEDED = ("import torch", "from torch.nn import ReLU")


def import_out(was: ast.Module, now: ast.Module) -> str | None:
    """Takes the import out that an edit needed, with its line."""
    first = next((at for at, (one, other) in enumerate(zip(was.body, now.body)) if ast.dump(one) != ast.dump(other)), len(was.body))
    if len(now.body) <= len(was.body) or ast.unparse(now.body[first]) not in NEEDED:
        return None
    line = ast.unparse(now.body.pop(first))
    if line in (ast.unparse(one) for one in was.body[:first]):
        return f"`{line}` was there"
    ast.increment_lineno(now, -1)
    return None


OPTIMIZER = {"fused", "foreach"}
AROUND = {"autocast_bf16": 1, "checkpoint": 1, "channels_last": 2}


def taken_out(kind: str, call: ast.expr, before: bytes, after: bytes) -> str | None:
    """What else changed, or what did not; None where the trees are equal once the change is out of them."""
    was: ast.AST = ast.parse(before)
    now: ast.AST = ast.parse(after)
    assert isinstance(was, ast.Module) and isinstance(now, ast.Module)
    if why := import_out(was, now):
        return why
    if kind in ("fused_optimizer", "foreach_optimizer"):
        why = option_set(kind.removesuffix("_optimizer"), True, OPTIMIZER, call, was, now)
    elif kind == "loader_workers":
        why = option_set("num_workers", 1, set(), call, was, now)
    elif kind == "pin_memory":
        why = option_set("pin_memory", True, set(), call, was, now)
    elif kind == "zero_grad_none":
        why = gradients_none(call, was, now)
    elif kind == "no_dropout":
        why = dropout_off(call, was, now)
    elif kind == "gelu_to_relu":
        why = relu_made(call, was, now)
    else:
        of_before, of_after = TakeOut(kind), TakeOut(kind)
        was, now = of_before.visit(was), of_after.visit(now)
        if of_after.count != of_before.count + AROUND[kind]:
            why = f"the change is in it {of_after.count - of_before.count} times"
    if why is None and ast.dump(was) != ast.dump(now):
        why = "something else of its syntax changed"
    return why
