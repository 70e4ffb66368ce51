"""The gold standard: the network in PyTorch, whose autograd derives every gradient.

`dump` runs one training step and writes every tensor of it; `train` trains on MNIST.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import command_line
import dumps
from dumps import Tensors
from presets import Preset

DTYPES = {"f64": torch.float64, "f32": torch.float32}


# ANCHOR: model
class Mlp(nn.Module):
    """A multilayer perceptron with relu after every layer except the last."""

    def __init__(self, sizes: Sequence[int], dtype: torch.dtype) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(n_in, n_out, dtype=dtype)  # weight [n_out, n_in], bias [n_out]
            for n_in, n_out in pairwise(sizes)
        )

    def forward(self, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """x [B, n0] -> pre-activations z1 … zL and activations a1 … a(L-1), each [B, n_l]."""
        z = [self.layers[0](x)]
        a = []
        for layer in self.layers[1:]:
            a.append(torch.relu(z[-1]))
            z.append(layer(a[-1]))
        return z, a


# ANCHOR_END: model


# ANCHOR: initialise
@torch.no_grad()
def initialise(model: Mlp, initialisation: str, seed: int) -> None:
    """Draws the parameters with the preset's initialisation."""
    generator = torch.Generator().manual_seed(seed)
    for layer in model.layers:
        if initialisation == "small-normal":
            layer.weight.normal_(0, 0.01, generator=generator)
            layer.bias.normal_(0, 0.01, generator=generator)
        elif initialisation == "kaiming-uniform":
            bound = math.sqrt(2 / layer.in_features)
            layer.weight.uniform_(-bound, bound, generator=generator)
            layer.bias.zero_()
        else:  # uniform-fan-in, which is also the default of nn.Linear
            bound = 1 / math.sqrt(layer.in_features)
            layer.weight.uniform_(-bound, bound, generator=generator)
            layer.bias.uniform_(-bound, bound, generator=generator)


# ANCHOR_END: initialise


@torch.no_grad()
def set_parameters(model: Mlp, parameters: Tensors) -> None:
    """Takes the parameters w1, b1, … from a dump."""
    for n, layer in enumerate(model.layers, start=1):
        layer.weight.copy_(torch.from_numpy(parameters[f"w{n}"]))
        layer.bias.copy_(torch.from_numpy(parameters[f"b{n}"]))


# ANCHOR: train_step
def losses(z: Tensor, y: Tensor, loss: str) -> tuple[Tensor, Tensor]:
    """zL [B, C], y [B, C] -> two scalars: the loss as printed, and the one to backpropagate."""
    batch = len(z)
    if loss == "cross-entropy":
        mean = F.cross_entropy(z, y)
        return mean, mean
    if loss == "bce":
        # Printed: the mean over the batch and the outputs. Backpropagated: only over the batch.
        total = F.binary_cross_entropy_with_logits(z, y, reduction="sum")
        return total / y.numel(), total / batch
    mean = 0.5 * (z - y).square().sum() / batch
    return mean, mean


def train_step(model: Mlp, x: Tensor, y: Tensor, loss: str, sgd: torch.optim.SGD) -> Tensor:
    """x [B, n0], y [B, C]: one update of the model; returns the loss before it."""
    z, _ = model(x)
    printed, backpropagated = losses(z[-1], y, loss)
    sgd.zero_grad()
    backpropagated.backward()
    sgd.step()
    return printed.detach()


# ANCHOR_END: train_step


# ANCHOR: dump
def step_tensors(
    inputs: Tensors, sizes: Sequence[int], loss: str, learning_rate: float, dtype: str
) -> Tensors:
    """Runs one step from x, y, w1, b1, …; returns every tensor of it, in order."""
    kind = DTYPES[dtype]
    x, y = (torch.from_numpy(inputs[name]).to(kind) for name in ("x", "y"))
    model = Mlp(sizes, kind)
    set_parameters(model, inputs)
    sgd = torch.optim.SGD(model.parameters(), lr=learning_rate)

    z, a = model(x)
    for tensor in (*z, *a):
        tensor.retain_grad()  # otherwise autograd only keeps the gradients of parameters
    printed, backpropagated = losses(z[-1], y, loss)
    backpropagated.backward()

    found = {"x": x, "y": y, "p": outputs(z[-1], loss), "loss": printed}
    for n, layer in enumerate(model.layers, start=1):
        found |= {f"w{n}": layer.weight.clone(), f"b{n}": layer.bias.clone()}
        found |= {f"dw{n}": layer.weight.grad, f"db{n}": layer.bias.grad}
        found |= {f"z{n}": z[n - 1], f"dz{n}": z[n - 1].grad}
    for n, activation in enumerate(a, start=1):
        found |= {f"a{n}": activation, f"da{n}": activation.grad}
    sgd.step()
    for n, layer in enumerate(model.layers, start=1):
        found |= {f"w{n}_next": layer.weight, f"b{n}_next": layer.bias}
    return {name: found[name].detach().numpy() for name in dumps.tensor_names(len(z))}


def outputs(z: Tensor, loss: str) -> Tensor:
    """zL [B, C] -> p [B, C], which the loss compares with y."""
    return {
        "cross-entropy": lambda: torch.softmax(z, dim=1),
        "bce": lambda: torch.sigmoid(z),
        "squared-error": lambda: z,
    }[loss]()


# ANCHOR_END: dump


class Model:
    """The network as the training loop sees it."""

    def __init__(self, preset: Preset, dtype: str, seed: int, parameters: Tensors | None) -> None:
        self.dtype = DTYPES[dtype]
        self.loss = preset.loss
        self.mlp = Mlp(preset.sizes, self.dtype)
        learning_rate = dumps.to_single(preset.learning_rate)
        self.sgd = torch.optim.SGD(self.mlp.parameters(), lr=learning_rate)
        if parameters is None:
            initialise(self.mlp, preset.initialisation, seed)
        else:
            set_parameters(self.mlp, parameters)

    def step(self, x: np.ndarray, y: np.ndarray) -> Tensor:
        """x [B, n0], y [B, C]: one update; returns the loss before it."""
        return train_step(self.mlp, self._tensor(x), self._tensor(y), self.loss, self.sgd)

    @torch.no_grad()
    def outputs(self, x: np.ndarray) -> np.ndarray:
        """x [B, n0] -> zL [B, C]."""
        return self.mlp(self._tensor(x))[0][-1].numpy()

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.dtype)


if __name__ == "__main__":
    # Strict float32: no TF32, no bfloat16, the same result on every run.
    torch.set_float32_matmul_precision("highest")
    torch.use_deterministic_algorithms(True)
    sys.exit(
        command_line.main(
            command_line.Program(
                level="reference-pytorch",
                about="The network in PyTorch, whose autograd derives every gradient.",
                model=Model,
                step=step_tensors,
                threads=torch.set_num_threads,
            )
        )
    )
