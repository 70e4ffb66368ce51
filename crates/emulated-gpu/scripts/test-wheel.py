#!/usr/bin/env python3
"""Installs the wheel into a new virtual environment, as its users do, and runs a suite with a planted race on it.

    crates/emulated-gpu/scripts/test-wheel.py [WHEEL]

Without WHEEL, it builds one for this machine. numba-cuda, NVIDIA's compilers and pytest come from PyPI.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
PACKAGES = ["pytest==9.2.0", "pytest-xdist==3.8.0", "numba==0.68.1", "numba-cuda[cu12]==0.30.4"]
SUITE = HERE / "python/race.py"
WRITE = next(n for n, line in enumerate(SUITE.read_text().splitlines(), 1) if "block[i] = " in line)


class Wheel(unittest.TestCase):
    """The command and the plugin, without the checkout."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        wheel = sys.argv[1] if len(sys.argv) > 1 else cls.build()
        venv.create(cls.folder / "venv", with_pip=True)
        cls.bin = cls.folder / "venv/bin"
        install = [cls.bin / "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, wheel, *PACKAGES], check=True)
        (cls.folder / "test_race.py").write_text(SUITE.read_text())

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def build(cls):
        """Builds a wheel for this machine, and returns its path."""
        tools = cls.folder / "tools"
        venv.create(tools, with_pip=True)
        subprocess.run([tools / "bin/pip", "install", "--quiet", "build==1.6.1"], check=True)
        command = [tools / "bin/python", HERE / "scripts/wheel.py", cls.folder, "--local"]
        subprocess.run(command, check=True, capture_output=True)
        return next(cls.folder.glob("*.whl"))

    def run_it(self, *command):
        """Runs a program of the environment; returns the exit code and the output."""
        variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("LD_", "EMULATED_GPU_", "PYTHON", "CUDA_"))
        }
        done = subprocess.run(
            [self.bin / command[0], *command[1:]],
            cwd=self.folder,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
        )
        return done.returncode, done.stdout.decode()

    def test_a_race_fails_the_test_that_launched_it(self):
        for workers in ([], ["-n", "2"]):
            code, text = self.run_it("pytest", "--emulated-gpu-checks=races", *workers)
            self.assertEqual(code, 1, text)
            self.assertIn("1 failed, 1 passed", text)
            self.assertIn("FAILED test_race.py::test_race", text)
            self.assertIn(f"/test_race.py:{WRITE}: race: shared write of 4 bytes", text)

    def test_without_checks_the_suite_passes(self):
        code, text = self.run_it("python", "-m", "pytest", "--emulated-gpu")
        self.assertEqual(code, 0, text)
        self.assertIn("emulated GPU: checks addresses", text)

    def test_a_later_failure_names_the_test_that_broke_the_context(self):
        (self.folder / "later.py").write_text(
            "from test_race import double, numpy\n"
            "from numba import cuda\n"
            "def test_fault():\n"
            "    double[64, 1024](cuda.to_device(numpy.ones(1, dtype=numpy.float32)))\n"
            "def test_after():\n"
            "    cuda.to_device(numpy.ones(1))\n"
        )
        code, text = self.run_it("pytest", "--emulated-gpu", "later.py")
        self.assertEqual(code, 1, text)
        self.assertIn("the fault in later.py::test_fault made this process's CUDA context", text)
        self.assertIn("test_race.py:18: illegal address", text)

    def test_run_reports_faults_as_sarif_and_annotations(self):
        (self.folder / "program.py").write_text(
            "from test_race import cuda, test_race\ntest_race()\ncuda.synchronize()\n"
        )
        options = ["--checks", "races", "--github", "--sarif", "faults.sarif"]
        code, text = self.run_it("emulated-gpu", "run", *options, self.bin / "python", "program.py")
        self.assertEqual(code, 1, text)
        self.assertIn(f"::error file=test_race.py,line={WRITE}::race: shared write", text)
        (result,) = json.loads((self.folder / "faults.sarif").read_text())["runs"][0]["results"]
        self.assertEqual(result["ruleId"], "race")
        place = result["locations"][0]["physicalLocation"]
        self.assertEqual(place["artifactLocation"]["uri"], "test_race.py")
        self.assertEqual(place["region"]["startLine"], WRITE)

    def test_a_kernel_is_checked_without_running_it(self):
        (self.folder / "double.cu").write_text(
            'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }\n'
        )
        code, text = self.run_it("emulated-gpu", "check", "double.cu")
        self.assertEqual(code, 0, text)
        self.assertIn("twice(.u64 twice_param_0)", text)
        options = ["--block", "2", "--arg", "f32[2]:iota"]
        code, text = self.run_it("emulated-gpu", "profile", "double.cu", *options)
        self.assertEqual(code, 0, text)

    def test_nvcc_makes_ptx_in_place_of_machine_code(self):
        (self.folder / "kernel.cu").write_text('extern "C" __global__ void k(int *x) { *x = 1; }\n')
        (self.folder / "program.cu").write_text(
            "#include <cstdio>\n"
            "__global__ void k(int *x) { *x = 42; }\n"
            "int main() { int *x, y; cudaMalloc(&x, 4); k<<<1, 1>>>(x);\n"
            'cudaMemcpy(&y, x, 4, cudaMemcpyDeviceToHost); printf("%d\\n", y); return y != 42; }\n'
        )
        nvidias = os.environ.get("NVCC")
        for nvcc in {"", nvidias or ""}:
            compile_it = ["env", f"EMULATED_GPU_NVCC={nvcc}", "nvcc", "--cubin", "-arch", "sm_120", "kernel.cu"]
            code, text = self.run_it("emulated-gpu", "run", *compile_it)
            self.assertEqual(code, 0, text)
            self.assertIn(".target sm_90", (self.folder / "kernel.cubin").read_text())
        code, text = self.run_it("emulated-gpu", "run", "env", "EMULATED_GPU_NVCC=", "nvcc", "program.cu")
        self.assertEqual(code, 1, text)
        self.assertIn("without NVIDIA's nvcc, only kernels can be compiled", text)
        if nvidias:
            command = f"EMULATED_GPU_NVCC={nvidias} nvcc -arch=native -o program program.cu && ./program"
            code, text = self.run_it("emulated-gpu", "run", "sh", "-c", command)
            self.assertEqual((code, text), (0, "42\n"))

    def test_errors_are_sentences(self):
        code, text = self.run_it("emulated-gpu", "run")
        self.assertEqual(code, 2, text)
        self.assertIn("a command is missing", text)
        code, text = self.run_it("emulated-gpu", "run", "no-such-program")
        self.assertEqual((code, text), (127, "error: no-such-program: No such file or directory\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
