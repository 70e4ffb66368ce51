"""The race to 60 %: how many batches the preset `race` takes from either of two
initialisations, with either of two losses. Each corner is run with several seeds.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import sys

import torch
import torch.nn.functional as F

import command_line
import mnist
import pytorch_mlp
import training
from failures import Failure
from presets import PRESETS

INITIALISATIONS = {"small-normal": "small-normal", "PyTorch's": "uniform-fan-in"}


# ANCHOR: losses
class MeanSquares(pytorch_mlp.Model):
    """The same network, with the loss that `nn.MSELoss` computes: a mean over the outputs, too."""

    def step(self, x, y):
        """x [B, n0], y [B, C]: one update; returns the loss before it."""
        z, _ = self.mlp(self._tensor(x))
        loss = F.mse_loss(z[-1], self._tensor(y))
        self.sgd.zero_grad()
        loss.backward()
        self.sgd.step()
        return loss.detach()


LOSSES = {"half the sum of squares": pytorch_mlp.Model, "nn.MSELoss": MeanSquares}
# ANCHOR_END: losses


def main() -> int:
    """Runs all four corners; prints the batches of each seed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0].replace("\n", " "))
    command_line.add_data_options(parser)
    parser.add_argument("--seeds", type=command_line.positive, default=3, metavar="N")
    arguments = parser.parse_args()
    preset = PRESETS["race"]
    torch.use_deterministic_algorithms(True)
    try:
        digits = mnist.load(preset.normalisation, arguments.data_dir, arguments.data_npz)
        print("".join(f"{title:>24}" for title in ["", *LOSSES]), flush=True)
        for title, initialisation in INITIALISATIONS.items():
            corner = dataclasses.replace(preset, initialisation=initialisation)
            row = f"{title:>24}"
            for model in LOSSES.values():
                counts = []
                for seed in range(1, arguments.seeds + 1):
                    with contextlib.redirect_stdout(io.StringIO()):
                        network = model(corner, "f32", seed, None)
                        report = training.train(network, corner, seed, *digits)
                    counts.append(str(report["batches"]))
                row += f"{', '.join(counts):>24}"
            print(row, flush=True)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return failure.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
