"""Tests of the dump format: dumps are read back unchanged, and other files are rejected."""

from __future__ import annotations

import dataclasses
import json
import tempfile
import unittest
from pathlib import Path

import numpy as np

import dumps
from dumps import Dump, Header
from failures import BadInput, Failure
from presets import FORMER_NAMES


def header(dtype: str = "f32") -> Header:
    """The header of a small dump."""
    return Header("me", "cpu", "softmax", "cross-entropy", dtype, seed=1, step=0, learning_rate=0.1)


class DumpFormat(unittest.TestCase):
    """Reading and writing dumps."""

    def setUp(self) -> None:
        """Makes a temporary folder."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def round_trip(self, dump: Dump, name: str) -> Dump:
        """Writes a dump and reads it back."""
        dumps.write(dump, self.folder / name)
        return dumps.read(self.folder / name)

    def test_float32_values_come_back_bit_for_bit(self) -> None:
        """Also subnormals, zeros of both signs, NaN and infinities."""
        bits = np.random.default_rng(1).integers(0, 2**32, 20_000, dtype=np.uint32)
        special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, 0.1], np.float32)
        values = np.concatenate([special, bits.view(np.float32)])
        values[np.isnan(values)] = np.nan  # quiet ones, which can be widened without a warning
        for name in ("a.json", "a.json.gz", "named.gz"):
            back = self.round_trip(Dump(header(), {"x": values}), name).tensors["x"]
            self.assertEqual(back.dtype, np.float64)
            same = back.astype(np.float32).view(np.uint32) == values.view(np.uint32)
            self.assertTrue((same | np.isnan(values)).all())
            self.assertEqual(np.isnan(back).tolist(), np.isnan(values).tolist())
            self.assertEqual(back[6], float(np.float32(0.1)))

    def test_float64_values_come_back_bit_for_bit(self) -> None:
        """All digits are written."""
        values = np.array([1 / 3, 5e-324, 1.7976931348623157e308, -0.1])
        back = self.round_trip(Dump(header("f64"), {"p": values}), "a.json")
        self.assertEqual(back.tensors["p"].tolist(), values.tolist())

    def test_text_is_read_according_to_the_dtype(self) -> None:
        """0.1 is a different number in each dtype; the learning rate is always a float32."""
        for dtype, value in [("f32", float(np.float32(0.1))), ("f64", 0.1)]:
            content = self.text(dtype=dtype, tensors=[{"name": "x", "shape": [1], "data": [0.1]}])
            dump = dumps.from_json(content, "a.json")
            self.assertEqual(dump.tensors["x"][0], value)
            self.assertEqual(dump.header.learning_rate, float(np.float32(0.1)))

    def test_a_dump_names_its_samples(self) -> None:
        """Samples are read back as they were written; invalid ones are rejected."""
        samples = {"normalisation": "unit", "rows": [3, 0]}
        back = self.round_trip(Dump(dataclasses.replace(header(), mnist=samples), {}), "a.json")
        self.assertEqual(back.header.mnist, samples)
        for wrong in ([], {"rows": []}, {"normalisation": "unit", "rows": [-1]},
                      {"normalisation": "unit", "rows": [True]},
                      {"normalisation": "none", "rows": []}):  # fmt: skip
            with self.assertRaisesRegex(BadInput, "normalisation|mnist"):
                dumps.from_json(self.text(mnist=wrong, tensors=[]), "a.json")

    def test_a_preset_is_read_by_its_former_name(self) -> None:
        """A dump with a former name is read, and written with the current one."""
        for former, current in FORMER_NAMES.items():
            back = dumps.from_json(self.text(preset=former, tensors=[]), "a.json")
            self.assertEqual(back.header.preset, current)

    def test_the_text_is_that_of_the_levels(self) -> None:
        """Byte for byte: the same order of fields, one tensor per line."""
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
        """A dump as JSON with some fields changed, or left out if they are None."""
        file = {"format": "four-levels-dump", "version": 1, "tensors": []} | vars(header())
        return json.dumps({k: v for k, v in (file | changes).items() if v is not None}).encode()

    def test_other_files_are_rejected_with_the_reason(self) -> None:
        """Each message names the problem."""

        def tensors(*entries: tuple[str, list, list]) -> bytes:
            keys = ("name", "shape", "data")
            return self.text(tensors=[dict(zip(keys, entry, strict=True)) for entry in entries])

        cases = [
            (b"not json", "is not a dump"),
            (b"\xff\xfe", "is not a dump"),
            (b"[" * 100_000, "is not a dump"),
            (b"[1, 2]", "not a JSON object"),
            (b"{}", "its format is '' version 0"),
            (self.text(version=2), "version 2"),
            (self.text(version=True), "version True"),
            (self.text(seed=None), "'seed' is missing"),
            (self.text(seed=-1), "'seed' is -1"),
            (self.text(seed=True), "'seed' is True"),
            (self.text(dtype="f16"), "not one of f32, f64, tf32, bf16"),
            (self.text(loss="hinge"), "not one of cross-entropy"),
            (self.text(learning_rate="fast"), "'learning_rate' is 'fast'"),
            (self.text(learning_rate=1e39), "'learning_rate' is 1e+39"),
            (self.text(not_materialised=["q"]), "'q' is not the name of a tensor"),
            (self.text(tensors={}), "'tensors' is {}"),
            (self.text(tensors=[1]), "not a JSON object"),
            (self.text(tensors=[{"name": "x", "shape": [0]}]), "'data' is missing"),
            *((tensors((name, [1], [1])), f"{name!r} is not the name")
              for name in ("q", "w0", "w01", "dw1_next", "x_next", "W1", "w１", "x\n")),
            (tensors(("x", [2], [1])), "x: the shape [2] does not hold 1 elements"),
            (tensors(("x", [-1], [1])), "x: [-1] is not a shape"),
            (tensors(("x", [2**64, 2], [1])), "does not hold 1 elements"),
            (tensors(("x", [1], ["nan"])), "x holds 'nan'"),
            (tensors(("x", [1], [True])), "x holds True"),
            (tensors(("x", [1], [[1]])), "x holds [1]"),
            (tensors(("x", [1], [10**400])), "too large for float64"),
            (tensors(("x", [1], [float("nan")])), "NaN is not JSON"),
            (tensors(("p", [], [1]), ("p", [], [1])), "p comes twice"),
        ]  # fmt: skip
        for content, reason in cases:
            with self.subTest(reason), self.assertRaises(BadInput) as raised:
                dumps.from_json(content, "bad.json")
            self.assertIn("bad.json", str(raised.exception))
            self.assertIn(reason, str(raised.exception))

    def test_a_truncated_file_is_an_error(self) -> None:
        """Plain or gzipped, truncated at any length."""
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

    def test_a_failed_write_changes_nothing(self) -> None:
        """The existing file stays, and no partial file is left."""
        with self.assertRaisesRegex(Failure, "can't write the dump"):
            dumps.write(Dump(header(), {}), self.folder / "absent" / "a.json")
        with self.assertRaises(Failure):
            dumps.write(Dump(header(), {}), self.folder)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_inputs_that_do_not_fit_together_are_rejected(self) -> None:
        """The error comes before any computation."""
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


if __name__ == "__main__":
    unittest.main()
