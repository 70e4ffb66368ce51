"""Tests that PyTorch computes the values in the file that `crates/autograd` uses in its tests."""

from __future__ import annotations

import json
import unittest
from pathlib import Path

try:
    import autograd_values
except ImportError:  # PyTorch is not installed
    autograd_values = None


@unittest.skipIf(autograd_values is None, "PyTorch is not installed")
class Values(unittest.TestCase):
    """The committed file."""

    def test_the_file_is_up_to_date(self) -> None:
        """Another PyTorch or processor may only change the last digits."""
        path = Path(__file__).parent / "autograd_values.json"
        committed = json.loads(path.read_text())["cases"]
        made = json.loads(autograd_values.to_json())["cases"]
        self.assertEqual(len(committed), len(made))
        for old, new in zip(committed, made, strict=True):
            self.assertEqual(old["operation"], new["operation"])
            self.compare(old, new, old["operation"])

    def compare(self, old: object, new: object, where: str) -> None:
        """Checks that the structure is the same, and numbers agree within a relative 1e-14."""
        self.assertIs(type(old), type(new), where)
        if isinstance(old, dict):
            self.assertEqual(old.keys(), new.keys(), where)
            for key in old:
                self.compare(old[key], new[key], f"{where}.{key}")
        elif isinstance(old, list):
            self.assertEqual(len(old), len(new), where)
            for i, (a, b) in enumerate(zip(old, new, strict=True)):
                self.compare(a, b, f"{where}[{i}]")
        elif isinstance(old, float):
            self.assertLessEqual(abs(old - new), 1e-14 * max(1.0, abs(old)), where)
        else:
            self.assertEqual(old, new, where)


if __name__ == "__main__":
    unittest.main()
