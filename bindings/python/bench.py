"""Times the package beside NumPy in one process.

usage: python bench.py [--repeat N]

`Basis.fit` + `project` beside the textbook: the n × n Gram matrix, R K Rᵀ, eigh (n = 9,244, d = 300, m = 100).
`Candidates.rank` beside q @ cᵀ and argsort twice (3,300 queries, 33,010 candidates, p = 100). Times are the least of
N runs of ours, and one run of NumPy.
"""

import argparse
import time

import numpy as np

import dsokr


def seconds(work, repeat=1):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def textbook(y, m):
    """Coordinates in the basis of a Gaussian sketch of the cosine kernel."""
    unit = y / np.linalg.norm(y, axis=1, keepdims=True)
    r = np.random.default_rng(0).standard_normal((m, len(y))) / np.sqrt(m)
    kr = (unit @ unit.T) @ r.T
    values, vectors = np.linalg.eigh(r @ kr)
    keep = values > values.max() * 1e-10
    return kr @ (vectors[:, keep] / np.sqrt(values[keep]))


def argsort_twice(z, points, gold):
    order = np.argsort(-(z @ points.T), axis=1)
    return np.argsort(order, axis=1)[np.arange(len(z)), gold] + 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=11)
    repeat = parser.parse_args().repeat
    rng = np.random.default_rng(0)

    y = rng.standard_normal((9244, 300)).astype(np.float32)
    ours, basis = seconds(lambda: dsokr.Basis.fit(y, "cosine", dsokr.Gaussian(100)), repeat)
    projecting, targets = seconds(lambda: basis.project(y), repeat)
    wide = y.astype(np.float64)
    theirs, coordinates = seconds(lambda: textbook(wide, 100))
    assert targets.shape == coordinates.shape
    print(f"fit + project: {ours * 1e3:.1f} + {projecting * 1e3:.1f} ms, textbook NumPy {theirs:.2f} s, "
          f"{theirs / (ours + projecting):.0f} times as fast")

    z = rng.standard_normal((3300, 100)).astype(np.float32)
    points = rng.standard_normal((33010, 100)).astype(np.float32)
    gold = rng.integers(0, 33010, 3300)
    pool = dsokr.Candidates.from_points(points)
    ids = [str(at) for at in gold]
    ours, ranks = seconds(lambda: pool.rank(z, ids), repeat)
    theirs, positions = seconds(lambda: argsort_twice(z, points, gold))
    assert np.abs(ranks.ranks - positions).max() <= 1  # sums are rounded in different orders
    print(f"rank: {ours * 1e3:.0f} ms, argsort twice {theirs:.2f} s, {theirs / ours:.0f} times as fast")


if __name__ == "__main__":
    main()
