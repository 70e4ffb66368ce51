"""Tests that any number of ranks computes the step of one process, and of the fixtures."""

from __future__ import annotations

import unittest
from pathlib import Path

import numpy as np

import dumps

try:
    import torch

    import pytorch_ddp
    from pytorch_mlp import step_tensors
except ModuleNotFoundError as missing:
    if missing.name != "torch":
        raise
    torch = None

FOLDER = Path(__file__).parent / "ddp"


@unittest.skipIf(torch is None, "torch is not installed")
class Ranks(unittest.TestCase):
    """Every fixture is recomputed; the processes are only started once."""

    @classmethod
    def setUpClass(cls) -> None:
        """Runs the ranks."""
        cls.files = sorted(FOLDER.glob("*.json.gz"))
        cls.fixtures = [dumps.read(file) for file in cls.files]
        cls.cases = [
            pytorch_ddp.case_of(dump, dump.header.world_size, file)
            for dump, file in zip(cls.fixtures, cls.files, strict=True)
        ]
        cls.found = pytorch_ddp.run(cls.cases)

    def test_there_are_two_and_four_ranks_of_each(self) -> None:
        """Batches divide evenly, don't, or leave a rank without a sample."""
        ranks = [dump.header.world_size for dump in self.fixtures]
        self.assertEqual(sorted(ranks), [2] * 4 + [4] * 4)
        batches = {(len(case.inputs["x"]), case.ranks) for case in self.cases}
        self.assertTrue(any(batch % n == 0 for batch, n in batches))
        self.assertTrue(any(batch % n and batch > n for batch, n in batches))
        self.assertTrue(any(batch < n for batch, n in batches))

    def test_the_fixtures_are_up_to_date(self) -> None:
        """Except for the last digits, in which another PyTorch may differ."""
        for dump, found in zip(self.fixtures, self.found, strict=True):
            self.assertEqual(list(dump.tensors), list(found))
            for name, tensor in dump.tensors.items():
                np.testing.assert_allclose(found[name], tensor, rtol=1e-10, atol=1e-13)

    def test_ranks_compute_the_step_of_one_process(self) -> None:
        """Within 1e-14 of the largest element, because the order of additions differs."""
        for case, found in zip(self.cases, self.found, strict=True):
            one = step_tensors(case.inputs, case.sizes, case.loss, case.learning_rate, "f64")
            for name, tensor in one.items():
                apart = np.abs(found[name] - tensor).max(initial=0)
                self.assertLessEqual(apart, 1e-14 * max(1, np.abs(tensor).max(initial=0)), name)

    def test_shares_are_the_batch(self) -> None:
        """They are in the order of the ranks, and their sizes differ by at most one."""
        for batch in range(12):
            for ranks in range(1, 7):
                shares = [pytorch_ddp.share(batch, rank, ranks) for rank in range(ranks)]
                rows = [row for share in shares for row in range(batch)[share]]
                self.assertEqual(rows, list(range(batch)))
                sizes = [share.stop - share.start for share in shares]
                self.assertLessEqual(max(sizes) - min(sizes), 1)
                self.assertEqual(sizes, sorted(sizes, reverse=True))


if __name__ == "__main__":
    unittest.main()
