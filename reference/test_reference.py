"""Tests of the reference: `python -m unittest` in this folder, or pytest.

Need NumPy; those that need PyTorch are skipped where it is absent. No network, no MNIST.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import dumps  # noqa: E402
import mnist  # noqa: E402
import numpy_mlp  # noqa: E402
import training  # noqa: E402
from dumps import Dump, Header, Tensors  # noqa: E402
from failures import BadInput, Failure  # noqa: E402
from presets import FIXTURES, LOSSES, PRESETS, Preset  # noqa: E402

try:
    import torch

    import pytorch_mlp
except ImportError:
    pytorch_mlp = None

needs_torch = unittest.skipIf(pytorch_mlp is None, "PyTorch is not installed")


def committed(fixture: str) -> Dump:
    """The dump in the repository."""
    return dumps.read(HERE / "dumps" / f"{fixture}.json")


def worst(found: Tensors, expected: Tensors) -> tuple[float, str]:
    """The largest error of any element, as a share of its tensor's largest, and where it is."""
    assert list(found) == list(expected)
    errors = []
    for name, tensor in expected.items():
        assert found[name].shape == tensor.shape, name
        error = np.abs(found[name] - tensor).max() / max(np.abs(tensor).max(), 1e-300)
        assert np.isfinite(error), name
        errors.append((float(error), name))
    return max(errors)


def header(dtype: str = "f32") -> Header:
    """The header of a small dump."""
    return Header("me", "cpu", "softmax", "cross-entropy", dtype, seed=1, step=0, learning_rate=0.1)


class Fixtures(unittest.TestCase):
    """The committed dumps, and what computes them."""

    def test_numpy_agrees_with_pytorchs_dump(self) -> None:
        """Two programs that share no mathematics, within some ulps of float64."""
        for fixture, preset in FIXTURES.items():
            with self.subTest(fixture):
                dump = committed(fixture)
                found = numpy_mlp.step_tensors(
                    dump.tensors, preset.sizes, preset.loss, dump.header.learning_rate, "f64"
                )
                error, name = worst(found, dump.tensors)
                self.assertLess(error, 1e-13, name)

    def test_a_fault_is_seen(self) -> None:
        """The comparison above would notice a missing 1/B, and one wrong bit far down."""
        dump = committed("bce")
        for name in ("dz2", "w1_next"):
            wrong = dump.tensors | {name: dump.tensors[name] * (1 + 1e-12)}
            self.assertGreater(worst(wrong, dump.tensors)[0], 1e-13)

    def test_the_dumps_are_what_the_table_says(self) -> None:
        """Names, shapes, header; and inputs that float32 holds exactly, so any level can start."""
        for fixture, preset in FIXTURES.items():
            with self.subTest(fixture):
                dump = committed(fixture)
                self.assertEqual(
                    dump.header,
                    Header("reference-pytorch", "cpu", fixture, preset.loss, "f64", 1, 0,
                           dumps.to_single(preset.learning_rate)),
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

    @needs_torch
    def test_pytorch_makes_the_same_dump_again(self) -> None:
        """With other versions the last digits may differ, so not bit for bit."""
        for fixture, preset in FIXTURES.items():
            dump = committed(fixture)
            found = pytorch_mlp.step_tensors(
                dump.tensors, preset.sizes, preset.loss, dump.header.learning_rate, "f64"
            )
            error, name = worst(found, dump.tensors)
            self.assertLess(error, 1e-13, f"{fixture}: {name}")

    def test_float32_is_near_float64(self) -> None:
        """And is float32: a tensor that were computed in float64 would be too near."""
        programs = [numpy_mlp] if pytorch_mlp is None else [numpy_mlp, pytorch_mlp]
        for program in programs:
            for fixture, preset in FIXTURES.items():
                dump = committed(fixture)
                found = program.step_tensors(
                    dump.tensors, preset.sizes, preset.loss, dump.header.learning_rate, "f32"
                )
                self.assertEqual({tensor.dtype for tensor in found.values()}, {np.dtype("f4")})
                error, name = worst(found, dump.tensors)
                self.assertLess(error, 1e-5, f"{fixture}: {name}")
                self.assertGreater(error, 1e-9, fixture)


class Backpropagation(unittest.TestCase):
    """The gradients by hand against slopes that are measured."""

    def test_gradients_are_the_slopes_of_the_loss(self) -> None:
        """(L(w + h) - L(w - h)) / 2h for every parameter of a small network, every loss."""
        sizes, batch, h = (5, 4, 3, 3), 4, 1e-5
        for loss in LOSSES:
            # The update follows the mean over the batch; what bce prints is a third of it here.
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
        """Where exp would overflow, or the logarithm of a rounded 0 be taken."""
        z = np.array([[1000.0, -1000.0, 0.0]])
        wrong, right = np.array([[0.0, 1.0, 0.0]]), np.array([[1.0, 0.0, 0.0]])
        with np.errstate(all="raise", under="ignore"):
            self.assertEqual(numpy_mlp.cross_entropy(z, wrong), 2000)
            self.assertEqual(numpy_mlp.cross_entropy(z, right), 0)
            self.assertAlmostEqual(numpy_mlp.bce(z, wrong), (2000 + np.log(2)) / 3)
            self.assertEqual(numpy_mlp.softmax(z).tolist(), [[1, 0, 0]])
            self.assertEqual(numpy_mlp.sigmoid(z).tolist(), [[1, 0, 0.5]])

    def test_relu_stops_the_gradient_at_zero(self) -> None:
        """As PyTorch has it: the slope at the kink is 0."""
        z = np.array([[-1.0, 0.0, 2.0]])
        self.assertEqual(numpy_mlp.relu(z).tolist(), [[0, 0, 2]])
        self.assertEqual(numpy_mlp.relu_backward(np.ones_like(z), z).tolist(), [[0, 0, 1]])


class DumpFormat(unittest.TestCase):
    """Reading and writing dumps."""

    def setUp(self) -> None:
        """A folder that is removed in the end."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def round_trip(self, dump: Dump, name: str) -> Dump:
        """Writes and reads."""
        dumps.write(dump, self.folder / name)
        return dumps.read(self.folder / name)

    def test_float32_values_come_back_bit_for_bit(self) -> None:
        """Subnormals, zeros of both signs, and what JSON has no word for."""
        bits = np.random.default_rng(1).integers(0, 2**32, 20_000, dtype=np.uint32)
        special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, 0.1], np.float32)
        values = np.concatenate([special, bits.view(np.float32)])
        for name in ("a.json", "a.json.gz", "named.gz"):
            back = self.round_trip(Dump(header(), {"x": values}), name).tensors["x"]
            self.assertEqual(back.dtype, np.float64)
            same = back.astype(np.float32).view(np.uint32) == values.view(np.uint32)
            self.assertTrue((same | np.isnan(values)).all())
            self.assertEqual(np.isnan(back).tolist(), np.isnan(values).tolist())
            self.assertEqual(back[6], float(np.float32(0.1)))

    def test_float64_values_come_back_bit_for_bit(self) -> None:
        """All their digits are written."""
        values = np.array([1 / 3, 5e-324, 1.7976931348623157e308, -0.1])
        back = self.round_trip(Dump(header("f64"), {"p": values}), "a.json")
        self.assertEqual(back.tensors["p"].tolist(), values.tolist())

    def test_text_is_read_as_the_dtype_says(self) -> None:
        """0.1 stands for another number in each dtype; the learning rate is always a float32."""
        for dtype, value in [("f32", float(np.float32(0.1))), ("f64", 0.1)]:
            content = self.text(dtype=dtype, tensors=[{"name": "x", "shape": [1], "data": [0.1]}])
            dump = dumps.from_json(content, "a.json")
            self.assertEqual(dump.tensors["x"][0], value)
            self.assertEqual(dump.header.learning_rate, float(np.float32(0.1)))

    def test_the_text_is_that_of_the_levels(self) -> None:
        """Byte for byte: the same order of fields, a tensor a line."""
        dump = Dump(header(), {"x": np.array([[0.1, np.nan]]), "loss": np.array(-np.inf)})
        expected = (
            '{"format":"four-levels-dump","version":1,"level":"me","device":"cpu",'
            '"preset":"softmax","loss":"cross-entropy","dtype":"f32","seed":1,"step":0,'
            '"learning_rate":0.1,"tensors":[\n'
            '{"name":"x","shape":[1,2],"data":[0.1,"NaN"]},\n'
            '{"name":"loss","shape":[],"data":["-Infinity"]}\n]}\n'
        )
        self.assertEqual(dumps.to_json(dump), expected)
        dump.header.loss, dump.header.not_materialised = None, ["z1"]
        back = self.round_trip(dump, "a.json")
        dump.header.learning_rate = float(np.float32(0.1))
        self.assertEqual(back.header, dump.header)

    @staticmethod
    def text(**changes: object) -> bytes:
        """A dump as JSON with some fields changed, or left out where they are None."""
        file = {"format": "four-levels-dump", "version": 1, "tensors": []} | vars(header())
        return json.dumps({k: v for k, v in (file | changes).items() if v is not None}).encode()

    def test_what_is_no_dump_is_refused_with_the_reason(self) -> None:
        """Each message names what is wrong."""

        def tensors(*entries: tuple[str, list, list]) -> bytes:
            keys = ("name", "shape", "data")
            return self.text(tensors=[dict(zip(keys, entry, strict=True)) for entry in entries])

        cases = [
            (b"not json", "is not a dump"),
            (b"\xff\xfe", "is not a dump"),
            (b"[" * 100_000, "is not a dump"),
            (b"[1, 2]", "no JSON object"),
            (b"{}", "it says it is '' version 0"),
            (self.text(version=2), "version 2"),
            (self.text(version=True), "version True"),
            (self.text(seed=None), "'seed' is missing"),
            (self.text(seed=-1), "'seed' is -1"),
            (self.text(seed=True), "'seed' is True"),
            (self.text(dtype="f16"), "none of f32, f64, tf32"),
            (self.text(loss="hinge"), "none of cross-entropy"),
            (self.text(learning_rate="fast"), "'learning_rate' is 'fast'"),
            (self.text(learning_rate=1e39), "'learning_rate' is 1e+39"),
            (self.text(not_materialised=["q"]), "'q' is not the name of a tensor"),
            (self.text(tensors={}), "'tensors' is {}"),
            (self.text(tensors=[1]), "no JSON object"),
            (self.text(tensors=[{"name": "x", "shape": [0]}]), "'data' is missing"),
            *((tensors((name, [1], [1])), f"{name!r} is not the name")
              for name in ("q", "w0", "w01", "dw1_next", "x_next", "W1", "w１", "x\n")),
            (tensors(("x", [2], [1])), "x: the shape [2] does not hold 1 elements"),
            (tensors(("x", [-1], [1])), "x: [-1] is no shape"),
            (tensors(("x", [2**64, 2], [1])), "does not hold 1 elements"),
            (tensors(("x", [1], ["nan"])), "x holds 'nan'"),
            (tensors(("x", [1], [True])), "x holds True"),
            (tensors(("x", [1], [[1]])), "x holds [1]"),
            (tensors(("x", [1], [10**400])), "no float64 can hold"),
            (tensors(("x", [1], [float("nan")])), "NaN is not JSON"),
            (tensors(("p", [], [1]), ("p", [], [1])), "p comes twice"),
        ]  # fmt: skip
        for content, reason in cases:
            with self.subTest(reason), self.assertRaises(BadInput) as raised:
                dumps.from_json(content, "bad.json")
            self.assertIn("bad.json", str(raised.exception))
            self.assertIn(reason, str(raised.exception))

    def test_a_file_that_is_cut_off_is_an_error(self) -> None:
        """Plain or gzipped, wherever it is cut."""
        for name in ("a.json", "a.json.gz"):
            path = self.folder / name
            dumps.write(Dump(header(), {"x": np.zeros((8, 8))}), path)
            whole = path.read_bytes()
            for cut in (0, 1, 20, len(whole) // 2, len(whole) - 2):
                path.write_bytes(whole[:cut])
                with self.subTest(name=name, cut=cut), self.assertRaises(BadInput):
                    dumps.read(path)
        with self.assertRaisesRegex(BadInput, "can't read the dump .*absent"):
            dumps.read(self.folder / "absent.json")

    def test_writing_fails_whole(self) -> None:
        """What was there stays, and no part of a file is left."""
        with self.assertRaisesRegex(Failure, "can't write the dump"):
            dumps.write(Dump(header(), {}), self.folder / "absent" / "a.json")
        with self.assertRaises(Failure):
            dumps.write(Dump(header(), {}), self.folder)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_inputs_that_do_not_fit_together_are_refused(self) -> None:
        """Before anything is computed."""
        good = {"x": np.ones((2, 3)), "y": np.ones((2, 4)), "w1": np.ones((4, 3)), "b1": np.ones(4)}
        self.assertEqual(dumps.layer_sizes(Dump(header(), good), "a"), [3, 4])
        for name, value, reason in [
            ("w1", None, "no tensor w1"),
            ("b1", np.ones(3), r"b1 has the shape \[3\], not \[4\]"),
            ("w1", np.ones((4, 2)), r"w1 has the shape \[4, 2\], not \[any, 3\]"),
            ("y", np.ones((3, 4)), r"y has the shape \[3, 4\], not \[2, 4\]"),
            ("x", np.ones((0, 3)), "x has the shape"),
            ("w1", np.full((4, 3), np.nan), "not finite"),
        ]:
            bad = {k: v for k, v in (good | {name: value}).items() if v is not None}
            with self.assertRaisesRegex(BadInput, reason):
                dumps.layer_sizes(Dump(header(), bad), "a")


class Training(unittest.TestCase):
    """The loop, on points that are easy to tell apart."""

    @staticmethod
    def samples(count: int) -> mnist.Samples:
        """Noise around a corner for each class."""
        random = np.random.default_rng(5)
        labels = random.integers(0, 10, count)
        x = np.eye(10, 12)[labels] * 4 + random.normal(size=(count, 12))
        return mnist.Samples(x.astype(np.float32), labels)

    def run_all(self, preset: Preset) -> list[dict]:
        """Trains with whatever is installed."""
        programs = [numpy_mlp] if pytorch_mlp is None else [numpy_mlp, pytorch_mlp]
        models = [program.Model(preset, "f32", 1, None) for program in programs]
        sets = self.samples(1000), self.samples(230)
        return [training.train(model, preset, 1, *sets) for model in models]

    def test_every_loss_and_initialisation_learns(self) -> None:
        """From chance to nearly all."""
        for loss, initialisation, rate in [
            ("cross-entropy", "uniform-fan-in", 0.1),
            ("bce", "kaiming-uniform", 0.1),
            ("squared-error", "small-normal", 0.05),
        ]:
            preset = Preset((12, 16, 10), loss, 10, rate, 10, initialisation=initialisation)
            for report in self.run_all(preset):
                self.assertGreater(report["test_accuracy"], 0.9, loss)
                self.assertEqual(report["stop_reason"], "epochs")
                self.assertEqual((report["batches"], report["samples"]), (1000, 10_000))

    def test_batches_are_those_of_the_preset(self) -> None:
        """Whole ones only where the last is dropped; the test set is cut the same way."""
        for drop_last, trained, tested in [(True, 960, 192), (False, 1000, 230)]:
            preset = Preset((12, 16, 10), "bce", 64, 0.1, drop_last=drop_last, shuffle=True)
            for report in self.run_all(preset):
                self.assertEqual(report["samples"], trained)
                self.assertEqual(report["tested"]["total"], tested)
        sizes = [len(batch) for batch in training.batches(preset, 1000, 1, 0)]
        self.assertEqual(sizes, [64] * 15 + [40])
        first, second = (np.concatenate([*training.batches(preset, 99, 1, e)]) for e in (0, 1))
        self.assertEqual(sorted(first), list(range(99)))
        self.assertNotEqual(first.tolist(), second.tolist())

    def test_training_stops_at_its_mark(self) -> None:
        """The accuracy passed, or the number of batches."""
        preset = Preset(
            (12, 16, 10), "cross-entropy", 10, 0.1, 10, evaluate_every=50, stop_at_accuracy=0.6
        )
        for report in self.run_all(preset):
            self.assertEqual(report["stop_reason"], "accuracy")
            self.assertEqual(report["batches"] % 50, 0)
            passed = [entry["accuracy"] > 0.6 for entry in report["accuracies"]]
            self.assertEqual(passed, [False] * (len(passed) - 1) + [True])
        preset = Preset((12, 16, 10), "cross-entropy", 10, 0.1, 10, max_batches=130)
        for report in self.run_all(preset):
            self.assertEqual((report["stop_reason"], report["batches"]), ("max-batches", 130))

    def test_divergence_is_a_failure(self) -> None:
        """Not a report full of NaN."""
        preset = Preset((12, 16, 10), "squared-error", 10, 1e6, 10)
        with np.errstate(all="ignore"), self.assertRaisesRegex(Failure, "diverged.*batch"):
            self.run_all(preset)

    def test_both_programs_train_alike_from_the_same_parameters(self) -> None:
        """Loss for loss."""
        if pytorch_mlp is None:
            self.skipTest("PyTorch is not installed")
        preset = Preset((12, 16, 14, 10), "bce", 10, 0.1, shuffle=True, report_every=1)
        start = numpy_mlp.initialise(preset, seed=2)
        losses = []
        for program in (numpy_mlp, pytorch_mlp):
            model = program.Model(preset, "f64", 1, start)
            report = training.train(model, preset, 1, self.samples(500), self.samples(100))
            losses.append([entry["loss"] for entry in report["losses"]])
        np.testing.assert_allclose(losses[0], losses[1], rtol=1e-10)


class Digits(unittest.TestCase):
    """Reading MNIST, and what is not MNIST."""

    def setUp(self) -> None:
        """Two images, [3, 4] pixels each, in both forms."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.images = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
        self.labels = np.array([3, 9], np.uint8)
        for stem in ("train", "t10k"):
            self.write(f"{stem}-images-idx3-ubyte.gz", self.images)
            self.write(f"{stem}-labels-idx1-ubyte.gz", self.labels)

    def write(self, name: str, array: np.ndarray) -> None:
        """An IDX file, gzipped."""
        head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
        (self.folder / name).write_bytes(gzip.compress(head + array.tobytes()))

    def test_pixels_are_normalised_in_float32(self) -> None:
        """As the presets say, from IDX and .npz alike."""
        path = self.folder / "digits.npz"
        np.savez(path, x_train=self.images, y_train=self.labels,
                 x_test=self.images, y_test=self.labels)  # fmt: skip
        pixels = self.images.reshape(2, 12).astype(np.float64) / 255
        for sets in (mnist.load("unit", self.folder), mnist.load("unit", npz=path)):
            for samples in sets:
                self.assertEqual(samples.x.dtype, np.float32)
                np.testing.assert_allclose(samples.x, pixels, rtol=1e-7)
                self.assertEqual(samples.y().argmax(axis=1).tolist(), [3, 9])
        train, _ = mnist.load("mean-std", self.folder)
        np.testing.assert_allclose(train.x, (pixels - 0.1307) / 0.3081, rtol=1e-6)

    def test_what_is_not_mnist_is_refused(self) -> None:
        """With the file's name."""
        name = "train-images-idx3-ubyte.gz"
        good = (self.folder / name).read_bytes()
        longer = gzip.compress(gzip.decompress(good) + b"x")
        for content in (
            good[:-9],
            good[:3],
            b"",
            longer,
            gzip.compress(b"\0\0\x08\x01" + b"x" * 9),
        ):
            (self.folder / name).write_bytes(content)
            with self.subTest(content), self.assertRaisesRegex(BadInput, "train-images"):
                mnist.load("unit", self.folder)
        (self.folder / name).unlink()
        with self.assertRaisesRegex(BadInput, "train-images"):
            mnist.load("unit", self.folder)
        self.write(name, self.images)
        for labels, reason in [([1, 10], "none of the digits"), ([1], "a label for each image")]:
            self.write("train-labels-idx1-ubyte.gz", np.array(labels, np.uint8))
            with self.assertRaisesRegex(BadInput, reason):
                mnist.load("unit", self.folder)
        with self.assertRaisesRegex(BadInput, "absent.npz"):
            mnist.load("unit", npz=self.folder / "absent.npz")


class Table(unittest.TestCase):
    """The presets."""

    def test_every_value_is_a_known_one(self) -> None:
        """So that a slip of the keyboard is not a setting of its own."""
        from presets import INITIALISATIONS, NORMALISATIONS  # noqa: PLC0415

        for name, preset in (PRESETS | FIXTURES).items():
            self.assertIn(preset.loss, LOSSES, name)
            self.assertIn(preset.normalisation, NORMALISATIONS, name)
            self.assertIn(preset.initialisation, INITIALISATIONS, name)
        self.assertEqual(next(iter(PRESETS)), "nvmath")

    @needs_torch
    def test_both_programs_draw_as_the_preset_says(self) -> None:
        """Within the bounds, and near them; biases of 0 only where they are meant."""
        for initialisation, bound in [("uniform-fan-in", 1), ("kaiming-uniform", 2**0.5)]:
            preset = Preset((784, 30, 10), "bce", initialisation=initialisation)
            model = pytorch_mlp.Model(preset, "f64", 1, None).mlp
            drawn = [numpy_mlp.initialise(preset, 1)]
            drawn.append({"w1": model.layers[0].weight.detach().numpy(),
                          "b1": model.layers[0].bias.detach().numpy()})  # fmt: skip
            for t in drawn:
                self.assertLess(abs(np.abs(t["w1"]).max() * 28 / bound - 1), 1e-3)
                self.assertEqual((t["b1"] == 0).all(), initialisation == "kaiming-uniform")
        preset = Preset((784, 30, 10), "bce", initialisation="small-normal")
        torch_w = pytorch_mlp.Model(preset, "f64", 1, None).mlp.layers[0].weight
        for w in (numpy_mlp.initialise(preset, 1)["w1"], torch_w.detach().numpy()):
            self.assertAlmostEqual(w.std(), 0.01, delta=2e-4)
        self.assertEqual(torch.get_default_dtype(), torch.float32)


if __name__ == "__main__":
    unittest.main()
