#!/usr/bin/env python3
"""Makes a folder that checks, trains and measures every level on a machine with an NVIDIA GPU.

    scripts/gpu-bundle.py [--out target/gpu-bundle] [--mnist DIR] [--profile release]

The folder contains programs (in the release profile, or that of --profile), kernels, PTX, the reference dumps and
PyTorch's benchmark. On the other machine `./run` needs Python 3.8, but neither Rust nor the network. --mnist (or
MNIST_DIR) adds MNIST; without it, the levels train on the built-in digits, and PyTorch is only measured if `run` gets
MNIST's folder.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 96 << 20
PROGRAMS = ["level1-cpu", "level2-cuda-naive", "level3-cublas", "level4-ptx"]
TOOLS = ["tensor-diff", "conformance"]
LIBRARIES = ["emulated-cuda", "emulated-cublas", "emulated-cublaslt", "emulated-nccl"]
MNIST = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"]
MNIST += ["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]


def main() -> int:
    """Runs the program: builds, packs, and checks the size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "target/gpu-bundle")
    parser.add_argument("--mnist", type=Path, default=os.environ.get("MNIST_DIR") or None)
    parser.add_argument("--profile", default="release")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    if out.exists() and not (out / "run").exists() and any(out.iterdir()):
        print(f"error: {out} is not empty and not a bundle: choose another --out", file=sys.stderr)
        return 2

    packages = PROGRAMS + TOOLS + LIBRARIES
    command = [ROOT / "crates/emulated-gpu/scripts/build.sh", "--profile", arguments.profile, "--locked"]
    for package in packages:
        command += ["-p", package]
    if subprocess.run(command, cwd=ROOT).returncode != 0:
        print("error: the programs can't be built; cargo's error is above", file=sys.stderr)
        return 1

    # An existing bundle stays until the new one is complete.
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        made = Path(folder) / "bundle"
        try:
            pack(made, packages, arguments.profile, arguments.mnist)
        except OSError as error:
            print(f"error: can't pack: {error}", file=sys.stderr)
            return 1
        size = sum(path.stat().st_size for path in made.rglob("*") if path.is_file())
        # Other profiles leave debug information in the programs, which makes them larger.
        if size >= LIMIT and arguments.profile == "release":
            print(f"error: the bundle has {size / 2**20:.1f} MiB, but the limit is {LIMIT >> 20} MiB", file=sys.stderr)
            return 1
        shutil.rmtree(out, ignore_errors=True)
        made.rename(out)
    print(f"{out}: {size / 2**20:.1f} MiB; copy it to the machine with the GPU, and run ./run there")
    return 0


def pack(out: Path, packages: list[str], profile: str, mnist: Path | None) -> None:
    """Copies everything into a new folder."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or "target")
    built = ROOT / target / ("debug" if profile == "dev" else profile)
    (out / "bin").mkdir(parents=True)
    for package in packages:
        library = package in LIBRARIES
        name = f"lib{package.replace('-', '_')}.so" if library else package
        shutil.copy2(built / name, out / "bin" / name)
        strip(out / "bin" / name, library)
    only_text = shutil.ignore_patterns("__pycache__", "autograd", "gallery")
    shutil.copytree(ROOT / "kernels", out / "kernels", ignore=only_text)
    shutil.copytree(ROOT / "ptx", out / "ptx", ignore=only_text)
    (out / "reference/dumps").mkdir(parents=True)
    for script in (ROOT / "reference").glob("*.py"):
        if not script.name.startswith("test_"):
            shutil.copy2(script, out / "reference" / script.name)
    for dump in sorted((ROOT / "reference/dumps").glob("*.json")):
        packed = out / "reference/dumps" / f"{dump.name}.gz"
        packed.write_bytes(gzip.compress(dump.read_bytes(), mtime=0))
    for packed in sorted((ROOT / "reference/dumps").glob("*.json.gz")):
        shutil.copy2(packed, out / "reference/dumps" / packed.name)
    for name in MNIST if mnist else []:
        found = [mnist / f"{name}.gz", mnist / name]
        path = next((path for path in found if path.is_file()), None)
        if path is None:
            raise FileNotFoundError(f"{mnist} has no {name}.gz: name MNIST's folder with --mnist")
        (out / "mnist").mkdir(exist_ok=True)
        if path.suffix == ".gz":
            shutil.copy2(path, out / "mnist" / path.name)
        else:
            (out / "mnist" / f"{name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    shutil.copy2(ROOT / "scripts/gpu-bundle-run.py", out / "run")
    (out / "run").chmod(0o755)
    for name in ["LICENSE-APACHE", "LICENSE-MIT"]:
        shutil.copy2(ROOT / name, out / name)


def strip(path: Path, library: bool) -> None:
    """Removes the symbols, which are most of a program; without `strip` they stay."""
    if shutil.which("strip"):
        options = ["--strip-unneeded"] if library else []
        subprocess.run(["strip", *options, str(path)], check=False)


if __name__ == "__main__":
    sys.exit(main())
