"""An index of a run's candidates by usearch, and its recall against the exact search.

usage: python recall.py FOLDER Z.npy [K]

`dsokr export RUN --candidates --out FOLDER` writes the candidates, and `dsokr embed RUN texts.tsv --out Z.npy` the
predictions. Where the run scales predictions, divide the rows of Z.npy by their lengths first.
"""

import sys
import time
from pathlib import Path

import numpy as np
from usearch.index import Index


def nearest(index, z, k):
    """The k candidates of each prediction, best first: the neighbours of z with a 0 at its end."""
    return index.search(np.pad(z, ((0, 0), (0, 1))), k).keys.reshape(len(z), -1)


def main(folder, z, k=10):
    folder, z, k = Path(folder), np.load(z), int(k)
    vectors, points = np.load(folder / "candidates-l2.npy"), np.load(folder / "candidates.npy")
    constants = np.load(folder / "constants.npy")
    begun = time.perf_counter()
    index = Index(ndim=vectors.shape[1], metric="l2sq", dtype="f32")
    index.add(np.arange(len(vectors)), vectors)
    built = time.perf_counter()
    found = nearest(index, z, k)
    searched = time.perf_counter()
    hits = 0
    for start in range(0, len(z), 256):
        scores = z[start : start + 256].astype(np.float64) @ points.T + constants
        least = np.partition(scores, -k, axis=1)[:, -k, None]
        own = np.take_along_axis(scores, found[start : start + 256].astype(np.int64), axis=1)
        # candidates that tie with the k-th best are as good
        hits += (own >= least - 1e-9).sum()
    print(f"{len(vectors)} candidates in {vectors.shape[1]} dimensions: built in {built - begun:.2f} s")
    print(f"{len(z)} queries: {1e3 * (searched - built) / len(z):.3f} ms each")
    print(f"recall@{k}: {hits / (len(z) * k):.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
