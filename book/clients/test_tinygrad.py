"""A layer in tinygrad, forward and backward, compared with NumPy."""

# ANCHOR: test
import numpy as np
from tinygrad import Device, Tensor


def test_layer():
    assert Device.DEFAULT == "CUDA"
    generator = np.random.default_rng(1)
    x, w = generator.random((8, 784), np.float32), generator.random((30, 784), np.float32) - 0.5
    weights = Tensor(w)
    a = (Tensor(x) @ weights.T).sigmoid()
    (dw,) = a.sum().gradient(weights)

    expected = 1 / (1 + np.exp(-(x.astype(np.float64) @ w.T)))
    np.testing.assert_allclose(a.numpy(), expected, rtol=1e-4, atol=1e-6)
    gradient = (expected * (1 - expected)).T @ x
    np.testing.assert_allclose(dw.numpy(), gradient, rtol=1e-3, atol=1e-4)
# ANCHOR_END: test
