"""Deep Sketched Output Kernel Regression, from Python.

Outputs become target vectors (``Basis``), any model learns to predict them, and predictions are ranked exactly among
candidates (``Candidates``)::

    import dsokr

    Y = dsokr.molecules.features(smiles, kind="morgan", radius=2)
    psi = dsokr.Basis.fit(Y, kernel="cosine", sketch=dsokr.Gaussian(200), power=0.5)
    T = psi.project(Y)                           # (n, p) float32: the targets
    pool = dsokr.Candidates(psi, Y_all, ids=ids, labels=smiles_all)
    pool.rank(Z, gold=gold_ids).metrics(ci=0.95)
"""

from . import graphs, metrics, molecules
from ._basis import Basis, Projection, kernel_matrix, leverage_scores
from ._candidates import Candidates, Hit, rank_ensemble
from ._dsokr import Rows
from ._errors import ConfigError, Error, FileError
from ._rows import as_rows, to_scipy
from ._sketches import (
    Accumulation,
    CountSketch,
    Gaussian,
    Leverage,
    Sketch,
    SparsifiedGaussian,
    SparsifiedRademacher,
    Subsampling,
)

__all__ = [
    "Accumulation",
    "Basis",
    "Candidates",
    "ConfigError",
    "CountSketch",
    "Error",
    "FileError",
    "Gaussian",
    "Hit",
    "Leverage",
    "Projection",
    "Rows",
    "Sketch",
    "SparsifiedGaussian",
    "SparsifiedRademacher",
    "Subsampling",
    "as_rows",
    "graphs",
    "kernel_matrix",
    "leverage_scores",
    "metrics",
    "molecules",
    "rank_ensemble",
    "to_scipy",
]
