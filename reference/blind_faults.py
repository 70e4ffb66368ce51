"""Faults that tensor-diff didn't know: each is one edit of the NumPy network, run in float32.

They were written without a look at tensor-diff's explanations or its tests, and the table was
complete before the first run. `BLIND_RUN` keeps the verdicts of that run (2026-11-26): all 60
faults were found; 53 were explained right, 1 partly, 5 not at all and 1 falsely. tensor-diff has
changed since then.

    cargo build -p tensor-diff
    python3 reference/blind_faults.py target/debug/tensor-diff

makes each dump with an edited copy of this folder, and prints a table. Its verdict is "right" if
the line that starts with "Likely" has the words that the fault accepts, "none" if there is no such
line, and "to read" otherwise. `READ` has verdicts by hand. With names of faults, only these are
run, and tensor-diff's whole output is printed.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

REFERENCE = Path(__file__).resolve().parent

SOFTMAX = "    e = np.exp(z - z.max(axis=1, keepdims=True))\n"
SIGMOID = "    e = np.exp(-np.abs(z))\n    return np.where(z >= 0, 1, e) / (1 + e)\n"
LOG_P = "    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))\n"
CE = "    return -(y * log_p).sum(axis=1).mean()\n"
BCE = "    return (np.maximum(z, 0) - z * y + np.log1p(np.exp(-np.abs(z)))).mean()\n"
SQUARED = "    return ((z - y) ** 2 / 2).sum(axis=1).mean()\n"
DZ = "    return (p - y) / len(p)\n"
FORWARD = "    return a @ b.T\n"
DW = "    return a.T @ b\n"
DA = "    return a @ b\n"
DB = "    return dz.sum(axis=0)\n"
BIAS = "    return z + b\n"
RELU = "    return np.maximum(z, 0)\n"
MASK = "    return np.where(z > 0, da, 0)\n"
A_PREV = '        a_prev = t[f"a{n - 1}"] if n > 1 else t["x"]\n'
DW_LINE = '        t[f"dw{n}"] = matmul_at_b(t[f"dz{n}"], a_prev)\n'
DB_LINE = '        t[f"db{n}"] = sum_batch(t[f"dz{n}"])\n'
DA_LINE = '            t[f"da{n - 1}"] = matmul_a_b(t[f"dz{n}"], t[f"w{n}"])\n'
DZ_LINE = '            t[f"dz{n - 1}"] = relu_backward(t[f"da{n - 1}"], t[f"z{n - 1}"])\n'
NEXT = "            a = t[f\"a{n}\"] = relu(t[f\"z{n}\"])\n"
Z_LINE = '        t[f"z{n}"] = add_bias(matmul_a_bt(a, t[f"w{n}"]), t[f"b{n}"])\n'
UPDATE = "    parameter -= learning_rate * gradient\n"
ALL = '    for n in range(1, layers + 1):\n        update(t[f"w{n}"]'
START = '    forward(t, layers, loss)\n    t["loss"]'
SIG_OUT = '"bce": sigmoid'
PIXELS = '    v = np.rint((t["x"] * 0.3081 + 0.1307) * 255)\n'

# Words for a tensor of the step before.
BEFORE = r"previous|last (batch|step)|before|earlier|stale|step 0|step 1"

STATE = "    s = update.__dict__.setdefault(str(parameter.shape), [0.0, 0.0, 0])\n"
BITS = (
    "    def bits(v, add, keep):\n"
    "        u = np.ascontiguousarray(v, np.float32).view(np.uint32)\n"
    "        return ((u + np.uint32(add)) & np.uint32(keep)).view(np.float32)\n"
)
TF32 = BITS + "    tf32 = lambda v: bits(v, 0x1000, 0xFFFFE000)\n"


def x(*lines: str) -> tuple[str, str]:
    """An edit that runs these lines before the forward pass."""
    return START, "".join(f"    {line}\n" for line in lines) + START


# Name, fixture, first wrong tensor (`step/tensor` in a run), edit (a text that `numpy_mlp.py` has
# exactly once, and its replacement), mistake, accepted words (a regular expression).
FAULTS = [
    # The edges of arithmetic
    ("softmax-no-shift", "large-logits", "p", (SOFTMAX, "    e = np.exp(z)\n"),
     "softmax doesn't subtract the maximum, so exp overflows",
     r"maxim|overflow|shift"),
    ("softmax-no-shift-small", "subnormal", "p", (SOFTMAX, "    e = np.exp(z)\n"),
     "softmax doesn't subtract the maximum, so exp is subnormal",
     r"maxim|underflow|subnormal|shift"),
    ("ln-of-p", "large-logits", "loss",
     (LOG_P + CE, "    p = softmax(z)\n    return -np.log((p * y).sum(axis=1)).mean()\n"),
     "-ln p of a p that is 0 in float32", r"underflow|ln p|log.* of p|ln\(p\)|ln 0|p is 0"),
    ("sigmoid-exp-over", "saturated", "p", (SIGMOID, "    return np.exp(z) / (1 + np.exp(z))\n"),
     "exp(z)/(1 + exp(z)) is ∞/∞ for a large z", r"overflow|∞|infin|inf\b|exp\(z\)"),
    ("bce-ln-of-p", "saturated", "loss",
     (BCE, "    p = sigmoid(z)\n    return -np.where(y > 0, np.log(p), np.log(1 - p)).mean()\n"),
     "ln(1 - p) with p that rounds to 1 (or 0)", r"ln|log|underflow|1 [-−] p|rounds to 1"),
    ("bce-eps", "saturated", "loss",
     (BCE, "    p = sigmoid(z)\n    e = np.float32(1e-8)\n"
           "    return -(y * np.log(p + e) + (1 - y) * np.log(1 - p + e)).mean()\n"),
     "an eps of 1e-8 inside the logarithms", r"eps|1e-0?8|inside|10⁻⁸|added"),
    ("clip-p", "large-logits", "loss",
     (LOG_P, "    p = np.clip(softmax(z), 1e-7, 1)\n    log_p = np.log(p)\n"),
     "p is clipped to at least 1e-7 before the logarithm", r"clip|clamp|at least|1e-0?7|10⁻⁷"),
    ("global-maximum", "large-logits", "p", (SOFTMAX, "    e = np.exp(z - z.max())\n"),
     "softmax subtracts the maximum of the whole batch: other rows underflow",
     r"(whole|global|batch|all|one).*maxim|maxim.*(whole|global|batch|all)"),
    ("p-factor-saturated", "saturated", "dz2",
     (DZ, "    dp = (p - y) / (p * (1 - p))\n    return dp * p * (1 - p) / len(p)\n"),
     "dz through dp: 0/0 where p is exactly 0 or 1", r"p\(1|p ?· ?\(1|with respect to p|0/0|divi"),
    ("norm-of-zero", "zero-gradient", "w1_next",
     (ALL, '    norm = np.sqrt(sum((t[k] ** 2).sum() for k in t if k[:2] in ("dw", "db")))\n'
           "    learning_rate = learning_rate / norm\n" + ALL),
     "gradients are divided by their norm, which is 0", r"norm|0/0|divi"),
    # Losses
    ("ce-eps", "softmax", "loss", (LOG_P, "    log_p = np.log(softmax(z) + np.float32(1e-5))\n"),
     "an eps of 1e-5 inside the logarithm", r"eps|1e-0?5|inside|10⁻⁵|added|0\.00001|1\.0"),
    ("bce-positive-only", "batch-37", "loss",
     (BCE, "    return (y * np.log1p(np.exp(-z))).mean()\n"),
     "the loss lacks the term of 1 - y", r"1 [-−] y|term|only|positive"),
    ("loss-smoothed", "wide", "loss", (CE, "    y = y * 0.9 + 0.1 / y.shape[1]\n" + CE),
     "label smoothing of 0.1 in the loss only", r"smooth"),
    ("loss-double-softmax", "batch-67", "loss",
     ("    shifted = z - z.max(axis=1, keepdims=True)\n",
      "    z = softmax(z)\n    shifted = z - z.max(axis=1, keepdims=True)\n"),
     "the loss takes p for logits: softmax twice",
     r"twice|softmax of p|p (instead|in place|for)|softmax\(p|double"),
    ("dz-smoothed", "units-1025", "dz2",
     (DZ, "    y = y * 0.9 + 0.1 / y.shape[1]\n" + DZ),
     "label smoothing of 0.1 in the gradient only", r"smooth"),
    # Precision
    ("db-half-sum", "softmax", "db2",
     (DB, "    s = np.zeros(dz.shape[1], np.float16)\n    for row in dz:\n"
          "        s = (s + row).astype(np.float16)\n    return s.astype(np.float32)\n"),
     "db is accumulated in half", r"half|f16|fp16|float16"),
    ("dw-half-sum", "three-layer", "dw3",
     (DW, "    s = np.zeros((a.shape[1], b.shape[1]), np.float16)\n    for i, j in zip(a, b):\n"
          "        s = (s + np.outer(i, j)).astype(np.float16)\n    return s.astype(np.float32)\n"),
     "dw is accumulated in half", r"half|f16|fp16|float16"),
    ("tf32-forward", "softmax", "z1", (FORWARD, TF32 + "    return tf32(a) @ tf32(b).T\n"),
     "both factors are rounded to TF32", r"TF32"),
    ("tf32-low-part", "wide", "dw2",
     (DW, TF32 + "    hi, low = tf32(a), tf32(a - tf32(a))\n"
           "    return hi.T @ tf32(b) + low.T @ tf32(b)\n"),
     "3×TF32 without the low part of the right factor", r"low|TF32"),
    ("tf32-truncated", "batch-67", "z1",
     (FORWARD, BITS + "    cut = lambda v: bits(v, 0, 0xFFFFE000)\n    return cut(a) @ cut(b).T\n"),
     "both factors are cut off to TF32, towards zero", r"toward|trunc|cut"),
    ("bf16-weights", "squared-error", "z1",
     (FORWARD, BITS + "    return a @ bits(b, 0x8000, 0xFFFF0000).T\n"),
     "the weights are rounded to bf16", r"bf16|bfloat"),
    ("half-logits", "bce", "z2",
     (Z_LINE, Z_LINE + '        if n == layers:\n'
              '            t[f"z{n}"] = t[f"z{n}"].astype(np.float16).astype(np.float32)\n'),
     "the logits are rounded to half", r"half|f16|fp16|float16"),
    ("softmax-of-half", "batch-67", "p",
     (SOFTMAX, "    z = z.astype(np.float16).astype(np.float32)\n" + SOFTMAX),
     "softmax takes its logits rounded to half", r"half|f16|fp16|float16"),
    # p and dz
    ("dz-slope", "bce", "dz2", (DZ, "    return (p - y) * p * (1 - p) / len(p)\n"),
     "a sigmoid's slope p(1 - p) too many", r"p ?[·×]? ?\(1|slope"),
    ("dz-slope-softmax", "three-layer", "dz3", (DZ, "    return (p - y) * p * (1 - p) / len(p)\n"),
     "a sigmoid's slope p(1 - p) after softmax", r"p ?[·×]? ?\(1|slope"),
    ("dp-not-dz", "batch-37", "dz2", (DZ, "    return (p - y) / (p * (1 - p)) / len(p)\n"),
     "the gradient with respect to p, not z", r"respect to p|1 ?/ ?\(?p ?[·×]? ?\(1|p ?[·×]? ?\(1"),
    ("dp-cross-entropy", "batch-67", "dz2", (DZ, "    return -y / p / len(p)\n"),
     "-y/p, the gradient with respect to p, not z", r"respect to p|y ?/ ?p"),
    ("dz-mean-of-all", "batch-37", "dz2", (DZ, "    return (p - y) / p.size\n"),
     "divided by all elements, not by the batch", r"element|class|10|0\.1\b|370"),
    ("dz-next-class", "subnormal", "dz2", (DZ, "    return (p - np.roll(y, 1, axis=1)) / len(p)\n"),
     "1 is subtracted at the next class", r"class|label|column|shift|next|neighbo|target"),
    ("fast-exp", "three-layer", "p",
     (SOFTMAX, "    e = np.exp2((z - z.max(axis=1, keepdims=True)) * np.float32(1.44))\n"),
     "exp as 2^(1.44 z), with too few digits of log₂ e",
     r"1\.44|2\^|exp2|2ˣ|log₂|log2|base|temperature|logits? .*0\.998|0\.998"),
    # ReLU
    ("mask-at-zero", "kink", "dz1", (MASK, "    return np.where(z >= 0, da, 0)\n"),
     "the mask is z ≥ 0 instead of z > 0", r"≥|>=|z (is|=|==) 0|exactly 0|zero"),
    ("sigmoid-hidden", "squared-error", "a1", (RELU, "    return 1 / (1 + np.exp(-z))\n"),
     "a sigmoid instead of ReLU", r"sigmoid"),
    ("dw-of-z", "batch-37", "dw2",
     (A_PREV, '        a_prev = t[f"z{n - 1}"] if n > 1 else t["x"]\n'),
     "dw2 takes z1 instead of a1", r"z1|before ReLU|without ReLU|activation"),
    # Forward products and biases
    ("bias-of-sample", "batch-37", "z1",
     (BIAS, "    return z + b[np.arange(len(z)) % len(b)][:, None]\n"),
     "the bias is indexed by the sample", r"sample|row|batch"),
    ("w-transposed", "wide", "z1", (FORWARD, "    return a @ b.reshape(b.shape[::-1])\n"),
     "w is read with its axes exchanged", r"transpos|layout|axes|column|row-major|stride"),
    ("k-tail", "bce", "z1",
     (FORWARD, "    k = a.shape[1] // 32 * 32 or a.shape[1]\n    return a[:, :k] @ b[:, :k].T\n"),
     "the last 16 terms are missing (tiles of 32)", r"768|last 16|16 terms|stops|tail|tile"),
    ("one-of-four", "three-layer", "z1",
     (FORWARD, "    k = [k - (k % 4 == 3) for k in range(b.shape[1])]\n    return a @ b[:, k].T\n"),
     "each fourth term has its neighbour's weight",
     r"neighbo|(four|4).*(weight|w1|term)|term.*(four|4)"),
    ("rows-over-64", "batch-67", "z1",
     (FORWARD, "    z = a @ b.T\n    z[64:] = 0\n    return z\n"),
     "samples from 64 on aren't computed", r"64|sample|row"),
    ("unit-1024", "units-1025", "z1",
     (FORWARD, "    z = a @ b.T\n    z[:, 1024:] = 0\n    return z\n"),
     "units from 1024 on aren't computed", r"1024|last unit|last column|unit|column"),
    ("lost-tile", "softmax", "z1",
     (FORWARD, "    z = a @ b.T\n"
               "    z[:4, 16:32] -= a[:4, 96:128] @ b[16:32, 96:128].T\n    return z\n"),
     "a race: one block misses the terms 96..128", r"96|terms|tile|32"),
    # Backward products
    ("da-of-new-w", "one-unit", "da1",
     (DA_LINE, '            w = t[f"w{n}"] - np.float32(0.1) * t[f"dw{n}"]\n'
               '            t[f"da{n - 1}"] = matmul_a_b(t[f"dz{n}"], w)\n'),
     "da takes w2 after its update", r"update|w2_next|next|new|after"),
    ("dw-batch-twice", "wide", "dw2", (DW, "    return a.T @ b / len(a)\n"),
     "dw is divided by the batch again", r"batch|twice|0\.2\b|1/5|\b5\b"),
    ("db-unmasked", "three-layer", "db2",
     (DB_LINE, '        t[f"db{n}"] = sum_batch(t.get(f"da{n}", t[f"dz{n}"]))\n'),
     "db sums da, without ReLU's mask", r"da|mask"),
    ("db-last-sample", "bce", "db2", (DB, "    return dz[-1].copy()\n"),
     "a race of additions: only the last sample counts", r"last|sample|only|one"),
    # Data
    ("x-transposed", "softmax", "x",
     x('t["x"] = t["x"].reshape(-1, 28, 28).transpose(0, 2, 1).reshape(len(t["x"]), -1)'),
     "the images are transposed", r"transpos"),
    ("x-twice", "bce", "x", x('t["x"] = (t["x"] - np.float32(0.1307)) / np.float32(0.3081)'),
     "normalised twice", r"twice|again"),
    ("x-signed", "batch-37", "x",
     (START, PIXELS + '    v = np.where(v > 127, v - 256, v)\n'
             '    t["x"] = ((v / 255 - 0.1307) / 0.3081).astype(np.float32)\n' + START),
     "pixels are read as signed bytes", r"signed"),
    ("x-unit", "wide", "x",
     (START, PIXELS + '    t["x"] = (v / 255).astype(np.float32)\n' + START),
     "x/255 without mean and deviation", r"255|unit|normalised|deviation|0\.3081"),
    ("x-minus-one", "single", "x",
     (START, PIXELS + '    t["x"] = (v / 127.5 - 1).astype(np.float32)\n' + START),
     "pixels scaled to -1..1", r"127\.5|0\.5|affine|[-−]1|scale|·|×"),
    ("labels-shifted", "subnormal", "y", x('t["y"] = np.roll(t["y"], -1, axis=1)'),
     "the labels are one class too low", r"class|label|column|shift|left|lower|[-−]1"),
    ("x-reversed", "batch-67", "x", x('t["x"] = t["x"][::-1].copy()'),
     "the samples are in reverse order", r"revers|order|backward|permuted|sample|row"),
    # Updates and runs
    ("adam", "softmax-steps", "0/w1_next",
     (UPDATE, STATE + "    s[2] += 1\n    s[0] = 0.9 * s[0] + 0.1 * gradient\n"
              "    s[1] = 0.999 * s[1] + 0.001 * gradient**2\n"
              "    m, v = s[0] / (1 - 0.9 ** s[2]), s[1] / (1 - 0.999 ** s[2])\n"
              "    parameter -= learning_rate * m / (np.sqrt(v) + 1e-8)\n"),
     "Adam instead of SGD", r"Adam"),
    ("rmsprop", "bce-steps", "0/w1_next",
     (UPDATE, STATE + "    s[1] = 0.99 * s[1] + 0.01 * gradient**2\n"
              "    parameter -= learning_rate * gradient / (np.sqrt(s[1]) + 1e-8)\n"),
     "RMSprop instead of SGD", r"RMSprop"),
    ("momentum", "squared-error-steps", "1/w1_next",
     (UPDATE, STATE + "    s[0] = 0.9 * s[0] + gradient\n    parameter -= learning_rate * s[0]\n"),
     "SGD with a momentum of 0.9", r"momentum"),
    ("clip-norm", "one-unit", "w1_next",
     (ALL, '    norm = np.sqrt(sum((t[k] ** 2).sum() for k in t if k[:2] in ("dw", "db")))\n'
           "    learning_rate = learning_rate * min(1.0, 1.0 / float(norm))\n" + ALL),
     "gradients are clipped to a global norm of 1", r"clip|norm"),
    ("weight-decay", "three-layer", "w1_next",
     (UPDATE, "    parameter -= learning_rate * (gradient + 0.01 * parameter)\n"),
     "weight decay of 0.01", r"decay|L2"),
    ("not-zeroed", "softmax-steps", "1/dw2",
     (DW_LINE, DW_LINE + '        old = backward.__dict__.get(f"dw{n}", 0)\n'
               '        backward.__dict__[f"dw{n}"] = t[f"dw{n}"] = t[f"dw{n}"] + old\n'),
     "dw is added to the last step's", BEFORE + "|accumul|added to"),
    ("stale-x", "softmax-steps", "1/dw1",
     (A_PREV, A_PREV + "        if n == 1:\n"
              "            a_prev = backward.__dict__.get('x', t['x'])[: len(t['x'])]\n"
              "            backward.__dict__['x'] = t['x']\n"),
     "a race between streams: dw1 takes the last batch's x", BEFORE),
    ("stale-mask", "bce-steps", "1/dz1",
     (DZ_LINE, '            z = backward.__dict__.get(n, t[f"z{n - 1}"])\n'
               '            backward.__dict__[n] = t[f"z{n - 1}"]\n'
               '            t[f"dz{n - 1}"] = relu_backward(t[f"da{n - 1}"], z[: len(t["x"])])\n'),
     "the mask is made of the last step's z1", BEFORE),
    ("late-gradient", "squared-error-steps", "1/w1_next",
     (UPDATE, STATE + "    g, s[0] = (s[0] if s[2] else gradient), gradient.copy()\n    s[2] = 1\n"
              "    parameter -= learning_rate * g\n"),
     "the update takes the gradient of the step before", BEFORE),
]

# Legitimate differences: name, fixture, edit, description.
RIGHT = [
    ("sigmoid-plain", "saturated", (SIGMOID, "    return 1 / (1 + np.exp(-z))\n"),
     "1/(1 + exp(-z)): exp overflows to ∞, and p is rightly 0"),
    ("k-backwards", "wide", (FORWARD, "    return a[:, ::-1] @ b[:, ::-1].T\n"),
     "the terms are added in reverse order"),
    ("dw-one-by-one", "batch-67",
     (DW, "    s = np.zeros((a.shape[1], b.shape[1]), np.float32)\n"
          "    for i, j in zip(a[::-1], b[::-1]):\n"
          "        s += np.outer(i, j)\n    return s\n"),
     "dw adds one sample after the other, the last one first"),
    ("double-sums", "softmax",
     (FORWARD, "    return (a.astype(np.float64) @ b.astype(np.float64).T).astype(np.float32)\n"),
     "products are accumulated in double"),
    ("global-maximum-right", "batch-67", (SOFTMAX, "    e = np.exp(z - z.max())\n"),
     "the maximum of the whole batch, with small logits"),
    ("minus-ln-p", "wide",
     (LOG_P + CE, "    return -np.log((softmax(z) * y).sum(axis=1)).mean()\n"),
     "-ln p, where p isn't small"),
    ("reciprocal", "one-unit",
     (DZ, "    return p * np.float32(1 / len(p)) - y * np.float32(1 / len(p))\n"),
     "1/B is rounded and multiplied with each of p and y"),
    ("tanh", "bce", (SIGMOID, "    return (1 + np.tanh(z / 2)) / 2\n"), "the sigmoid by tanh"),
    ("log-sum-exp", "large-logits",
     (SOFTMAX + "    return e / e.sum(axis=1, keepdims=True)\n",
      "    z = z - z.max(axis=1, keepdims=True)\n"
      "    return np.exp(z - np.log(np.exp(z).sum(axis=1, keepdims=True)))\n"),
     "softmax as exp(z - log Σ exp z)"),
    ("z-times-mask", "kink", (RELU, "    return z * (z > 0)\n"),
     "ReLU as a product, which gives -0"),
    ("fused-update", "squared-error-steps",
     (UPDATE, "    parameter[...] = parameter.astype(np.float64) "
              "- learning_rate * gradient.astype(np.float64)\n"),
     "the update with one rounding, as by a fused multiply-add"),
    ("flushed", "subnormal",
     (BIAS, "    z = z + b\n"
            "    return np.where(np.abs(z) < np.float32(1.1754944e-38), np.float32(0), z)\n"),
     "subnormal z are flushed to zero"),
    ("bias-as-column", "softmax-steps",
     (Z_LINE, '        ones = np.ones((len(a), 1), a.dtype)\n'
              '        w = np.hstack([t[f"b{n}"][:, None], t[f"w{n}"]])\n'
              '        t[f"z{n}"] = matmul_a_bt(np.hstack([ones, a]), w)\n'),
     "the bias as one more column of w"),
    ("three-tf32", "batch-37",
     (FORWARD, TF32 + "    ah, bh = tf32(a), tf32(b)\n    al, bl = tf32(a - ah), tf32(b - bh)\n"
               "    return ah @ bh.T + (al @ bh.T + ah @ bl.T)\n"),
     "three products of TF32, which is nearly float32"),
    ("k-in-blocks", "three-layer",
     (FORWARD, "    return sum(a[:, k : k + 16] @ b[:, k : k + 16].T "
               "for k in range(0, a.shape[1], 16))\n"),
     "split-K: blocks of 16 terms, then their sum"),
]

# Verdicts by hand: a part of the explanation that was read, the verdict, the reason. A verdict
# holds while the explanation has that part.
READ = {
    "bce-ln-of-p": ("infinity: exp(z) overflows", "false", "ln(1 + exp(±z)) isn't in the code"),
    "p-factor-saturated": ("not finite.", "none", "it only says where the NaN are"),
    "tf32-truncated": ("cut to half", "partly", "it is cut, but to TF32"),
    "dz-next-class": ("y is read one", "right", "y that is read too early is the same mistake"),
    "global-maximum": ("whole batch", "right", "the largest z of the whole batch is subtracted"),
    "x-minus-one": ("what it should be - ", "right", "the affine change, in numbers"),
    "labels-shifted": ("read one column", "right", "y that is read too far is the same mistake"),
}

# The blind run's verdicts; "right" for all other faults.
BLIND_RUN = {
    "softmax-no-shift-small": "none",
    "bce-eps": "none",
    "ce-eps": "none",
    "loss-double-softmax": "none",
    "p-factor-saturated": "none",
    "bce-ln-of-p": "false",
    "tf32-truncated": "partly",
}


def judge(tensor_diff: Path, folder: Path, fixture: str, edit: tuple[str, str]) -> tuple[int, str]:
    """tensor-diff's exit code and output for the dump of the edited network."""
    code = (REFERENCE / "numpy_mlp.py").read_text()
    if code.count(edit[0]) != 1:
        sys.exit(f"error: numpy_mlp.py has this {code.count(edit[0])} times, not once:\n{edit[0]}")
    program, made = folder / "edited.py", folder / "made.json"
    program.write_text(code.replace(*edit))
    expected = next((REFERENCE / "dumps").glob(f"{fixture}.json*"))
    command = ["dump", "--inputs", expected, "--dtype", "f32", "--out", made]
    subprocess.run([sys.executable, "-W", "ignore", program, *command], check=True)
    ran = subprocess.run(
        [tensor_diff, expected, made], check=False, capture_output=True, text=True
    )
    return ran.returncode, ran.stdout + ran.stderr


def is_found(code: int, text: str, first: str) -> str:
    """Whether the dump is rejected, and for its first wrong tensor."""
    step = re.search(r"^step (\d+):$", text, re.M)
    tensor = re.search(r"^(\w+) is the first tensor", text, re.M)
    if code != 1 or not tensor:
        return "no"
    return "yes" if (f"{step[1]}/" if step else "") + tensor[1] == first else "elsewhere"


def explained(name: str, text: str, words: str) -> str:
    """The verdict on an explanation: right, partly, none, false or to read."""
    said = " ".join(line for line in text.splitlines() if line.startswith("Likely"))
    part, verdict, why = READ.get(name, ("", "", ""))
    if verdict and said and part in said:
        return f"{verdict} (by hand: {why})"
    return "none" if not said else "right" if re.search(words, said) else "to read"


def main() -> None:
    """Runs the faults and the legitimate differences, and prints a table and its totals."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tensor_diff", type=Path, help="path of tensor-diff")
    parser.add_argument("names", nargs="*", help="faults to run (default: all)")
    arguments = parser.parse_args()
    tensor_diff = arguments.tensor_diff.resolve()
    totals: dict[str, Counter[str]] = {"found": Counter(), "now": Counter(), "blind": Counter()}
    print("| fault | fixture | found | explanation | in the blind run |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for file in REFERENCE.glob("*.py"):
            shutil.copy(file, folder)
        for name, fixture, first, edit, _, words in FAULTS:
            if arguments.names and name not in arguments.names:
                continue
            code, text = judge(tensor_diff, folder, fixture, edit)
            found, now = is_found(code, text, first), explained(name, text, words)
            blind = BLIND_RUN.get(name, "right")
            for column, value in zip(totals, (found, now.split(" (")[0], blind)):
                totals[column][value] += 1
            print(f"| {name} | {fixture} | {found} | {now} | {blind} |", flush=True)
            if arguments.names:
                print(text)
        accused = []
        for name, fixture, edit, _ in RIGHT:
            if not arguments.names or name in arguments.names:
                code, text = judge(tensor_diff, folder, fixture, edit)
                accused += [name] if code else []
                if arguments.names:
                    print(text)
    print()
    for column, counts in totals.items():
        print(f"{column}: " + ", ".join(f"{count} {value}" for value, count in counts.items()))
    print(f"legitimate differences that are reported: {', '.join(accused) or 'none'}")


if __name__ == "__main__":
    main()
