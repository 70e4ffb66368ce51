"""The training loop, the digits it trains on, and the presets."""

from __future__ import annotations

import base64
import gzip
import re
import struct
import tempfile
import unittest
import zlib
from pathlib import Path

import numpy as np

import mnist
import numpy_mlp
import pictures
import training
from failures import BadInput, Failure
from presets import FIXTURES, INITIALISATIONS, LOSSES, NORMALISATIONS, PRESETS, Preset

try:
    import torch

    import bench_pytorch
    import pytorch_mlp
except ImportError:  # PyTorch is not installed
    pytorch_mlp = None


class Training(unittest.TestCase):
    """The loop, on points that are easy to separate."""

    @staticmethod
    def samples(count: int) -> mnist.Samples:
        """Noise around a corner for each class."""
        random = np.random.default_rng(5)
        labels = random.integers(0, 10, count)
        x = np.eye(10, 12)[labels] * 4 + random.normal(size=(count, 12))
        return mnist.Samples(x.astype(np.float32), labels)

    def run_all(self, preset: Preset) -> list[dict]:
        """Trains with NumPy, and with PyTorch if it is installed."""
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

    @unittest.skipIf(pytorch_mlp is None, "PyTorch is not installed")
    def test_every_loop_of_the_benchmark_trains_alike(self) -> None:
        """With or without a loss in each step, the loss after seven steps is the same."""
        samples = self.samples(100)
        x, labels, y = map(torch.from_numpy, (samples.x, samples.labels, samples.y()))
        for loss in LOSSES:
            preset = Preset((12, 16, 10), loss, 10, 0.1)
            losses = {}
            for variant in bench_pytorch.EAGER:
                try:
                    candidate = bench_pytorch.candidate(variant, 1, preset, x, labels, y)
                except TypeError:  # an older PyTorch, without the fused SGD
                    self.assertIn("fused", variant)
                    continue
                losses[variant] = candidate.run(7)[1]
            self.assertGreaterEqual(len(losses), 5)
            first = next(iter(losses.values()))
            for variant, found in losses.items():
                self.assertAlmostEqual(found / first, 1, delta=1e-5, msg=f"{loss}, {variant}")

    def test_batches_are_those_of_the_preset(self) -> None:
        """Incomplete batches are dropped if the preset demands it, in training and testing."""
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
        """The mark is an accuracy or a number of batches."""
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
        """There is no report full of NaN."""
        preset = Preset((12, 16, 10), "squared-error", 10, 1e6, 10)
        with np.errstate(all="ignore"), self.assertRaisesRegex(Failure, "diverged.*batch"):
            self.run_all(preset)

    def test_both_programs_train_alike_from_the_same_parameters(self) -> None:
        """All losses agree."""
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
    """Reading MNIST, and rejecting other files."""

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
        """The results are those of the presets, from IDX and .npz alike."""
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

    def test_other_files_are_rejected(self) -> None:
        """The error names the file."""
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
        for labels, reason in [([1, 10], "not a digit"), ([1], "a label for each image")]:
            self.write("train-labels-idx1-ubyte.gz", np.array(labels, np.uint8))
            with self.assertRaisesRegex(BadInput, reason):
                mnist.load("unit", self.folder)
        with self.assertRaisesRegex(BadInput, "absent.npz"):
            mnist.load("unit", npz=self.folder / "absent.npz")


class Pictures(unittest.TestCase):
    """Sheets of digits."""

    def test_a_sheet_shows_every_pixel_and_each_mistake(self) -> None:
        """The PNG of each image has its pixels, dark on white, and a wrong prediction its label."""
        ink = np.random.default_rng(1).integers(0, 256, (3, 28, 28), dtype=np.uint8)
        svg = pictures.sheet(ink, np.array([4, 7, 9]), np.array([4, 1, 9]))
        self.assertEqual(re.findall(">([0-9][^<]*)</text>", svg), ["4", "1 (is 7)", "9"])
        coded = re.findall('base64,([^"]*)"', svg)
        self.assertEqual(len(coded), 3)
        for image, png in zip(ink, map(base64.b64decode, coded), strict=True):
            size = png.index(b"IDAT")
            (length,) = struct.unpack(">I", png[size - 4 : size])
            rows = zlib.decompress(png[size + 4 : size + 4 + length])
            found = np.frombuffer(rows, np.uint8).reshape(28, 29)
            self.assertTrue((found[:, 1:] == 255 - image).all() and (found[:, 0] == 0).all())

    def test_training_writes_both_sheets(self) -> None:
        """Each sheet has the first 40 images, with any normalisation."""
        random = np.random.default_rng(5)
        for normalisation in NORMALISATIONS:
            raw = random.integers(0, 256, (50, 784), dtype=np.uint8)
            x = mnist.normalise(raw, normalisation)
            self.assertTrue((mnist.pixels(x, normalisation) == raw).all())
            samples = mnist.Samples(x, random.integers(0, 10, 50))
            model = numpy_mlp.Model(Preset((784, 5, 10), "bce"), "f32", 1, None)
            with tempfile.TemporaryDirectory() as folder:
                pictures.write(Path(folder) / "new", model, normalisation, samples, samples)
                for name in ("training.svg", "predictions.svg"):
                    svg = (Path(folder) / "new" / name).read_text()
                    self.assertEqual(svg.count("<image"), 40)


class Table(unittest.TestCase):
    """The presets."""

    def test_every_value_is_a_known_one(self) -> None:
        """A typing mistake in a preset would otherwise be a new setting."""
        for name, preset in (PRESETS | FIXTURES).items():
            self.assertIn(preset.loss, LOSSES, name)
            self.assertIn(preset.normalisation, NORMALISATIONS, name)
            self.assertIn(preset.initialisation, INITIALISATIONS, name)
        self.assertEqual(next(iter(PRESETS)), "small")

    @unittest.skipIf(pytorch_mlp is None, "PyTorch is not installed")
    def test_both_programs_draw_the_presets_parameters(self) -> None:
        """The parameters fill their range, and biases are only 0 if the preset demands it."""
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


if __name__ == "__main__":
    unittest.main()
