"""The presets and the fixtures: every network of this project, by name, in one table.

The levels keep the same table in `crates/training/src/preset.rs`. Run as a program, this file
prints its own as JSON, so that a test can compare the two; with `--former-names`, the former names
instead, and with `--fixtures`, the names of the fixtures.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from dataclasses import dataclass

LOSSES = ("cross-entropy", "bce", "squared-error")
NORMALISATIONS = ("mean-std", "unit")
INITIALISATIONS = ("uniform-fan-in", "kaiming-uniform", "small-normal")


@dataclass(frozen=True)
class Preset:
    """All settings of a training run, except the seed."""

    sizes: tuple[int, ...]
    """Units of each layer, input first: `n0, n1, …, nL`."""
    loss: str
    """One of `LOSSES`. It also decides the function from the last `z` to `p`."""
    batch_size: int = 64
    """Samples in a batch, `B`."""
    learning_rate: float = 0.01
    """Learning rate of plain SGD; every program uses the `float32` next to it."""
    epochs: int = 1
    """Passes over the samples."""
    samples: int = 60_000
    """Number of training images: the first ones of the set."""
    shuffle: bool = False
    """Whether each epoch is shuffled."""
    normalisation: str = "mean-std"
    """One of `NORMALISATIONS`: `(x/255 - 0.1307) / 0.3081`, or `x/255`."""
    initialisation: str = "uniform-fan-in"
    """One of `INITIALISATIONS`: w and b U(±1/√fan_in); w U(±√(2/fan_in)), b 0; 0.01·N(0,1)."""
    drop_last: bool = False
    """Whether a last, incomplete batch is dropped, in training and in testing."""
    report_every: int = 100
    """Number of batches from one printed loss to the next."""
    evaluate_every: int | None = None
    """Number of batches from one test to the next (default: only a test at the end)."""
    stop_at_accuracy: float | None = None
    """Training stops when the test accuracy passes this fraction."""
    max_batches: int | None = None
    """Limit of batches."""


PRESETS = {
    "small": Preset(
        sizes=(784, 30, 10),
        loss="bce",
        batch_size=256,
        learning_rate=0.1,
        drop_last=True,
        report_every=20,
    ),
    "medium": Preset(
        sizes=(784, 256, 10),
        loss="cross-entropy",
        batch_size=8,
        epochs=10,
        samples=10_000,
        initialisation="kaiming-uniform",
        report_every=1_250,
    ),
    "large": Preset(
        sizes=(784, 1024, 10),
        loss="cross-entropy",
        batch_size=32,
        epochs=10,
        samples=10_000,
        initialisation="kaiming-uniform",
        drop_last=True,
        report_every=312,
    ),
    "race": Preset(
        sizes=(784, 128, 10),
        loss="squared-error",
        learning_rate=0.001,
        epochs=11,
        shuffle=True,
        normalisation="unit",
        initialisation="small-normal",
        evaluate_every=100,
        stop_at_accuracy=0.6,
        max_batches=10_000,
    ),
    "deep": Preset(sizes=(784, 128, 64, 10), loss="cross-entropy"),
}
"""The networks that are trained on digits; the default one first."""

FORMER_NAMES = {
    "nvmath": "small",
    "manning": "medium",
    "mnist-cuda": "large",
    "ptx-mnist": "race",
    "ptx-3layer": "deep",
}
"""Former names of presets, after their sources, and the current names."""


def current_name(name: str) -> str:
    """The current name of a preset. Dumps and command lines may use the former name."""
    return FORMER_NAMES.get(name, name)


def _fixture(sizes: tuple[int, ...], loss: str, batch_size: int) -> Preset:
    return Preset(sizes, loss, batch_size, learning_rate=0.1, samples=batch_size)


FIXTURES = {
    "softmax": _fixture((784, 30, 10), "cross-entropy", 8),
    "squared-error": _fixture((784, 17, 10), "squared-error", 7),
    "bce": _fixture((784, 30, 10), "bce", 7),
    "three-layer": _fixture((784, 32, 17, 10), "cross-entropy", 8),
    "wide": _fixture((784, 130, 10), "cross-entropy", 5),
    "single": _fixture((784, 30, 10), "cross-entropy", 1),
    "batch-37": _fixture((784, 20, 10), "bce", 37),
    "batch-67": _fixture((784, 30, 10), "cross-entropy", 67),
    "one-unit": _fixture((784, 1, 10), "squared-error", 7),
    "units-1025": _fixture((13, 1025, 10), "cross-entropy", 9),
    # At the edges of arithmetic, with parameters that `crates/training/src/edge.rs` describes.
    "large-logits": _fixture((64, 24, 10), "cross-entropy", 8),
    "saturated": _fixture((64, 24, 10), "bce", 8),
    "kink": _fixture((64, 24, 10), "cross-entropy", 8),
    "subnormal": _fixture((64, 24, 10), "cross-entropy", 8),
    "zero-gradient": _fixture((64, 24, 10), "squared-error", 8),
}
"""Networks for tests, with one batch of noise each and odd sizes. Their dumps are committed."""


if __name__ == "__main__":
    if sys.argv[1:] == ["--fixtures"]:
        print("\n".join(FIXTURES))
    elif sys.argv[1:] == ["--former-names"]:
        print(json.dumps(FORMER_NAMES, indent=2))
    else:
        table = {name: dataclasses.asdict(preset) for name, preset in (PRESETS | FIXTURES).items()}
        print(json.dumps(table, indent=2))
