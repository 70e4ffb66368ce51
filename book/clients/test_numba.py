"""A kernel in numba, and its test."""

# ANCHOR: test
import numpy as np
from numba import cuda


@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


def test_saxpy():
    x = np.arange(1000, dtype=np.float32)
    y = cuda.to_device(np.ones_like(x))
    saxpy[4, 256](np.float32(2), cuda.to_device(x), y)
    np.testing.assert_array_equal(y.copy_to_host(), 2 * x + 1)
# ANCHOR_END: test
