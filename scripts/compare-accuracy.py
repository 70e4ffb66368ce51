#!/usr/bin/env python3
"""Trains every preset at level 1 and in PyTorch (float32), and compares the accuracies.

Both start from the same parameters, which level 1 draws and writes to a dump. If the preset keeps the order of the
samples, they also see the same batches. Each preset is trained with three seeds.

Needs a Python with torch (the one that runs this script), and MNIST in a folder. Prints a Markdown table, and writes it
to a file with --table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "reference"))

from presets import PRESETS, current_name  # noqa: E402


def main() -> int:
    """Runs the program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", default=os.environ.get("MNIST_DIR"), help="MNIST's folder")
    parser.add_argument(
        "--preset", action="append", type=current_name, choices=PRESETS, help="default: all"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--table", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    if not arguments.data_dir:
        parser.error("name MNIST's folder with --data-dir or MNIST_DIR")

    subprocess.run(["cargo", "build", "-q", "-p", "level1-cpu"], cwd=ROOT, check=True)
    seeds = range(1, arguments.seeds + 1)
    lines = [
        "| preset | level 1 | PyTorch | largest difference |",
        "|---|---:|---:|---:|",
    ]
    for preset in arguments.preset or PRESETS:
        pairs = []
        for seed in seeds:
            print(f"{preset}, seed {seed}", file=sys.stderr)
            reports = train_both(preset, seed, arguments.data_dir)
            pairs.append([100 * report["test_accuracy"] for report in reports])
        largest = max(abs(own - other) for own, other in pairs)
        columns = [", ".join(f"{value:.2f}" for value in column) for column in zip(*pairs)]
        lines.append(f"| `{preset}` | {columns[0]} | {columns[1]} | {largest:.2f} points |")
    lines += [
        "",
        "Test accuracy in per cent after the whole training on MNIST, with the seeds "
        f"{', '.join(map(str, seeds))}. Both start from the same parameters; only in `race`, "
        "which stops at the first test above 60 %, do they see the samples in different orders. "
        "Made by `scripts/compare-accuracy.py`.",
    ]
    table = "\n".join(lines) + "\n"
    print(table, end="")
    if arguments.table:
        arguments.table.write_text(table)
    return 0


def train_both(preset: str, seed: int, data_dir: str) -> tuple[dict, dict]:
    """The reports of level 1 and of PyTorch."""
    common = ["--preset", preset, "--seed", str(seed), "--data-dir", data_dir]
    with tempfile.TemporaryDirectory() as folder:
        report, inputs = Path(folder) / "report.json", Path(folder) / "inputs.json"
        level1 = [str(ROOT / "target/debug/level1-cpu")]
        run([*level1, "dump", "--inputs-only", "--out", str(inputs), "--data", "mnist", *common])
        run([*level1, "train", "--json", str(report), "--data", "mnist", *common])
        own = json.loads(report.read_text())
        script = str(ROOT / "reference/pytorch_mlp.py")
        start = ["--inputs", str(inputs), "--json", str(report)]
        run([sys.executable, script, "train", *start, *common])
        return own, json.loads(report.read_text())


def run(command: list[str]) -> None:
    """Runs a command, and exits if it fails."""
    output = subprocess.run(command, capture_output=True, text=True)
    if output.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{output.stderr or output.stdout}")


if __name__ == "__main__":
    sys.exit(main())
