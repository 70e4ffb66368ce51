"""The layers of PyTorch between a line of Python and the functions that compute.

Prints, for one training step, the graph that autograd recorded, the operators that were called, or
the functions to which the dispatcher sends an operator.
"""

from __future__ import annotations

import re
import sys

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import pytorch_mlp


# ANCHOR: trace
class Trace(TorchDispatchMode):
    """Prints each operator that reaches a device, below autograd, and its operands' shapes."""

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        """Called by the dispatcher in place of the device's own function; calls that function."""
        result = operator(*args, **(kwargs or {}))
        shapes = [list(a.shape) for a in args if isinstance(a, torch.Tensor)]
        if shapes and not is_view(operator):
            print(f"   {operator!s:<48}{' '.join(map(str, shapes))}")
        return result


# ANCHOR_END: trace


def is_view(operator) -> bool:
    """Whether the result is a view of the operand, so that nothing is computed."""
    alias = operator._schema.returns and operator._schema.returns[0].alias_info
    return bool(alias) and not alias.is_write


# ANCHOR: graph
def print_graph(node, depth: int = 0) -> None:
    """Prints the node of a result, and below it those of its operands."""
    shape = f" {list(node.variable.shape)}" if hasattr(node, "variable") else ""
    print(f"   {'  ' * depth}{node.name()}{shape}")
    for operand, _ in node.next_functions:
        if operand is not None:
            print_graph(operand, depth + 1)


# ANCHOR_END: graph


def print_dispatch(operator: str) -> None:
    """Prints where the dispatcher sends an operator whose operands are on the CPU."""
    for line in torch._C._dispatch_dump_table(f"aten::{operator}").splitlines():
        key, _, place = line.partition(": ")
        if key in ("AutogradCPU", "CPU"):
            file = re.search(r"/(\w+?)(_\d+)?\.cpp", place)
            print(f"   {operator:<8} {key:<14}{file.group(1) if file else place}")


def main() -> int:
    """One step of a network of 3, 4 and 2 units with two samples."""
    torch.manual_seed(1)
    model = pytorch_mlp.Mlp([3, 4, 2], torch.float32)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    x, y = torch.rand(2, 3), torch.tensor([0, 1])
    what = sys.argv[1:]
    if what == ["graph"]:
        loss = F.cross_entropy(model(x)[0][-1], y)
        print_graph(loss.grad_fn)
    elif what == ["operators"]:
        with Trace():
            print("forward")
            loss = F.cross_entropy(model(x)[0][-1], y)
            print("backward")
            loss.backward()
            print("update")
            sgd.step()
    elif what == ["dispatcher"]:
        for operator in ["linear", "addmm", "relu"]:
            print_dispatch(operator)
    else:
        print("error: name what to print: graph, operators or dispatcher", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
