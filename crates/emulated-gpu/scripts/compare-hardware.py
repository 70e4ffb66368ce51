#!/usr/bin/env python3
"""Compares the emulator's results with those of a real GPU.

    EMULATED_GPU_RECORD=$PWD/launches cargo test -p ptx-emulator -p cuda-c   # in the checkout: one file for each launch
    …/emulate scripts/compare-hardware.py generate launches                  # adds approximations, conversions, arithmetic
    scripts/compare-hardware.py pack launches cases                          # sorts them into a few packed files
    cases/compare-hardware.py run cases --out results                        # on the machine with the GPU
    scripts/compare-hardware.py answers cases results cards                  # the cases with the card's results …
    …/emulate scripts/compare-hardware.py run cards                          # … for a later version of the emulator

`run` needs Python 3.8 and NVIDIA's driver. It loads each PTX text with the driver's own compiler, launches it with the
recorded memory, and compares the memory afterwards bit for bit. Cases run in separate processes, so that a fault or
a hang only ends the case. It writes `results.md`, `results.json` and, in `changes.zip`, the exclusive or of the card's
and the expected memory for each case that differs; then it exits with 1. Bad input ends it with 2.
"""

from __future__ import annotations

import argparse
import base64
import collections
import ctypes
import itertools
import json
import lzma
import math
import os
import queue
import random
import re
import shutil
import struct
import subprocess
import sys
import threading
import time
import zipfile
import zlib
from pathlib import Path

# The first 16 bits of a symbolic pointer; then follow the buffer's index in 16 bits and the offset in 32.
SYMBOL = 0x5EED
# The emulator's addresses of functions.
FUNCTIONS = range(3 << 48, (3 << 48) + (1 << 24))
# The unpacked size of a packed file.
PART = 24 << 20
# The time in which a case has to end, in seconds.
PATIENCE = 10
HEADER = ".version 8.8\n.target sm_90a\n.address_size 64\n"

# Launches whose results depend on more than the launch, by a pattern that `TEST\nTEXT` matches.
DIFFERENT_BY_NATURE = [
    ("debugging information that the test's text lacks", r"\.target [^\n]*debug|function_name"),
    ("parameters whose places differ", r"\.param \.align (64|128)|^compiler::cudarc::.*\n(?s:.)*sin_kernel_param_2"),
    ("addresses in shared memory", r"^engine::launches::dynamic_shared_memory_follows"),
    ("lanes that are active together", r"^isa::programs::groups_by_value"),
    ("bytes that are declared unused", r"^engine::memory::unused_bytes"),
    ("barriers that differ within a warp", r"^engine::collectives::lanes_of_a_warp_can_use_different_barriers"),
    ("ld.global.nc of data that the kernel writes",
     r"st\.global[^;]*;\s*ld\.global[.:\w]*\.nc|^compiler::accepted::functions_with_the_name(?s:.)*ld\.global\.nc"),
    ("registers without a value", r"bra SKIP|bra\.uni OVER|^LIST: \.branchtargets|@%p2 call \(%r5\), square"),
    ("copies that the kernel doesn't wait for", r"cp\.async\.bulk(?s:.)*test_wait"),
    ("clocks", r"%clock|%globaltimer"),
    ("places", r"%smid|%nsmid|%warpid|%nwarpid|%gridid|%envreg|%pm\d|%total_smem|%aggr_smem|%reserved_smem"),
    ("addresses", r"\balloca\b|stacksave|stackrestore"),
    ("memory of the kernel's heap", r"\bmalloc\b"),
    ("textures and surfaces", r"\b(tex|tld4|txq|suld|sust|sured|suq|istypep)\.|\.texref|\.surfref|\.samplerref"),
]


class Case:
    """A recorded launch, in the format that `test-support/src/record.rs` writes."""

    def __init__(self, data: bytes, name: str):
        head, _, rest = data.partition(b"\n\n")
        fields = [line.split(" ", 1) for line in head.decode().split("\n")]
        self.name = name
        self.buffers = []
        for key, value in fields:
            if key == "buffer":
                size, _, variable = value.partition(" ")
                self.buffers.append((int(size), variable))
        given = dict(fields)
        self.test, self.kernel = given["test"], given["kernel"]
        self.grid = tuple(map(int, given["grid"].split()))
        self.block = tuple(map(int, given["block"].split()))
        self.shared, self.cooperative = int(given["shared"]), given["cooperative"] == "1"
        at = 0

        def take(size: int) -> bytes:
            nonlocal at
            at += size
            return rest[at - size : at]

        sizes = [size for size, _ in self.buffers]
        text_bytes = int(given["text"])
        self.text = take(text_bytes).decode()
        self.parameters = take(int(given["parameters"]))
        self.before = [take(size) for size in sizes]
        self.after = [take(size) for size in sizes]
        if at != len(rest):
            raise ValueError(f"{name}: {len(rest)} bytes, not {at}")

    def label(self) -> str:
        """The comment in the text's first line."""
        first = self.text.split("\n", 1)[0]
        return first[2:].strip() if first.startswith("//") else ""

    def nature(self) -> str | None:
        """Why a card may have other results, or None."""
        text = self.test + "\n" + re.sub(r"//[^\n]*", "", self.text)
        for reason, pattern in DIFFERENT_BY_NATURE:
            if re.search(pattern, text, re.M):
                return reason
        return None

    def target(self) -> int:
        found = re.search(r"^\s*\.target\s+sm_(\d+)", self.text, re.M)
        return int(found[1]) if found else 0


def encode(case: dict) -> bytes:
    """The file of a launch, for Case."""
    lines = [f"test {case['test']}", "kernel k"]
    lines += ["grid {} {} {}".format(*case["grid"]), "block {} {} {}".format(*case["block"])]
    lines += ["shared 0", "cooperative 0"]
    lines += [f"buffer {len(before)} " for before in case["before"]]
    text = case["text"].encode()
    lines += [f"parameters {len(case['parameters'])}", f"text {len(text)}"]
    head = "\n".join(lines).encode() + b"\n\n"
    return head + text + case["parameters"] + b"".join(case["before"]) + b"".join(case["after"])


def symbol(index: int, offset: int = 0) -> bytes:
    return struct.pack("<Q", SYMBOL << 48 | index << 32 | offset)


# The driver


class Refused(Exception):
    """An error of the driver: the function, its code, and the compiler's message."""

    def __init__(self, function: str, code: int, message: str):
        super().__init__(f"{function}: {message}")
        self.function, self.code = function, code


class Driver:
    """The functions of the driver API that a launch needs, on the first device."""

    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise OSError(f"there is no CUDA driver ({error}): run it on a machine with a GPU, or through `emulate`") from None
        self.call("cuInit", 0)
        device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, 256, device)
        version = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.version = version.value
        capability = []
        for attribute in (75, 76):
            value = ctypes.c_int()
            self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
            capability.append(value.value)
        self.capability = 10 * capability[0] + capability[1]
        self.name = name.value.decode()
        context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.library.cuCtxSetLimit(0, ctypes.c_size_t(8 << 10))  # CU_LIMIT_STACK_SIZE
        self.modules = {}

    def call(self, function: str, *arguments) -> None:
        code = getattr(self.library, function)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(code, ctypes.byref(text))
            raise Refused(function, code, (text.value or b"?").decode())

    def load(self, text: str) -> ctypes.c_void_p:
        """The module of a text; the last one stays loaded."""
        if text in self.modules:
            return self.modules[text]
        for module in self.modules.values():
            self.library.cuModuleUnload(module)
        self.modules.clear()
        module, log = ctypes.c_void_p(), ctypes.create_string_buffer(4096)
        # CU_JIT_ERROR_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES.
        options = (ctypes.c_int * 2)(5, 6)
        values = (ctypes.c_void_p * 2)(ctypes.cast(log, ctypes.c_void_p).value, 4096)
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(module), text.encode() + b"\0", 2, options, values)
        except Refused as error:
            message = " ".join(log.value.decode(errors="replace").split())
            raise Refused(error.function, error.code, message[:600] or str(error)) from None
        self.modules[text] = module
        return module

    def run(self, case: Case) -> tuple[list, list]:
        """Launches a case; returns the contents of each buffer afterwards and its expected contents, both with the
        card's addresses. A variable that the card's compiler left out is None."""
        module = self.load(case.text)
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, case.kernel.encode())
        if case.shared > 48 << 10:
            self.call("cuFuncSetAttribute", function, 8, case.shared)
        addresses, allocated = [], []
        try:
            for size, variable in case.buffers:
                address = ctypes.c_uint64()
                if variable:
                    size = ctypes.c_size_t()
                    code = self.library.cuModuleGetGlobal_v2(
                        ctypes.byref(address), ctypes.byref(size), module, variable.encode()
                    )
                    addresses.append(None if code else address.value)
                    continue
                self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
                allocated.append(address)
                addresses.append(address.value)
            initial = [self.read(address, size) if variable and address is not None else None
                       for address, (size, variable) in zip(addresses, case.buffers)]  # fmt: skip
            for address, content, own in zip(addresses, case.before, initial):
                if address is not None and content:
                    bytes_ = real(content, addresses, own)
                    self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), bytes_, ctypes.c_size_t(len(bytes_)))
            parameters = real(case.parameters, addresses)
            buffer = ctypes.create_string_buffer(parameters, max(len(parameters), 1))
            size = ctypes.c_size_t(len(parameters))
            # CU_LAUNCH_PARAM_BUFFER_POINTER, …_SIZE, …_END.
            extra = (ctypes.c_void_p * 5)(
                1, ctypes.cast(buffer, ctypes.c_void_p).value, 2,
                ctypes.cast(ctypes.pointer(size), ctypes.c_void_p).value, 0,
            )  # fmt: skip
            if case.cooperative:
                attribute = (ctypes.c_uint32 * 18)(2, 0, 1)  # CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2
                config = LaunchConfig(*case.grid, *case.block, case.shared, None,
                                      ctypes.cast(attribute, ctypes.c_void_p).value, 1)  # fmt: skip
                self.call("cuLaunchKernelEx", ctypes.byref(config), function, None, extra)
            else:
                self.call("cuLaunchKernel", function, *case.grid, *case.block, case.shared, None, None, extra)
            self.call("cuCtxSynchronize")
            found = [None if address is None else self.read(address, size)
                     for address, (size, _) in zip(addresses, case.buffers)]  # fmt: skip
            expected = [real(content, addresses, own) for content, own in zip(case.after, initial)]
            return found, expected
        finally:
            for address in allocated:
                self.library.cuMemFree_v2(address)

    def read(self, address: int, size: int) -> bytes:
        buffer = ctypes.create_string_buffer(max(size, 1))
        if size:
            self.call("cuMemcpyDtoH_v2", buffer, ctypes.c_uint64(address), ctypes.c_size_t(size))
        return buffer.raw[:size]


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [(name, ctypes.c_uint) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")] + [
        ("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p), ("count", ctypes.c_uint)
    ]  # fmt: skip


def real(content: bytes, addresses: list, own: bytes | None = None) -> bytes:
    """Replaces symbolic pointers by addresses, and the emulator's addresses of functions by the card's in `own`."""
    count = len(content) // 8
    words = struct.unpack_from(f"<{count}Q", content)
    if not any(word >> 48 == SYMBOL or word in FUNCTIONS for word in words):
        return content
    changed = bytearray(content)
    for at, word in enumerate(words):
        index = word >> 32 & 0xFFFF
        if word >> 48 == SYMBOL and index < len(addresses) and addresses[index] is not None:
            struct.pack_into("<Q", changed, 8 * at, addresses[index] + (word & 0xFFFFFFFF))
        elif word in FUNCTIONS and own is not None:
            changed[8 * at : 8 * at + 8] = own[8 * at : 8 * at + 8]
    return bytes(changed)


# Comparison


def ordered(bits: int, width: int = 32) -> int:
    """The place of a floating-point number among all, by its bits."""
    sign = 1 << (width - 1)
    return sign - bits if bits & sign else bits


def words_of(content: bytes) -> tuple:
    padded = content + bytes(-len(content) % 4)
    return struct.unpack(f"<{len(padded) // 4}I", padded)


def exclusive_or(own: bytes | None, other: bytes) -> bytes:
    """Where a buffer differs from the expected one: few bits, which can be packed well."""
    if own is None:
        return bytes(len(other))
    return (int.from_bytes(own, "little") ^ int.from_bytes(other, "little")).to_bytes(len(other), "little")


def compare(found: list, expected: list) -> dict | None:
    """How the buffers of a card differ from the expected ones, in words of 32 bits; None if they don't."""
    differences, total, ulps = [], 0, 0
    for index, (own, other) in enumerate(zip(found, expected)):
        if own is None or own == other:
            continue
        for at, (a, b) in enumerate(zip(words_of(own), words_of(other))):
            if a == b:
                continue
            total += 1
            if a & 0x7F800000 != 0x7F800000 and b & 0x7F800000 != 0x7F800000:
                ulps = max(ulps, abs(ordered(a) - ordered(b)))
            if len(differences) < 64:
                differences.append([index, at, f"{a:#010x}", f"{b:#010x}"])
    if total == 0:
        return None
    return {"words": total, "ulps": ulps, "first": differences}


# Running


def unpack(folder: Path) -> list[tuple[str, bytes]]:
    """All cases of a folder of packed files, in order."""
    cases = []
    for path in sorted(folder.glob("cases-*.xz")):
        data, at = lzma.decompress(path.read_bytes()), 0
        while at < len(data):
            length, name = struct.unpack_from("<I", data, at)[0], data[at + 4 : at + 20].decode()
            cases.append((name, data[at + 20 : at + 20 + length]))
            at += 20 + length
    if not cases:
        raise FileNotFoundError(f"{folder} has no cases: name a folder that `pack` has made")
    return cases


def work() -> int:
    """A worker: runs the cases that standard input names, `LENGTH NAME` and the bytes, one line of JSON for each."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # A kernel's printf is not for the parent.
    driver = Driver()
    while line := sys.stdin.buffer.readline():
        length, name = line.split()
        case = Case(sys.stdin.buffer.read(int(length)), name.decode())
        fatal = False
        result = {"case": case.name}
        try:
            found, expected = driver.run(case)
            difference = compare(found, expected)
            if difference is None:
                result["status"] = "identical"
            else:
                result.update(status="different", **difference)
                changes = b"".join(exclusive_or(own, other) for own, other in zip(found, expected))
                result["changes"] = base64.b64encode(zlib.compress(changes, 6)).decode()
        except Refused as error:
            refused = error.function in ("cuModuleLoadDataEx", "cuModuleGetFunction")
            result.update(status="refused" if refused else "failed", message=str(error))
            # Every later call of this process would fail, too.
            fatal = not refused
        print(json.dumps(result), file=answers, flush=True)
        if fatal:
            os._exit(0)
    return 0


class Pool:
    """Workers that run cases, and are replaced when they end or hang."""

    def __init__(self, cases: list[tuple[str, bytes]], workers: int, deadline: float):
        self.cases = queue.SimpleQueue()
        # Neighbours often share a text, which is then loaded once.
        for first in range(0, len(cases), 16):
            self.cases.put(cases[first : first + 16])
        self.results, self.deadline = {}, deadline
        self.threads = [threading.Thread(target=self.feed) for _ in range(workers)]

    def run(self) -> dict[str, dict]:
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join()
        return self.results

    def feed(self) -> None:
        process, served = None, 0
        while time.monotonic() < self.deadline:
            try:
                some = self.cases.get_nowait()
            except queue.Empty:
                break
            for name, data in some:
                if time.monotonic() >= self.deadline:
                    break
                if process is None or served >= 400:
                    end(process)
                    process, served = start(), 0
                served += 1
                # The first case waits for the context.
                result = ask(process, name, data, PATIENCE if served > 1 else 6 * PATIENCE)
                self.results[name] = result
                if result["status"] in ("failed", "no end", "crash"):
                    end(process)
                    process = None
        end(process)


def start() -> subprocess.Popen:
    environment = {**os.environ, "CUDA_CACHE_DISABLE": "1", "CUDA_MODULE_LOADING": "EAGER"}
    command = [sys.executable, __file__, "work"]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )


def end(process: subprocess.Popen | None) -> None:
    if process is not None:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def ask(process: subprocess.Popen, name: str, data: bytes, patience: float) -> dict:
    """A worker's result for a case."""
    timer = threading.Timer(patience, process.kill)
    timer.start()
    begin = time.monotonic()
    try:
        process.stdin.write(f"{len(data)} {name}\n".encode() + data)
        process.stdin.flush()
        line = process.stdout.readline()
    except OSError:
        line = b""
    timer.cancel()
    if line:
        return json.loads(line)
    hung = time.monotonic() - begin >= patience
    return {"case": name, "status": "no end" if hung else "crash"}


def run(folder: Path, out: Path, limit: float, workers: int, only: str) -> int:
    begin = time.monotonic()
    all_cases = [(name, data) for name, data in unpack(folder) if only in name or only in Case(data, name).test]
    driver = Driver()
    chosen, results, kept = [], {}, {}
    for name, data in all_cases:
        case = Case(data, name)
        kept[name] = case
        nature = case.nature()
        if nature:
            results[name] = {"case": name, "status": "left out", "message": nature}
        elif case.target() > driver.capability:
            results[name] = {"case": name, "status": "not for this card"}
        else:
            chosen.append((name, data))
    print(f"{driver.name}, driver {driver.version}: {len(chosen)} of {len(all_cases)} cases", flush=True)
    results.update(Pool(chosen, workers, begin + limit).run())
    for name, _ in chosen:
        results.setdefault(name, {"case": name, "status": "not reached"})
    out.mkdir(parents=True, exist_ok=True)
    answers = {}
    with zipfile.ZipFile(out / "changes.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, result in results.items():
            case = kept[name]
            result.update(test=case.test, label=case.label())
            if "changes" in result:
                changes = zlib.decompress(base64.b64decode(result.pop("changes")))
                archive.writestr(name, changes)
                answers[name] = exclusive_or(changes, b"".join(case.after))
    seconds = time.monotonic() - begin
    head = f"{driver.name}, compute capability {driver.capability / 10}, driver {driver.version}; {seconds:.0f} s"
    (out / "results.json").write_text(json.dumps({"card": head, "results": list(results.values())}, indent=1))
    text = report(head, results, kept, answers)
    (out / "results.md").write_text(text)
    print(text)
    statuses = {result["status"] for result in results.values()}
    if "identical" not in statuses:
        print("no case gave the recorded results", file=sys.stderr)
    return int("identical" not in statuses or not statuses <= {"identical", "left out", "not for this card"})


STATUSES = ["identical", "different", "refused", "failed", "no end", "crash", "not for this card", "left out", "not reached"]


def report(head: str, results: dict, cases: dict, answers: dict) -> str:
    """The tables of results.md."""
    groups = collections.defaultdict(collections.Counter)
    largest = collections.Counter()
    for _name, result in results.items():
        group = result["test"]
        groups[group][result["status"]] += 1
        groups[group]["cases"] += 1
        largest[group] = max(largest[group], result.get("ulps", 0))
    total = collections.Counter()
    for counts in groups.values():
        total.update(counts)
    shown = [status for status in STATUSES if total[status]]
    lines = [f"# Emulator and card\n\n{head}\n"]
    lines.append("| test | cases | " + " | ".join(shown) + " | largest difference (ulp of f32) |")
    lines.append("|---|--:|" + "--:|" * (len(shown) + 1))
    for group, counts in [("all", total), *sorted(groups.items())]:
        row = [group, str(counts["cases"]), *(str(counts[status]) for status in shown)]
        lines.append("| " + " | ".join(row) + f" | {largest[group] or ''} |")
    lines += ["", *approximations(results, cases, answers)]
    for status in ("different", "refused", "failed", "no end", "crash"):
        found = [result for result in results.values() if result["status"] == status]
        if found:
            lines.append(f"\n## {status}\n")
        for result in sorted(found, key=lambda one: (one["test"], one["label"]))[:400]:
            detail = result.get("message", "")
            if "words" in result:
                index, at, own, other = result["first"][0]
                detail = f"{result['words']} words, up to {result['ulps']} ulp; buffer {index}, word {at}: card {own}, emulator {other}"
            lines.append(f"- `{result['case']}` {result['test']} {result['label']}: {detail}")
    return "\n".join(lines) + "\n"


# Approximations: the reference, the ISA's bound (relative, absolute or in ulp) and where it holds.


def f32(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]


def bits_of(value: float) -> int:
    try:
        return struct.unpack("<I", struct.pack("<f", value))[0]
    except OverflowError:
        return 0x7F800000 if value > 0 else 0xFF800000


REFERENCES = {
    "rcp": lambda x: 1 / x, "sqrt": math.sqrt, "rsqrt": lambda x: 1 / math.sqrt(x), "sin": math.sin, "cos": math.cos,
    "lg2": math.log2, "ex2": lambda x: 2.0**x, "tanh": math.tanh, "div": lambda x, y: x / y,
}  # fmt: skip

BOUNDS = {
    "rcp": "1 ulp", "sqrt": "rel. 2^-23", "rsqrt": "rel. 2^-22.9", "sin": "abs. 2^-20.5 in ±2π, 2^-14.7 in ±100π",
    "cos": "abs. 2^-20.5 in ±2π, 2^-14.7 in ±100π", "lg2": "abs. 2^-22 in 0.5–2, else rel. 2^-22", "ex2": "2 ulp",
    "tanh": "rel. 2^-11", "div": "2 ulp",
}  # fmt: skip


def approximations(results: dict, cases: dict, answers: dict) -> list[str]:
    """The table of the approximate functions in single precision."""
    lines = ["## Approximate functions", "",
             "| instruction | inputs | results | equal | largest distance (ulp) | card's error (ulp) | absolute | relative "
             "| emulator's error (ulp) | ISA |", "|---|---|--:|--:|--:|--:|--:|--:|--:|---|"]  # fmt: skip
    for name, result in sorted(results.items(), key=lambda item: item[1]["label"]):
        case = cases[name]
        if case.test != "generated::approximate" or result["status"] not in ("identical", "different"):
            continue
        instruction, _, inputs = case.label().partition(", ")
        if not re.search(r"\.f32$", instruction):
            width = 8 if instruction.endswith("f64") else 2
            own = answers.get(name, b"".join(case.after))[-len(case.after[-1]) :]
            pairs = zip(*(struct.iter_unpack("<Q", content) for content in (own, case.after[-1])))
            pairs = [(a[0], b[0]) for a, b in pairs]
            distance = max((abs(ordered(a, 8 * width) - ordered(b, 8 * width)) for a, b in pairs if a != b), default=0)
            equal = sum(a == b for a, b in pairs)
            lines.append(f"| `{instruction}` | {inputs} | {len(pairs)} | {equal} | {distance} | | | | | |")
            continue
        key = instruction.split(".")[0]
        operands = [list(words_of(content)[::2]) for content in case.before[:-1]]
        emulated = words_of(case.after[-1])[::2]
        own = words_of(answers[name][-len(case.after[-1]) :])[::2] if name in answers else emulated
        equal, distance, worst, absolute, relative, worst_emulated = 0, 0, 0.0, 0.0, 0.0, 0.0
        for a, b, *inputs_ in zip(own, emulated, *operands):
            equal += a == b
            nan = a & 0x7FFFFFFF > 0x7F800000, b & 0x7FFFFFFF > 0x7F800000
            if not any(nan):
                distance = max(distance, abs(ordered(a) - ordered(b)))
            elif nan != (True, True):
                distance = math.inf
            try:
                exact = REFERENCES[key](*map(f32, inputs_))
            except (ArithmeticError, ValueError):
                continue
            if any(nan) or not 2.0**-126 <= abs(exact) < 2.0**128 or a & 0x7F800000 == 0x7F800000:
                continue
            if key == "div" and abs(f32(inputs_[1])) > 2.0**126:
                continue  # div.approx returns 0 there.
            if ".ftz" in instruction and any(not word & 0x7F800000 for word in inputs_):
                continue
            error = abs(f32(a) - exact)
            ulp = 2.0 ** (math.frexp(exact)[1] - 24)
            absolute, relative = max(absolute, error), max(relative, error / abs(exact))
            worst = max(worst, error / ulp)
            if b & 0x7F800000 != 0x7F800000:
                worst_emulated = max(worst_emulated, abs(f32(b) - exact) / ulp)
        logarithms = " | ".join(f"2^{math.log2(most):.2f}" if most else "" for most in (absolute, relative))
        lines.append(f"| `{instruction}` | {inputs} | {len(own)} | {equal} | {distance} | {worst:.2f} | "
                     f"{logarithms} | {worst_emulated:.2f} | {BOUNDS[key]} |")  # fmt: skip
    return lines


# Packing


def pack(launches: Path, out: Path) -> int:
    """Packs recorded launches."""
    paths = sorted(launches.glob("*.launch"))
    unstable = {path.stem for path in launches.glob("*.unstable")}
    large = len(list(launches.glob("*.large")))
    loaded = [(path.stem, path.read_bytes()) for path in paths if path.stem not in unstable]
    print(f"left out: {len(unstable)} whose results differ from run to run, {large} of more than 1 MiB")
    return write_packed(loaded, out)


def answers(folder: Path, results: Path, out: Path) -> int:
    """Packs the cases that a card ran, with the card's results."""
    statuses = {one["case"]: one["status"] for one in json.loads((results / "results.json").read_text())["results"]}
    loaded = []
    with zipfile.ZipFile(results / "changes.zip") as archive:
        for name, data in unpack(folder):
            if statuses.get(name) == "different":
                after = b"".join(Case(data, name).after)
                data = data[: len(data) - len(after)] + exclusive_or(archive.read(name), after)
            if statuses.get(name) in ("identical", "different"):
                loaded.append((name, data))
    return write_packed(loaded, out)


def write_packed(loaded: list[tuple[str, bytes]], out: Path) -> int:
    if not loaded:
        raise FileNotFoundError("there is no launch to pack")
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("cases-*.xz"):
        old.unlink()
    loaded.sort(key=lambda item: (item[1].split(b"\n", 1)[0], Case(item[1], item[0]).text))
    part, number, total = bytearray(), 0, 0

    def write() -> None:
        nonlocal number, total
        packed = lzma.compress(part, preset=3)
        (out / f"cases-{number:02}.xz").write_bytes(packed)
        number, total = number + 1, total + len(packed)
        part.clear()

    for name, data in loaded:
        part += struct.pack("<I", len(data)) + name.encode() + data
        if len(part) >= PART:
            write()
    if part:
        write()
    shutil.copy(__file__, out / "compare-hardware.py")
    print(f"{len(loaded)} cases in {total / 2**20:.1f} MiB")
    return 0


# Generated cases

WIDTHS = {"8": 8, "16": 16, "32": 32, "64": 64, "16x2": 32, "8x2": 16}


def width(ty: str) -> int:
    """The bits of a type such as bf16x2 or s8."""
    found = re.search(r"(\d+(x2)?)$", ty.replace("e4m3", "e8").replace("e5m2", "e8").replace("tf32", "f32"))
    return WIDTHS[found[1]]


def kernel(label: str, statement: str, output: str, inputs: list[str]) -> str:
    """A kernel whose thread reads `%a`, `%b` and `%c` from slots of 8 bytes, and writes `%o`."""
    count = len(inputs)
    parameters = ", ".join(f".param .u64 p{i}" for i in range(count + 1))
    lines = [f"// {label}", HEADER + f".visible .entry k({parameters})", "{"]
    lines += [".reg .b32 %t, %n; .reg .b64 %at, %slot, %p0, %p1; .reg .pred %q, %q1;"]
    lines += ["mov.u32 %t, %ctaid.x; mov.u32 %n, %tid.x; mad.lo.u32 %t, %t, 256, %n; mul.wide.u32 %at, %t, 8;"]
    for name, ty in zip("abc", inputs):
        # The smallest registers have 16 bits.
        lines.append(f".reg .b{max(width(ty), 16)} %{name};")
    lines.append(f".reg .b{max(width(output), 16)} %o;")
    for i, (name, ty) in enumerate(zip("abc", inputs)):
        lines.append(f"ld.param.u64 %p0, [p{i}]; add.u64 %p0, %p0, %at;")
        sign = "s" if ty in ("s8", "s16", "s32", "s64") else "u"
        lines.append(f"ld.global.{sign}{width(ty)} %{name}, [%p0];")
    lines.append(statement)
    lines.append(f"ld.param.u64 %p0, [p{count}]; add.u64 %p0, %p0, %at;")
    bits = max(width(output), 16)
    lines.append(f"cvt.u64.u{bits} %slot, %o;" if bits < 64 else "mov.b64 %slot, %o;")
    lines.append("st.global.u64 [%p0], %slot;\nret;\n}")
    return "\n".join(lines) + "\n"


# For each format: the bits of the exponent and of the fraction.
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52), "tf32": (8, 23), "e4m3": (4, 3), "e5m2": (5, 2)}


def one_value(ty: str, index: int, draw: random.Random) -> int:
    """An operand of a type: edge values first, then random ones."""
    if ty.endswith("x2"):
        half = width(ty) // 2
        return one_value(ty[:-2], index, draw) | one_value(ty[:-2], index + draw.randrange(40), draw) << half
    bits = width(ty)
    if ty in FORMATS:
        exponent, fraction = FORMATS[ty]
        infinity, one = ((1 << exponent) - 1) << fraction, ((1 << (exponent - 1)) - 1) << fraction
        edges = [0, 1, 2, (1 << fraction) - 1, 1 << fraction, (1 << fraction) + 1, one - 1, one, one + 1, infinity - 1,
                 infinity, infinity + 1, infinity | 1 << (fraction - 1), infinity | (1 << fraction) - 1,
                 one - (1 << fraction), one + (1 << fraction), one + (1 << (fraction - 1))]  # fmt: skip
        if index < 2 * len(edges):
            return edges[index // 2] | (index & 1) << (bits - 1)
        kind = draw.randrange(4)
        if kind == 0:
            return draw.getrandbits(bits)
        # Magnitudes in which conversions and sums have something to round.
        spread = draw.randrange(-4, {0: 4, 1: 20, 2: 40, 3: 70}[kind])
        middle = (1 << (exponent - 1)) - 1
        field = min(max(middle + spread, 0), (1 << exponent) - 2)
        content = draw.getrandbits(fraction)
        if draw.randrange(2):
            # Few bits, so that there are ties.
            content &= ~((1 << max(fraction - draw.randrange(12), 0)) - 1)
        return draw.getrandbits(1) << (bits - 1) | field << fraction | content
    edges = [0, 1, 2, 31, 32, 33, 63, 64, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1, (1 << bits) - 2]
    if index < len(edges):
        return edges[index] & (1 << bits) - 1
    value = draw.getrandbits(bits)
    return value >> draw.randrange(bits) if draw.randrange(2) else value


def values(ty: str, count: int, seed: int) -> list[int]:
    draw = random.Random(seed)
    order = list(range(count))
    if seed:
        # So that edge values meet other edge values, and each of them.
        draw.shuffle(order)
        return [one_value(ty, index % 97, draw) for index in order]
    return [one_value(ty, index, draw) for index in order]


def slots(words: list[int]) -> bytes:
    return struct.pack(f"<{len(words)}Q", *words)


def spread_floats(count: int) -> list[int]:
    """Numbers of all magnitudes: the upper half of the bits counts, the lower is scattered."""
    step = (1 << 32) // count
    edges = [0, 1, 0x007FFFFF, 0x00800000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x40490FDB, 0x3FC90FDB, 0x7E800000,
             0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF]  # fmt: skip
    scattered = [i * step + i * 40503 % step for i in range(count)]
    scattered[: 2 * len(edges)] = edges + [edge | 1 << 31 for edge in edges]
    return scattered


def evenly(low: float, high: float, count: int) -> list[int]:
    return [bits_of(low + (high - low) * i / (count - 1)) for i in range(count)]


def approximate_cases():
    """Approximate functions: (test, label, statement, output, inputs, operands)."""
    count = 1 << 16
    every = spread_floats(count)
    ranges = {
        "ex2": (-150.0, 130.0), "lg2": (0.25, 4.0), "sin": (-6.2832, 6.2832), "cos": (-6.2832, 6.2832),
        "tanh": (-10.0, 10.0), "rcp": (1.0, 2.0), "rsqrt": (1.0, 4.0), "sqrt": (1.0, 4.0),
    }  # fmt: skip
    for name, (low, high) in ranges.items():
        for ftz in ["", ".ftz"]:
            instruction = f"{name}.approx{ftz}.f32"
            near = evenly(low, high, count)
            for what, operands in (("all magnitudes", every), (f"{low:g} to {high:g}", near)):
                yield f"{instruction}, {what}", f"{instruction} %o, %a;", "f32", ["f32"], [operands]
            if name in ("sin", "cos"):
                yield f"{instruction}, -314 to 314", f"{instruction} %o, %a;", "f32", ["f32"], [evenly(-314, 314, count)]
    draw = random.Random(5)
    for form in ["approx", "full"]:
        for ftz in ["", ".ftz"]:
            instruction = f"div.{form}{ftz}.f32"
            others = every[:]
            draw.shuffle(others)
            statement = f"{instruction} %o, %a, %b;"
            yield f"{instruction}, all magnitudes", statement, "f32", ["f32"] * 2, [every, others]
            near = [evenly(1, 2, count), evenly(1, 2, count)]
            draw.shuffle(near[1])
            yield f"{instruction}, 1 to 2", statement, "f32", ["f32"] * 2, near
    halves = list(range(count))
    for instruction in ["ex2.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.f16", "tanh.approx.bf16"]:
        ty = instruction.rsplit(".", 1)[1]
        yield f"{instruction}, all", f"{instruction} %o, %a;", ty, [ty], [halves]
        pairs = [half << 16 | half * 7 % count for half in halves]
        yield f"{instruction}x2, all", f"{instruction}x2 %o, %a;", ty + "x2", [ty + "x2"], [pairs]
    doubles = [word << 32 | word * 2654435761 % (1 << 32) for word in every]
    for instruction in ["rcp.approx.ftz.f64", "rsqrt.approx.f64", "rsqrt.approx.ftz.f64"]:
        yield f"{instruction}, all magnitudes", f"{instruction} %o, %a;", "f64", ["f64"], [doubles]


def conversion_statements():
    """All forms of cvt that may be valid; the driver rejects the others."""
    integers = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
    floats = ["f16", "bf16", "f32", "f64"]
    roundings = ["", ".rn", ".rz", ".rm", ".rp", ".rni", ".rzi", ".rmi", ".rpi"]
    for to, of in itertools.product(integers + floats, repeat=2):
        for rounding in roundings if to in floats or of in floats else [""]:
            for modifier in ["", ".ftz", ".sat", ".ftz.sat", ".relu", ".satfinite", ".relu.satfinite"]:
                yield f"cvt{rounding}{modifier}.{to}.{of}", to, [of]
    for to in ["f16x2", "bf16x2", "e4m3x2", "e5m2x2"]:
        for rounding, modifier in itertools.product([".rn", ".rz"], ["", ".relu", ".satfinite", ".satfinite.relu"]):
            yield f"cvt{rounding}{modifier}.{to}.f32", to, ["f32", "f32"]
            yield f"cvt{rounding}{modifier}.{to}.f16x2", to, ["f16x2"]
    for of in ["e4m3x2", "e5m2x2"]:
        for modifier in ["", ".relu"]:
            yield f"cvt.rn{modifier}.f16x2.{of}", "f16x2", [of]
    for rounding, modifier in itertools.product([".rna", ".rn", ".rz"], ["", ".relu", ".satfinite"]):
        yield f"cvt{rounding}{modifier}.tf32.f32", "tf32", ["f32"]
    for to, of in itertools.product(["u16", "s16", "u8", "s8"], ["s32"]):
        yield f"cvt.pack.sat.{to}.{of}" + (".b32" if width(to) == 8 else ""), "u32", [of] * (3 if width(to) == 8 else 2)


def arithmetic_statements():
    """Instructions with exact results that may be valid: (statement, output, inputs)."""

    def form(name: str, ty: str, inputs: int, output: str = "", operand: str = ""):
        operands = ", ".join("%" + letter for letter in "abc"[:inputs])
        return f"{name}.{ty} %o, {operands};", output or ty, [operand or ty] * inputs

    rounded = [".rn", ".rz", ".rm", ".rp"]
    for ty, name in itertools.product(["f32", "f64"], ["add", "sub", "mul", "fma", "div", "rcp", "sqrt"]):
        for rounding, modifier in itertools.product(rounded, ["", ".ftz", ".sat", ".ftz.sat"]):
            count = {"fma": 3, "rcp": 1, "sqrt": 1}.get(name, 2)
            yield form(name + rounding + modifier, ty, count)
    for ty, name in itertools.product(["f16", "f16x2", "bf16", "bf16x2"], ["add", "sub", "mul", "fma"]):
        for modifier in ["", ".rn", ".rn.ftz", ".rn.sat", ".rn.relu", ".rn.ftz.relu", ".rn.ftz.sat", ".rn.oob", ".rn.oob.relu"]:
            yield form(name + modifier, ty, 3 if name == "fma" else 2)
    for ty, name in itertools.product(["f16", "f16x2", "bf16", "bf16x2", "f32", "f64"], ["min", "max"]):
        for modifier in ["", ".ftz", ".NaN", ".ftz.NaN", ".xorsign.abs", ".NaN.xorsign.abs", ".ftz.NaN.xorsign.abs"]:
            yield form(name + modifier, ty, 2)
    for ty, name in itertools.product(["f16", "f16x2", "bf16", "bf16x2", "f32", "f64"], ["neg", "abs"]):
        for modifier in ["", ".ftz"]:
            yield form(name + modifier, ty, 1)
    for ty in ["f32", "f64"]:
        yield form("copysign", ty, 2)
        for what in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"]:
            yield f"testp.{what}.{ty} %q, %a; selp.u32 %o, 1, 0, %q;", "u32", [ty]
    comparisons = ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", "lo", "ls", "hi", "hs"]
    for ty in ["f16", "bf16", "f32", "f64", "u16", "s16", "u32", "s32", "u64", "s64", "b32"]:
        for comparison, ftz in itertools.product(comparisons, ["", ".ftz"]):
            yield f"setp.{comparison}{ftz}.{ty} %q, %a, %b; selp.u32 %o, 1, 0, %q;", "u32", [ty] * 2
    for ty, comparison in itertools.product(["f16x2", "bf16x2"], ["eq", "lt", "geu", "nan"]):
        yield f"setp.{comparison}.{ty} %q|%q1, %a, %b; selp.u32 %o, 1, 0, %q; @%q1 or.b32 %o, %o, 2;", "u32", [ty] * 2
    for comparison, ty, to in itertools.product(["eq", "lt", "geu"], ["f16", "f32", "s32", "f64"], ["u32", "f32"]):
        yield f"set.{comparison}.{to}.{ty} %o, %a, %b;", to, [ty] * 2
    for ty in ["u16", "s16", "u32", "s32", "u64", "s64"]:
        wide = f"{ty[0]}{2 * width(ty)}"
        for name in ["add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max", "add.sat", "sub.sat", "mul24.lo", "mul24.hi", "min.relu", "max.relu"]:
            yield form(name, ty, 2)
        for name in ["mad.lo", "mad.hi", "mad24.lo", "mad24.hi", "mad.hi.sat", "mad24.hi.sat"]:
            yield form(name, ty, 3)
        yield f"sad.{ty} %o, %a, %b, %c;", ty, [ty, ty, "u" + ty[1:]]
        for name in ["abs", "neg"]:
            yield form(name, ty, 1)
        if width(ty) < 64:
            yield form("mul.wide", ty, 2, output=wide)
            yield f"mad.wide.{ty} %o, %a, %b, %c;", wide, [ty, ty, wide]
        yield f"shr.{ty} %o, %a, %b;", ty, [ty, "u32"]
        yield f"bfe.{ty} %o, %a, %b, %c;", ty, [ty, "u8", "u8"]
        for name in ["bfind", "bfind.shiftamt"]:
            yield form(name, ty, 1, output="u32")
        for other in ["u32", "s32"]:
            for name in ["dp4a", "dp2a.lo", "dp2a.hi"]:
                yield f"{name}.{ty}.{other} %o, %a, %b, %c;", "s32", [ty, other, "s32"]
        yield f"add.cc.{ty} %o, %a, %b; addc.{ty} %o, %o, %c;", ty, [ty] * 3
        yield f"sub.cc.{ty} %o, %a, %b; subc.{ty} %o, %o, %c;", ty, [ty] * 3
        yield f"mad.lo.cc.{ty} %o, %a, %b, %c; madc.hi.{ty} %o, %a, %b, %o;", ty, [ty] * 3
        yield f"slct.{ty}.s32 %o, %a, %b, %c;", ty, [ty, ty, "s32"]
        yield f"slct.ftz.{ty}.f32 %o, %a, %b, %c;", ty, [ty, ty, "f32"]
    for ty in ["b16", "b32", "b64"]:
        for name in ["and", "or", "xor"]:
            yield form(name, ty, 2)
        for name in ["not", "cnot", "brev"]:
            yield form(name, ty, 1)
        for name in ["popc", "clz"]:
            yield form(name, ty, 1, output="u32")
        yield f"shl.{ty} %o, %a, %b;", ty, [ty, "u32"]
        yield f"bfi.{ty} %o, %a, %b, 5, 9;", ty, [ty, ty]
        yield f"bfi.{ty} %o, %a, 0x1234, %b, %c;", ty, [ty, "u32", "u32"]
    for direction, mode in itertools.product("lr", ["clamp", "wrap"]):
        yield form(f"shf.{direction}.{mode}", "b32", 3)
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"]:
        yield f"prmt.b32{mode} %o, %a, %b, %c;", "b32", ["b32"] * 3
    for table in [0x80, 0xFE, 0x96, 0xCA, 0x1B]:
        yield f"lop3.b32 %o, %a, %b, %c, {table};", "b32", ["b32"] * 3
    for mode, ty in itertools.product(["clamp", "wrap"], ["u32", "s32"]):
        yield f"szext.{mode}.{ty} %o, %a, %b;", ty, [ty, "u32"]
        yield f"bmsk.{mode}.b32 %o, %a, %b;", "b32", ["u32", "u32"]
    yield "fns.b32 %o, %a, %b, %c;", "b32", ["b32", "u8", "s8"]
    for name in ["add", "sub", "min", "max", "absdiff"]:
        for sat in ["", ".sat"]:
            yield f"v{name}.s32.s32.s32{sat} %o, %a, %b;", "s32", ["s32"] * 2
            yield f"v{name}.u32.u32.u32{sat}.add %o, %a.b1, %b.h1, %c;", "u32", ["u32"] * 3
            yield f"v{name}2.s32.s32.s32{sat} %o, %a, %b, %c;", "s32", ["s32"] * 3
            yield f"v{name}4.u32.u32.u32{sat} %o, %a, %b, %c;", "u32", ["u32"] * 3
    for ty in ["u16x2", "s16x2"]:
        for name in ["add", "min", "max", "min.relu", "max.relu"]:
            yield form(name, ty, 2)


def products():
    """The forms of mma with sums that round: shape, type of the sums, types of the factors, registers of d and c, of a, of b."""
    for sums in ["f16", "f32"]:
        words = 2 if sums == "f16" else 4
        for k, a, b in [(8, 2, 1), (16, 4, 2)]:
            yield f"m16n8k{k}", sums, "f16", "f16", words, a, b
        for first, second in itertools.product(["e4m3", "e5m2"], repeat=2):
            yield "m16n8k16", sums, first, second, words, 2, 1
            yield "m16n8k32", sums, first, second, words, 4, 2
    yield from [("m16n8k8", "f32", "bf16", "bf16", 4, 2, 1), ("m16n8k16", "f32", "bf16", "bf16", 4, 4, 2)]
    yield from [("m16n8k4", "f32", "tf32", "tf32", 4, 2, 1), ("m16n8k8", "f32", "tf32", "tf32", 4, 4, 2)]
    yield from [("m8n8k4", "f64", "f64", "f64", 2, 1, 1), ("m16n8k4", "f64", "f64", "f64", 4, 2, 1)]
    yield from [("m16n8k8", "f64", "f64", "f64", 4, 4, 2), ("m16n8k16", "f64", "f64", "f64", 4, 8, 4)]


def product_case(name: str, sums: str, types: tuple, counts: tuple, wild: bool) -> tuple[str, list[bytes]]:
    """A kernel for a product, and its operands: 64 warps of finite numbers, whose exponents differ much if `wild`."""
    d, a, b = counts
    class_ = "d" if sums == "f64" else "r"
    bits = 64 if sums == "f64" else 32
    lines = [f"// {name}, {'all exponents' if wild else 'similar exponents'}", HEADER]
    lines += [".visible .entry k(.param .u64 p0, .param .u64 p1)\n{", ".reg .b32 %t, %n, %r<32>; .reg .b64 %at, %p0, %p1, %d<32>;"]
    lines += ["mov.u32 %t, %ctaid.x; mov.u32 %n, %tid.x; mad.lo.u32 %t, %t, 32, %n;"]
    lines += [f"ld.param.u64 %p0, [p0]; mul.wide.u32 %at, %t, {8 * (a + b + d)}; add.u64 %p0, %p0, %at;"]
    lines += [f"ld.param.u64 %p1, [p1]; mul.wide.u32 %at, %t, {8 * d}; add.u64 %p1, %p1, %at;"]
    for i in range(a + b + d):
        lines.append(f"ld.global.b{bits} %{class_}{i}, [%p0+{8 * i}];")
    vectors, first = [], 0
    for count in (a, b, d):
        vectors.append("{" + ", ".join(f"%{class_}{first + i}" for i in range(count)) + "}")
        first += count
    results = "{" + ", ".join(f"%{class_}{24 + i}" for i in range(d)) + "}"
    lines.append(f"{name} {results}, {vectors[0]}, {vectors[1]}, {vectors[2]};")
    for i in range(d):
        lines.append(f"st.global.b{bits} [%p1+{8 * i}], %{class_}{24 + i};")
    draw = random.Random(name + str(wild))

    def number(ty: str) -> int:
        exponent, fraction = FORMATS[ty]
        middle, most = (1 << (exponent - 1)) - 1, (1 << exponent) - 2
        reach = min(middle, 40 if ty == sums or exponent == 8 else 14) if wild else min(3, middle)
        field = min(max(middle + draw.randint(-reach, reach), 0), most)
        content = draw.getrandbits(fraction)
        if ty == "tf32":
            content &= ~0x1FFF
        return draw.getrandbits(1) << (exponent + fraction) | field << fraction | content

    def register(ty: str) -> int:
        size = 1 + sum(FORMATS[ty])
        return sum(number(ty) << at for at in range(0, bits, size))

    words = []
    for _ in range(64 * 32):
        words += [register(types[0]) for _ in range(a)] + [register(types[1]) for _ in range(b)]
        words += [register(sums) for _ in range(d)]
    return "\n".join([*lines, "ret;\n}\n"]), [slots(words), bytes(8 * 64 * 32 * d)]


def generate(folder: Path) -> int:
    """Writes the generated cases, with the results of the emulated driver that is on the library path."""
    driver = Driver()
    if "mulat" not in driver.name:
        print(f"error: the expected results have to come from the emulator, and this is {driver.name}", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    counts = collections.Counter()

    def write(test: str, text: str, grid: int, block: int, before: list[bytes]) -> None:
        case = {"test": f"generated::{test}", "text": text, "grid": (grid, 1, 1), "block": (block, 1, 1)}
        case.update(before=before, parameters=b"".join(symbol(i) for i in range(len(before))))
        name = f"{zlib.crc32(text.encode()):08x}{zlib.crc32(b''.join(before)):08x}"
        try:
            found, _ = driver.run(Case(encode({**case, "after": before}), name))
        except Refused as error:
            if error.function != "cuModuleLoadDataEx":
                raise
            counts["invalid"] += 1
            return
        counts[test] += 1
        (folder / f"{name}.launch").write_bytes(encode({**case, "after": found}))

    for label, statement, output, inputs, operands in approximate_cases():
        count = len(operands[0])
        before = [*map(slots, operands), bytes(8 * count)]
        write("approximate", kernel(label, statement, output, inputs), count // 256, 256, before)
    statements = [("arithmetic", *form) for form in arithmetic_statements()]
    for name, output, inputs in conversion_statements():
        operands = ", ".join("%" + letter for letter in "abc"[: len(inputs)])
        statements.append(("conversions", f"{name} %o, {operands};", output, inputs))
    for test, statement, output, inputs in statements:
        operands = [values(ty, 1024, seed) for seed, ty in enumerate(inputs)]
        before = [*map(slots, operands), bytes(8 * 1024)]
        write(test, kernel(statement, statement, output, inputs), 4, 256, before)
    for shape, sums, first, second, *registers in products():
        name = f"mma.sync.aligned.{shape}.row.col.{sums}.{first}.{second}.{sums}"
        for wild in (False, True):
            text, before = product_case(name, sums, (first, second), tuple(registers), wild)
            write("products", text, 64, 32, before)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("generate").add_argument("folder", type=Path)
    packing = commands.add_parser("pack")
    packing.add_argument("launches", type=Path)
    packing.add_argument("out", type=Path)
    running = commands.add_parser("run")
    running.add_argument("cases", type=Path)
    running.add_argument("--out", type=Path, default=Path("results"))
    running.add_argument("--limit", type=float, default=150, help="seconds")
    running.add_argument("--workers", type=int, default=min(12, os.cpu_count() or 1))
    running.add_argument("--only", default="", help="a part of a test's or a case's name")
    answering = commands.add_parser("answers")
    for name in ("cases", "results", "out"):
        answering.add_argument(name, type=Path)
    commands.add_parser("work")
    given = parser.parse_args()
    if given.command == "generate":
        return generate(given.folder)
    if given.command == "pack":
        return pack(given.launches, given.out)
    if given.command == "answers":
        return answers(given.cases, given.results, given.out)
    if given.command == "work":
        return work()
    return run(given.cases, given.out, given.limit, given.workers, given.only)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, Refused, lzma.LZMAError, struct.error, UnicodeDecodeError, zipfile.BadZipFile) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
