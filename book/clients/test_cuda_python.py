"""A kernel in CUDA C, compiled by NVRTC through NVIDIA's cuda.core, and its test."""

# ANCHOR: test
import numpy as np
import pytest
from cuda.core import (
    Device,
    LaunchConfig,
    LegacyPinnedMemoryResource,
    Program,
    ProgramOptions,
    launch,
)

SAXPY = """
extern "C" __global__ void saxpy(unsigned n, float a, const float *x, float *y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


@pytest.mark.parametrize("code", ["ptx", "cubin"])
def test_saxpy(code):
    device = Device()
    device.set_current()
    stream = device.create_stream()
    arch = "compute_90" if code == "ptx" else "sm_90"
    program = Program(SAXPY, "c++", ProgramOptions(arch=arch))
    saxpy = program.compile(code).get_kernel("saxpy")

    # Pinned host memory, which kernels can access.
    buffers = [LegacyPinnedMemoryResource().allocate(4000, stream=stream) for _ in range(2)]
    x, y = (np.from_dlpack(buffer).view(np.float32) for buffer in buffers)
    x[:], y[:] = np.arange(1000), 1
    config = LaunchConfig(grid=4, block=256)
    launch(stream, config, saxpy, np.uint32(1000), np.float32(2), *buffers)
    stream.sync()
    np.testing.assert_array_equal(y, 2 * np.arange(1000, dtype=np.float32) + 1)
# ANCHOR_END: test
