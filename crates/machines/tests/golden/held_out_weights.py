"""Golden values of weights of input kernels by leave-one-out errors: python crates/machines/tests/golden/held_out_weights.py

The problem of `weighting.rs`: 30 inputs, Gaussian kernels of one column each, of which the last says nothing, and outputs with the
linear kernel. Each error is that of 30 fits without an input; SciPy finds the weights of any sum.
"""
import numpy as np
from scipy.optimize import minimize

n = 30
i = np.arange(n)
x = np.stack([np.sin(1.7 * i + 2.3 * j * j + 0.3) for j in range(4)], 1)
noise = np.sin(12.9898 * i + 78.233) * 43758.5453 % 0.8 - 0.4
y = np.stack([x[:, 0] + 0.5 * x[:, 1] ** 2 + noise, x[:, 1] * x[:, 2]], 1)
kernels = [np.exp(-2 * (c[:, None] - c) ** 2) for c in x.T]


def error(w, lam):
    K, total = sum(a * k for a, k in zip(w, kernels)), 0
    for out in range(n):
        rest = np.delete(i, out)
        fitted = K[out, rest] @ np.linalg.solve(K[np.ix_(rest, rest)] + n * lam * np.eye(n - 1), y[rest])
        total += ((y[out] - fitted) ** 2).sum()
    return total / n


lam = 0.01
print("equal weights:", round(error(np.full(4, 0.25), lam), 6))
for start in [np.full(4, 0.25), *np.eye(4) * 0.7 + 0.075, np.ones(4) * 0.01]:
    found = minimize(error, start, (lam,), "L-BFGS-B", bounds=[(0, None)] * 4, options={"ftol": 1e-13, "maxiter": 1000})
    print((found.x / found.x.sum()).round(4), found.x.sum().round(4), found.fun.round(6))
