"""One layer and its gradient with the project's kernels, launched from Python.

    pip install numpy 'cuda-bindings==12.9.*'
    crates/emulated-gpu/emulate python3 reference/kernels_from_python.py

Without `crates/emulated-gpu/emulate` it runs on the NVIDIA GPU of this machine. If the bindings are
not installed, it exits with 77.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

try:
    import numpy as np
    from cuda.bindings import driver as cuda
except ImportError as error:
    print(f"skipped: {error}; pip install numpy 'cuda-bindings==12.9.*'")
    sys.exit(77)

KERNELS = Path(__file__).resolve().parent.parent / "kernels"


def ok(result: tuple) -> Any:
    """The result of a call; its error is raised as an exception."""
    code, *values = result
    if code != cuda.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the driver returned {code!r}")
    return values[0] if values else None


class Tensor:
    """A float32 array in the GPU's memory."""

    def __init__(self, array: np.ndarray) -> None:
        self.shape = array.shape
        flat = np.ascontiguousarray(array, np.float32)
        self.pointer = ok(cuda.cuMemAlloc(flat.nbytes))
        ok(cuda.cuMemcpyHtoD(self.pointer, flat.ctypes.data, flat.nbytes))

    def numpy(self) -> np.ndarray:
        """Copies the array back, after waiting for the kernels before it."""
        flat = np.empty(self.shape, np.float32)
        ok(cuda.cuMemcpyDtoH(flat.ctypes.data, self.pointer, flat.nbytes))
        return flat


def launch(name: str, threads: tuple[int, int], *arguments: Tensor | int) -> None:
    """Launches the kernel of this name, with these numbers of threads along x and y."""
    module = ok(cuda.cuModuleLoadData((KERNELS / f"{name}.ptx").read_bytes() + b"\0"))
    function = ok(cuda.cuModuleGetFunction(module, name.encode()))
    block = (32, 8 if threads[1] > 1 else 1)
    grid = [-(-n // side) for n, side in zip(threads, block, strict=True)]
    values = [int(a.pointer) if isinstance(a, Tensor) else a for a in arguments]
    held = [np.array([value], np.uint64) for value in values]
    pointers = np.array([value.ctypes.data for value in held], np.uint64)
    ok(cuda.cuLaunchKernel(function, *grid, 1, *block, 1, 0, 0, pointers.ctypes.data, 0))
    ok(cuda.cuCtxSynchronize())
    ok(cuda.cuModuleUnload(module))


def main() -> int:
    """Compares z = x·wᵀ + b, a = relu(z) and dw with NumPy."""
    ok(cuda.cuInit(0))
    device = ok(cuda.cuDeviceGet(0))
    name = ok(cuda.cuDeviceGetName(100, device)).split(b"\0")[0].decode().strip()
    ok(cuda.cuCtxSetCurrent(ok(cuda.cuDevicePrimaryCtxRetain(device))))

    random = np.random.default_rng(1)
    batch, m, n = 13, 20, 9
    x, w, b, da = (
        random.uniform(-1, 1, shape).astype(np.float32)
        for shape in [(batch, m), (n, m), (n,), (batch, n)]
    )
    z, a, dz, dw = (Tensor(np.zeros(s)) for s in [(batch, n), (batch, n), (batch, n), (n, m)])
    x_, w_, b_, da_ = Tensor(x), Tensor(w), Tensor(b), Tensor(da)
    launch("matmul_a_bt", (n, batch), x_, w_, z, batch, n, m)
    launch("add_bias", (n, batch), z, b_, batch, n)
    launch("relu", (batch * n, 1), z, a, batch * n)
    launch("relu_backward", (batch * n, 1), da_, z, dz, batch * n)
    launch("matmul_at_b", (m, n), dz, x_, dw, n, m, batch)

    expected_z = x @ w.T + b
    expected_dz = np.where(expected_z > 0, da, 0)
    pairs = {
        "z": (z, expected_z), "a": (a, np.maximum(expected_z, 0)),
        "dz": (dz, expected_dz), "dw": (dw, expected_dz.T @ x),
    }  # fmt: skip
    print(f"on {name}")
    for what, (found, expected) in pairs.items():
        error = np.abs(found.numpy() - expected).max()
        near = bool(error <= 1e-5)  # NaN is not near anything
        print(f"{what:<3} {list(expected.shape)}: {'as in NumPy' if near else 'DIFFERS'}")
        if not near:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
