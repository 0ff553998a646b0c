"""Golden values of weights of input kernels by leave-one-out errors: python crates/machines/tests/golden/held_out_weights.py

The problem of `weighting.rs`: 30 inputs, Gaussian kernels of one column each, of which the last says nothing, and outputs with the
linear kernel. Each error is that of 30 fits without an input; SciPy finds the weights of any sum. Then the same where every third
pair has the weight 4: the fits weigh the squared errors, and a pair is left out with all of its weight.
"""
import numpy as np
from scipy.optimize import minimize

n = 30
i = np.arange(n)
x = np.stack([np.sin(1.7 * i + 2.3 * j * j + 0.3) for j in range(4)], 1)
noise = np.sin(12.9898 * i + 78.233) * 43758.5453 % 0.8 - 0.4
y = np.stack([x[:, 0] + 0.5 * x[:, 1] ** 2 + noise, x[:, 1] * x[:, 2]], 1)
kernels = [np.exp(-2 * (c[:, None] - c) ** 2) for c in x.T]


def error(w, lam, pairs):
    K, total = sum(a * k for a, k in zip(w, kernels)), 0
    for out in range(n):
        rest = np.delete(i, out)
        ridge = lam * pairs.sum() * np.diag(1 / pairs[rest])
        fitted = K[out, rest] @ np.linalg.solve(K[np.ix_(rest, rest)] + ridge, y[rest])
        total += pairs[out] * ((y[out] - fitted) ** 2).sum()
    return total / pairs.sum()


lam = 0.01
for pairs in [np.ones(n), np.where(i % 3 == 0, 4.0, 1.0)]:
    print("equal weights:", round(error(np.full(4, 0.25), lam, pairs), 6))
    for start in [np.full(4, 0.25), *np.eye(4) * 0.7 + 0.075, np.ones(4) * 0.01]:
        options = {"ftol": 1e-13, "maxiter": 1000}
        found = minimize(error, start, (lam, pairs), "L-BFGS-B", bounds=[(0, None)] * 4, options=options)
        print((found.x / found.x.sum()).round(4), found.x.sum().round(4), found.fun.round(6))
