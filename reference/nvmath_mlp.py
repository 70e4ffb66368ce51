"""The network through nvmath-python: cuBLASLt's products with fused epilogues, called from Python.

It is level 3's fused network, written with NVIDIA's own bindings and CuPy; it runs on a card, or on
the emulated GPU by `crates/emulated-gpu/emulate`. `dump` runs training steps and writes every
tensor; `train` trains on MNIST.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

import command_line
import dumps
import numpy_mlp
from dumps import Tensors
from failures import Failure
from presets import Preset

try:
    import cupy
    from nvmath.bindings.cublasLt import cuBLASLtError
    from nvmath.linalg.advanced import Matmul, MatmulEpilog
except ImportError as missing:
    clients = "crates/emulated-gpu/clients/clients.py"
    sys.exit(f"error: {missing}: {clients} lists the packages to install, and runs this program")

Array = cupy.ndarray


# ANCHOR: products
class Products:
    """Products [M, K] · [K, N] -> [M, N], each planned at its first use."""

    def __init__(self) -> None:
        self.planned: dict[tuple[str, tuple, tuple], Matmul] = {}

    def product(
        self,
        name: str,
        a: Array,
        b: Array,
        epilog: MatmulEpilog | None = None,
        inputs: dict[str, Array] | None = None,
    ) -> tuple[Array, dict[str, Array]]:
        """The product with its epilogue, and the epilogue's additional outputs."""
        key = (name, a.shape, b.shape)
        try:
            if key in self.planned:
                self.planned[key].reset_operands(a=a, b=b, epilog_inputs=inputs)
            else:
                self.planned[key] = Matmul(a, b)
                self.planned[key].plan(epilog=epilog, epilog_inputs=inputs)
            made = self.planned[key].execute()
        except cuBLASLtError as error:
            raise Failure(f"{name}, {a.shape} by {b.shape}: cuBLASLt failed: {error}") from error
        return made if isinstance(made, tuple) else (made, {})


# ANCHOR_END: products


# ANCHOR: forward
def forward(t: dict[str, Array], products: Products, layers: int) -> None:
    """From x [B, n0] and w1, b1, …: adds a1, mask1, …, zL.

    The relu is the epilogue's, so no z but the last is left. cuBLASLt adds a bias to rows and has
    matrices by columns, so each layer is computed transposed: Wl [n_l, n_(l-1)] by a(l-1)ᵀ
    [n_(l-1), B]. A transposed array is the same memory, read the other way.
    """
    a = t["x"].T
    for n in range(1, layers):
        inputs = {"bias": t[f"b{n}"]}
        epilog = MatmulEpilog.RELU_AUX_BIAS
        a, beside = products.product(f"forward {n}", t[f"w{n}"], a, epilog, inputs)
        t[f"a{n}"], t[f"mask{n}"] = a.T, beside["relu_aux"]
    inputs = {"bias": t[f"b{layers}"]}
    z, _ = products.product(f"forward {layers}", t[f"w{layers}"], a, MatmulEpilog.BIAS, inputs)
    t[f"z{layers}"] = z.T


# ANCHOR_END: forward


def outputs(z: Array, loss: str) -> Array:
    """zL [B, C] -> p [B, C], which the loss compares with y."""
    if loss == "cross-entropy":
        powers = cupy.exp(z - z.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)
    return 1 / (1 + cupy.exp(-z)) if loss == "bce" else z


# ANCHOR: backward
def backward(t: dict[str, Array], products: Products, layers: int) -> None:
    """From the results of `forward`, p and y [B, C]: adds dzL, dwL, dbL, dz(L-1), …, dw1, db1.

    The epilogue applies the mask that forward left and sums over the batch, so no da is left.
    """
    dz = ((t["p"] - t["y"]) / len(t["y"])).T  # [C, B]
    db = dz.sum(axis=1)
    for n in range(layers, 0, -1):
        a_prev = t[f"a{n - 1}"] if n > 1 else t["x"]
        t[f"dz{n}"], t[f"db{n}"] = dz.T, db
        t[f"dw{n}"], _ = products.product(f"dw{n}", dz, a_prev)
        if n > 1:
            inputs = {"relu_aux": t[f"mask{n - 1}"]}
            epilog = MatmulEpilog.DRELU_BGRAD
            dz, beside = products.product(f"dz{n - 1}", t[f"w{n}"].T, dz, epilog, inputs)
            db = beside["drelu_bgrad"]


# ANCHOR_END: backward


def update(t: dict[str, Array], layers: int, learning_rate: float) -> None:
    """w, b -= learning_rate·gradient, in place."""
    for name in parameters(layers):
        t[name] -= cupy.float32(learning_rate) * t[f"d{name}"].reshape(t[name].shape)


def parameters(layers: int) -> list[str]:
    """The names w1, b1, …, wL, bL."""
    return [f"{letter}{n}" for n in range(1, layers + 1) for letter in "wb"]


def step(
    t: dict[str, Array], products: Products, layers: int, loss: str, learning_rate: float
) -> None:
    """One step of SGD on the tensors of t: x, y, w1, b1, …."""
    forward(t, products, layers)
    t["p"] = outputs(t[f"z{layers}"], loss)
    backward(t, products, layers)
    update(t, layers, learning_rate)


def step_tensors(
    inputs: Tensors, sizes: Sequence[int], loss: str, learning_rate: float, dtype: str
) -> Tensors:
    """Runs one step from x, y, w1, b1, …; returns every tensor that is materialised, in order."""
    layers = len(sizes) - 1
    given = dumps.tensor_names(layers)[: 2 + 2 * layers]
    t = {name: cupy.asarray(inputs[name], dtype=dtype_of(dtype)) for name in given}
    before = {name: t[name].copy() for name in given}
    step(t, Products(), layers, loss, learning_rate)
    after = {f"{name}_next": t[name] for name in given[2:]}
    found = {name: array.get() for name, array in (t | before | after).items()}
    found["loss"] = numpy_mlp.LOSSES[loss](found[f"z{layers}"], found["y"])
    for n in range(1, layers + 1):
        found[f"db{n}"] = found[f"db{n}"].reshape(-1)
    return {
        name: np.array(found[name], order="C")
        for name in dumps.tensor_names(layers)
        if name in found
    }


def device() -> str:
    """The GPU's name."""
    try:
        return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise Failure(
            f"no GPU: {error}; `crates/emulated-gpu/emulate` runs this on the emulated one"
        ) from error


def dtype_of(dtype: str) -> type:
    """The type of arrays, which is always single precision here."""
    return {"f32": np.float32}[dtype]


class Model:
    """The network as the training loop sees it."""

    def __init__(self, preset: Preset, dtype: str, seed: int, start: Tensors | None) -> None:
        self.dtype = dtype_of(dtype)
        self.loss = preset.loss
        self.learning_rate = dumps.to_single(preset.learning_rate)
        self.layers = len(preset.sizes) - 1
        self.products = Products()
        start = start or numpy_mlp.initialise(preset, seed)
        self.t = {
            name: cupy.asarray(start[name], dtype=self.dtype) for name in parameters(self.layers)
        }

    def step(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """x [B, n0], y [B, C]: one update; returns the loss before it."""
        self.t["x"], self.t["y"] = (cupy.asarray(array, dtype=self.dtype) for array in (x, y))
        step(self.t, self.products, self.layers, self.loss, self.learning_rate)
        return numpy_mlp.LOSSES[self.loss](self.t[f"z{self.layers}"].get(), y.astype(self.dtype))

    def outputs(self, x: np.ndarray) -> np.ndarray:
        """x [B, n0] -> zL [B, C]."""
        t = self.t | {"x": cupy.asarray(x, dtype=self.dtype)}
        forward(t, self.products, self.layers)
        return t[f"z{self.layers}"].get()


if __name__ == "__main__":
    sys.exit(
        command_line.main(
            command_line.Program(
                level="nvmath-python",
                about="The network through nvmath-python: cuBLASLt's fused epilogues from Python.",
                model=Model,
                step=step_tensors,
                device=device,
                dtypes=("f32",),
            )
        )
    )
