"""Values and gradients of every operation of `crates/autograd`, by PyTorch in float64.

Writes `autograd_values.json`, which the tests of that crate compare with. Each case is an operation
by the name it has there, its arguments, its inputs, its output, and the gradient of
`Σ upstream·output` with respect to each input.

    python reference/autograd_values.py reference/autograd_values.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from dumps import write_atomically

Operation = Callable[..., Tensor]


def cross_entropy(z: Tensor, y: Tensor) -> Tensor:
    """z [B, C], y [B, C]: -Σ_c y·ln softmax(z), mean over the batch."""
    return F.cross_entropy(z, y)


def squared_error(z: Tensor, y: Tensor) -> Tensor:
    """z [B, C], y [B, C]: ½·Σ_c (z - y)², mean over the batch."""
    return 0.5 * (z - y).square().sum() / len(z)


def cases() -> list[tuple[str, Operation, list[float], list[Tensor]]]:
    """Name, operation in PyTorch, arguments that are not tensors, and inputs of each case."""
    generator = torch.Generator().manual_seed(1)

    def draw(*shape: int) -> Tensor:
        # Few digits, so that the file is readable; not near 0, where relu has its kink.
        x = torch.empty(shape, dtype=torch.float64).uniform_(-2, 2, generator=generator)
        return torch.round(x + 0.05 * torch.sign(x), decimals=3)

    def positive(*shape: int) -> Tensor:
        return draw(*shape).abs() + 0.1

    pairs = [((2, 3), (2, 3)), ((2, 3), (3,)), ((4, 1), (1, 3)), ((2, 1, 3), (4, 1)), ((), (2, 2))]
    arithmetic = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}
    found: list[tuple[str, Operation, list[float], list[Tensor]]] = []
    for name, operation in arithmetic.items():
        found += [(name, operation, [], [draw(*a), draw(*b)]) for a, b in pairs]
    found += [
        ("neg", torch.neg, [], [draw(2, 3)]),
        ("exp", torch.exp, [], [draw(2, 3)]),
        ("log", torch.log, [], [positive(2, 3)]),
        ("relu", torch.relu, [], [torch.cat([draw(2, 3), torch.zeros(1, 3)])]),
        ("tanh", torch.tanh, [], [draw(2, 3)]),
        ("sigmoid", torch.sigmoid, [], [draw(2, 3)]),
        ("softplus", F.softplus, [], [draw(2, 3)]),
        ("pow", torch.pow, [3.0], [draw(2, 3)]),
        ("pow", torch.pow, [2.0], [torch.cat([draw(3), torch.zeros(1)])]),
        ("pow", torch.pow, [0.0], [torch.cat([draw(3), torch.zeros(1)])]),
        ("pow", torch.pow, [-1.5], [positive(2, 3)]),
        ("scale", torch.mul, [-2.5], [draw(2, 3)]),
        ("shift", torch.add, [1.5], [draw(2, 3)]),
        ("number_sub", lambda x, n: n - x, [1.5], [draw(2, 3)]),
        ("number_div", lambda x, n: n / x, [1.5], [draw(2, 3)]),
        ("sum", torch.sum, [], [draw(2, 3, 2)]),
        ("sum_axis", lambda x, axis: x.sum(axis, keepdim=True), [1], [draw(2, 3, 2)]),
        ("mean", torch.mean, [], [draw(2, 3)]),
        ("mean_axis", lambda x, axis: x.mean(axis, keepdim=True), [0], [draw(4, 3)]),
        # amax, not max: several largest elements share the gradient.
        ("max", torch.amax, [], [draw(2, 3)]),
        ("max_axis", lambda x, axis: x.amax(axis, keepdim=True), [1], [draw(3, 4)]),
        ("max_axis", lambda x, axis: x.amax(axis, keepdim=True), [0], [draw(1, 3).repeat(2, 1)]),
        ("matmul", torch.matmul, [], [draw(2, 4), draw(4, 3)]),
        ("transpose", lambda x: x.transpose(-1, -2), [], [draw(2, 3, 4)]),
        ("reshape", lambda x, *shape: x.reshape(shape), [3, 4], [draw(2, 6)]),
        ("broadcast_to", lambda x, *shape: x.broadcast_to(shape), [2, 4, 3], [draw(4, 1)]),
        ("slice", lambda x, axis, a, b: x.narrow(axis, a, b - a), [1, 1, 3], [draw(2, 4)]),
        ("index", lambda x, *rows: x[list(rows)], [2, 0, 2, 2], [draw(3, 2)]),
        ("concat", lambda a, b, c, axis: torch.cat([a, b, c], axis), [1],
         [draw(2, 1), draw(2, 3), draw(2, 2)]),
        ("softmax", lambda z: torch.softmax(z, -1), [], [draw(2, 4)]),
        ("softmax", lambda z: torch.softmax(z, -1), [], [draw(1, 3) * 400]),
        ("log_softmax", lambda z: torch.log_softmax(z, -1), [], [draw(2, 4)]),
        ("log_softmax", lambda z: torch.log_softmax(z, -1), [], [draw(1, 3) * 400]),
        ("cross_entropy", cross_entropy, [], [draw(3, 4), torch.softmax(draw(3, 4), -1)]),
        ("bce", F.binary_cross_entropy_with_logits, [], [draw(3, 4), torch.sigmoid(draw(3, 4))]),
        ("bce", F.binary_cross_entropy_with_logits, [], [draw(2, 2) * 300, positive(2, 2)]),
        ("squared_error", squared_error, [], [draw(3, 4), draw(3, 4)]),
    ]  # fmt: skip
    return found


def compute(name: str, operation: Operation, arguments: list, inputs: list[Tensor]) -> dict:
    """A case in the form of the file."""
    generator = torch.Generator().manual_seed(2)
    x = [tensor.to(torch.float64).detach().requires_grad_() for tensor in inputs]
    y = operation(*x, *arguments)
    upstream = torch.rand(y.shape, generator=generator, dtype=torch.float64)
    (upstream * y).sum().backward()
    return {
        "operation": name,
        "arguments": arguments,
        "inputs": [written(tensor) for tensor in x],
        "output": written(y),
        "upstream": written(upstream),
        "gradients": [written(tensor.grad) for tensor in x],
    }


def written(tensor: Tensor) -> dict:
    """A tensor as numbers; JSON keeps every digit of a float64."""
    return {"shape": list(tensor.shape), "data": tensor.detach().flatten().tolist()}


def to_json() -> str:
    """Writes every case, one per line."""
    lines = [json.dumps(compute(*case), separators=(",", ":")) for case in cases()]
    head = json.dumps({"made_by": f"reference/autograd_values.py, PyTorch {torch.__version__}"})
    return head[:-1] + ', "cases": [\n' + ",\n".join(lines) + "\n]}\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FILE")
    write_atomically(Path(sys.argv[1]), to_json().encode())
