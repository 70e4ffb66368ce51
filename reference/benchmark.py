"""Timing of PyTorch's and NumPy's training steps, as in the levels' `bench`."""

from __future__ import annotations

import argparse
import math
import os
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import command_line
import mnist
import training
from failures import Failure
from presets import PRESETS, Preset, current_name

RUN_SECONDS = 0.5
"""How long one timed run should take, unless the number of steps is given."""


@dataclass
class Candidate:
    """One way to write the training loop, with one number of threads."""

    variant: str
    threads: int
    run: Callable[[int], tuple[int, float]]
    """Trains on further batches. Returns their number of samples and the last loss."""


@dataclass
class Rates:
    """Samples per second of several runs."""

    candidate: Candidate
    steps: int
    rates: list[float]
    last_loss: float

    @property
    def median(self) -> float:
        """The rate that is reported."""
        return statistics.median(self.rates)


def best_of(candidates: Iterable[Candidate], runs: int, steps: int | None) -> tuple[Rates, dict]:
    """Tries every candidate briefly, then times the two fastest in turn; returns the faster one.

    Also returns what each of them reached when tried, by name, in samples per second.
    """
    tried = [measure([candidate], 3, None, RUN_SECONDS / 4)[0] for candidate in candidates]
    tried.sort(key=lambda rates: -rates.median)
    best = max(
        measure([rates.candidate for rates in tried[:2]], runs, steps, RUN_SECONDS),
        key=lambda rates: rates.median,
    )
    if not math.isfinite(best.last_loss):
        raise Failure("the loss is not finite, so the speed means nothing")
    names = {f"{r.candidate.variant}, {threads(r.candidate.threads)}": r.median for r in tried}
    return best, names


def measure(
    candidates: list[Candidate], runs: int, steps: int | None, seconds: float
) -> list[Rates]:
    """Times the candidates in turn, so that other load on the machine slows each of them."""
    results = []
    for candidate in candidates:
        count, taken = 8, 0.0
        while taken < seconds / 2:  # also the warm-up
            count *= 2
            taken = _timed(candidate, count)[1]
        # At least `count // 2` steps, in case the machine was slow for a moment.
        enough = max(math.ceil(count * seconds / taken), count // 2)
        results.append(Rates(candidate, steps or enough, [], math.nan))
    for _ in range(runs):
        for result in results:
            # A warm-up: this candidate's threads may have gone to sleep during the other's turn.
            result.candidate.run(min(result.steps, 16))
            samples, taken, result.last_loss = _timed(result.candidate, result.steps)
            result.rates.append(samples / taken)
    return results


def operations_per_sample(preset: Preset) -> int:
    """Multiplications and additions of the matrix products of one training step, per sample.

    For each weight two in the forward product, two for `dw`, and, except in the first layer, two
    for `da`.
    """
    pairs = enumerate(pairwise(preset.sizes))
    return sum(2 * n * m * (2 if layer == 0 else 3) for layer, (n, m) in pairs)


def record(
    level: str,
    preset_name: str,
    runs: int,
    best: Rates,
    tried: dict[str, float],
    device: str = "cpu",
) -> dict[str, Any]:
    """The result for one preset, with the keys of a level's `bench --json` and some more."""
    rate = best.median
    return {
        "level": level,
        "device": device,
        "preset": preset_name,
        "variant": best.candidate.variant,
        "threads": best.candidate.threads,
        "runs": runs,
        "steps": best.steps,
        "samples_per_second": rate,
        "samples_per_second_min": min(best.rates),
        "samples_per_second_max": max(best.rates),
        "gflops": rate * operations_per_sample(PRESETS[preset_name]) / 1e9,
        "last_loss": best.last_loss,
        "tried": tried,
    }


def show(result: dict[str, Any]) -> None:
    """Prints one row of the table."""
    print(
        f"{result['preset']:<12} {result['samples_per_second']:>10,.0f} samples/s "
        f"({result['samples_per_second_min']:,.0f} to {result['samples_per_second_max']:,.0f}), "
        f"{result['gflops']:.1f} GFLOP/s, last loss {result['last_loss']:.4f}   "
        f"{result['variant']}, {threads(result['threads'])}",
        flush=True,
    )


def threads(count: int) -> str:
    """`1 thread`, `2 threads`."""
    return f"{count} thread" + "s" * (count != 1)


def parser(about: str) -> argparse.ArgumentParser:
    """The options that both benchmarks share."""
    made = argparse.ArgumentParser(description=about)
    made.add_argument(
        "--preset",
        type=current_name,
        choices=PRESETS,
        action="append",
        help="may be repeated (default: all presets)",
    )
    command_line.add_data_options(made)
    positive = command_line.positive
    made.add_argument("--runs", type=positive, default=7, metavar="N", help="timed runs")
    made.add_argument(
        "--steps",
        type=positive,
        metavar="N",
        help="training steps in a run (default: enough for half a second)",
    )
    made.add_argument(
        "--threads",
        type=positive,
        action="append",
        metavar="N",
        help="threads to try; may be repeated (default: 1, 2, 4, … up to the machine's)",
    )
    made.add_argument("--json", type=Path, metavar="FILE", help="write the results to this file")
    return made


def samples(preset: Preset, arguments: argparse.Namespace) -> mnist.Samples:
    """The preset's training samples: x `float32` [N, n0] in memory, and the labels [N]."""
    train, _ = mnist.load(preset.normalisation, arguments.data_dir, arguments.data_npz)
    return train.first(preset.samples)


def thread_counts(given: list[int] | None) -> list[int]:
    """The numbers of threads to try: powers of two, and the machine's number of cores."""
    machine = os.cpu_count() or 1
    powers = {1 << n for n in range(machine.bit_length())}
    return sorted(set(given or {n for n in powers if n <= machine} | {machine}))


def write(path: Path | None, about: dict[str, Any], results: list[dict[str, Any]]) -> None:
    """Writes the results as JSON if there is a path."""
    if path:
        training.write_report(path, about | {"results": results})


def _timed(candidate: Candidate, steps: int) -> tuple[int, float, float]:
    clock = time.perf_counter()
    samples, loss = candidate.run(steps)
    return samples, time.perf_counter() - clock, loss
