"""Benchmark: training speed of the NumPy network for each preset, in float32, on this machine.

The data is one array in memory before the clock starts. NumPy's matrix library reads its number of
threads when it is loaded, so each number is tried in a separate process. With --operations, it
prints the time of each operation of a training step instead, with one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import benchmark
import numpy_mlp
from benchmark import Candidate
from failures import Failure
from numpy_mlp import LOSSES, Model, backward, forward, update_all
from presets import PRESETS, Preset

LEVEL = "reference-numpy"
VARIANT = "by hand"
THREAD_VARIABLES = (
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def endless_batches(
    preset: Preset, x: np.ndarray, y: np.ndarray, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Batch after batch, epoch after epoch: views, or copies if the preset shuffles."""
    size = preset.batch_size
    end = len(x) - len(x) % size if preset.drop_last else len(x)
    slices = [slice(start, min(start + size, end)) for start in range(0, end, size)]
    views = [(x[rows], y[rows]) for rows in slices]
    generator = np.random.default_rng(seed)
    while True:
        if not preset.shuffle:
            yield from views
            continue
        order = generator.permutation(len(x))
        for rows in slices:
            yield x[order[rows]], y[order[rows]]


def candidate(preset: Preset, threads: int, x: np.ndarray, y: np.ndarray) -> Candidate:
    """The training step of numpy_mlp.py; the loss is computed once, after the last step."""
    model = Model(preset, "f32", 1, None)
    t, layers = model.tensors, model.layers
    batches = endless_batches(preset, x, y, seed=1)

    def run(steps: int) -> tuple[int, float]:
        samples = 0
        for _ in range(steps):
            t["x"], t["y"] = next(batches)
            forward(t, layers, model.loss)
            backward(t, layers)
            update_all(t, layers, model.learning_rate)
            samples += len(t["x"])
        return samples, float(LOSSES[model.loss](t[f"z{layers}"], t["y"]))

    return Candidate(VARIANT, threads, run)


OPERATIONS = (
    "matmul_a_bt",
    "add_bias",
    "relu",
    "output_gradient",
    "matmul_at_b",
    "sum_batch",
    "matmul_a_b",
    "relu_backward",
    "update",
)


def times_of_operations(preset: Preset, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """The microseconds of each operation in a training step, medians over many steps.

    `between` is the rest of a step: the loops, the dictionary of tensors, the clock.
    """
    of_step: dict[str, float] = {}

    def timed(name: str, function: Callable) -> Callable:
        def call(*arguments: Any) -> Any:
            clock = time.perf_counter()
            result = function(*arguments)
            of_step[name] = of_step.get(name, 0) + time.perf_counter() - clock
            return result

        return call

    for name in OPERATIONS:
        setattr(numpy_mlp, name, timed(name, getattr(numpy_mlp, name)))
    numpy_mlp.OUTPUTS[preset.loss] = timed("p", numpy_mlp.OUTPUTS[preset.loss])
    model = Model(preset, "f32", 1, None)
    t, layers = model.tensors, model.layers
    batches = endless_batches(preset, x, y, seed=1)
    steps: list[dict[str, float]] = []
    end = time.perf_counter() + 10 * benchmark.RUN_SECONDS
    while len(steps) < 20 or (len(steps) < 1000 and time.perf_counter() < end):
        t["x"], t["y"] = next(batches)
        of_step.clear()
        clock = time.perf_counter()
        forward(t, layers, model.loss)
        backward(t, layers)
        update_all(t, layers, model.learning_rate)
        whole = time.perf_counter() - clock
        steps.append(of_step | {"between": whole - sum(of_step.values())})
    return {name: 1e6 * statistics.median(step[name] for step in steps) for name in steps[0]}


def show_operations(arguments: argparse.Namespace) -> None:
    """Prints the time of each operation of a step, for each preset."""
    for name in arguments.preset or PRESETS:
        preset = PRESETS[name]
        train = benchmark.samples(preset, arguments)
        taken = times_of_operations(preset, train.x, train.y())
        whole = sum(taken.values())
        print(f"{name}: {whole:.0f} us for a step of {preset.batch_size} samples, 1 thread")
        for operation, each in taken.items():
            print(f"  {operation:<16}{each:>8.1f} us{each / whole:>7.1%}")


def sgemm_gflops() -> float:
    """The rate of NumPy's own product of two 2048 x 2048 matrices, in 10⁹ operations/s."""
    n = 2048
    a = np.random.default_rng(1).random((n, n), dtype=np.float32)
    b, c = a.copy(), np.empty_like(a)
    times = []
    for _ in range(6):
        clock = time.perf_counter()
        np.matmul(a, b, out=c)
        times.append(time.perf_counter() - clock)
    return 2 * n**3 / min(times) / 1e9


def in_this_process(arguments: argparse.Namespace) -> dict[str, Any]:
    """Times the presets with the number of threads that this process was started with."""
    results = []
    for name in arguments.preset or PRESETS:
        preset = PRESETS[name]
        train = benchmark.samples(preset, arguments)
        one = candidate(preset, arguments.threads[0], train.x, train.y())
        best, tried = benchmark.best_of([one], arguments.runs, arguments.steps)
        results.append(benchmark.record(LEVEL, name, arguments.runs, best, tried))
    return {"sgemm_gflops": sgemm_gflops(), "results": results}


def in_another_process(threads: int) -> dict[str, Any]:
    """Times the presets with the same command line in a process with `threads` threads."""
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
    command = [sys.executable, __file__, *sys.argv[1:], "--in-this-process", str(threads)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"the run with {benchmark.threads(threads)} failed; its error is above")
    return json.loads(done.stdout)


def main() -> int:
    """Times the presets asked for."""
    parser = benchmark.parser("How fast the NumPy network trains on this machine.")
    parser.add_argument("--in-this-process", type=int, metavar="N", help=argparse.SUPPRESS)
    parser.add_argument(
        "--operations", action="store_true", help="show the time of each operation of a step"
    )
    arguments = parser.parse_args()
    if arguments.operations and any(os.environ.get(name) != "1" for name in THREAD_VARIABLES):
        environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
        return subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode
    try:
        if arguments.operations:
            show_operations(arguments)
            return 0
        if arguments.in_this_process:
            arguments.threads = [arguments.in_this_process]
            print(json.dumps(in_this_process(arguments)))
            return 0
        counts = benchmark.thread_counts(arguments.threads)
        runs = [in_another_process(count) for count in counts]
        about = {"numpy": np.__version__, "sgemm_gflops": runs[-1]["sgemm_gflops"]}
        print(f"NumPy {about['numpy']}, sgemm {about['sgemm_gflops']:.0f} GFLOP/s")
        results = []
        for same_preset in zip(*(run["results"] for run in runs), strict=True):
            best = max(same_preset, key=lambda result: result["samples_per_second"])
            best["tried"] = {k: v for result in same_preset for k, v in result["tried"].items()}
            benchmark.show(best)
            results.append(best)
        benchmark.write(arguments.json, about, results)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return failure.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
