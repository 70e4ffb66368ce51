"""PyTorch's dumps of the fixtures, NumPy's against them, and slopes against both.

`python -m unittest discover reference` runs the tests of this folder, and so does pytest. They need
NumPy; what needs PyTorch is skipped where it is absent. No network, no MNIST.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

import dumps
import mnist
import numpy_mlp
from dumps import Dump, Header, Tensors
from presets import FIXTURES, LOSSES, Preset

try:
    import pytorch_mlp
except ImportError:  # PyTorch is not installed
    pytorch_mlp = None


STORED = 6e-12
"""Relative error of an element because of storing twelve digits."""


def committed(fixture: str) -> Dump:
    """The dump in the repository."""
    return dumps.read(Path(__file__).parent / "dumps" / f"{fixture}.json")


def worst(found: Tensors, expected: Tensors) -> tuple[float, str]:
    """The largest error, relative to its tensor's largest element, and its place."""
    assert list(found) == list(expected)
    errors = []
    for name, tensor in expected.items():
        assert found[name].shape == tensor.shape, name
        error = np.abs(found[name] - tensor).max() / max(np.abs(tensor).max(), 1e-300)
        assert np.isfinite(error), name
        errors.append((float(error), name))
    return max(errors)


class Exercises(unittest.TestCase):
    """The small programs that the book leads through."""

    def test_gradients_agree_with_slopes(self) -> None:
        """Every gradient is right, except at a kink, where the loss has no slope."""
        folder = Path(__file__).parent
        for fixture, code in (("softmax", 0), ("three-layer", 0), ("kink", 1)):
            dump = folder / "dumps" / f"{fixture}.json"
            command = [sys.executable, folder / "check_gradients.py", dump]
            found = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual((found.returncode, found.stderr), (code, ""), fixture)

    def test_the_skeleton_writes_a_dump(self) -> None:
        """It holds the given tensors, and the parameters without an update."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "own.json"
            here = Path(__file__).parent
            command = [sys.executable, here / "own_skeleton.py", "dump"]
            command += ["--inputs", here / "dumps/softmax.json", "--out", out]
            subprocess.run(command, check=True)
            dump = dumps.read(out)
        self.assertIn("dz1", dump.header.not_materialised)
        np.testing.assert_array_equal(dump.tensors["w1"], dump.tensors["w1_next"])


class Fixtures(unittest.TestCase):
    """The committed dumps, and the programs that compute them."""

    def test_numpy_agrees_with_pytorchs_dump(self) -> None:
        """Two programs that share no mathematics agree within some ulps of float64."""
        for fixture, preset in FIXTURES.items():
            with self.subTest(fixture):
                dump = committed(fixture)
                found = numpy_mlp.step_tensors(
                    dump.tensors, preset.sizes, preset.loss, dump.header.learning_rate, "f64"
                )
                error, name = worst(found, dump.tensors)
                self.assertLess(error, STORED, name)

    def test_a_wrong_number_is_noticed(self) -> None:
        """The comparison above would notice a missing 1/B, and one wrong digit far down."""
        dump = committed("bce")
        for name in ("dz2", "w1_next"):
            wrong = dump.tensors | {name: dump.tensors[name] * (1 + 1e-11)}
            self.assertGreater(worst(wrong, dump.tensors)[0], STORED)

    def test_the_dumps_match_the_table(self) -> None:
        """Names, shapes and header are right, and float32 holds the inputs exactly."""
        for fixture, preset in FIXTURES.items():
            with self.subTest(fixture):
                dump = committed(fixture)
                self.assertEqual(
                    dump.header,
                    Header("reference-pytorch", "cpu", fixture, preset.loss, "f64", 1, 0,
                           dumps.to_single(preset.learning_rate), digits=12),
                )  # fmt: skip
                self.assertEqual(dumps.layer_sizes(dump, fixture), list(preset.sizes))
                layers = len(preset.sizes) - 1
                self.assertEqual(list(dump.tensors), dumps.tensor_names(layers))
                self.assertEqual(len(dump.tensors["x"]), preset.batch_size)
                for name in dumps.tensor_names(layers)[: 2 + 2 * layers]:
                    tensor = dump.tensors[name]
                    self.assertTrue((tensor == tensor.astype(np.float32)).all(), name)
                pixels = mnist.normalise(np.arange(256), preset.normalisation)
                self.assertTrue(np.isin(dump.tensors["x"], pixels).all())

    @unittest.skipIf(pytorch_mlp is None, "PyTorch is not installed")
    def test_pytorch_makes_the_same_dump_again(self) -> None:
        """The last digits may differ, because other versions may compute them differently."""
        for fixture, preset in FIXTURES.items():
            dump = committed(fixture)
            found = pytorch_mlp.step_tensors(
                dump.tensors, preset.sizes, preset.loss, dump.header.learning_rate, "f64"
            )
            error, name = worst(found, dump.tensors)
            self.assertLess(error, STORED, f"{fixture}: {name}")

    def test_the_runs_go_on_where_a_step_ended(self) -> None:
        """Three steps of each loss, the last with a smaller batch, as NumPy computes them."""
        for fixture in ("softmax", "bce", "squared-error"):
            run = dumps.read_run(Path(__file__).parent / "dumps" / f"{fixture}-steps.json")
            self.assertEqual([len(step.tensors["x"]) for step in run], [8, 8, 4])
            self.assertEqual([step.header.step for step in run], [0, 1, 2])
            self.assertEqual({step.header.steps for step in run}, {3})
            for before, after in zip(run, run[1:]):
                for name in ("w1", "b1", "w2", "b2"):
                    same = after.tensors[name] == before.tensors[f"{name}_next"]
                    self.assertTrue(same.all(), name)
            for step in run:
                found = numpy_mlp.step_tensors(
                    step.tensors, (196, 16, 10), FIXTURES[fixture].loss,
                    step.header.learning_rate, "f64",
                )  # fmt: skip
                error, name = worst(found, step.tensors)
                self.assertLess(error, 1e-9, name)

    def test_float32_is_near_float64(self) -> None:
        """It is also not too near, as a tensor computed in float64 would be."""
        programs = [numpy_mlp] if pytorch_mlp is None else [numpy_mlp, pytorch_mlp]
        for program in programs:
            for fixture, preset in FIXTURES.items():
                dump = committed(fixture)
                found = program.step_tensors(
                    dump.tensors, preset.sizes, preset.loss, dump.header.learning_rate, "f32"
                )
                self.assertEqual({tensor.dtype for tensor in found.values()}, {np.dtype("f4")})
                error, name = worst(found, dump.tensors)
                self.assertLess(error, 3e-5, f"{fixture}: {name}")
                self.assertGreater(error, 1e-9, fixture)


class Programs(unittest.TestCase):
    """The command `dump`."""

    def run_program(self, *arguments: object, program: str = "numpy_mlp") -> tuple[int, str]:
        """The exit code and standard error."""
        command = [sys.executable, Path(__file__).parent / f"{program}.py", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    def test_dump_only_needs_inputs(self) -> None:
        """The loss is that of the preset if the header names none, in both dtypes."""
        full = committed("squared-error")
        layers = len(FIXTURES["squared-error"].sizes) - 1
        given = {name: full.tensors[name] for name in dumps.tensor_names(layers)[: 2 + 2 * layers]}
        inputs = dataclasses.replace(full.header, level="me", loss=None, dtype="f32", step=3)
        programs = ["numpy_mlp"] if pytorch_mlp is None else ["numpy_mlp", "pytorch_mlp"]
        with tempfile.TemporaryDirectory() as folder:
            path, out = Path(folder, "inputs.json"), Path(folder, "out.json")
            dumps.write(Dump(inputs, given), path)
            for program in programs:
                for dtype, allowed in [("f64", STORED), ("f32", 1e-5)]:
                    arguments = ("dump", "--inputs", path, "--out", out, "--dtype", dtype)
                    code, said = self.run_program(*arguments, program=program)
                    self.assertEqual(code, 0, said)
                    found = dumps.read(out)
                    self.assertLess(worst(found.tensors, full.tensors)[0], allowed)
                    level = "reference-" + program.removesuffix("_mlp")
                    computed = {"level": level, "dtype": dtype, "step": 3, "digits": None}
                    expected = dataclasses.replace(full.header, **computed)
                    self.assertEqual(found.header, expected)

    def test_a_batch_can_be_read_from_mnist(self) -> None:
        """The first batches of a preset in order; otherwise the samples that the header names."""
        random = np.random.default_rng(3)
        images = random.integers(0, 256, (600, 28, 28), dtype=np.uint8)
        labels = random.integers(0, 10, 600, dtype=np.uint8)
        sizes = (784, 2, 10)
        given = numpy_mlp.initialise(Preset(sizes, "bce"), seed=3)
        wrong = {"normalisation": "unit", "rows": [5, 0, 599]}
        with tempfile.TemporaryDirectory() as folder:
            for part in ("train", "t10k"):
                for name, values in (("images-idx3", images), ("labels-idx1", labels)):
                    head = bytes([0, 0, 8, values.ndim])
                    shape = b"".join(n.to_bytes(4, "big") for n in values.shape)
                    path = Path(folder, f"{part}-{name}-ubyte")
                    path.write_bytes(head + shape + values.tobytes())
            inputs, out = Path(folder, "inputs.json"), Path(folder, "out.json")
            arguments = ("dump", "--inputs", inputs, "--out", out, "--from-mnist",
                         "--data-dir", folder)  # fmt: skip
            for preset, step, count, samples, normalisation, rows in [
                ("small", 1, 256, None, "mean-std", range(256, 512)),
                ("small", 1, 256, wrong, "mean-std", range(256, 512)),
                ("none", 0, 3, wrong, "unit", [5, 0, 599]),
            ]:
                x, y = np.zeros((count, 784)), np.eye(10)[np.zeros(count, int)]
                header = Header("me", "cpu", preset, "bce", "f32", 1, step, 0.1, mnist=samples)
                dumps.write(Dump(header, {"x": x, "y": y} | given), inputs)
                code, said = self.run_program(*arguments)
                self.assertEqual(code, 0, said)
                found = dumps.read(out).tensors
                x = mnist.normalise(images[list(rows)].reshape(-1, 784), normalisation)
                self.assertTrue((found["x"] == x).all())
                self.assertTrue((found["y"].argmax(axis=1) == labels[list(rows)]).all())
            header = dataclasses.replace(header, mnist=None)
            dumps.write(Dump(header, {"x": x, "y": y} | given), inputs)
            code, said = self.run_program(*arguments)
            self.assertEqual(code, 2)
            self.assertIn("does not name the samples of MNIST", said)

    def test_exit_codes_distinguish_bad_input_from_failures(self) -> None:
        """2 for bad input, 1 for later failures; never a traceback."""
        dump = Path(__file__).parent / "dumps" / "squared-error.json"
        with tempfile.TemporaryDirectory() as folder:
            absent, unknown = Path(folder, "absent", "a.json"), Path(folder, "unknown.json")
            odd = dataclasses.replace(committed("squared-error").header, loss=None, preset="odd")
            dumps.write(Dump(odd, committed("squared-error").tensors), unknown)
            for inputs, out, code, reason in [
                (absent, Path(folder, "a.json"), 2, "can't read the dump"),
                (__file__, Path(folder, "a.json"), 2, "is not a dump"),
                (unknown, Path(folder, "a.json"), 2, "does not name its loss"),
                (dump, absent, 1, "can't write the dump"),
            ]:
                found, said = self.run_program("dump", "--inputs", inputs, "--out", out)
                self.assertEqual(found, code, said)
                self.assertIn(reason, said)
                self.assertEqual(said.count("\n"), 1, said)
            found, said = self.run_program("train", "--data-dir", folder)
            self.assertEqual(found, 2, said)
            self.assertIn("train-images-idx3-ubyte", said)


class Backpropagation(unittest.TestCase):
    """The gradients by hand, compared with measured slopes."""

    def test_gradients_are_the_slopes_of_the_loss(self) -> None:
        """(L(w + h) - L(w - h)) / 2h for every parameter of a small network, every loss."""
        sizes, batch, h = (5, 4, 3, 3), 4, 1e-5
        for loss in LOSSES:
            # The gradient is that of the mean over the batch; bce prints a third of that loss here.
            scale = sizes[-1] if loss == "bce" else 1
            random = np.random.default_rng(7)
            t = numpy_mlp.initialise(Preset(sizes, loss), seed=3)
            t |= {"x": random.normal(size=(batch, 5)), "y": np.eye(3)[random.integers(0, 3, batch)]}
            parameters = [name for name in t if name not in "xy"]

            def loss_now(t: Tensors = t, loss: str = loss) -> float:
                numpy_mlp.forward(t, len(sizes) - 1, loss)
                return float(numpy_mlp.LOSSES[loss](t[f"z{len(sizes) - 1}"], t["y"]))

            loss_now()
            numpy_mlp.backward(t, len(sizes) - 1)
            kinks = min(np.abs(t[name]).min() for name in ("z1", "z2"))
            self.assertGreater(kinks, 10 * h, "choose another seed: relu would bend in between")
            for name in parameters:
                for index in np.ndindex(t[name].shape):
                    value = t[name][index]
                    t[name][index] = value + h
                    above = loss_now()
                    t[name][index] = value - h
                    below = loss_now()
                    t[name][index] = value
                    slope = scale * (above - below) / (2 * h)
                    with self.subTest(loss=loss, name=name, index=index):
                        self.assertAlmostEqual(t[f"d{name}"][index], slope, delta=1e-8)

    def test_losses_and_outputs_survive_large_logits(self) -> None:
        """A naive formula would overflow in exp, or take the logarithm of a rounded 0."""
        z = np.array([[1000.0, -1000.0, 0.0]])
        wrong, right = np.array([[0.0, 1.0, 0.0]]), np.array([[1.0, 0.0, 0.0]])
        with np.errstate(all="raise", under="ignore"):
            self.assertEqual(numpy_mlp.cross_entropy(z, wrong), 2000)
            self.assertEqual(numpy_mlp.cross_entropy(z, right), 0)
            self.assertAlmostEqual(numpy_mlp.bce(z, wrong), (2000 + np.log(2)) / 3)
            self.assertEqual(numpy_mlp.softmax(z).tolist(), [[1, 0, 0]])
            self.assertEqual(numpy_mlp.sigmoid(z).tolist(), [[1, 0, 0.5]])

    def test_relu_stops_the_gradient_at_zero(self) -> None:
        """As in PyTorch, the slope at the kink is 0."""
        z = np.array([[-1.0, 0.0, 2.0]])
        self.assertEqual(numpy_mlp.relu(z).tolist(), [[0, 0, 2]])
        self.assertEqual(numpy_mlp.relu_backward(np.ones_like(z), z).tolist(), [[0, 0, 1]])


if __name__ == "__main__":
    unittest.main()
