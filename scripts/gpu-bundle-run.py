#!/usr/bin/env python3
"""Checks, trains and measures every level on this machine's NVIDIA GPU.

    ./run [--device cuda|emulated] [--quick] [--part check …] [--data-dir MNIST] [--python PYTHON] [--out results]

Part of a folder that scripts/gpu-bundle.py made. Needs Python 3.8, an NVIDIA driver for CUDA 12.0 or later, and for
level 3 cuBLAS and cuBLASLt, from a CUDA toolkit or Python wheels (PyTorch has them). The checks run several at a time,
the measurements one after the other, preset by preset. It continues after failures. Writes results.json, results.md and a
log for each command; Ctrl+C (SIGINT) ends it early with the results so far. Exits with 0 on success, 1 if something
failed or was left out by Ctrl+C, 2 for a wrong option.
"""

import argparse
import datetime
import functools
import json
import os
import platform
import re
import shutil
import signal
import site
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
BIN = HERE / "bin"
# The folder `reference` of the bundle, or that of the repository.
sys.path[:0] = [str(HERE / "reference"), str(HERE.parent / "reference")]

from presets import PRESETS, current_name  # noqa: E402

# The measured options of each level; it trains with the first.
PRODUCTS = ["coalesced", "shared-tile", "register-tile", "vectorised", "wmma"]
TRANSFERS = ["explicit", "pinned", "unified", "double-buffered", "resident"]
VARIANTS = {
    "level1-cpu": ["--form fast", "--form textbook"],
    "level2-cuda-naive": [f"--kernels per-operation --transfer {how}" for how in TRANSFERS]
    + [f"--products {how} --transfer resident" for how in PRODUCTS]
    + ["--kernels per-sample --transfer resident"],
    "level3-cublas": ["--gemm cublaslt", "--gemm cublaslt --graph", "--gemm cublaslt --tf32"]
    + ["--gemm cublas"],
    "level4-ptx": [f"--kernels {rung}" for rung in ["one-launch", "whole-epoch", "register-tiles", "tiled", "thread-per-sample"]]
    + [f"--kernels {rung}" for rung in ["tensor-cores", "bf16", "three-tf32"]],
}
PARTS = ["check", "train", "bench", "profile", "pytorch"]
LIBRARIES = ["cublas", "cublasLt", "nvrtc"]


class Items:
    """The commands that were run, with their results."""

    def __init__(self, out, environment, limit):
        self.out = out
        self.environment = environment
        self.limit = limit
        self.items = []
        self.interrupted = False

    def run(self, group, level, options, what, command, result=None, environment=None):
        """Runs a command, and returns its item. `result` is the JSON file that it writes."""
        if self.interrupted:
            raise KeyboardInterrupt
        item = {"group": group, "level": level, "options": options, "what": what}
        name = re.sub(r"[^a-z0-9]+", "-", f"{group} {level} {options} {what}".lower())
        command = [str(word) for word in command]
        clock = time.monotonic()
        output, status, ended = "", "ok", 0
        try:
            done = subprocess.run(
                command,
                env=environment or self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=self.limit,
            )
            output = done.stdout.decode(errors="replace")
            ended = done.returncode
            if ended != 0:
                status = f"failed with exit code {ended}: {last_line(output)}"
        except subprocess.TimeoutExpired as error:
            output = (error.stdout or b"").decode(errors="replace")
            status = f"failed: still running after {self.limit} s (--limit)"
        except OSError as error:
            status = f"failed: {error}"
        item["seconds"] = round(time.monotonic() - clock, 3)
        # Ctrl+C also ends the commands, sometimes before the main thread notices it: they have not failed.
        if self.interrupted or ended in (-signal.SIGINT, 128 + signal.SIGINT):
            raise KeyboardInterrupt
        if result and result.exists():
            try:
                item["result"] = json.loads(result.read_text())
            except ValueError as error:
                status = status if status != "ok" else f"failed: {result.name}: {error}"
        elif result and status == "ok":
            status = f"failed: {result.name} was not written"
        item["status"] = status
        log = self.out / "logs" / f"{name}.txt"
        log.write_text("$ " + " ".join(command) + "\n" + output)
        self.items.append(item)
        text = f"{'ok  ' if status == 'ok' else 'FAIL'} {group}: {level} {options} {what}\n"
        if status != "ok":
            text += f"     {status}\n"
        # One write, because several threads print.
        print(text, end="", flush=True)
        return item

    def skip(self, group, level, why):
        """Records a skipped command with the reason, once."""
        item = {"group": group, "level": level, "options": "", "what": "", "status": f"skipped: {why}"}
        if item in self.items:
            return
        self.items.append(item)
        print(f"skip {group}: {level}: {why}", flush=True)

    def failed(self):
        """The items that failed."""
        return [item for item in self.items if item["status"].startswith("failed")]


def main():
    """Runs everything."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=["cuda", "emulated"], default="cuda")
    parser.add_argument("--quick", action="store_true", help="a few steps of everything")
    parser.add_argument("--data-dir", type=Path, help="MNIST's folder (default: ./mnist)")
    parser.add_argument("--python", default=sys.executable, help="a Python with PyTorch")
    parser.add_argument("--preset", action="append", type=current_name, choices=PRESETS, help="default: all")
    parser.add_argument("--level", action="append", choices=list(VARIANTS), help="default: all")
    parser.add_argument("--part", action="append", choices=PARTS, help="default: all")
    parser.add_argument("--runs", type=int, help="measured runs of each benchmark (default: the benchmark's)")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1), help="checks at a time")
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--limit", type=int, default=900, help="time limit of a command in seconds")
    arguments = parser.parse_args()

    out = arguments.out.resolve()
    try:
        shutil.rmtree(out / "logs", ignore_errors=True)
        (out / "logs").mkdir(parents=True)
    except OSError as error:
        print(f"error: can't write to {out}: {error}", file=sys.stderr)
        return 2
    plain = dict(os.environ)
    environment = dict(plain, FOUR_LEVELS_KERNELS=str(HERE / "kernels"))
    libraries = {}
    if arguments.device == "cuda":
        libraries = link_libraries(out / "libraries", arguments.python, environment)
    items = Items(out, environment, arguments.limit)
    mnist = arguments.data_dir or (HERE / "mnist" if (HERE / "mnist").is_dir() else None)
    data = ["--data", "mnist", "--data-dir", mnist] if mnist else ["--data", "digits"]
    presets = arguments.preset or (["small"] if arguments.quick else list(PRESETS))
    levels = {
        level: options
        for level, options in VARIANTS.items()
        if (BIN / level).exists() and level in (arguments.level or VARIANTS)
    }
    device = ["--device", arguments.device]

    runs = 1 if arguments.quick else arguments.runs
    parts = arguments.part or PARTS
    try:
        if "check" in parts:
            check(items, levels, device, arguments.quick, arguments.jobs)
        if "train" in parts:
            train(items, levels, device, presets, data, arguments.quick)
        for preset in presets:
            if "bench" in parts:
                bench(items, levels, device, preset, data, runs, arguments.quick)
            if "pytorch" in parts:
                pytorch(items, arguments, preset, mnist, runs, plain)
        if "profile" in parts:
            profile(items, levels, device, data, arguments.quick)
    except KeyboardInterrupt:
        items.interrupted = True
        print("interrupted: the rest is left out", file=sys.stderr)

    report = {
        "format": "four-levels-gpu-bundle",
        "version": 1,
        "date": datetime.date.today().isoformat(),
        "device": device_of(items.items),
        "driver": nvidia_smi() if arguments.device == "cuda" else None,
        "host": platform.platform(),
        "cores": os.cpu_count(),
        "quick": arguments.quick,
        "runs": runs,
        "interrupted": items.interrupted,
        "libraries": libraries,
        "failed": len(items.failed()),
        "items": items.items,
    }
    (out / "results.json").write_text(json.dumps(report, indent=2) + "\n")
    (out / "results.md").write_text(markdown(report))
    print(f"\n{markdown(report)}\nwritten to {out}")
    return 1 if items.failed() or items.interrupted else 0


def check(items, levels, device, quick, jobs):
    """Runs the suite for all levels, and compares each program's dumps with PyTorch's; `jobs` at a time."""
    dumps = HERE / "reference/dumps"

    def suite(level):
        name = items.out / f"conformance-{level}.json"
        name.unlink(missing_ok=True)
        command = [BIN / "conformance", *device, "--level", level, "--dumps", dumps]
        if quick:
            command += ["--check", "references"]
        items.run("check", level, "", "suite", [*command, "--json", name], name)

    def compare(level, options):
        for path in sorted(dumps.glob("*.json.gz")):
            fixture = path.name.split(".")[0]
            if quick and fixture not in ["softmax", "single"]:
                continue
            # cuBLASLt's mask lets the gradient through where z = 0, PyTorch's does not.
            if fixture == "kink" and "cublaslt" in options:
                continue
            one = items.out / re.sub(r"[^a-z0-9]+", "-", f"dump-{level}-{options}.json")
            one.unlink(missing_ok=True)
            command = [BIN / level, "dump", "--inputs", path, "--out", one, "--fused"]
            command += ["--steps", "3"] if fixture.endswith("-steps") else []
            command += [*of_level(level, device), *options.split()]
            if items.run("dump", level, options, fixture, command)["status"] == "ok":
                items.run("diff", level, options, fixture, [BIN / "tensor-diff", path, one])
            one.unlink(missing_ok=True)

    work = []
    for level, variants in levels.items():
        work += [(compare, level, options) for options in (variants[:1] if quick else variants)]
    # Last, because they take minutes where one thread computes a whole sample.
    work += [(suite, level) for level in levels]
    start = len(items.items)
    order = [(level, options) for level in levels for options in ["", *levels[level]]]
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(task, *names) for task, *names in work]
        try:
            for future in futures:
                future.result()
        except KeyboardInterrupt:
            items.interrupted = True
            raise
        finally:
            # The sort is stable: the fixtures of each variant stay in their order.
            items.items[start:] = sorted(
                items.items[start:], key=lambda item: order.index((item["level"], item["options"]))
            )


def train(items, levels, device, presets, data, quick):
    """Trains each preset with each level's first options."""
    for level, variants in levels.items():
        for preset in presets:
            report = items.out / f"train-{level}-{preset}.json"
            report.unlink(missing_ok=True)
            command = [BIN / level, "train", "--preset", preset, *data, "--json", report]
            command += [*of_level(level, device), *variants[0].split()]
            if quick:
                command += ["--samples", "512", "--max-batches", "2"]
            items.run("train", level, variants[0], preset, command, report)


def bench(items, levels, device, preset, data, runs, quick):
    """Measures a preset with all options of each level."""
    for level, variants in levels.items():
        for options in variants:
            report = items.out / "bench.json"
            report.unlink(missing_ok=True)
            command = [BIN / level, "bench", "--preset", preset, *data, "--json", report]
            command += [*of_level(level, device), *options.split()]
            command += ["--runs", runs] if runs else []
            if quick:
                command += ["--samples", "512", "--steps", "2"]
            items.run("bench", level, options, preset, command, report)
            report.unlink(missing_ok=True)


def profile(items, levels, device, data, quick):
    """Profiles the default preset's steps: a table in the log, and a trace."""
    for level, variants in levels.items():
        if level == "level1-cpu":
            continue
        for options in variants[:1] if quick else variants:
            if "--graph" in options:
                continue
            name = re.sub(r"[^a-z0-9]+", "-", f"{level} {options}")
            trace = items.out / f"trace-{name}.json"
            command = [BIN / level, "bench", *data, "--runs", "1", "--steps", "2" if quick else "100"]
            command += [*of_level(level, device), *options.split(), "--profile", trace]
            if quick:
                command += ["--samples", "512"]
            items.run("profile", level, options, "small", command)


def pytorch(items, arguments, preset, mnist, runs, environment):
    """Measures PyTorch on the same GPU, if it is installed: eager, compiled, as CUDA graphs."""
    level = "reference-pytorch"
    if arguments.device != "cuda":
        return items.skip("pytorch", level, "it computes on no emulated GPU")
    if mnist is None:
        return items.skip("pytorch", level, "it needs MNIST: name its folder with --data-dir")
    if not has_pytorch(arguments.python):
        return items.skip("pytorch", level, f"{arguments.python} has no PyTorch with CUDA")
    report = items.out / "pytorch.json"
    report.unlink(missing_ok=True)
    command = [arguments.python, HERE / "reference/bench_pytorch.py", "--device", "cuda"]
    command += ["--compile", "--preset", preset, "--data-dir", mnist, "--json", report]
    command += ["--runs", runs] if runs else []
    command += ["--steps", "2"] if arguments.quick else []
    items.run("pytorch", level, "", preset, command, report, environment)
    report.unlink(missing_ok=True)
    return None


@functools.cache
def has_pytorch(python):
    """Whether this Python has a PyTorch that finds a GPU."""
    question = "import torch, sys; sys.exit(not torch.cuda.is_available())"
    try:
        done = subprocess.run([python, "-c", question], capture_output=True, timeout=300)
        return done.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def of_level(level, device):
    """The device option of a level; level 1 has none."""
    return [] if level == "level1-cpu" else device


def link_libraries(folder, python, environment):
    """Makes a folder with unversioned links to CUDA's libraries, and adds it to the library path."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found = {}
    places = library_folders(python)
    for library in LIBRARIES:
        best = newest(places, library)
        if best is not None:
            (folder / f"lib{library}.so").symlink_to(best)
            found[library] = str(best)
    # The folders themselves are needed too, because the libraries load each other by versioned names.
    folders = [str(folder)]
    folders += sorted({str(Path(path).parent) for path in found.values()})
    before = environment.get("LD_LIBRARY_PATH")
    environment["LD_LIBRARY_PATH"] = ":".join(folders + ([before] if before else []))
    return found


def newest(places, library):
    """The library with the highest version in the first folder that has it; None if it is missing."""
    name = re.compile(rf"lib{library}\.so((?:\.\d+)*)")
    for place in places:
        files = [(name.fullmatch(path.name), path) for path in place.glob(f"lib{library}.so*")]
        numbered = [
            ([int(part) for part in match.group(1).split(".")[1:]], path)
            for match, path in files
            if match and path.exists()
        ]
        if numbered:
            return max(numbered)[1].resolve()
    return None


def library_folders(python):
    """Folders that may hold CUDA's libraries: the loader's, a toolkit's, those of Python wheels."""
    places = [Path(part) for part in os.environ.get("LD_LIBRARY_PATH", "").split(":") if part]
    names = ["CUDA_PATH", "CUDA_HOME", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "CONDA_PREFIX"]
    toolkits = [Path(os.environ[name]) for name in names if os.environ.get(name)]
    toolkits += [Path("/usr/local/cuda"), *sorted(Path("/usr/local").glob("cuda-*"), reverse=True)]
    toolkits += [Path("/opt/cuda")]
    for toolkit in toolkits:
        places += [toolkit / "lib64", toolkit / "lib", toolkit / "targets/x86_64-linux/lib"]
    places += [Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/lib64")]
    packages = [Path(path) for path in [*site.getsitepackages(), site.getusersitepackages()]]
    question = "import json, sys; print(json.dumps(sys.path))"
    try:
        output = subprocess.run([python, "-c", question], capture_output=True, timeout=60).stdout
        packages += [Path(path) for path in json.loads(output) if path]
    except (OSError, ValueError, subprocess.TimeoutExpired):
        pass
    for package in packages:
        places += sorted(package.glob("nvidia/*/lib"))
    return places


def nvidia_smi():
    """The card and its driver according to nvidia-smi; None if that prints nothing."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    return lines[0] if done.returncode == 0 and lines else None


def device_of(items):
    """The GPU's name in the levels' results; None if none of them could use it."""
    for item in items:
        device = (item.get("result") or {}).get("device")
        if device and device != "cpu":
            return device
    return None


def last_line(text):
    """The line that most likely names the problem."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("error", "FAIL"))]
    return (errors or lines or ["it printed nothing"])[-1][:500]


def markdown(report):
    """The tables."""
    device = report["device"] or "no GPU could be used"
    lines = [f"# Four levels on {device}", ""]
    lines.append(f"{report['date']}; {report['host']}, {report['cores']} cores.")
    if report["driver"]:
        lines.append(f"nvidia-smi: {report['driver']}.")
    if device.startswith("emulated"):
        lines.append("The GPU is emulated: its speeds say nothing of hardware.")
    if report["quick"]:
        lines.append("A quick run of a few steps: its speeds and accuracies mean nothing.")
    if report["interrupted"]:
        lines.append("The run was interrupted: what is missing was left out.")
    if report["runs"] and not report["quick"]:
        lines.append(f"Speeds are medians of {report['runs']} runs.")
    for library, path in report["libraries"].items():
        lines.append(f"{library}: `{path}`.")
    items = report["items"]
    lines += ["", "## Checks", "", "| level | options | passed | failed |", "|---|---|---:|---:|"]
    rows = {}
    for item in items:
        if item["group"] in ["check", "dump", "diff"]:
            row = rows.setdefault((item["level"], item["options"] or "the suite"), [0, 0])
            counts = item.get("result") or {}
            if "passed" in counts:
                row[0] += counts["passed"]
                row[1] += counts["failed"]
            # A suite that ended early has no counts, and counts as failed.
            elif item["status"] != "ok":
                row[1] += 1
            elif item["group"] != "dump":
                row[0] += 1
    lines += [f"| {level} | {options} | {p} | {f} |" for (level, options), (p, f) in rows.items()]
    lines += ["", "## Training", ""]
    lines += ["| level | preset | data | batches | test accuracy | seconds |"]
    lines += ["|---|---|---|---:|---:|---:|"]
    for item in items:
        if item["group"] == "train":
            result = item.get("result")
            cells = "FAILED | | | |" if not result else (
                f"{result['data']} | {result['batches']} | {100 * result['test_accuracy']:.2f} % "
                f"| {result['seconds']:.3f} |"
            )
            lines.append(f"| {item['level']} | {item['what']} | {cells}")
    lines += ["", "## Speed of training steps, samples per second", ""]
    speeds, presets = {}, []
    for item in items:
        if item["group"] not in ["bench", "pytorch"] or item["status"].startswith("skipped"):
            continue
        if item["what"] not in presets:
            presets.append(item["what"])
        result = item.get("result") or {}
        several = result.get("results", [result])
        for one in several:
            options = item["options"] or one.get("variant", "")
            row = (one.get("level", item["level"]), options if item["group"] == "bench" else "")
            rate = one.get("samples_per_second")
            text = "FAILED" if rate is None or item["status"] != "ok" else f"{rate:,.0f}"
            speeds.setdefault(row, {})[item["what"]] = text
    lines += ["| level | options | " + " | ".join(presets) + " |"]
    lines += ["|---|---|" + "---:|" * len(presets)]
    for (level, options), rates in speeds.items():
        cells = " | ".join(rates.get(preset, "") for preset in presets)
        lines.append(f"| {level} | {options} | {cells} |")
    others = [item for item in items if item["status"] != "ok"]
    if others:
        lines += ["", "## Failed and skipped", ""]
        for item in others:
            words = [item["group"], item["level"], item["options"], item["what"]]
            lines.append(f"- {' '.join(word for word in words if word)}: {item['status']}")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
