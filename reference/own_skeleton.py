"""A level for the reader to write in NumPy: copy it to own.py, and fill in the stages.

`own.py dump` runs one training step and writes the tensors that the stages have added so far.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

import command_line
import dumps
from dumps import Tensors
from numpy_mlp import DTYPES, Model


# ANCHOR: stages
def forward(t: Tensors, layers: int, loss: str) -> None:
    """Stage 2. From x and w1, b1, …: adds z1, a1, …, zL and p."""


def add_loss(t: Tensors, layers: int, loss: str) -> None:
    """Stage 2. From zL and y: adds loss, a number."""


def backward(t: Tensors, layers: int) -> None:
    """Stage 3. Adds dzL, dwL, dbL, da(L-1), dz(L-1), …, dw1, db1."""


def update(t: Tensors, layers: int, learning_rate: float) -> None:
    """Stage 4. Adds w1_next, b1_next, …; until then, the parameters stay as they are."""
    for n in range(1, layers + 1):
        t[f"w{n}_next"], t[f"b{n}_next"] = t[f"w{n}"], t[f"b{n}"]
# ANCHOR_END: stages


def step_tensors(
    inputs: Tensors, sizes: Sequence[int], loss: str, learning_rate: float, dtype: str
) -> Tensors:
    """Runs one step from x, y, w1, b1, …; returns the tensors that it made, in order."""
    layers = len(sizes) - 1
    given = dumps.tensor_names(layers)[: 2 + 2 * layers]
    t = {name: inputs[name].astype(DTYPES[dtype]) for name in given}
    forward(t, layers, loss)
    add_loss(t, layers, loss)
    backward(t, layers)
    update(t, layers, learning_rate)
    return {name: np.asarray(t[name]) for name in dumps.tensor_names(layers) if name in t}


if __name__ == "__main__":
    sys.exit(
        command_line.main(
            command_line.Program(
                level="own-numpy",
                about="Your own level, in NumPy.",
                model=Model,
                step=step_tensors,
            )
        )
    )
