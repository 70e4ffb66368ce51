#!/usr/bin/env python3
"""Makes the GPU bundle and runs it on the emulated GPU: a few steps of everything.

    scripts/test-gpu-bundle.py

It runs the bundle unchanged, then with a fault in a kernel, which has to be found, named and survived, and then with
--device cuda on a machine without an NVIDIA GPU. Needs no GPU, no network and no PyTorch, and takes half a minute once the
programs are built.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
LEVELS = ["level1-cpu", "level2-cuda-naive", "level3-cublas", "level4-ptx"]


def runner():
    """Loads the script `run` as a module."""
    loader = importlib.machinery.SourceFileLoader("run", str(SCRIPTS / "gpu-bundle-run.py"))
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
    loader.exec_module(module)
    return module


class Libraries(unittest.TestCase):
    """The search for CUDA's libraries."""

    def test_the_first_place_and_its_highest_version(self):
        run = runner()
        with tempfile.TemporaryDirectory() as folder:
            places = [Path(folder, name) for name in ["empty", "nowhere", "toolkit", "wheel"]]
            for place, names in [
                (places[0], ["libcublasLt.so.12", "libcublas.txt"]),
                (places[2], ["libcublas.so.9.2", "libcublas.so.12", "libcublas.alt.so.13"]),
                (places[3], ["libcublas.so.13", "libnvrtc.so.13", "libnvrtc-builtins.so.14"]),
            ]:
                place.mkdir()
                for name in names:
                    (place / name).write_bytes(b"")
            found = {name: run.newest(places, name) for name in [*run.LIBRARIES, "cusparse"]}
            self.assertEqual(found["cublas"], (places[2] / "libcublas.so.12").resolve())
            self.assertEqual(found["cublasLt"], (places[0] / "libcublasLt.so.12").resolve())
            self.assertEqual(found["nvrtc"], (places[3] / "libnvrtc.so.13").resolve())
            self.assertIsNone(found["cusparse"])


class Bundle(unittest.TestCase):
    """The bundle, which is made once."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.bundle = Path(cls.temporary.name) / "bundle"
        environment = {**os.environ, "MNIST_DIR": ""}
        # The dev profile, which all tests use and which is optimised too.
        command = [SCRIPTS / "gpu-bundle.py", "--out", cls.bundle, "--profile", "dev"]
        subprocess.run(command, env=environment, check=True)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def run_it(self, name, device, *options, bundle=None):
        """Runs it with --quick outside of the repository, without Rust. Returns exit code, report and table."""
        out = Path(self.temporary.name) / name
        environment = {"PATH": "/usr/bin:/bin", "HOME": self.temporary.name}
        command = [sys.executable, (bundle or self.bundle) / "run", "--device", device, "--quick"]
        done = subprocess.run(
            [*command, "--out", out, *options], env=environment, cwd="/", capture_output=True
        )
        self.assertTrue((out / "results.json").exists(), done.stderr.decode())
        report = json.loads((out / "results.json").read_text())
        return done.returncode, report, (out / "results.md").read_text()

    def test_everything_passes_on_the_emulated_gpu(self):
        code, report, table = self.run_it("good", "emulated")
        self.assertEqual(code, 0, table)
        self.assertEqual(report["failed"], 0)
        self.assertTrue(report["device"].startswith("emulated ("), report["device"])
        self.assertIn("speeds say nothing of hardware", table)
        for group in ["check", "diff", "train", "bench", "profile"]:
            of = {item["level"] for item in report["items"] if item["group"] == group}
            expected = LEVELS[1:] if group == "profile" else LEVELS
            self.assertLessEqual(set(expected), of, group)
        for item in report["items"]:
            if item["group"] == "bench":
                self.assertGreater(item["result"]["samples_per_second"], 0)
            if item["group"] == "check":
                self.assertGreater(item["result"]["passed"], 10)

    def test_a_fault_in_a_kernel_is_named_and_the_rest_goes_on(self):
        broken = Path(self.temporary.name) / "broken"
        shutil.copytree(self.bundle, broken)
        # The PTX names the digest of the edited source, so that nothing is recompiled.
        source, ptx = (broken / f"kernels/output_gradient.{end}" for end in ["cu", "ptx"])
        before = source.read_text()
        source.write_text(before + "// and a fault\n")
        text = ptx.read_text()
        stored = next(line for line in text.splitlines() if "st.global.f32" in line)
        register = stored.split(",")[-1].strip(" \t;")
        doubled = f"\tadd.f32 \t{register}, {register}, {register};\n{stored}"
        digest = digest_of(before), digest_of(source.read_text())
        ptx.write_text(text.replace(stored, doubled).replace(*digest))
        levels = ["--level", "level1-cpu", "--level", "level2-cuda-naive"]
        code, report, table = self.run_it("bad", "emulated", *levels, bundle=broken)
        self.assertEqual(code, 1, table)
        failed = [item for item in report["items"] if item["status"].startswith("failed")]
        self.assertEqual(report["failed"], len(failed))
        self.assertEqual({item["level"] for item in failed}, {"level2-cuda-naive"}, table)
        suite = next(item for item in failed if item["group"] == "check")
        self.assertGreater(suite["result"]["failed"], 0)
        reasons = [one.get("reason") or "" for one in suite["result"]["outcomes"]]
        self.assertTrue(any(reason.startswith("dz2 DIFFERS") for reason in reasons), table)
        self.assertIn("diff level2-cuda-naive", table)
        benches = [item for item in report["items"] if item["group"] == "bench"]
        self.assertTrue(all(item["status"] == "ok" for item in benches), table)

    def test_an_interrupted_run_keeps_its_results(self):
        out = Path(self.temporary.name) / "interrupted"
        command = [sys.executable, self.bundle / "run", "--device", "emulated", "--quick", "--out", out]
        # As a terminal does: the signal reaches the running commands, too.
        # A background job of a shell ignores the signal, which the new process would inherit.
        running = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        first = running.stdout.readline().decode()
        os.killpg(running.pid, signal.SIGINT)
        text = running.communicate(timeout=120)[0].decode()
        self.assertEqual(running.returncode, 1, text)
        report = json.loads((out / "results.json").read_text())
        self.assertTrue(report["interrupted"], text)
        self.assertEqual((first[:5], report["failed"]), ("ok   ", 0), first + text)
        self.assertGreater(len(report["items"]), 0)
        self.assertIn("The run was interrupted", (out / "results.md").read_text())

    def test_a_missing_gpu_is_said(self):
        try:
            ctypes.CDLL("libcuda.so.1")
            self.skipTest("there is an NVIDIA driver")
        except OSError:
            pass
        code, report, table = self.run_it("none", "cuda", "--level", "level4-ptx")
        self.assertEqual(code, 1, table)
        self.assertIsNone(report["device"])
        self.assertIn("no NVIDIA GPU can be used: there is no NVIDIA driver", table)
        self.assertTrue(table.startswith("# Four levels on no GPU could be used"), table)
        self.assertIn("| level4-ptx | small | FAILED |", table)


def digest_of(source: str) -> str:
    """The digest of a source, as in the header of its PTX."""
    return hashlib.sha256(source.encode()).hexdigest()


if __name__ == "__main__":
    unittest.main(verbosity=2)
