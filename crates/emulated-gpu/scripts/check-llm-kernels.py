#!/usr/bin/env python3
"""Compiles the kernels of llm.c's dev/cuda with cuda-c, runs them on the emulator, and compares them with NumPy.

    git clone https://github.com/karpathy/llm.c
    cargo build -p cuda-c -p ptx-emulator
    crates/emulated-gpu/scripts/check-llm-kernels.py llm.c/dev/cuda

Only the host's part is removed: includes, functions and variables of the host, and the parts of common.h that no
kernel needs. A file that can be compiled for bfloat16 or float is compiled for float. Missing files are skipped and
listed. Exits with 1 if any result differs. Needs NumPy but no GPU.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]


def without_comments(text):
    kept = re.compile(r'"(?:\\.|[^"\\])*"|/\*.*?\*/|//[^\n]*', re.S)
    return kept.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)


def items(text):
    """The directives and the outermost declarations of a file."""
    at, start, depth = 0, 0, 0
    while at < len(text):
        if depth == 0 and text[at] == "#" and not text[start:at].strip():
            end = at
            while True:
                end = text.find("\n", end) if "\n" in text[end:] else len(text)
                if end >= len(text) or text[end - 1] != "\\":
                    break
                end += 1
            yield text[at:end]
            at = start = end
            continue
        character = text[at]
        depth += character in "{("
        depth -= character in "})"
        at += 1
        if depth > 0 or character not in ";}":
            continue
        rest = text[at:].lstrip()
        is_type = re.search(r"\b(struct|enum|union)\s+(alignas\(\d+\)\s*)?\w*\s*\{", text[start:at])
        if character == "}" and is_type and rest.startswith(";"):
            continue
        yield text[start:at]
        start = at


def device_part(path):
    """The directives and declarations of a file that belong to the device."""
    parts = []
    for item in items(without_comments(path.read_text())):
        item = item.strip()
        if item.startswith("#"):
            word = item[1:].split(None, 1)[0]
            name = item[1:].split(None, 2)[1] if word == "define" else ""
            if word == "include" or re.match(r"ENABLE_(BF16|FP16)\b", name) or "Check" in name:
                if "cooperative_groups" in item:
                    parts.append(item)
                continue
            parts.append(item)
        elif re.search(r"__(global|device|shared|constant)__", item) or re.match(r"(typedef|using|enum)\b", item):
            parts.append(item)
    return parts


def declared(item):
    """The name that an item declares."""
    head = item.split("{")[0]
    found = re.search(r"(?:struct|enum)\s+(?:alignas\(\d+\)\s*)?(\w+)\s*$", head.strip()) or re.search(r"using\s+(\w+)\s*=", head)
    found = found or re.search(r"typedef\b.*?(\w+)\s*;", item, re.S) or re.search(r"(\w+)\s*\(", re.sub(r"__launch_bounds__\s*\([^)]*\)", "", head))
    return found[1] if found else ""


def source(folder, name):
    """A file's device part, preceded by the parts of common.h that it needs."""
    own = device_part(folder / name)
    needed, before = " ".join(own), []
    common = folder / "common.h"
    if '"common.h"' in (folder / name).read_text() and common.is_file():
        for item in reversed(device_part(common)):
            if item.startswith("#") or re.search(rf"\b{declared(item)}\b", needed):
                before.insert(0, item)
                needed += " " + item
    # Names that the file declares itself are not taken from common.h.
    names = {declared(item) for item in own if not item.startswith("#")}
    before = [item for item in before if item.startswith("#") or declared(item) not in names]
    return "\n".join(before + own) + "\n"


class Runner:
    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder

    def compiled(self, text, name):
        path = self.folder / f"{name}.cu"
        path.write_text(text)
        target = path.with_suffix(".ptx")
        made = subprocess.run([self.programs / "cuda-c", path, "--out", target], capture_output=True, text=True)
        if made.returncode:
            raise ValueError(made.stderr.strip().splitlines()[0] if made.stderr else "cuda-c failed without a message")
        return target

    def run(self, ptx, kernel, grid, block, shared, arguments):
        """Launches a kernel, and returns its buffers afterwards."""
        entry = next((line for line in ptx.read_text().splitlines() if ".entry" in line and re.search(rf"(\d|\b){kernel}(\W|[PIiflKR])", line)), "")
        entry = entry.split(".entry")[1].split("(")[0].strip() if entry else kernel
        command = [self.programs / "ptx-emulator", "run", ptx, "--entry", entry, "--grid", str(grid), "--block", str(block)]
        command += ["--shared", str(shared), "--show", "100000000"]
        for number, argument in enumerate(arguments):
            if isinstance(argument, np.ndarray):
                kind = {"float32": "f32", "int32": "s32"}[argument.dtype.name]
                path = self.folder / f"argument_{number}"
                argument.tofile(path)
                command += ["--arg", f"{kind}[{argument.size}]:@{path}"]
            else:
                command += ["--arg", argument]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            raise ValueError(ran.stderr.strip().splitlines()[0] if ran.stderr else "ptx-emulator failed without a message")
        lines = [line for line in ran.stdout.splitlines() if line.startswith("argument ")]
        buffers = iter(line.split(" is now " if " is now " in line else " is as before ")[1].split() for line in lines)
        return [np.array(next(buffers), float).reshape(one.shape) for one in arguments if isinstance(one, np.ndarray)]


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def cases():
    """Test cases: file, kernel, grid, block, shared memory, arguments, and the expected contents of buffers."""
    random = np.random.default_rng(1)
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
    n, c = 6, 96
    x, zeros, row = draw(n, c), np.zeros((n, c), np.float32), np.zeros(n, np.float32)
    s = lambda value: f"s32:{value}"
    exact = softmax(x.astype(float))
    for kernel, grid, block in [("softmax_forward_kernel1", 1, 32), ("softmax_forward_kernel2", n, 64), ("softmax_forward_kernel3", n, 32), ("softmax_forward_kernel4", n, 128), ("softmax_forward_online_kernel1", 2, 32)]:
        yield "softmax_forward.cu", kernel, grid, block, 1024, [zeros, x, s(n), s(c)], {0: exact}
    w, b, d = draw(c), draw(c), x.astype(float)
    m, v = d.mean(1), d.var(1)
    r = 1 / np.sqrt(v + 1e-5)
    y = (d - m[:, None]) * r[:, None] * w + b
    for kernel, grid, block in [("layernorm_forward_kernel1", 1, 32), ("layernorm_forward_kernel3", 3, 64), ("layernorm_forward_kernel4", 3, 64), ("layernorm_forward_kernel5", n, 96), ("layernorm_forward_kernel6", 3, 64)]:
        yield "layernorm_forward.cu", kernel, grid, block, 4096, [zeros, row, row, x, w, b, s(n), s(c)], {0: y, 1: m, 2: r}
    yield "layernorm_forward.cu", "mean_kernel", n, 64, 256, [row, x, s(n), s(c), s(64)], {0: m}
    yield "layernorm_forward.cu", "rstd_kernel", n, 64, 256, [row, x, m.astype(np.float32), s(n), s(c), s(64)], {0: r}
    yield "layernorm_forward.cu", "normalization_kernel", n * c // 64, 64, 0, [zeros, x, m.astype(np.float32), r.astype(np.float32), w, b, s(2), s(3), s(c)], {0: y}
    g = 0.5 * d * (1 + np.tanh(np.sqrt(2 / np.pi) * (d + 0.044715 * d**3)))
    for kernel, per in [("gelu_forward_kernel1", 1), ("gelu_forward_kernel2", 4)]:
        yield "gelu_forward.cu", kernel, n * c // 64 // per + 1, 64, 0, [zeros, x, s(n * c)], {0: g}
    batch, length, words = 2, 3, 11
    tokens = random.integers(0, words, batch * length).astype(np.int32)
    wte, wpe = draw(words, c), draw(length, c)
    encoded = wte[tokens].astype(float) + np.tile(wpe, (batch, 1))
    for kernel, count in [("encoder_forward_kernel1", n), ("encoder_forward_kernel2", n * c), ("encoder_forward_kernel3", n * c // 4)]:
        yield "encoder_forward.cu", kernel, count // 64 + 1, 64, 0, [zeros, tokens, wte, wpe, s(batch), s(length), s(c)], {0: encoded}
    p, gradient, first, second = draw(500), draw(500), draw(500), np.abs(draw(500))
    rate, b1, b2, eps, decay = 1e-3, 0.9, 0.999, 1e-8, 0.01
    c1, c2 = 1 - b1**10, 1 - b2**10
    after1 = b1 * first.astype(float) + (1 - b1) * gradient
    after2 = b2 * second.astype(float) + (1 - b2) * gradient.astype(float) ** 2
    updated = p - rate * (after1 / c1 / (np.sqrt(after2 / c2) + eps) + decay * p.astype(float))
    numbers = [f"f32:{value!r}" for value in (rate, b1, b2, c1, c2, eps, decay)]
    for kernel, grid in [("adamw_kernel1", 4), ("adamw_kernel2", 4), ("adamw_kernel3", 4)]:
        yield "adamw.cu", kernel, grid, 128, 0, [p, gradient, first, second, "s64:500", *numbers], {0: updated, 2: after1, 3: after2}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="llm.c's dev/cuda")
    parser.add_argument("--programs", type=Path, default=ROOT / "target/debug", help="where cuda-c and ptx-emulator are")
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        sys.exit(f"check-llm-kernels: {arguments.folder} is no folder")
    right, wrong, absent = 0, 0, set()
    with tempfile.TemporaryDirectory() as temporary:
        runner, made = Runner(arguments.programs, Path(temporary)), {}
        for name, kernel, grid, block, shared, given, expected in cases():
            if not (arguments.folder / name).is_file():
                absent.add(name)
                continue
            try:
                if name not in made:
                    made[name] = runner.compiled(source(arguments.folder, name), name.removesuffix(".cu"))
                buffers = runner.run(made[name], kernel, grid, block, shared, given)
                worst = float(np.max([np.abs(buffers[k] - want).max() / np.abs(want).max() for k, want in expected.items()]))
                said = f"{worst:.1e} of the largest value" if worst <= 2e-6 else f"DIFFERS by {worst:.1e} of the largest value"
                ok = worst <= 2e-6
            except ValueError as error:
                said, ok = f"FAILS: {error}", False
            right, wrong = right + ok, wrong + (not ok)
            print(f"{name:<22} {kernel:<32} {said}")
    for name in sorted(absent):
        print(f"{name}: not in the folder")
    print(f"{right} kernels agree with NumPy, {wrong} don't")
    sys.exit(wrong > 0 or right == 0)


main()
