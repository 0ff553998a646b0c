"""Golden values of a learned output matrix: python crates/machines/tests/golden/output_matrix.py

The problem of `decomposable.rs`, min over M of rank at most r and f of (1/n) ‖Y − f(X)‖² + λ(‖f‖² + tr M): (2.133) of the thesis. With
the Kronecker system for f; block coordinate descent, M = (Cᵀ K C)^½ for C = AM of (2.134), and where that ends slowly
proximal gradient steps on W = K^½ C. M of a rank is that of the least objective of W = A Lᵀ among forty random starts, each by least
squares for A and L in turn.
"""

import numpy as np

n, d = 6, 3
x = np.arange(n) / 2
y = np.array([[i % 3, i * i % 5, i % 2] for i in range(n)], float)
K = np.exp(-0.5 * (x[:, None] - x) ** 2)


def root(a):
    s, v = np.linalg.eigh(a)
    return (v * np.sqrt(s.clip(0))) @ v.T


def coefficients(M, lam, rows=range(n)):
    rows = list(rows)
    k = K[np.ix_(rows, rows)]
    a = np.linalg.solve(np.kron(k, M) + n * lam * np.eye(len(rows) * d), y[rows].ravel())
    return a.reshape(-1, d) @ M


def descend(lam, v=np.eye(d), steps=2000):
    """M among the columns of v by block coordinate descent."""
    M = v @ v.T
    for _ in range(steps):
        C = coefficients(M, lam)
        M = v @ root(v.T @ C.T @ K @ C @ v) @ v.T
    return M


def proximal(lam, v=np.eye(d), steps=4000):
    """M among the columns of v by accelerated proximal gradient steps."""
    half, targets = root(K), y @ v
    rate = 0.5 * n / np.linalg.norm(K, 2)
    W = V = np.zeros(targets.shape)
    t = 1.0
    for _ in range(steps):
        u, s, w = np.linalg.svd(V + rate * 2 / n * half @ (targets - half @ V), full_matrices=False)
        new = (u * (s - 2 * rate * lam).clip(0)) @ w
        if ((V - new) * (new - W)).sum() > 0:
            t = 1.0
        t, before = (1 + np.sqrt(1 + 4 * t * t)) / 2, t
        V, W = new + (before - 1) / t * (new - W), new
    return v @ root(W.T @ W) @ v.T


def alternate(lam, rank, seed, steps=3000):
    """The objective and M of a rank from a random start."""
    half, ridge = root(K), n * lam * np.eye(rank)
    A = np.random.default_rng(seed).normal(size=(n, rank))
    for _ in range(steps):
        B = half @ A
        L = np.linalg.solve(B.T @ B + ridge, B.T @ y).T
        # A = (K ⊗ LᵀL + nλ I)⁻¹ K^½ Y L
        system = np.kron(K, L.T @ L) + n * lam * np.eye(n * rank)
        A = np.linalg.solve(system, (half @ y @ L).ravel()).reshape(n, rank)
    W = A @ L.T
    return ((y - half @ W) ** 2).sum() / n + 2 * lam * np.linalg.norm(W, "nuc"), root(W.T @ W)


np.set_printoptions(precision=8, suppress=True)
assert np.abs(descend(0.02) - proximal(0.02)).max() < 1e-5
for lam, rank in [(0.02, 3), (0.1, 3), (0.02, 1)]:
    M = proximal(lam)
    if rank < d:
        _, M = min((alternate(lam, rank, seed) for seed in range(40)), key=lambda found: found[0])
    rest = [[j for j in range(n) if j != i] for i in range(n)]
    left = np.array([K[i, own] @ coefficients(M, lam, own) for i, own in enumerate(rest)])
    print(f"λ = {lam}, rank {rank}: M\n{M}\nf(x_0), f(x_4)\n{(K @ coefficients(M, lam))[[0, 4]]}")
    print(f"leave-one-out error {((y - left) ** 2).sum() / n:.8f}")
print("M is 0 from λ =", np.linalg.norm(root(K) @ y, 2) / n)
