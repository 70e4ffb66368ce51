"""A suite with two faults, which `test_wheel.py` runs on the emulated GPU."""

import numpy
from numba import cuda, float32


@cuda.jit(lineinfo=True)
def reverse(x, out):
    block = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    block[i] = x[i]
    out[i] = block[63 - i]  # a barrier is missing before this line


@cuda.jit(lineinfo=True)
def double(x):
    i = cuda.grid(1)
    x[i] *= 2  # i may be too large


def test_before():
    x = numpy.arange(32, dtype=numpy.float32)
    double[1, 32](x)
    assert x[31] == 62


def test_race():
    x = cuda.to_device(numpy.arange(64, dtype=numpy.float32))
    reverse[1, 64](x, cuda.device_array_like(x))
