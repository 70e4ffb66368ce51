#!/usr/bin/env python3
"""Compares the speed of level 1 with PyTorch's and NumPy's on this machine, in one run.

Level 1 (release build), PyTorch (eager and torch.compile, each with the fastest of several loops and numbers of threads)
and NumPy take turns, preset by preset, in several rounds. A ratio is level 1's speed divided by the other's in the same
round; the table shows the median over the rounds. All train on the same batches of the same images, which are in memory
before the clock starts.

Needs a Python with NumPy and torch (the one that runs this script), and MNIST in a folder. Prints a Markdown table, and
writes it to a file with --table; --json writes every figure.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "reference"))

from presets import PRESETS, current_name  # noqa: E402

OTHERS = {
    "reference-pytorch": "PyTorch",
    "reference-pytorch-compile": "torch.compile",
    "reference-numpy": "NumPy",
}


def main() -> int:
    """Runs the program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", default=os.environ.get("MNIST_DIR"), help="MNIST's folder")
    parser.add_argument(
        "--preset", action="append", type=current_name, choices=PRESETS, help="default: all"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-compile", action="store_true", help="skip torch.compile")
    parser.add_argument("--table", type=Path, help="write the table to this file")
    parser.add_argument("--json", type=Path, help="write every figure to this file")
    arguments = parser.parse_args()
    if not arguments.data_dir:
        parser.error("name MNIST's folder with --data-dir or MNIST_DIR")

    subprocess.run(["cargo", "build", "-q", "--release", "-p", "level1-cpu"], cwd=ROOT, check=True)
    rounds: dict[str, list[dict[str, dict]]] = {}
    about: dict[str, object] = {}
    for preset in arguments.preset or PRESETS:
        rounds[preset] = []
        for number in range(arguments.rounds):
            print(f"{preset}, round {number + 1} of {arguments.rounds}", file=sys.stderr)
            rounds[preset].append(one_round(preset, arguments, about))
    table = render(rounds, about)
    print(table)
    if arguments.table:
        arguments.table.write_text(table)
    if arguments.json:
        arguments.json.write_text(json.dumps({"about": about, "rounds": rounds}, indent=2) + "\n")
    return 0


def one_round(preset: str, arguments: argparse.Namespace, about: dict) -> dict[str, dict]:
    """Runs each program once. Returns the results by level."""
    data = ["--preset", preset, "--data-dir", arguments.data_dir]
    level1 = run([str(ROOT / "target/release/level1-cpu"), "bench", "--data", "mnist", *data])
    python = [sys.executable, str(ROOT / "reference/bench_pytorch.py"), *data]
    pytorch = run(python if arguments.no_compile else [*python, "--compile"])
    numpy = run([sys.executable, str(ROOT / "reference/bench_numpy.py"), *data])
    about |= {"torch": pytorch["torch"], "numpy": numpy.get("numpy", "")}
    results = [level1, *pytorch["results"], *numpy["results"]]
    return {result["level"]: result for result in results}


def run(command: list[str]) -> dict:
    """Runs a benchmark, and reads the JSON that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        output = subprocess.run([*command, "--json", str(path)], capture_output=True, text=True)
        if output.returncode != 0:
            sys.exit(f"{' '.join(command)} failed:\n{output.stderr or output.stdout}")
        return json.loads(path.read_text())


def render(rounds: dict[str, list[dict[str, dict]]], about: dict) -> str:
    """The table, with a caption that names the machine and the versions."""
    head = ["preset", "level 1"]
    for name in OTHERS.values():
        head += [name, "level 1 is"]
    head += ["share of sgemm"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    for preset, results in rounds.items():
        own = [r["level1-cpu"]["samples_per_second"] for r in results]
        row = [f"`{preset}`", f"{statistics.median(own):,.0f}"]
        for level in OTHERS:
            if level not in results[0]:
                row += ["", ""]
                continue
            other = [r[level]["samples_per_second"] for r in results]
            ratio = statistics.median(a / b for a, b in zip(own, other, strict=True))
            row += [f"{statistics.median(other):,.0f}", f"{ratio:.1f}×"]
        shares = [r["level1-cpu"]["gflops"] / r["level1-cpu"]["sgemm_gflops"] for r in results]
        row += [f"{100 * statistics.median(shares):.0f} %"]
        lines.append("| " + " | ".join(row) + " |")
    count = len(next(iter(rounds.values())))
    where = f"{cpu()}, {os.cpu_count()} cores"
    versions = f"PyTorch {about['torch']}, NumPy {about['numpy']}".rstrip(", ")
    caption = (
        f"Samples per second of training steps, medians of {count} rounds, on MNIST. {where}; "
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
