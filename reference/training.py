"""The training loop and its report, shared by PyTorch and NumPy, as in the levels."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, SupportsFloat

import numpy as np

import dumps
import mnist
from failures import BadInput, Failure
from presets import Preset


class Model(Protocol):
    """A network that can be trained, in PyTorch or NumPy."""

    def step(self, x: np.ndarray, y: np.ndarray) -> SupportsFloat:
        """x [B, n0], y [B, C]: one update; returns the loss before it, as the preset prints it."""
        ...

    def outputs(self, x: np.ndarray) -> np.ndarray:
        """x [B, n0] -> the last pre-activation zL [B, C]."""
        ...


def batches(preset: Preset, samples: int, seed: int, epoch: int) -> Iterator[np.ndarray]:
    """The indices of each batch of an epoch, [B]; the last one may be shorter."""
    order = np.arange(samples)
    if preset.shuffle:
        np.random.default_rng([seed, epoch]).shuffle(order)
    size = preset.batch_size
    end = samples - samples % size if preset.drop_last else samples
    for start in range(0, end, size):
        yield order[start : min(start + size, end)]


def evaluate(model: Model, preset: Preset, samples: mnist.Samples) -> tuple[int, int]:
    """The number of recognised digits, and of all digits. The largest output decides."""
    # Even a set smaller than one batch is tested.
    whole = len(samples) // preset.batch_size * preset.batch_size
    total = whole if preset.drop_last and whole else len(samples)
    # The size of these pieces only limits the memory, and changes no result.
    starts = range(0, total, 1000)
    found = [model.outputs(samples.x[i : min(i + 1000, total)]).argmax(axis=1) for i in starts]
    return int((np.concatenate(found) == samples.labels[:total]).sum()), total


def train(
    model: Model,
    preset: Preset,
    seed: int,
    training_set: mnist.Samples,
    test_set: mnist.Samples,
) -> dict[str, Any]:
    """Trains with the preset's settings, prints losses, tests, and returns the report.

    The clock is paused while the model is tested. Raises `Failure` if a loss that is printed is not
    finite.
    """
    training_set = training_set.first(preset.samples)
    x, y = training_set.x, training_set.y()
    per_epoch = sum(1 for _ in batches(preset, len(x), seed, 0))
    if per_epoch == 0:
        raise BadInput(f"{len(x)} training images do not fill one batch of {preset.batch_size}")
    planned = min(preset.epochs * per_epoch, preset.max_batches or preset.epochs * per_epoch)

    losses: list[dict[str, float]] = []
    accuracies: list[dict[str, float]] = []
    done = samples = 0
    seconds = 0.0
    stop_reason = "max-batches" if planned == preset.max_batches else "epochs"
    clock = time.perf_counter()
    try:
        for k in range(planned):
            if k % per_epoch == 0:
                epoch = batches(preset, len(x), seed, k // per_epoch)
            batch = next(epoch)
            # A range of rows is a view, a list of them a copy.
            rows = batch if preset.shuffle else slice(int(batch[0]), int(batch[-1]) + 1)
            loss = model.step(x[rows], y[rows])
            done, samples = k + 1, samples + len(batch)
            if k % preset.report_every == 0 or done == planned:
                losses.append({"batch": k, "loss": _finite(float(loss), k, preset)})
                print(f"batch {k:>6}   loss {losses[-1]['loss']:.4f}", flush=True)
            if preset.evaluate_every and done % preset.evaluate_every == 0 and done < planned:
                seconds += time.perf_counter() - clock
                accuracies.append(_tested(model, preset, test_set, done))
                mark = preset.stop_at_accuracy
                clock = time.perf_counter()
                if mark is not None and accuracies[-1]["accuracy"] > mark:
                    stop_reason = "accuracy"
                    break
    except KeyboardInterrupt:
        stop_reason = "interrupted"
    seconds += time.perf_counter() - clock

    if not accuracies or accuracies[-1]["batches"] != done:
        accuracies.append(_tested(model, preset, test_set, done))
    correct, total = accuracies[-1]["correct"], accuracies[-1]["total"]
    print(f"{samples} samples in {seconds:.2f} s, {samples / seconds:.0f} samples/s")
    return {
        **{k: v for k, v in dataclasses.asdict(preset).items() if k not in ("samples", "epochs")},
        "seed": seed,
        "batches": done,
        "samples": samples,
        "seconds": seconds,
        "samples_per_second": samples / seconds,
        "losses": losses,
        "accuracies": [{k: a[k] for k in ("batches", "accuracy")} for a in accuracies],
        "test_accuracy": correct / total,
        "tested": {"correct": correct, "total": total},
        "stop_reason": stop_reason,
    }


def write_report(path: Path, report: dict[str, Any]) -> None:
    """Writes a report as indented JSON, whole or not at all."""
    try:
        dumps.write_atomically(path, (json.dumps(report, indent=2) + "\n").encode())
    except OSError as error:
        raise Failure(f"can't write {path}: {error}") from error


def _tested(model: Model, preset: Preset, samples: mnist.Samples, done: int) -> dict[str, Any]:
    correct, total = evaluate(model, preset, samples)
    percent = 100 * correct / total
    print(f"after {done:>6} batches   test accuracy {percent:.2f} %", flush=True)
    return {"batches": done, "accuracy": correct / total, "correct": correct, "total": total}


def _finite(loss: float, batch: int, preset: Preset) -> float:
    if math.isfinite(loss):
        return loss
    raise Failure(
        f"training diverged: the loss of batch {batch} is {loss}. "
        f"Try a --learning-rate smaller than {preset.learning_rate}."
    )
