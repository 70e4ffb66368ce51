#!/usr/bin/env python3
"""Trains the default network at every level and in PyTorch, and draws accuracy against time.

All start from the same parameters, see the same batches of MNIST, and are tested after every 20, while the clock is paused.
Levels 2 to 4 run on the emulated GPU, or on that of --device. PyTorch runs on the CPU, in float32, with one thread and
with one per core. Everything runs several times, in turns, and the fastest run of each is drawn, because other load on the
machine can only slow a run down.

Needs a Python with torch (the one that runs this script), MNIST in a folder, and an idle machine. Writes a page with
--html, a picture with --svg, and with --text a sentence that names the machine.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEVELS = ["level1-cpu", "level2-cuda-naive", "level3-cublas", "level4-ptx"]


def main() -> int:
    """Runs the program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", default=os.environ.get("MNIST_DIR"), help="MNIST's folder")
    parser.add_argument("--preset", default="small")
    parser.add_argument("--device", default="emulated", help="the device of levels 2 to 4")
    parser.add_argument("--rounds", type=int, default=3, help="number of runs of each")
    parser.add_argument("--html", type=Path, help="write all curves as a page")
    parser.add_argument("--svg", type=Path, help="write accuracy against time as a picture")
    parser.add_argument("--text", type=Path, help="write a sentence with the settings and the machine to this file")
    arguments = parser.parse_args()
    if not arguments.data_dir:
        parser.error("name MNIST's folder with --data-dir or MNIST_DIR")
    if arguments.rounds < 1:
        parser.error("--rounds has to be at least 1")
    if not (arguments.html or arguments.svg):
        parser.error("name an output file with --html, --svg or both")

    packages = [part for level in [*LEVELS, "training"] for part in ("-p", level)]
    subprocess.run(["cargo", "build", "-q", *packages], cwd=ROOT, check=True)
    common = ["--preset", arguments.preset, "--data-dir", arguments.data_dir]
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs.json"
        run([program("level1-cpu"), "dump", "--inputs-only", "--out", str(inputs), "--data", "mnist",
             *common])
        every = [*common, "--evaluate-every", "20"]
        runs = {}
        for level in LEVELS:
            device = [] if level == "level1-cpu" else ["--device", arguments.device]
            runs[level] = [[program(level), "train", *every, "--data", "mnist", *device]]
        pytorch = [sys.executable, str(ROOT / "reference/pytorch_mlp.py"), "train", *every]
        threads = sorted({1, os.cpu_count() or 1})
        runs["pytorch"] = [
            [*pytorch, "--inputs", str(inputs), "--threads", str(count)] for count in threads
        ]
        fastest: dict[str, tuple[float, Path]] = {}
        for turn in range(arguments.rounds):
            for name, commands in runs.items():
                for number, command in enumerate(commands):
                    report = Path(folder) / f"{name}-{number}-{turn}.json"
                    run([*command, "--json", str(report)])
                    seconds = json.loads(report.read_text())["seconds"]
                    fastest[name] = min((seconds, report), fastest.get(name, (seconds, report)))
        reports = [str(report) for _, report in fastest.values()]
        pages = [("--html", arguments.html), ("--svg", arguments.svg)]
        wanted = [part for option, path in pages if path for part in (option, str(path))]
        run([program("training"), *reports, *wanted])
    text = (
        f"{arguments.preset} on MNIST, levels 2 to 4 {'' if arguments.device == 'cuda' else 'on an '}"
        f"{arguments.device} GPU, the fastest of {arguments.rounds} runs; {cpu()}, {os.cpu_count()} cores; "
        f"{datetime.date.today()}. Made by `scripts/compare-training.py`.\n"
    )
    print(text, end="")
    if arguments.text:
        arguments.text.write_text(text)
    return 0


def program(name: str) -> str:
    """The path of a program of the workspace."""
    return str(ROOT / "target/debug" / name)


def run(command: list[str]) -> None:
    """Runs a command, and exits if it fails."""
    output = subprocess.run(command, capture_output=True, text=True)
    if output.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{output.stderr or output.stdout}")


def cpu() -> str:
    """The processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "an unnamed processor"


if __name__ == "__main__":
    sys.exit(main())
