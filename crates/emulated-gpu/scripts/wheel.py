#!/usr/bin/env python3
"""Builds the wheel `emulated-gpu`.

    crates/emulated-gpu/scripts/wheel.py FOLDER               for other machines: manylinux_2_28, release profile
    crates/emulated-gpu/scripts/wheel.py FOLDER --local       for this machine, from the dev profile's libraries

For other machines, it needs cargo-zigbuild (crates.io), and ziglang and auditwheel (PyPI). Always: the Python package
build (PyPI), which installs hatchling.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE / "python"))

from emulated_gpu import NAMES  # noqa: E402

# The oldest C library on which the wheel runs, that of RHEL 8 and Debian 10.
GLIBC = "2.28"

PROGRAMS = ["ptx-emulator", "cuda-c"]


def main():
    """Builds the libraries, then the wheel."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, metavar="FOLDER", help="the folder for the wheel")
    parser.add_argument("--local", action="store_true", help="for this machine only")
    arguments = parser.parse_args()
    built = build_for_this_machine() if arguments.local else build_for_others()
    machine = platform.machine()
    tag = f"linux_{machine}" if arguments.local else f"manylinux_{GLIBC.replace('.', '_')}_{machine}"
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "python"
        ignored = shutil.ignore_patterns("links", "__pycache__", "tests")
        shutil.copytree(HERE / "python", package, ignore=ignored)
        fill(package, built)
        environment = os.environ | {"EMULATED_GPU_WHEEL_PLATFORM": tag}
        out = Path(folder) / "out"
        command = [sys.executable, "-m", "build", "--wheel", "--outdir", out, package]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = out.glob("*.whl")
        if not arguments.local:
            audit(wheel)
        arguments.out.mkdir(parents=True, exist_ok=True)
        temporary = arguments.out / (wheel.name + ".part")
        shutil.copy(wheel, temporary)
        temporary.replace(arguments.out / wheel.name)
    print(arguments.out / wheel.name)


def packages():
    """The options that select the libraries and the program."""
    libraries = ["cuda", "cudart", "cublas", "cublaslt", "nccl", "nvjitlink", "nvml", "nvrtc"]
    names = [f"emulated-{library}" for library in libraries] + PROGRAMS
    return [word for name in names for word in ["--package", name]]


def build_for_this_machine():
    """Builds with the dev profile; returns the folder."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    command = [HERE / "scripts/build.sh", "--manifest-path", ROOT / "Cargo.toml"]
    subprocess.run([*command, "--target-dir", target, "--profile", "dev", *packages()], check=True)
    return target / "debug"


def build_for_others():
    """Builds with the release profile for an old C library; returns the folder."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    triple = f"{platform.machine()}-unknown-linux-gnu"
    command = ["cargo", "zigbuild", "--release", "--locked", "--target", f"{triple}.{GLIBC}"]
    command += ["--manifest-path", ROOT / "Cargo.toml", "--target-dir", target, *packages()]
    subprocess.run(command, check=True)
    return target / triple / "release"


def fill(package, built):
    """Puts libraries, program, version and licences into the package's copy."""
    inside = package / "emulated_gpu"
    for folder, libraries in NAMES.items():
        (inside / folder).mkdir(parents=True, exist_ok=True)
        for name, *_ in libraries:
            stem = re.sub(r"^lib|\.so.*", "", name).lower().replace("nvidia-ml", "nvml")
            strip(built / f"libemulated_{stem}.so", inside / folder / name)
    (inside / "bin").mkdir()
    for program in PROGRAMS:
        strip(built / program, inside / "bin" / program)
    for licence in ROOT.glob("LICENSE-*"):
        shutil.copy(licence, package)
    version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
    init = inside / "__init__.py"
    text, count = re.subn(r'__version__ = ".*"', f'__version__ = "{version}"', init.read_text())
    assert count == 1
    init.write_text(text)


def strip(source, target):
    """Copies a file without its debug information."""
    shutil.copy(source, target)
    subprocess.run(["strip", "--strip-debug", target], check=True)


def audit(wheel):
    """Fails if a library needs more of the system than the wheel's tag promises."""
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", wheel], check=True, capture_output=True, text=True
    ).stdout
    print(shown)
    found = re.search(r'following platform tag:\s*"manylinux_(\d+)_(\d+)_', shown)
    if not found or tuple(map(int, found.groups())) > tuple(map(int, GLIBC.split("."))):
        sys.exit(f"error: the wheel needs a newer system than manylinux_{GLIBC}")


if __name__ == "__main__":
    main()
