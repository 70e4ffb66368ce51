"""Autograd with Python's lists, and the training of one network.

No library is used: a matrix is a list of rows, and a product is three loops. `crates/autograd` runs
this program from the same parameters, expects the same losses, and prints how much longer it takes.

    python reference/micrograd_lists.py PARAMETERS.json TASK STEPS

`PARAMETERS.json` holds w1, b1, …; `TASK` is JSON with x and y, row after row, and a learning rate.
Prints the losses and the seconds as JSON. Only needs Python.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path

Matrix = list[list[float]]


# ANCHOR: tensor
class Tensor:
    """A matrix, its gradient, and its operands."""

    def __init__(self, data: Matrix, parents: tuple[Tensor, ...] = ()) -> None:
        self.data = data
        self.grad = [[0.0] * len(row) for row in data]
        self.parents = parents
        self.pull_back: Callable[[], None] = lambda: None

    def linear(self, w: Tensor, b: Tensor) -> Tensor:
        """self [B, m], w [n, m], b [1, n] -> self · wᵀ + b, [B, n]."""
        rows = [
            [bias + sum(p * q for p, q in zip(x, weights, strict=True))
             for weights, bias in zip(w.data, b.data[0], strict=True)]
            for x in self.data
        ]  # fmt: skip
        result = Tensor(rows, (self, w, b))

        def pull_back() -> None:
            for i, dz in enumerate(result.grad):
                for j, d in enumerate(dz):
                    b.grad[0][j] += d
                    for k, value in enumerate(self.data[i]):
                        w.grad[j][k] += d * value
                        self.grad[i][k] += d * w.data[j][k]

        result.pull_back = pull_back
        return result
    # ANCHOR_END: tensor

    def tanh(self) -> Tensor:
        """Element by element."""
        result = Tensor([[math.tanh(value) for value in row] for row in self.data], (self,))

        def pull_back() -> None:
            for i, row in enumerate(result.grad):
                for j, d in enumerate(row):
                    self.grad[i][j] += d * (1 - result.data[i][j] ** 2)

        result.pull_back = pull_back
        return result

    def mean_square(self, y: Matrix) -> Tensor:
        """The mean of (self - y)², [1, 1]."""
        count = len(y) * len(y[0])
        pairs = [(i, j) for i in range(len(y)) for j in range(len(y[0]))]
        total = sum((self.data[i][j] - y[i][j]) ** 2 for i, j in pairs)
        result = Tensor([[total / count]], (self,))

        def pull_back() -> None:
            for i, j in pairs:
                self.grad[i][j] += result.grad[0][0] * 2 * (self.data[i][j] - y[i][j]) / count

        result.pull_back = pull_back
        return result

    def backward(self) -> None:
        """Adds to the gradients of all operands of this number, directly or indirectly."""
        order: list[Tensor] = []
        seen = set()

        def visit(node: Tensor) -> None:
            if id(node) not in seen:
                seen.add(id(node))
                for parent in node.parents:
                    visit(parent)
                order.append(node)

        visit(self)
        self.grad = [[1.0]]
        for node in reversed(order):
            node.pull_back()


def train(layers: list[tuple[Tensor, Tensor]], x: Tensor, y: Matrix, rate: float) -> float:
    """One step; returns the loss before it."""
    a = x
    for w, b in layers:
        a = a.linear(w, b).tanh()
    loss = a.mean_square(y)
    for parameter in (tensor for layer in layers for tensor in layer):
        parameter.grad = [[0.0] * len(row) for row in parameter.data]
    loss.backward()
    for parameter in (tensor for layer in layers for tensor in layer):
        for row, gradients in zip(parameter.data, parameter.grad, strict=True):
            for k, gradient in enumerate(gradients):
                row[k] -= rate * gradient
    return loss.data[0][0]


def rows(data: list[float], width: int) -> Matrix:
    """Splits a flat list into rows."""
    return [data[start : start + width] for start in range(0, len(data), width)]


def main() -> int:
    """Reads, trains, prints."""
    if len(sys.argv) != 4:
        print(f"usage: {sys.argv[0]} PARAMETERS.json TASK STEPS", file=sys.stderr)
        return 2
    file = json.loads(Path(sys.argv[1]).read_text())
    task, steps = json.loads(sys.argv[2]), int(sys.argv[3])
    found = {p["name"]: Tensor(rows(p["data"], p["shape"][-1])) for p in file["parameters"]}
    layers = [(found[f"w{n}"], found[f"b{n}"]) for n in range(1, len(found) // 2 + 1)]
    x = Tensor(rows(task["x"], len(layers[0][0].data[0])))
    y = rows(task["y"], len(layers[-1][0].data))
    clock = time.perf_counter()
    losses = [train(layers, x, y, task["rate"]) for _ in range(steps)]
    print(json.dumps({"losses": losses, "seconds": time.perf_counter() - clock}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
