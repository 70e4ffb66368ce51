"""The network by hand in NumPy: forward, backward and update, derived on paper.

Each function is named as the kernel that computes the same at the levels below. `dump` runs one
training step and writes every tensor of it; `train` trains on MNIST.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

import command_line
import dumps
from dumps import Tensors
from presets import Preset

Array = np.ndarray

DTYPES = {"f64": np.float64, "f32": np.float32}


# ANCHOR: forward
def matmul_a_bt(a: Array, b: Array) -> Array:
    """a [M, K], b [N, K] -> a · bᵀ [M, N]."""
    return a @ b.T


def add_bias(z: Array, b: Array) -> Array:
    """z [B, n], b [n] -> z + b [B, n], the same b for every sample."""
    return z + b


def relu(z: Array) -> Array:
    """z [B, n] -> max(z, 0) [B, n]."""
    return np.maximum(z, 0)


def softmax(z: Array) -> Array:
    """z [B, C] -> p [B, C], rows that sum to 1. The shift keeps exp from overflowing."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def sigmoid(z: Array) -> Array:
    """z [B, C] -> 1 / (1 + exp(-z)) [B, C], with an exp that can't overflow."""
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1, e) / (1 + e)


def forward(t: Tensors, layers: int, loss: str) -> None:
    """From x and w1, b1, …: adds z1, a1, …, zL and p."""
    a = t["x"]
    for n in range(1, layers + 1):
        t[f"z{n}"] = add_bias(matmul_a_bt(a, t[f"w{n}"]), t[f"b{n}"])
        if n < layers:
            a = t[f"a{n}"] = relu(t[f"z{n}"])
    t["p"] = OUTPUTS[loss](t[f"z{layers}"])


# ANCHOR_END: forward


# ANCHOR: losses
def cross_entropy(z: Array, y: Array) -> Array:
    """z [B, C], y [B, C] -> -Σ_c y·ln softmax(z), mean over the batch."""
    shifted = z - z.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -(y * log_p).sum(axis=1).mean()


def bce(z: Array, y: Array) -> Array:
    """z [B, C], y [B, C] -> -(y·ln p + (1 - y)·ln(1 - p)) with p = sigmoid(z), mean over all.

    With ln p = -ln(1 + exp(-z)) both terms become z·(1 - y) + ln(1 + exp(-z)), and the form below
    never takes the exp of a positive number.
    """
    return (np.maximum(z, 0) - z * y + np.log1p(np.exp(-np.abs(z)))).mean()


def squared_error(z: Array, y: Array) -> Array:
    """z [B, C], y [B, C] -> ½·Σ_c (z - y)², mean over the batch."""
    return ((z - y) ** 2 / 2).sum(axis=1).mean()


# ANCHOR_END: losses

OUTPUTS = {"cross-entropy": softmax, "bce": sigmoid, "squared-error": lambda z: z}
LOSSES = {"cross-entropy": cross_entropy, "bce": bce, "squared-error": squared_error}


# ANCHOR: backward
def matmul_at_b(a: Array, b: Array) -> Array:
    """a [K, M], b [K, N] -> aᵀ · b [M, N]."""
    return a.T @ b


def matmul_a_b(a: Array, b: Array) -> Array:
    """a [M, K], b [K, N] -> a · b [M, N]."""
    return a @ b


def output_gradient(p: Array, y: Array) -> Array:
    """p [B, C], y [B, C] -> (p - y) / B [B, C], for every loss here."""
    return (p - y) / len(p)


def sum_batch(dz: Array) -> Array:
    """dz [B, n] -> Σ_batch dz [n]."""
    return dz.sum(axis=0)


def relu_backward(da: Array, z: Array) -> Array:
    """da [B, n], z [B, n] -> da where z > 0, else 0 [B, n]."""
    return np.where(z > 0, da, 0)


def backward(t: Tensors, layers: int) -> None:
    """From the results of `forward`: adds dzL, dwL, dbL, da(L-1), dz(L-1), …, dw1, db1."""
    t[f"dz{layers}"] = output_gradient(t["p"], t["y"])
    for n in range(layers, 0, -1):
        a_prev = t[f"a{n - 1}"] if n > 1 else t["x"]
        t[f"dw{n}"] = matmul_at_b(t[f"dz{n}"], a_prev)
        t[f"db{n}"] = sum_batch(t[f"dz{n}"])
        if n > 1:
            t[f"da{n - 1}"] = matmul_a_b(t[f"dz{n}"], t[f"w{n}"])
            t[f"dz{n - 1}"] = relu_backward(t[f"da{n - 1}"], t[f"z{n - 1}"])


# ANCHOR_END: backward


# ANCHOR: update
def update(parameter: Array, gradient: Array, learning_rate: float) -> None:
    """Both of any shape, the same one: parameter - learning_rate·gradient, in place."""
    parameter -= learning_rate * gradient


def update_all(t: Tensors, layers: int, learning_rate: float) -> None:
    """One step of SGD on w1, b1, …, wL, bL."""
    for n in range(1, layers + 1):
        update(t[f"w{n}"], t[f"dw{n}"], learning_rate)
        update(t[f"b{n}"], t[f"db{n}"], learning_rate)


# ANCHOR_END: update


# ANCHOR: dump
def step_tensors(
    inputs: Tensors, sizes: Sequence[int], loss: str, learning_rate: float, dtype: str
) -> Tensors:
    """Runs one step from x, y, w1, b1, …; returns every tensor of it, in order."""
    layers = len(sizes) - 1
    given = dumps.tensor_names(layers)[: 2 + 2 * layers]
    t = {name: inputs[name].astype(DTYPES[dtype]) for name in given}
    forward(t, layers, loss)
    t["loss"] = LOSSES[loss](t[f"z{layers}"], t["y"])
    backward(t, layers)
    before = {name: t[name].copy() for name in given}
    update_all(t, layers, learning_rate)
    after = {f"{name}_next": t[name] for name in given[2:]}
    found = t | before | after
    return {name: np.asarray(found[name]) for name in dumps.tensor_names(layers)}


# ANCHOR_END: dump


def initialise(preset: Preset, seed: int) -> Tensors:
    """Draws w1, b1, … with the preset's initialisation."""
    generator = np.random.default_rng(seed)
    t: Tensors = {}
    for n, (n_in, n_out) in enumerate(pairwise(preset.sizes), start=1):
        if preset.initialisation == "small-normal":
            t[f"w{n}"] = generator.normal(0, 0.01, (n_out, n_in))
            t[f"b{n}"] = generator.normal(0, 0.01, n_out)
        elif preset.initialisation == "kaiming-uniform":
            bound = math.sqrt(2 / n_in)
            t[f"w{n}"] = generator.uniform(-bound, bound, (n_out, n_in))
            t[f"b{n}"] = np.zeros(n_out)
        else:
            bound = 1 / math.sqrt(n_in)
            t[f"w{n}"] = generator.uniform(-bound, bound, (n_out, n_in))
            t[f"b{n}"] = generator.uniform(-bound, bound, n_out)
    return t


class Model:
    """The network as the training loop sees it."""

    def __init__(self, preset: Preset, dtype: str, seed: int, parameters: Tensors | None) -> None:
        self.dtype = DTYPES[dtype]
        self.loss = preset.loss
        self.learning_rate = dumps.to_single(preset.learning_rate)
        self.layers = len(preset.sizes) - 1
        start = parameters or initialise(preset, seed)
        names = [f"{letter}{n}" for n in range(1, self.layers + 1) for letter in "wb"]
        self.tensors = {name: start[name].astype(self.dtype) for name in names}

    def step(self, x: Array, y: Array) -> Array:
        """x [B, n0], y [B, C]: one update; returns the loss before it."""
        t = self.tensors
        t["x"], t["y"] = (array.astype(self.dtype, copy=False) for array in (x, y))
        forward(t, self.layers, self.loss)
        backward(t, self.layers)
        update_all(t, self.layers, self.learning_rate)
        return LOSSES[self.loss](t[f"z{self.layers}"], t["y"])

    def outputs(self, x: Array) -> Array:
        """x [B, n0] -> zL [B, C]."""
        t = self.tensors | {"x": x.astype(self.dtype, copy=False)}
        forward(t, self.layers, self.loss)
        return t[f"z{self.layers}"]


if __name__ == "__main__":
    sys.exit(
        command_line.main(
            command_line.Program(
                level="reference-numpy",
                about="The network by hand in NumPy: forward, backward and update.",
                model=Model,
                step=step_tensors,
            )
        )
    )
