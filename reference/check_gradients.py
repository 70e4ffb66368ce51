"""Compares the gradients of numpy_mlp.py with slopes of its loss: check_gradients.py [DUMP].

DUMP has the batch and the parameters; by default, they are those of dumps/softmax.json. Exits with
1 if a gradient is wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import dumps
import numpy_mlp

CHECKED = 5
"""Number of elements of each parameter that are checked."""
STEP = 1e-6
"""Distance to either side of a parameter."""


# ANCHOR: slope
def slope(inputs: dumps.Tensors, name: str, index: int, sizes: list[int], loss: str) -> float:
    """The difference quotient of the loss by one element of a parameter."""
    losses = []
    for step in (STEP, -STEP):
        moved = inputs | {name: inputs[name].copy()}
        moved[name].flat[index] += step
        losses.append(numpy_mlp.step_tensors(moved, sizes, loss, 0.0, "f64")["loss"])
    return float(losses[0] - losses[1]) / (2 * STEP)


# ANCHOR_END: slope


def main() -> int:
    """Prints the largest error of each parameter's gradient. Returns the exit code."""
    default = Path(__file__).parent / "dumps/softmax.json"
    path = sys.argv[1] if len(sys.argv) > 1 else default
    dump = dumps.read(path)
    sizes, loss = dumps.layer_sizes(dump, path), dump.header.loss or "cross-entropy"
    found = numpy_mlp.step_tensors(dump.tensors, sizes, loss, 0.0, "f64")
    generator = np.random.default_rng(1)
    wrong = False
    for name in [f"{kind}{n}" for n in range(1, len(sizes)) for kind in "wb"]:
        gradient = found[f"d{name}"]
        # The largest ones, where a wrong gradient is plain to see, and some others.
        order = np.argsort(-np.abs(gradient), axis=None)[: CHECKED - 2]
        indices = [*order, *generator.integers(gradient.size, size=2)]
        slopes = [slope(dump.tensors, name, int(i), sizes, loss) for i in indices]
        error = max(abs(gradient.flat[i] - s) for i, s in zip(indices, slopes, strict=True))
        right = error < 1e-6 * max(1.0, float(np.abs(gradient).max()))
        wrong |= not right
        print(f"d{name}: off by at most {error:.1e}{'' if right else ', WRONG'}")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
