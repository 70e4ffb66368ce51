#!/usr/bin/env python3
"""Runs other projects' programs on the emulated GPU: the examples of the book's page about it; the tests of
numba-cuda, tinygrad and NVIDIA Warp from PyPI; the tests of cust from crates.io; the network through nvmath-python
and CuPy, and in burn.

    crates/emulated-gpu/clients/clients.py                     all clients: three hours or more
    crates/emulated-gpu/clients/clients.py --short             only tests that take minutes
    crates/emulated-gpu/clients/clients.py CLIENT …            these clients: examples, nvmath, tinygrad, tinygrad-older, numba-cuda,
                                        burn, warp, cust, and those of CLIENT_SOURCES (see below)
    crates/emulated-gpu/clients/clients.py numba-cuda --only test_sync    only modules whose names contain test_sync
    crates/emulated-gpu/clients/clients.py --table FILE        writes the results as a Markdown table: for each client, those of
                                        the last run of all its tests, which may be days old

A failing test needs an entry with its reason in crates/emulated-gpu/clients/clients.reasons, and a test with an entry
has to fail; otherwise the exit code is 1. Installed packages and logs are in target/clients. Needs Linux on x86-64,
Python 3.10 or later with venv, and PyPI; for burn also crates.io. PROFILE is the profile of the libraries (default:
release). CLIENTS_LIMIT is the time limit of a test module in seconds (default: 1800); a busy machine may need more.

The tests of tinygrad, cuda.core, cuda.bindings and nvmath-python are in their repositories; PyPI only has one file of
tinygrad's. If CLIENT_SOURCES is a folder with clones (tinygrad, cuda-python, nvmath-python), at the versions that
REPOSITORIES names below, the clients `tinygrad-tests`, `cuda-bindings`, `cuda-core` and `nvmath-tests` run these
tests; otherwise they are left out. `tinygrad-older` is the last version of tinygrad that has nearly all its tests on
PyPI. A test that also fails on tinygrad's own CPU backend, which needs clang, is not counted as a failure of the GPU.
For tests that pass on both, the table has the seconds on each.

Of Warp's tests, only those that name a GPU are run, in modules about arrays, kernels, atomics, sorting, sparse
matrices, streams and graphs. Its package is large, so --short leaves it out.

`nvmath` is reference/nvmath_mlp.py: it compares each fixture's dump with PyTorch's, twenty steps with level 3's, and
with MNIST_DIR a training with level 3's, whose losses it writes to target/clients/nvmath.md.

`burn` is reference/burn, the network in the Rust framework burn. burn's CUDA backend generates its kernels, compiles
them with NVRTC, and tries which one is the fastest for each product. It runs on an emulated card without TF32, on
which each fixture has to agree with PyTorch's dump in single precision, and on one with TF32, which burn then uses;
twenty steps are compared with level 3's. Each kernel that it tries also counts as a test, which passes if the kernel
can be launched. burn takes minutes to build, so --short leaves it out.
"""

import argparse
import concurrent.futures
import contextlib
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

GPU = Path(__file__).resolve().parents[1]
ROOT = GPU.parents[1]
REASONS = Path(__file__).with_name("clients.reasons")
FOLDER = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "clients"
TINYGRAD = "tinygrad==0.14.0"
# NVIDIA's nvJitLink is left out, because it makes machine code. Without it the emulated one is found.
WHEELS = [
    TINYGRAD,
    "numba-cuda==0.30.4",
    "cuda-core==1.2.2",
    # In 12.9.9 and 12.9.10, handles for other processes lack the field that numba-cuda reads.
    "cuda-bindings==12.9.6",
    "nvidia-cuda-nvrtc-cu12==12.9.*",
    "nvidia-cuda-runtime-cu12==12.9.*",
    "nvidia-cuda-nvcc-cu12==12.9.*",
    "nvidia-cuda-cccl-cu12==12.9.*",
    "numpy==2.4.*",
    "pytest==9.2.*",
    # Imported by the tests of tinygrad and numba-cuda.
    "hypothesis==6.*",
    "cffi==2.*",
    "filecheck==1.*",
    "ml-dtypes==0.6.*",
    "psutil==7.*",
]
# Its tests compare with PyTorch.
TINYGRAD_OLDER = ["tinygrad==0.12.0", "torch==2.9.*", "numpy==2.2.*", "hypothesis==6.*", "pytest==9.2.*"]
# Makes the random cases of tinygrad's tests the same each time.
DERANDOMIZED = {"DERANDOMIZE_CI": "1"}
# In a separate environment: 150 MB.
WARP = ["warp-lang==1.19.0", "numpy==2.4.*"]
NVMATH = [
    "nvmath-python==1.0.0",
    "cuda-core==1.2.2",
    "cuda-bindings==12.9.10",
    "cupy-cuda12x==14.2.0",
    "nvidia-cuda-nvrtc-cu12==12.9.*",
    "nvidia-cuda-runtime-cu12==12.9.*",
    "numpy==2.4.*",
]
# NVIDIA's own bindings, for the newest CUDA.
CUDA_13 = [
    "cuda-core==1.2.2",
    "cuda-bindings==13.2.0",
    "nvidia-cuda-nvrtc==13.5.*",
    "nvidia-cuda-runtime==13.5.*",
    "numpy==2.4.*",
    "pytest==9.2.*",
    "cffi==2.*",
    "ml-dtypes==0.6.*",
    "psutil==7.*",
]
# Warp's modules that take at most minutes and have tests for the GPU.
WARP_MODULES = [
    "cuda.test_array_fill_capture",
    "cuda.test_conditional_captures",
    "cuda.test_cuda_max_registers",
    "cuda.test_kernel_attributes",
    "cuda.test_mempool",
    "cuda.test_occupancy",
    "cuda.test_pinned",
    "cuda.test_sync_errors",
    "cuda.test_unified_memory",
    "geometry.test_bvh",
    "geometry.test_hash_grid",
    "geometry.test_mesh",
    "geometry.test_volume",
    "interop.test_dlpack",
    "matrix.test_mat_lite",
    "test_adam",
    "test_arithmetic",
    "test_array",
    "test_atomic",
    "test_atomic_cas",
    "test_bool",
    "test_codegen",
    "test_dense",
    "test_devices",
    "test_fixedarray",
    "test_fp16",
    "test_grad",
    "test_indexedarray",
    "test_iter",
    "test_launch",
    "test_math",
    "test_noise",
    "test_options",
    "test_print",
    "test_quat",
    "test_rand",
    "test_runlength_encode",
    "test_sgd",
    "test_sparse",
    "test_spatial",
    "test_struct",
    "test_tape",
    "test_utils",
    "test_vec_lite",
    "tile.test_tile",
    "tile.test_tile_reduce",
    "tile.test_tile_sort",
]
# Clients whose tests are only in their repository: the folder in CLIENT_SOURCES, the files, the packages from PyPI, the
# variables for the GPU, and those for a CPU backend with which failing tests are compared. The clones have to be at the
# installed versions.
REPOSITORIES = {
    "tinygrad-tests": (
        "tinygrad",
        [f"test/**/test_{name}.py" for name in ("ops", "jit", "schedule", "dtype", "dtype_alu", "uops")]
        + [f"test/**/test_{name}.py" for name in ("linearizer", "tensor_cores", "multitensor", "tensor")]
        + [f"test/**/test_{name}.py" for name in ("assign", "custom_kernel", "edgecases", "randomness")]
        + [f"test/**/test_{name}.py" for name in ("setitem", "softmax_fusion", "symbolic_jit", "transcendental")],
        [TINYGRAD, "torch==2.9.*", "numpy==2.2.*", "hypothesis==6.*", "pytest==9.2.*", "nvidia-cuda-nvrtc-cu12==12.9.*"],
        {"DEV": "CUDA:PTX", "EMULATED_GPU_DEVICES": "6"} | DERANDOMIZED,
        {"DEV": "CPU"} | DERANDOMIZED,
    ),
    "cuda-bindings": (
        "cuda-python/cuda_bindings/tests",
        ["test_*.py"],
        CUDA_13,
        {},
        None,
    ),
    "cuda-core": (
        "cuda-python/cuda_core/tests",
        ["test_*.py", "graph/test_*.py", "memory/test_*.py"],
        CUDA_13,
        {},
        None,
    ),
    "nvmath-tests": (
        "nvmath-python/tests",
        ["nvmath_tests/linalg/advanced/matmul/test_*.py", "nvmath_tests/linalg/generic/matmul/test_*.py"],
        [*NVMATH, "pytest==9.2.*", "hypothesis==6.*", "nvidia-curand-cu12==10.3.2.106"],
        {"CUPY_ACCELERATORS": ""},
        None,
    ),
}
# Time limit of a test module, in seconds.
LIMIT = os.environ.get("CLIENTS_LIMIT") or "1800"
if not LIMIT.isdecimal() or int(LIMIT) == 0:
    sys.exit(f"error: CLIENTS_LIMIT is `{LIMIT}`: set it to a number of seconds, such as 1800")
LIMIT = int(LIMIT)
# Modules of numba-cuda that `--short` runs: arrays, shared memory, warps, atomics, printing, streams.
SHORT = [
    "cudapy.test_array",
    "cudapy.test_array_args",
    "cudapy.test_matmul",
    "cudapy.test_sm",
    "cudapy.test_warp_ops",
    "cudapy.test_print",
    "cudapy.test_sync",
    "cudadrv.test_streams",
]


def environment(name="venv", wheels=WHEELS):
    """Returns the Python of the environment with these packages, after installing it if it is missing."""
    folder = FOLDER / name
    python = folder / "bin" / "python"
    listed = folder / "wheels"
    if not listed.is_file() or listed.read_text() != "\n".join(wheels):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *wheels], check=True)
        listed.write_text("\n".join(wheels))
    return python


# Exit status of a module's process if another process has to run the rest of its tests.
BROKEN = 75


def synchronize():
    """Waits for the GPU, through the client that this process uses."""
    if "warp" in sys.modules:
        sys.modules["warp"].synchronize()
    else:
        from numba import cuda

        cuda.synchronize()


class Outcomes(unittest.TestResult):
    """Writes a line of JSON for each test to a file, apart from other output."""

    def __init__(self, path):
        super().__init__()
        self.file = Path(path).open("a")  # noqa: SIM115, open for as long as tests run
        self.is_broken = False

    def record(self, test, outcome, why=""):
        print(json.dumps([test.id(), outcome, str(why)]), file=self.file, flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.record(test, "failed", "the process ended")

    def addSuccess(self, test):
        self.record(test, "passed")

    def addError(self, test, err):
        # pytest's importorskip.
        if err[0].__name__ == "Skipped":
            self.record(test, "skipped", err[1])
            return
        self.record(test, "failed", self._exc_info_to_string(err, test))
        # An illegal address invalidates the context, as on hardware, and all later tests would fail.
        try:
            synchronize()
        except Exception:
            self.is_broken = True
            self.stop()

    addFailure = addError

    def addSkip(self, test, reason):
        self.record(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        self.record(test, "passed", "expected to fail")

    def addUnexpectedSuccess(self, test):
        self.record(test, "failed", "expected to fail, but passed")

    def addSubTest(self, test, subtest, err):
        # unittest doesn't report a test itself if one of its parts failed.
        if err is not None:
            self.record(test, "failed", self._exc_info_to_string(err, subtest))


def each(suite):
    """The tests of a suite, in order."""
    for test in suite:
        yield from each(test) if isinstance(test, unittest.TestSuite) else [test]


def prepare_warp():
    """Restricts Warp's tests to the GPU, and keeps its kernels next to the logs."""
    import warp
    import warp.tests.unittest_utils as tests

    warp.config.quiet = True
    warp.config.kernel_cache_dir = str(FOLDER / "warp-kernels")
    every = tests.get_test_devices
    tests.get_test_devices = lambda mode=None: [device for device in every(mode) if device.is_cuda]
    tests.get_cpu_test_devices = list


def run_module(name, path):
    """Runs, in this process, the tests of a module that no earlier process has begun."""
    begun = {json.loads(line)[0] for line in Path(path).read_text().splitlines()}
    if name.startswith("warp."):
        prepare_warp()
    tests = each(unittest.defaultTestLoader.loadTestsFromName(name))
    if name.startswith("warp."):
        # The other tests run on the CPU.
        tests = (test for test in tests if test.id().endswith("_cuda_0"))
    outcomes = Outcomes(path)
    unittest.TestSuite(test for test in tests if test.id() not in begun).run(outcomes)
    sys.exit(BROKEN if outcomes.is_broken else 0)


def run(command, log, variables=None, work=FOLDER / "work", limit=LIMIT, gpu=True):
    """Runs a command in a folder, on the emulated GPU or without one. Returns its exit status, which is negative
    for a signal, or None if it took longer than `limit` seconds."""
    # The user's settings are removed, and so are folders that Python would import from.
    settings = ("NUMBA_", "CUBECL_", "BURN_")
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(settings)}
    # tinygrad uses PROFILE in another sense.
    for name in ("PYTHONPATH", "PROFILE"):
        inherited.pop(name, None)
    work.mkdir(exist_ok=True)
    with open(log, "ab") as output:
        process = subprocess.Popen(
            [FOLDER / "gpu" / "emulate", *command] if gpu else command,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=work,
            env=inherited | (variables or {}),
            start_new_session=True,
        )
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def run_unittest(python, module):
    """Runs a module of unittest: the tests with their outcomes."""
    lines, log = FOLDER / "logs" / f"{module}.json", FOLDER / "logs" / f"{module}.log"
    lines.write_text("")
    log.write_text("")
    while True:
        before = lines.stat().st_size
        status = run([python, Path(__file__).resolve(), "--module", module, lines], log)
        # However a process ended, the next one runs the rest, as long as each makes progress.
        if status == 0 or status is None or lines.stat().st_size == before:
            break
    tests = {}
    for name, outcome, why in map(json.loads, lines.read_text().splitlines()):
        # The error of a module that can't be imported.
        name = name.replace("unittest.loader._FailedTest", f"{module} can't be imported:")
        # The outcome replaces the entry of the start; the worst outcome of a test's parts counts.
        if tests.get(name, ("", "the process ended"))[1] == "the process ended" or outcome == "failed":
            tests[name] = (outcome, why)
    # A module that skips itself before its first test, with pytest's function.
    if not tests and "Skipped: " in log.read_text(errors="replace"):
        tests[module] = ("skipped", last_line(log.read_text(errors="replace")))
    elif status not in (0, BROKEN):
        why = "took too long" if status is None else f"ended with status {status}"
        tests[f"{module}: the process"] = ("failed", f"{why}; its output is in {log}")
    return tests


def run_pytest(python, path, variables, name=None, **how):
    """Runs a file or a folder of pytest: the tests with their outcomes and their seconds."""
    import xml.etree.ElementTree

    name = name or Path(path).stem
    report, log = FOLDER / "logs" / f"{name}.xml", FOLDER / "logs" / f"{name}.log"
    report.unlink(missing_ok=True)
    log.write_text("")
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "--junit-xml", report, path]
    status = run(command, log, variables, **how)
    tests = {}
    if report.exists():
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            results = {child.tag: child for child in case}
            bad = results.get("failure", results.get("error"))
            if bad is not None:
                outcome = ("failed", bad.text or bad.get("message"))
            elif "skipped" in results:
                outcome = ("skipped", results["skipped"].get("message"))
            else:
                outcome = ("passed", "")
            seconds = float(case.get("time") or 0)
            tests[f"{case.get('classname')}.{case.get('name')}"] = (*outcome, seconds)
    # Exit status 1 means that tests failed, which the report lists.
    if status not in (0, 1) or not tests:
        why = "took too long" if status is None else f"ended with status {status}"
        tests[f"{name}: the process"] = ("failed", f"{why}; its output is in {log}")
    return tests


def nvrtc(python):
    """Path of NVIDIA's NVRTC in this Python's packages."""
    site = "lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1?"
    [file] = Path(python).parent.parent.glob(site)
    return str(file)


def toolkit(python):
    """Makes a folder laid out like CUDA's toolkit, with the headers of this Python's wheels."""
    [packages] = Path(python).parent.parent.glob("lib/python3*/site-packages/nvidia")
    include = FOLDER / "cuda" / "include"
    shutil.rmtree(include, ignore_errors=True)
    include.mkdir(parents=True)
    for package in ("cuda_runtime", "cuda_nvcc"):
        for header in (packages / package / "include").iterdir():
            if not header.name.startswith("__"):
                (include / header.name).symlink_to(header)
    (include / "cccl").symlink_to(packages / "cuda_cccl" / "include")
    return include.parent


def judged(client, name, *steps):
    """Runs steps, each a function of the log's path that returns a status, up to the first that fails. Returns the
    outcome."""
    log = FOLDER / "logs" / f"{client} {name}.log"
    log.write_text("")
    status = next((status for step in steps if (status := step(log)) != 0), 0)
    why = "took too long" if status is None else last_line(log.read_text(errors="replace"))
    return ("passed", "") if status == 0 else ("failed", f"{why}; its output is in {log}")


def step_of(program, *arguments):
    """A step for `judged` that runs one of the workspace's programs, which has to be built."""

    def done(log):
        with open(log, "ab") as output:
            command = [FOLDER.parent / "debug" / program, *arguments]
            return subprocess.run(command, stdout=output, stderr=output, cwd=FOLDER / "work").returncode

    return done


def nvmath(python, short, only):
    packages = ["--package", "tensor-diff", "--package", "level3-cublas"]
    subprocess.run([GPU / "scripts" / "build.sh", *packages], check=True, cwd=ROOT)
    own = environment("venv-nvmath", NVMATH)
    # CuPy's own reductions, because those of CUB are machine code.
    variables = {"EMULATED_GPU_NVRTC": nvrtc(own), "CUPY_ACCELERATORS": ""}
    work = FOLDER / "work"
    work.mkdir(exist_ok=True)
    tests = {}

    def through_nvmath(*arguments):
        command = [own, ROOT / "reference" / "nvmath_mlp.py", *arguments]
        return lambda log: run(command, log, variables)

    dumps = ROOT / "reference" / "dumps"
    # In cuBLASLt's mask, a z of exactly 0 counts as positive.
    fixtures = sorted({file.name.split(".")[0] for file in dumps.iterdir()} - {"kink"})
    for fixture in fixtures if not short else ["softmax", "bce-steps", "three-layer"]:
        if only in fixture:
            theirs, ours = dumps / f"{fixture}.json", work / f"nvmath-{fixture}.json"
            dump = through_nvmath("dump", "--inputs", theirs, "--out", ours)
            tests[fixture] = judged("nvmath", fixture, dump, step_of("tensor-diff", theirs, ours))
    if only:
        return tests
    theirs, ours = work / "level3.json", work / "nvmath.json"
    preset = ["--preset", "small", "--device", "emulated", "--gemm", "cublaslt"]
    name = "twenty steps against level 3"
    tests[name] = judged(
        "nvmath",
        name,
        step_of("level3-cublas", "dump", *preset, "--steps", "20", "--data", "digits", "--out", theirs),
        through_nvmath("dump", "--inputs", theirs, "--out", ours),
        step_of("tensor-diff", theirs, ours),
    )
    if not short and os.environ.get("MNIST_DIR"):
        reports = {"level 3": work / "level3-report.json", "nvmath-python": work / "nvmath-report.json"}
        level3, theirs = reports.values()
        inputs = work / "inputs.json"
        name = "a training against level 3"
        tests[name] = judged(
            "nvmath",
            name,
            step_of("level3-cublas", "dump", *preset, "--inputs-only", "--out", inputs),
            step_of("level3-cublas", *preset, "--json", level3),
            through_nvmath("train", "--preset", "small", "--inputs", inputs, "--json", theirs),
            lambda log: compare_losses(reports, log),
        )
    return tests


def compare_losses(reports, log):
    """Writes the losses of two reports as a table. Returns 0 if they agree."""
    both = [json.loads(file.read_text()) for file in reports.values()]
    lines = [f"| batch | {' | '.join(reports)} |", "|---:|---:|---:|"]
    agree = both[0]["tested"] == both[1]["tested"]
    for one, other in zip(both[0]["losses"], both[1]["losses"], strict=True):
        # Another order of addition changes the last digits, which add up over a few hundred steps.
        agree &= one["batch"] == other["batch"] and abs(one["loss"] - other["loss"]) < 2e-5
        lines.append(f"| {one['batch']} | {one['loss']:.6f} | {other['loss']:.6f} |")
    correct = [report["tested"]["correct"] for report in both]
    lines.append(f"| of {both[0]['tested']['total']} digits right | {correct[0]} | {correct[1]} |")
    (FOLDER / "nvmath.md").write_text("\n".join(lines) + "\n")
    with open(log, "a") as output:
        print(*lines, "" if agree else "the losses differ", sep="\n", file=output)
    return 0 if agree else 1


def examples(python, short, only):
    variables = {"DEV": "CUDA:PTX", "EMULATED_GPU_NVRTC": nvrtc(python)}
    tests = run_pytest(python, ROOT / "book" / "clients", variables)
    package = ["--package", "book-check", "--example", "own_program"]
    subprocess.run([GPU / "scripts" / "build.sh", *package], check=True, cwd=ROOT)
    log = FOLDER / "logs" / "saxpy.rs.log"
    log.write_text("")
    status = run([FOLDER.parent / "debug" / "examples" / "own_program"], log)
    why = "took too long" if status is None else f"ended with status {status}"
    tests["saxpy.rs"] = ("passed", "") if status == 0 else ("failed", f"{why}; its output is in {log}")
    return tests


def tinygrad_tests(python, name, wheel):
    """Downloads the tests of a version of tinygrad from PyPI into the folder of this name, and returns its path."""
    folder = FOLDER / name
    if not folder.is_dir():
        download = [python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        subprocess.run(
            [*download, "--no-deps", "--no-binary", "tinygrad", "--dest", FOLDER, wheel],
            check=True,
        )
        part = FOLDER / f"{name}.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        with tarfile.open(FOLDER / f"{wheel.replace('==', '-')}.tar.gz") as archive:
            for member in archive.getmembers():
                path = Path(member.name)
                if path.parent.name == "test" and path.suffix == ".py":
                    (part / path.name).write_bytes(archive.extractfile(member).read())
        part.rename(folder)
    return folder


def tinygrad(python, short, only):
    return run_pytest(python, tinygrad_tests(python, "tinygrad", TINYGRAD), {"DEV": "CUDA:PTX"})


def tinygrad_older(python, short, only):
    """Runs the last version that has its tests on PyPI, except tests that import missing files."""
    if short:
        return {}
    own = environment("venv-tinygrad-older", TINYGRAD_OLDER)
    folder = tinygrad_tests(own, "tinygrad-older", TINYGRAD_OLDER[0])
    beyond = re.compile(r"^\s*from (test|extra|examples)\b", re.M)
    files = [file for file in sorted(folder.glob("test_*.py")) if only in file.stem]
    files = [file for file in files if not beyond.search(file.read_text())]
    # This version only looks for the driver in system folders, and at this path.
    driver = {"CUDA_PATH": str(FOLDER / "gpu" / "lib" / "libcuda.so.1")}
    of_cuda = {"CUDA": "1", "CUDA_PTX": "1", "EMULATED_GPU_DEVICES": "6"} | driver | DERANDOMIZED
    return run_files("tinygrad-older", own, folder, files, of_cuda, {"CPU": "1"} | DERANDOMIZED)


def numba_cuda(python, short, only):
    tests = "numba.cuda.tests"
    where = "import numba_cuda; print(numba_cuda.__path__[0])"
    folder = Path(subprocess.check_output([python, "-c", where], text=True).strip(), "numba/cuda/tests")
    # Left out: `nocuda` and `core` need no GPU, and `cudasim` is a simulator. (`nrt` is numba's memory management.)
    groups = ["cudapy", "cudadrv", "doc_examples", "nrt"]
    modules = [
        f"{group}.{file.stem}" for group in groups for file in sorted((folder / group).glob("test_*.py"))
    ]
    modules = [name for name in modules if (name in SHORT or not short) and only in name]
    if not modules:
        raise SystemExit(f"error: no test module of numba-cuda has a name that contains {only!r}")
    result = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda name: run_unittest(python, f"{tests}.{name}"), modules):
            result |= {name.removeprefix(f"{tests}."): outcome for name, outcome in found.items()}
    return result


def burn(python, short, only):
    if short:
        return {}
    packages = ["--package", "tensor-diff", "--package", "level3-cublas"]
    subprocess.run([GPU / "scripts" / "build.sh", *packages], check=True, cwd=ROOT)
    built = FOLDER / "burn"
    build = ["cargo", "build", "--quiet", "--locked", "--target-dir", built]
    manifest = ["--manifest-path", ROOT / "reference" / "burn" / "Cargo.toml"]
    # It is neither edited nor debugged.
    small = {"CARGO_INCREMENTAL": "0", "CARGO_PROFILE_DEV_DEBUG": "0"}
    subprocess.run([*build, *manifest], check=True, cwd=ROOT, env=os.environ | small)
    variables = {"EMULATED_GPU_NVRTC": nvrtc(python), "CUDA_PATH": str(toolkit(python))}
    tests = {}

    def compared(name, capability, theirs, *before):
        work = FOLDER / "work" / f"burn-{capability}"
        ours = work / f"{Path(theirs).stem}.json"
        command = [built / "debug" / "network-in-burn", "cuda", theirs, ours]
        card = variables | {"EMULATED_GPU_CAPABILITY": capability}
        dump = lambda log: run(command, log, card, work)
        tests[name] = judged("burn", name, *before, dump, step_of("tensor-diff", theirs, ours))

    dumps = ROOT / "reference" / "dumps"
    fixtures = sorted({file.name.split(".")[0] for file in dumps.iterdir()})
    # Turing has no TF32, Hopper has.
    for capability, arithmetic in [("7.5", "f32"), ("9.0", "TF32")]:
        work = FOLDER / "work" / f"burn-{capability}"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        # burn caches which kernel is the fastest; the cache is only valid for this card and this emulator.
        log = 'logger = { level = "full", file = "autotune.log" }'
        (work / "cubecl.toml").write_text(f'[autotune]\ncache = "local"\n{log}\n')
        for fixture in fixtures:
            if only in fixture:
                compared(f"{fixture} in {arithmetic}", capability, dumps / f"{fixture}.json")
        if not only:
            theirs = FOLDER / "work" / "level3.json"
            # burn computes the gradient of this loss like the levels, so that every tensor can be compared.
            preset = ["--preset", "small", "--loss", "cross-entropy", "--device", "emulated"]
            made = step_of("level3-cublas", "dump", *preset, "--steps", "20", "--data", "digits", "--out", theirs)
            compared(f"twenty steps against level 3, in {arithmetic}", capability, theirs, made)
        for name, outcome in tried(work / "autotune.log").items():
            tests[f"{name} in {arithmetic}"] = outcome
    return tests


def tried(log):
    """The kernels that burn tried, by their names in its log, with the outcome: whether each could be launched."""
    text = log.read_text(errors="replace") if log.exists() else ""
    kernels = dict.fromkeys(re.findall(r"^Autotune\[\d+\] name (\w+) =>", text, re.M), ("passed", ""))
    # If burn itself rejects a kernel for some shapes, that is not a failed launch.
    for name, why in re.findall(r'^Unknown \{ name: "(\w+)", err: "(.*)" \}$', text, re.M):
        kernels[name] = ("failed", " ".join(why.split(r"\nBacktrace")[0].split(r"\n")))
    return kernels


def warp(python, short, only):
    modules = [name for name in WARP_MODULES if only in name and not short]
    if only and not modules:
        raise SystemExit(f"error: no test module of Warp has a name that contains {only!r}")
    if not modules:
        return {}
    own = environment("venv-warp", WARP)
    result = {}
    # One after the other: they share a cache of kernels.
    for module in modules:
        found = run_unittest(own, f"warp.tests.{module}")
        result |= {name.removeprefix("warp.tests."): outcome for name, outcome in found.items()}
    return result


def cust(python, short, only):
    """Runs the unit tests of the version in Cargo.lock, in a separate workspace."""
    if short:
        return {}
    subprocess.run(["cargo", "fetch", "--quiet", "--locked"], check=True, cwd=ROOT)
    version = re.search(r'^name = "cust"\nversion = "(.+)"$', (ROOT / "Cargo.lock").read_text(), re.M)[1]
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    folder, log = FOLDER / "cust", FOLDER / "logs" / "cust.log"
    folder.mkdir(exist_ok=True)
    with tarfile.open(next(cargo.glob(f"registry/cache/*/cust-{version}.crate"))) as archive:
        archive.extractall(folder, filter="data")
    (folder / "Cargo.toml").write_text(f'[workspace]\nresolver = "2"\nmembers = ["cust-{version}"]\n')
    # cust links to libcuda.so, for which its build script searches the subfolder lib64.
    (folder / "cuda").mkdir(exist_ok=True)
    (folder / "cuda" / "lib64").unlink(missing_ok=True)
    (folder / "cuda" / "lib64").symlink_to(FOLDER / "gpu" / "lib")
    variables = {"CUDA_LIBRARY_PATH": str(folder / "cuda"), "CARGO_PROFILE_DEV_DEBUG": "0"}
    build = ["cargo", "test", "--quiet", "--package", "cust", "--lib", "--no-run", "--target-dir", "target"]
    with open(log, "wb") as output:
        built = subprocess.run(
            [*build, "--message-format", "json"],
            stdout=subprocess.PIPE,
            stderr=output,
            cwd=folder,
            env=os.environ | variables,
        )
    if built.returncode != 0:
        return {"the build": ("failed", f"cargo's output is in {log}")}
    messages = map(json.loads, built.stdout.decode().splitlines())
    program = next(found for message in messages if (found := message.get("executable")))
    printed = log.with_suffix(".tests.log")
    printed.write_text("")
    status = run([program, only], printed)
    listed = subprocess.check_output(
        [FOLDER / "gpu" / "emulate", program, only, "--list", "--format", "terse"], text=True
    )
    line = r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)"
    ended = dict(re.findall(line, printed.read_text(), re.M))
    outcomes = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}
    why = "took too long" if status is None else f"ended with status {status}; its output is in {printed}"
    return {
        name: (outcomes.get(ended.get(name), "failed"), why)
        for name in re.findall(r"^(\S+): test$", listed, re.M)
    }


def repository_client(client):
    """Makes the client that runs the tests of a repository in CLIENT_SOURCES."""
    where, groups, wheels, variables, judge = REPOSITORIES[client]

    def tests_of(python, short, only):
        folder = Path(os.environ.get("CLIENT_SOURCES", ""), where).resolve()
        if short or "CLIENT_SOURCES" not in os.environ or not folder.is_dir():
            return {}
        files = [file for group in groups for file in sorted(folder.glob(group)) if only in file.stem]
        if not files:
            raise SystemExit(f"error: {folder} has no test file whose name contains {only!r}")
        own = environment(f"venv-{client}", wheels)
        of_cuda = {"EMULATED_GPU_NVRTC": nvrtc(own)} | variables
        return run_files(client, own, folder, files, of_cuda, judge)

    return tests_of


# Times of each client with a judge: for each file the number of tests that pass on both, and their seconds on the emulated
# GPU and on the judge.
TIMES = {}


def kept(client, is_whole=True):
    """The file with the outcomes of the last run of all tests of a client, or of some."""
    return FOLDER / f"{client}{'' if is_whole else '.some'}.json"


def run_files(client, python, folder, files, variables, judge):
    """Runs files of pytest in a folder on the emulated GPU. With a judge (the variables of a CPU backend), runs them
    there too, and counts tests that fail on both as skipped."""
    how = {"work": folder, "limit": 4 * LIMIT}
    result = {}

    def outcomes(file, variables, name, **more):
        # An empty cache, so that tinygrad compiles everything in each run.
        with tempfile.TemporaryDirectory() as cache:
            where = {"PYTHONPATH": str(folder), "CACHEDB": f"{cache}/cache.db"}
            return run_pytest(python, file, where | variables, name, **how, **more)

    for file in files:
        name = f"{client} {'.'.join(file.relative_to(folder).with_suffix('').parts)}"
        tests = outcomes(file, variables, name)
        if judge:
            theirs = outcomes(file, judge, f"{name} judged", gpu=False)
            pairs = {test: (tests[test], theirs[test]) for test in tests if test in theirs}
            both = [pair for pair in pairs.values() if pair[0][0] == pair[1][0] == "passed"]
            if both:
                seconds = [sum(pair[of][2] for pair in both) for of in (0, 1)]
                TIMES.setdefault(client, []).append((file.stem, len(both), *seconds))
            for test, (ours, other) in pairs.items():
                if ours[0] == other[0] == "failed":
                    tests[test] = ("skipped", f"fails with {judge}, too: {other[1]}")
        result |= tests
    return result


CLIENTS = {
    "examples": examples,
    "nvmath": nvmath,
    "tinygrad": tinygrad,
    "tinygrad-older": tinygrad_older,
    "numba-cuda": numba_cuda,
    "burn": burn,
    "warp": warp,
    "cust": cust,
} | {client: repository_client(client) for client in REPOSITORIES}


def reasons():
    """Reads the reasons: the reason for each pair of a client and a pattern for names of its tests, and the pairs that
    may pass on some machines, which are marked with a question mark."""
    listed, may_pass, why = {}, set(), None
    for number, line in enumerate(REASONS.read_text().splitlines(), 1):
        if line.startswith("# ") and not line.startswith("# -"):
            why = line[2:] if why is None else f"{why} {line[2:]}"
        elif not line:
            why = None
        else:
            client, _, pattern = line.partition(" ")
            if client.endswith("?"):
                client = client[:-1]
                may_pass.add((client, pattern))
            if client not in CLIENTS or not pattern or why is None:
                raise SystemExit(f"error: {REASONS}:{number}: a line has to be `# reason`, or `client pattern` below a reason")
            listed[client, pattern] = why
    return listed, may_pass


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def judge_outcomes(client, tests, known, may_pass):
    """Judges a client's tests. Returns a row with their numbers, the names of failing tests by reason, and the
    surprises: failures without a reason, and reasons whose test passes."""
    ended = lambda outcome: [name for name, found in tests.items() if found[0] == outcome]
    matched, wrong = {}, []
    for name in ended("failed"):
        pattern = next((key for key in known if key[0] == client and re.fullmatch(key[1], name)), None)
        if pattern is None:
            wrong.append(f"{client} {name}: {last_line(tests[name][1])}")
        else:
            matched.setdefault(known[pattern], []).append(name)
    for (of_client, pattern), why in known.items():
        passed = [name for name in ended("passed") if re.fullmatch(pattern, name)]
        if of_client == client and passed and (client, pattern) not in may_pass:
            wrong.append(f"{client} {passed[0]}: passes, but has an entry in {REASONS.name}: {why}")
    return (client, *(len(ended(outcome)) for outcome in ("passed", "failed", "skipped"))), matched, wrong


def table(known, may_pass):
    """The last run of all tests of each client, as Markdown."""
    outcomes = ["| client | day | tests that pass | fail | skip themselves |", "|---|---|---:|---:|---:|"]
    because = ["", "| of | fail | because |", "|---|---:|---|"]
    took = ["", "| of | tests that pass on both | seconds on the emulated GPU | on its CPU backend |"]
    took.append("|---|---:|---:|---:|")
    for client in CLIENTS:
        if not kept(client).is_file():
            continue
        found = json.loads(kept(client).read_text())
        (_, *counts), matched, wrong = judge_outcomes(client, found["tests"], known, may_pass)
        outcomes.append(f"| {client} | {found['day']} | {' | '.join(map(str, counts))} |")
        because += [f"| {client} | {len(names)} | {why} |" for why, names in matched.items()]
        for line in wrong:
            what = line.removeprefix(client).strip().replace("|", "\\|")
            because.append(f"| {client} | 1 | without a reason: {what} |")
        # Below a few seconds it is only Python's start-up time.
        took += [
            f"| {client} {name} | {both} | {ours:.0f} | {theirs:.0f} |"
            for name, both, ours, theirs in found["times"]
            if max(ours, theirs) >= 5
        ]
    return "\n".join([*outcomes, *because, *(took if len(took) > 3 else [])]) + "\n"


def write(file, text):
    """Writes a file, whole or not at all."""
    part = file.with_name(f"{file.name}.part")
    part.write_text(text)
    part.rename(file)


def main():
    if sys.argv[1:2] == ["--module"]:
        return run_module(*sys.argv[2:])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clients", nargs="*", metavar="CLIENT")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--table", type=Path)
    arguments = parser.parse_args()
    for name in arguments.clients:
        if name not in CLIENTS:
            parser.error(f"unknown client {name}: choose from {', '.join(CLIENTS)}")
        if name in REPOSITORIES and not Path(os.environ.get("CLIENT_SOURCES", ""), REPOSITORIES[name][0]).is_dir():
            parser.error(f"{name} needs {REPOSITORIES[name][0]} in the folder that CLIENT_SOURCES names")
    sources = os.environ.get("CLIENT_SOURCES")
    if sources is not None and not Path(sources).is_dir():
        parser.error(f"CLIENT_SOURCES names {sources}, which is not a folder")

    known, may_pass = reasons()
    (FOLDER / "logs").mkdir(parents=True, exist_ok=True)
    subprocess.run([GPU / "emulate", "--install", FOLDER / "gpu"], check=True)
    python = environment()
    rows, wrong = [], []
    for client in arguments.clients or CLIENTS:
        tests = CLIENTS[client](python, arguments.short, arguments.only)
        times = TIMES.get(client, [])
        row, matched, surprises = judge_outcomes(client, tests, known, may_pass)
        rows.append(row)
        wrong += surprises
        if tests:
            found = {"day": datetime.date.today().isoformat(), "tests": tests, "times": times}
            write(kept(client, not (arguments.short or arguments.only)), json.dumps(found, indent=1))
        print("{}: {} passed, {} failed, {} skipped".format(*row), flush=True)
        for why, names in matched.items():
            print(f"  {len(names)} fail: {why}")
        for name, both, ours, theirs in times:
            print(f"  {name}: {both} tests in {ours:.1f} seconds, and in {theirs:.1f} on its CPU backend")
    if arguments.table:
        write(arguments.table, table(known, may_pass))
    if arguments.only and not any(sum(counted) for _, *counted in rows):
        wrong.append(f"no test of these clients has a name that contains {arguments.only!r}")
    for line in wrong:
        print(f"clients: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
