"""Deep Sketched Output Kernel Regression, from Python.

Outputs become target vectors (``Basis``), any model learns to predict them, and predictions are ranked exactly among
candidates (``Candidates``)::

    import dsokr

    Y = dsokr.molecules.features(smiles, kind="morgan", radius=2)
    psi = dsokr.Basis.fit(Y, kernel="cosine", sketch=dsokr.Gaussian(200), power=0.5)
    targets = psi.targets(Y)                     # psi.loss(model(x), targets[batch]) in a loop of PyTorch
    pool = dsokr.Candidates(psi, Y_all, ids=ids, labels=smiles_all)
    pool.rank(Z, gold=gold_ids).metrics(ci=0.95)

Or dsokr trains the model too (``train``), and reads it from its run directory (``Model``)::

    model = dsokr.fit(texts, smiles)             # or dsokr.train(configuration)
    model.search("a methyl ester of a steroid", k=5)
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import _dsokr, graphs, metrics, molecules
from ._basis import Basis, Projection, kernel_matrix, leverage_scores
from ._candidates import Candidates, rank_ensemble
from ._dsokr import Rows, __version__
from ._errors import ConfigError, Error, FileError
from ._hits import Hit, Hits
from ._rows import as_rows, join_rows
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
from ._targets import Targets

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
    "Hits",
    "Leverage",
    "Projection",
    "Rows",
    "Sketch",
    "SparsifiedGaussian",
    "SparsifiedRademacher",
    "Subsampling",
    "Targets",
    "__version__",
    "as_rows",
    "graphs",
    "join_rows",
    "kernel_matrix",
    "leverage_scores",
    "metrics",
    "molecules",
    "rank_ensemble",
]

# a package that was built without Burn has no runs
if TYPE_CHECKING or hasattr(_dsokr, "Runs"):
    from ._evaluation import Comparison, Evaluation, compare
    from ._event import Event
    from ._module import Encoder
    from ._run import Ensemble, Model, demo, fit, log_to, quickstart, train

    __all__ += [
        "Comparison",
        "Encoder",
        "Ensemble",
        "Evaluation",
        "Event",
        "Model",
        "compare",
        "demo",
        "fit",
        "log_to",
        "quickstart",
        "train",
    ]

if TYPE_CHECKING:
    from . import sklearn as sklearn
else:

    def __getattr__(name: str) -> Any:
        # on first use, since it needs scikit-learn
        if name == "sklearn":
            return importlib.import_module(f"{__name__}.sklearn")
        run = "Comparison Encoder Ensemble Evaluation Event Model compare demo fit log_to quickstart train".split()
        reason = ": this package was built without the feature `run`" if name in run else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{reason}")
