#!/usr/bin/env python3
"""Compares the speed of level 1 with PyTorch's, JAX's, tinygrad's and NumPy's on this machine, in one run.

Level 1 and its rivals take turns, preset by preset, in several rounds. Each rival has the fastest of several loops and
numbers of threads. The table shows the medians over the rounds; a ratio is the quotient of two medians that it shows. All
train on the same batches of the same images, which are in memory before the clock starts, and none has to compute the loss.

Needs a Python with NumPy and torch (the one that runs this script), and MNIST in a folder. JAX and tinygrad are left out
if they aren't installed. Prints a Markdown table, and writes it to a file with --table; --json writes every figure.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "reference"))

import numpy as np  # noqa: E402

import benchmark  # noqa: E402
from bench_numpy import endless_batches  # noqa: E402
from benchmark import Candidate  # noqa: E402
from numpy_mlp import Model  # noqa: E402
from presets import PRESETS, Preset  # noqa: E402

OTHERS = {
    "reference-pytorch": "PyTorch",
    "reference-pytorch-compile": "torch.compile",
    "jax": "JAX",
    "tinygrad": "tinygrad",
    "reference-numpy": "NumPy",
}
ONE_THREAD = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
"""JAX reads its number of threads when it starts: with this, it uses one."""
STEPS_IN_A_CALL = 50
"""The steps of JAX's loop that runs several in one call."""


def main() -> int:
    """Runs the program."""
    parser = benchmark.parser(__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--profile",
        action="append",
        choices=["release", "dev"],
        help="how level 1 is built; may be repeated (default: both)",
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        choices=["torch.compile", "numpy", *RIVALS],
        help="skip a rival; may be repeated",
    )
    parser.add_argument("--table", type=Path, help="write the table to this file")
    parser.add_argument("--rival", choices=RIVALS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.profile = arguments.profile or ["release", "dev"]
    if arguments.rival:
        return in_this_process(arguments)
    arguments.data_dir = arguments.data_dir or os.environ.get("MNIST_DIR")
    if not arguments.data_dir:
        parser.error("name MNIST's folder with --data-dir or MNIST_DIR")

    for profile in arguments.profile:
        command = ["cargo", "build", "-q", "--locked", "--profile", profile, "-p", "level1-cpu"]
        subprocess.run(command, cwd=ROOT, check=True)
    rounds: dict[str, list[dict[str, dict]]] = {
        preset: [] for preset in arguments.preset or PRESETS
    }
    about: dict[str, Any] = {"profiles": arguments.profile, "load": []}
    for number in range(arguments.rounds):
        for preset, results in rounds.items():
            print(f"{preset}, round {number + 1} of {arguments.rounds}", file=sys.stderr)
            results.append(one_round(preset, arguments, about))
            if arguments.json:
                figures = {"about": about, "rounds": rounds}
                arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    table = render(rounds, about)
    print(table)
    if arguments.table:
        arguments.table.write_text(table)
    return 0


def one_round(preset: str, arguments: argparse.Namespace, about: dict) -> dict[str, dict]:
    """Runs each program once. Returns the results by level."""
    about["load"].append(os.getloadavg()[0])
    data = ["--preset", preset, "--data-dir", str(arguments.data_dir)]
    data += ["--runs", str(arguments.runs)]
    results: dict[str, dict] = {}
    for profile in arguments.profile:
        folder = "debug" if profile == "dev" else profile
        program = str(ROOT / "target" / folder / "level1-cpu")
        results[profile] = run([program, "bench", "--data", "mnist", *data])
    for threads in arguments.threads or []:
        data += ["--threads", str(threads)]
    pytorch = [sys.executable, str(ROOT / "reference/bench_pytorch.py"), *data]
    reports = [run(pytorch if "torch.compile" in arguments.without else [*pytorch, "--compile"])]
    if "numpy" not in arguments.without:
        reports.append(run([sys.executable, str(ROOT / "reference/bench_numpy.py"), *data]))
    for rival, (_, environments) in RIVALS.items():
        if rival not in arguments.without and importlib.util.find_spec(rival):
            command = [sys.executable, __file__, "--rival", rival, *data]
            tried = [run(command, environment) for environment in environments]
            reports.append(max(tried, key=lambda r: r["results"][0]["samples_per_second"]))
    for report in reports:
        about |= {name: report[name] for name in ("torch", "numpy", *RIVALS) if name in report}
        results |= {result["level"]: result for result in report["results"]}
    return results


def run(command: list[str], environment: dict[str, str] | None = None) -> dict:
    """Runs a benchmark, and reads the JSON that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        output = subprocess.run(
            [*command, "--json", str(path)],
            capture_output=True,
            text=True,
            env=os.environ | (environment or {}),
        )
        if output.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{output.stderr or output.stdout}")
        return json.loads(path.read_text())


def in_this_process(arguments: argparse.Namespace) -> int:
    """Times a rival that has no separate program."""
    make, _ = RIVALS[arguments.rival]
    results = []
    for name in arguments.preset or PRESETS:
        preset = PRESETS[name]
        train = benchmark.samples(preset, arguments)
        model = Model(preset, "f32", 1, None)
        start = []
        for layer in range(1, model.layers + 1):
            start += [model.tensors[f"w{layer}"], model.tensors[f"b{layer}"]]
        start = [np.array(parameter, dtype=np.float32) for parameter in start]
        candidates = make(preset, start, train.x, train.y())
        best, tried = benchmark.best_of(candidates, arguments.runs, arguments.steps)
        results.append(benchmark.record(arguments.rival, name, arguments.runs, best, tried))
    version = importlib.import_module("importlib.metadata").version(arguments.rival)
    benchmark.write(arguments.json, {arguments.rival: version}, results)
    return 0


def jax_candidates(
    preset: Preset, start: list[np.ndarray], x: np.ndarray, y: np.ndarray
) -> Iterator[Candidate]:
    """One step in a call, and many steps in a call; both compiled, and both in place."""
    import jax
    import jax.numpy as jnp

    threads = 1 if "XLA_FLAGS" in os.environ else os.cpu_count() or 1
    rate = np.float32(preset.learning_rate)

    def forward(parameters: list, x: Any) -> Any:
        for w, b in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
            x = jax.nn.relu(x @ w.T + b)
        return x @ parameters[-2].T + parameters[-1]

    def step(parameters: list, x: Any, y: Any) -> tuple[list, Any]:
        z, backward = jax.vjp(lambda parameters: forward(parameters, x), parameters)
        outputs = {"cross-entropy": jax.nn.softmax, "bce": jax.nn.sigmoid}
        p = outputs.get(preset.loss, lambda z: z)(z)
        (gradients,) = backward((p - y) / len(x))
        updated = [w - rate * dw for w, dw in zip(parameters, gradients, strict=True)]
        return updated, jnp.abs(p - y).mean()

    def many(parameters: list, x: Any, y: Any, rows: Any) -> tuple[list, Any]:
        def one(parameters: list, rows: Any) -> tuple[list, Any]:
            if preset.shuffle:
                return step(parameters, x[rows], y[rows])
            size = preset.batch_size
            part = [jax.lax.dynamic_slice_in_dim(whole, rows[0], size) for whole in (x, y)]
            return step(parameters, *part)

        parameters, errors = jax.lax.scan(one, parameters, rows)
        return parameters, errors[-1]

    size = preset.batch_size
    whole = len(x) - len(x) % size
    generator = np.random.default_rng(1)

    def state() -> list:
        return [jnp.array(parameter) for parameter in start]

    jitted = jax.jit(step, donate_argnums=0)
    batches = endless_batches(preset, x[:whole], y[:whole], seed=1)
    one_parameters = [state()]

    def run_one(steps: int) -> tuple[int, float]:
        for _ in range(steps):
            one_parameters[0], error = jitted(one_parameters[0], *next(batches))
        return steps * size, float(error)

    yield Candidate("jit of the step", threads, run_one)

    jitted_many = jax.jit(many, donate_argnums=0)
    all_x, all_y, many_parameters = jnp.array(x), jnp.array(y), [state()]

    def rows() -> Iterator[np.ndarray]:
        while True:
            order = generator.permutation(len(x)) if preset.shuffle else np.arange(len(x))
            batches = order[:whole].reshape(-1, size)
            for first in range(0, len(batches) - STEPS_IN_A_CALL + 1, STEPS_IN_A_CALL):
                yield batches[first : first + STEPS_IN_A_CALL]

    endless_rows = rows()

    def run_many(steps: int) -> tuple[int, float]:
        calls = -(-steps // STEPS_IN_A_CALL)
        for _ in range(calls):
            many_parameters[0], error = jitted_many(
                many_parameters[0], all_x, all_y, next(endless_rows)
            )
        return calls * STEPS_IN_A_CALL * size, float(error)

    yield Candidate(f"jit of {STEPS_IN_A_CALL} steps", threads, run_many)


def tinygrad_candidates(
    preset: Preset, start: list[np.ndarray], x: np.ndarray, y: np.ndarray
) -> Iterator[Candidate]:
    """The compiled step of tinygrad's CPU backend."""
    from tinygrad import Tensor, TinyJit

    parameters = [Tensor(parameter).realize() for parameter in start]
    size = preset.batch_size
    whole = len(x) - len(x) % size
    batches = endless_batches(preset, x[:whole], y[:whole], seed=1)

    @TinyJit
    def step(x: Any, y: Any) -> Any:
        inputs, z = [], x
        for layer, (w, b) in enumerate(zip(parameters[::2], parameters[1::2], strict=True)):
            inputs.append(z.relu() if layer else z)
            z = inputs[-1] @ w.T + b
        outputs = {"cross-entropy": lambda z: z.softmax(), "bce": lambda z: z.sigmoid()}
        dz = (outputs.get(preset.loss, lambda z: z)(z) - y) / size
        error = dz.abs().mean() * size
        updates = []
        for layer in reversed(range(len(inputs))):
            w, b = parameters[2 * layer : 2 * layer + 2]
            updates += [(w, dz.T @ inputs[layer]), (b, dz.sum(0))]
            if layer:
                dz = (inputs[layer] > 0).where(dz @ w, 0)
        rate = preset.learning_rate
        new = [(old, (old - rate * gradient).contiguous()) for old, gradient in updates]
        Tensor.realize(*[value for _, value in new], error)
        Tensor.realize(*[parameter.assign(value) for parameter, value in new])
        return error

    def run_steps(steps: int) -> tuple[int, float]:
        for _ in range(steps):
            part = [Tensor(np.ascontiguousarray(each)).realize() for each in next(batches)]
            error = step(*part)
        return steps * size, error.item()

    yield Candidate("TinyJit of the step", os.cpu_count() or 1, run_steps)


Make = Callable[[Preset, list[np.ndarray], np.ndarray, np.ndarray], Iterator[Candidate]]
RIVALS: dict[str, tuple[Make, list[dict[str, str]]]] = {
    "jax": (jax_candidates, [{}, ONE_THREAD]),
    "tinygrad": (tinygrad_candidates, [{}]),
}
"""How a rival's loops are made, and the environments to try."""


def render(rounds: dict[str, list[dict[str, dict]]], about: dict) -> str:
    """The table, with a caption that names the machine and the versions."""
    first = next(iter(rounds.values()))[0]
    others = [level for level in OTHERS if level in first]
    profiles = about["profiles"]
    head = ["preset", *[f"level 1, {profile}" for profile in profiles], "share of sgemm"]
    head += [OTHERS[level] for level in others] + ["times the fastest rival"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for preset, results in rounds.items():
        def median(level: str, results: list = results) -> float:
            return statistics.median(r[level]["samples_per_second"] for r in results if level in r)

        shares = [r[profiles[0]]["gflops"] / r[profiles[0]]["sgemm_gflops"] for r in results]
        rivals = [median(level) for level in others]
        row = [f"`{preset}`", *[f"{median(profile):,.0f}" for profile in profiles]]
        row += [f"{100 * statistics.median(shares):.0f} %", *[f"{rate:,.0f}" for rate in rivals]]
        row += [f"{median(profiles[0]) / max(rivals):.1f}×"]
        lines.append("| " + " | ".join(row) + " |")
    count = len(next(iter(rounds.values())))
    names = {"torch": "PyTorch", "jax": "JAX", "tinygrad": "tinygrad", "numpy": "NumPy"}
    versions = ", ".join(f"{name} {about[key]}" for key, name in names.items() if key in about)
    caption = (
        f"Samples per second of training steps, medians of {count} rounds, on MNIST. {cpu()}, "
        f"{os.cpu_count()} cores, load {min(about['load']):.1f} to {max(about['load']):.1f}; "
        f"{versions}; {datetime.date.today()}. Made by `scripts/compare-speed.py`."
    )
    return "\n".join([*lines, "", caption, ""])


def cpu() -> str:
    """The processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main())
