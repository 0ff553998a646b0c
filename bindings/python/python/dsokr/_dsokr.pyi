from _typeshed import SupportsGetItem
from collections.abc import Callable
from numpy import float32, float64, int64, uint8
from numpy.typing import NDArray
from os import PathLike
from pathlib import Path
from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = ["__version__", "Basis", "Candidates", "Control", "Evaluation", "Graph", "GraphVocabulary", "KernelMachine", "Ranks", "Rows", "Runs", "canonical_smiles", "check_rounding", "compare_runs", "demo", "drawing", "edit_distances", "kernel_matrix", "leverage_scores", "molecule_features", "molecule_graphs", "quickstart", "rank_ensemble", "rank_scores", "reads_vectors", "sketch_matrix", "train", "write_pairs"]

__version__: Final[str]

@final
class Basis:
    """
    An orthonormal basis of the space that a sketch of the training outputs spans.
    """
    @property
    def description(self, /) -> str:
        """
        Returns the settings of the basis, as JSON.
        """
    @staticmethod
    def fit(rows: Rows, kernel: str, sketch: str, size: SupportsIndex, seed: SupportsIndex, tolerance: SupportsFloat | SupportsIndex, tempering: tuple[SupportsFloat | SupportsIndex, bool, bool] | None) -> Basis:
        """
        Fits a basis; `kernel` and `sketch` are tables of a configuration as JSON, `tempering` is
        (power, centred, normalised).
        """
    @staticmethod
    def load(path: str | PathLike[str]) -> Basis:
        """
        Reads a file that `save` wrote.
        """
    def project(self, /, rows: Rows) -> tuple[NDArray[float32], NDArray[float64], NDArray[float64]]:
        """
        Returns coordinates [n × p], k(y, y) and squared distances from the span, of n outputs.
        """
    @property
    def rank(self, /) -> int:
        """
        Returns p, the number of coordinates.
        """
    def save(self, /, path: str | PathLike[str]) -> None:
        """
        Writes a file.
        """
    @property
    def spectrum(self, /) -> NDArray[float64]:
        """
        Returns the p eigenvalues, descending.
        """
    @staticmethod
    def sum(bases: SupportsGetItem[int, Basis], weights: SupportsGetItem[int, SupportsFloat | SupportsIndex], rows: Rows, size: SupportsIndex) -> Basis:
        """
        Fits the basis of a weighted sum of kernels, each on its own columns of joined rows.
        """

@final
class Candidates:
    """
    Candidates in memory, on which predictions are ranked.
    """
    def __len__(self, /) -> int: ...
    @property
    def columns(self, /) -> list[tuple[str, list[str]]]:
        """
        Returns the columns behind ids and labels: the name of each, and the cell of each candidate.
        """
    @property
    def constants(self, /) -> NDArray[float32]:
        """
        Returns b(c) of each candidate.
        """
    def coordinates_of(self, /, ids: SupportsGetItem[int, str]) -> NDArray[float32]:
        """
        Coordinates of the candidates with these ids.
        """
    @property
    def dim(self, /) -> int:
        """
        p.
        """
    @property
    def duplicates(self, /) -> int:
        """
        Candidates that are the same point as an earlier one.
        """
    @property
    def ids(self, /) -> list[str]:
        """
        Returns all ids, in order.
        """
    @property
    def labels(self, /) -> list[str]:
        """
        Returns labels of the candidates, in order.
        """
    @staticmethod
    def load(path: str | PathLike[str], normalised: bool) -> Candidates:
        """
        Reads a file that `save` wrote; `normalised` is whether k(c, c) = 1.
        """
    @property
    def normalised(self, /) -> bool:
        """
        Whether k(c, c) = 1, so that scores are comparable with those of other such kernels.
        """
    @staticmethod
    def points(points: NDArray[float32], ids: SupportsGetItem[int, str], labels: SupportsGetItem[int, str], columns: SupportsGetItem[int, tuple[str, SupportsGetItem[int, str]]]) -> Candidates:
        """
        Creates candidates of points that are given, each with its constant in the last column; equal rows are one.
        """
    @staticmethod
    def project(basis: Basis, rows: Rows, ids: SupportsGetItem[int, str], labels: SupportsGetItem[int, str], columns: SupportsGetItem[int, tuple[str, SupportsGetItem[int, str]]]) -> Candidates:
        """
        Creates candidates of outputs in a basis: each distinct one is projected once, with the constant −½ k(c, c), or 0
        where the kernel is normalised.
        """
    def rank(self, /, predictions: NDArray[float32], gold: SupportsGetItem[int, str], names: SupportsGetItem[int, str], missing: str, lists: SupportsGetItem[int, SupportsGetItem[int, str]] | None) -> Ranks:
        """
        Returns ranks of the gold candidates, by id, among all candidates or the lists of ids of each query.
        """
    def save(self, /, path: str | PathLike[str]) -> None:
        """
        Writes a file that `load` reads, to send candidates to a different process.
        """
    def top_k(self, /, predictions: NDArray[float32], k: SupportsIndex) -> tuple[NDArray[int64], NDArray[float32]]:
        """
        Returns indices and scores of the k best candidates of each query, best first.
        """
    def with_hubs(self, /, predictions: NDArray[float32], neighbours: SupportsIndex, weight: SupportsFloat | SupportsIndex) -> Candidates:
        """
        Returns the candidates with their constants lowered by `weight` times h(c), the mean of the `neighbours` largest similarities
        of a candidate with held-out predictions.
        """

@final
class Control:
    """
    A training at a step or an evaluation, while its callback runs.
    """
    def evaluate(self, /) -> None:
        """
        Asks for an evaluation after the step that has been done.
        """
    @property
    def learning_rate(self, /) -> float:
        """
        Returns the learning rate of the next step.
        """
    def parameters(self, /) -> dict[str, Any]:
        """
        Returns the parameters of the model by name.
        """
    def scale_learning_rate(self, /, factor: SupportsFloat | SupportsIndex) -> None:
        """
        Multiplies the learning rate of all further steps.
        """
    def set_learning_rate(self, /, rate: SupportsFloat | SupportsIndex) -> None:
        """
        Sets the learning rate of all further steps.
        """
    def stop(self, /) -> None:
        """
        Ends the training here, as an early stop does.
        """

@final
class Evaluation:
    """
    The evaluation of a model or an ensemble on queries.
    """
    def __str__(self, /) -> str:
        """
        Returns the metrics as a table.
        """
    @staticmethod
    def from_json(text: str) -> Evaluation:
        """
        Reads what `to_json` gave.
        """
    def intervals(self, /) -> str:
        """
        Returns 95 % intervals of all metrics, as JSON.
        """
    @property
    def ranks(self, /) -> Ranks:
        """
        Returns the ranks of the gold candidates.
        """
    @property
    def rows(self, /) -> list[tuple[str, str | None, str, tuple[str, str, float] | None]]:
        """
        Returns for each query its name, its text where it has one, the id of its gold, and its best candidate.
        """
    @property
    def scores(self, /) -> str:
        """
        Returns the metrics, those of a random order of the candidates, names and metrics of the members of an
        ensemble, why the metrics say less about new queries, and the number of groups of queries, as JSON.
        """
    def to_json(self, /) -> str:
        """
        Returns everything but the outputs that only reports show, as JSON, which `from_json` reads.
        """

@final
class Graph:
    """
    An undirected graph whose nodes and edges have labels.
    """
    def __len__(self, /) -> int: ...
    def __new__(cls, /, labels: SupportsGetItem[int, SupportsIndex | str], edges: SupportsGetItem[int, tuple[SupportsIndex, SupportsIndex, SupportsIndex | str]]) -> Graph: ...
    @property
    def edges(self, /) -> list[tuple[int, int, int]]:
        """
        Returns every edge once: (smaller node, larger node, label).
        """
    @property
    def labels(self, /) -> list[int]:
        """
        Labels of the nodes; names as their hashes.
        """
    def without_edge_labels(self, /) -> Graph:
        """
        Returns this graph with all edges labelled 0.
        """

@final
class GraphVocabulary:
    """
    The features of a graph kernel with a column each.
    """
    @property
    def features(self, /) -> list[int]:
        """
        Returns the features, in the order of their columns.
        """
    @staticmethod
    def fit(kernel: str, graphs: SupportsGetItem[int, Graph]) -> tuple[GraphVocabulary, Rows]:
        """
        Returns the features that occur in `graphs`, and their rows; `kernel` is a table of a configuration as
        JSON.
        """
    @staticmethod
    def from_features(kernel: str, features: SupportsGetItem[int, SupportsIndex]) -> GraphVocabulary:
        """
        Creates the vocabulary of a kernel, a table of a configuration as JSON, with the features of an earlier one.
        """
    def rows(self, /, graphs: SupportsGetItem[int, Graph]) -> Rows:
        """
        Returns the rows of graphs; what is not in the vocabulary is the last column.
        """
    @property
    def width(self, /) -> int:
        """
        Returns the width of the rows.
        """

@final
class KernelMachine:
    """
    A fitted kernel ridge regression: `z(x) = Σ_j k(x, a_j) A_j`.
    """
    @property
    def basis(self, /) -> Basis | None:
        """
        Returns the basis of the outputs, where they are sketched.
        """
    def candidates(self, /, outputs: Rows, ids: SupportsGetItem[int, str], labels: SupportsGetItem[int, str], columns: SupportsGetItem[int, tuple[str, SupportsGetItem[int, str]]]) -> Candidates:
        """
        Outputs as candidates of the predictions.
        """
    @staticmethod
    def load(folder: str | PathLike[str]) -> KernelMachine:
        """
        Reads files that `save` wrote.
        """
    def predict(self, /, rows: Rows) -> NDArray[float32]:
        """
        Returns predictions of input rows, one row each.
        """
    @staticmethod
    def ridge(rows: Rows, kernel: str, targets: NDArray[float64], lambda_: SupportsFloat | SupportsIndex, sketch: tuple[str, SupportsIndex] | None, seed: SupportsIndex, weights: SupportsGetItem[int, SupportsFloat | SupportsIndex] | None) -> KernelMachine:
        """
        Fits the least of `Σ_i w_i ‖h(x_i) − y_i‖² / Σ_i w_i + λ ‖h‖²`, over all functions, or over those in the span of a sketch
        of the inputs; without `weights` all w are 1.
        """
    def save(self, /, folder: str | PathLike[str]) -> None:
        """
        Writes files into a folder.
        """
    @staticmethod
    def structured(rows: Rows, kernel: str, outputs: Rows, output_kernel: str, output_sketch: tuple[str, SupportsIndex] | None, lambda_: SupportsFloat | SupportsIndex, sketch: tuple[str, SupportsIndex] | None, seed: SupportsIndex, weights: SupportsGetItem[int, SupportsFloat | SupportsIndex] | None) -> KernelMachine:
        """
        Fits a ridge regression onto outputs ψ(y) of a kernel's feature space, in the basis of a sketch of the training
        outputs, or in their span; pairs have `weights` as those of `ridge`.
        """
    @property
    def width(self, /) -> int:
        """
        Returns how many numbers a prediction has.
        """

@final
class Ranks:
    """
    The rank of the gold candidate of each query, ties included.
    """
    def __len__(self, /) -> int: ...
    @property
    def arrays(self, /) -> tuple[NDArray[float64], NDArray[float64], NDArray[int64], NDArray[int64]]:
        """
        Returns four arrays with a number for each query: E[rank], from 1 and infinite without a gold candidate; E[1/rank], else 0;
        the candidates with a higher score than the gold one, else −1; and the others with its score, else 0.
        """
    def chance(self, /) -> Ranks:
        """
        Returns the metrics of a random order of the same candidates.
        """
    def compare(self, /, other: Ranks, resamples: SupportsIndex, seed: SupportsIndex) -> str:
        """
        Compares with the ranks of a second model by a paired bootstrap of the differences, as JSON.
        """
    @staticmethod
    def from_json(text: str) -> Ranks:
        """
        Reads what `to_json` gave.
        """
    def hits(self, /, k: SupportsIndex) -> NDArray[float64]:
        """
        Returns P(rank ≤ k) of each query.
        """
    def metrics(self, /, k: SupportsGetItem[int, SupportsIndex], resamples: SupportsIndex | None, seed: SupportsIndex) -> dict[str, Any]:
        """
        Returns metrics by name, with 95 % bootstrap intervals unless `resamples` is none.
        """
    def to_json(self, /) -> str:
        """
        Returns the ranks, and the numbers of candidates and of duplicates, as JSON, which `from_json` reads.
        """

@final
class Rows:
    """
    Rows of features: dense numbers, packed bits, or sparse numbers.
    """
    def __array__(self, /, dtype: Any | None = None, copy: bool | None = None) -> Any:
        """
        Returns all rows as a dense array, which NumPy asks for.
        """
    def __getitem__(self, index: Any, /) -> Rows:
        """
        Copies of the rows that an index of NumPy chooses: a number, a slice, a list of numbers, or a mask.
        """
    def __iter__(self, /) -> Any:
        """
        Returns the rows as dense vectors, one after the other.
        """
    def __len__(self, /) -> int: ...
    def __repr__(self, /) -> str: ...
    @staticmethod
    def bits(packed: NDArray[uint8], width: SupportsIndex, name: str) -> Rows:
        """
        Creates rows of packed bits as `numpy.packbits` makes them of each row, ⌈width/8⌉ bytes a row.
        """
    def csr(self, /) -> tuple[NDArray[int64], NDArray[int64], NDArray[float32]]:
        """
        Returns all rows in compressed form: offsets, columns, values.
        """
    @staticmethod
    def dense(array: NDArray[float32], name: str) -> Rows:
        """
        Copies an array in C order, which errors call `name`.
        """
    @property
    def dtype(self, /) -> Any:
        """
        Returns the type of the numbers, as NumPy has it.
        """
    @staticmethod
    def joined(parts: SupportsGetItem[int, Rows]) -> Rows:
        """
        Rows side by side: the columns of each part after those of the parts before it; the rows are sparse.
        """
    @property
    def kind(self, /) -> str:
        """
        Returns "dense", "bit" or "sparse".
        """
    def select(self, /, indices: SupportsGetItem[int, SupportsIndex]) -> Rows:
        """
        Copies of some rows, in that order; an index may be repeated.
        """
    @property
    def shape(self, /) -> tuple[int, int]:
        """
        Returns (rows, columns).
        """
    @staticmethod
    def sparse(width: SupportsIndex, offsets: NDArray[int64], columns: NDArray[int64], values: NDArray[float32], name: str) -> Rows:
        """
        Creates compressed sparse rows with increasing columns.
        """
    def to_scipy(self, /) -> Any:
        """
        Returns the rows as a `scipy.sparse.csr_array`; needs SciPy.
        """
    def toarray(self, /) -> NDArray[float32]:
        """
        Returns all rows as a dense array.
        """

@final
class Runs:
    """
    One trained model, or several that are combined.
    """
    def calibration(self, /, coverage: SupportsFloat | SupportsIndex, candidates: str | None) -> str:
        """
        Returns the calibration of sets of candidates with a coverage, as JSON.
        """
    @property
    def candidates(self, /) -> Candidates:
        """
        Returns the candidates of the first member.
        """
    @property
    def description(self, /) -> str:
        """
        Returns names of the members, the rule that combines them, and the configuration of the first one, as JSON.
        """
    def embed(self, /, queries: Rows | SupportsGetItem[int, str], scaled: bool) -> NDArray[float32]:
        """
        Returns coordinates of texts or rows that the first member predicts; with `scaled` as they are scored.
        """
    def evaluate(self, /, split: str | None, queries: str | PathLike[str] | None, query_id: str | None, filter_known: bool, candidates: str | None, least_candidates: SupportsIndex | None, missing_gold: str | None, mces: bool, data: str | PathLike[str] | None, coordinates: NDArray[float32] | None) -> Evaluation:
        """
        Ranks the queries of a split or a file, with the coordinates that are given or predicted ones.
        """
    @property
    def offset(self, /) -> NDArray[float32] | None:
        """
        Returns what the first member adds to the coordinates of its module of PyTorch; none for other encoders.
        """
    @staticmethod
    def open(paths: SupportsGetItem[int, str | PathLike[str]], device: str, rule: str | None, fit_weights: bool, data: str | PathLike[str] | None, beyond: str | None, encoder: Any | None) -> Runs:
        """
        Reads run directories; `rule` is a table of a configuration as JSON. With `fit_weights` the
        weights are fitted on the validation split. `beyond` are settings of a search as JSON.
        """
    def rank(self, /, queries: Rows | SupportsGetItem[int, str], gold: SupportsGetItem[int, str], names: SupportsGetItem[int, str], missing: str, lists: SupportsGetItem[int, SupportsGetItem[int, str]] | None) -> Ranks:
        """
        Returns ranks of the gold candidates, by id, for texts or rows under the first member with its reranker, among all candidates or
        the lists of ids of each query.
        """
    def score(self, /, texts: SupportsGetItem[int, str], molecules: SupportsGetItem[int, str], skip: bool) -> list[float]:
        """
        Returns the score of each pair of a text and a molecule, in their order; NaN for a molecule that cannot be read, where
        these are skipped.
        """
    def search(self, /, queries: Rows | SupportsGetItem[int, str], k: SupportsIndex, coverage: SupportsFloat | SupportsIndex | None, candidates: str | None, filter: str | None) -> list[str]:
        """
        Returns an answer as JSON for each text or row: its best `k` candidates, or with `coverage` the set that holds a right
        output with this probability, and what else the configuration predicts.

        `candidates` is `mass:PPM`, `formula` or `all`, and `filter` a condition on candidates.
        """

def canonical_smiles(smiles: SupportsGetItem[int, str]) -> list[str]:
    """
    Returns one SMILES for all that stand for the same molecule.
    """

def check_rounding(extremes: NDArray[float64], columns: NDArray[int64], count: SupportsIndex, others: bool, name: str) -> list[str]:
    """
    Refuses columns of the array `name` whose numbers 32 bits do not tell apart, and returns warnings of those of which they
    leave next to nothing. `extremes` has a row for each of `columns`: the least and the largest of its `count` numbers, and
    the largest error of rounding one. `others` says whether the array has columns beside these.
    """

def compare_runs(evaluations: SupportsGetItem[int, tuple[str, Evaluation]], resamples: SupportsIndex) -> tuple[str, str]:
    """
    Compares the evaluations of several models, by name, compared with the first one: as JSON, and as text.
    """

def demo(folder: str | PathLike[str]) -> Path:
    """
    Trains the demonstration in a folder, and returns its run directory.
    """

def drawing(smiles: str) -> str:
    """
    Returns a drawing as SVG.
    """

def edit_distances(pairs: SupportsGetItem[int, tuple[Graph, Graph]], states: SupportsIndex | None, seconds: SupportsFloat | SupportsIndex | None) -> list[tuple[int, int, list[int | None], int]]:
    """
    Returns (lower bound, upper bound, mapping, states) of the edit distance of each pair of graphs, in parallel.
    """

def kernel_matrix(a: Rows, b: Rows, kernel: str) -> NDArray[float64]:
    """
    Returns `k(a_i, b_j)` of all pairs of rows; `kernel` is a table of a configuration as JSON.
    """

def leverage_scores(rows: Rows, kernel: str, lambda_: SupportsFloat | SupportsIndex, pilot: SupportsIndex, seed: SupportsIndex) -> NDArray[float64]:
    """
    Returns approximate ridge leverage scores of rows.
    """

def molecule_features(smiles: SupportsGetItem[int, str], options: str, bits: bool) -> Rows:
    """
    Returns counts of substructures, or with `bits` the bits of a Morgan fingerprint; `options` is a table of a
    configuration as JSON.
    """

def molecule_graphs(smiles: SupportsGetItem[int, str]) -> list[Graph]:
    """
    Returns the graphs of molecules: elements as node labels, bond orders as edge labels.
    """

def quickstart(folder: str | PathLike[str]) -> Path:
    """
    Writes the quickstart data and configuration into a folder, and returns the configuration's path.
    """

def rank_ensemble(members: SupportsGetItem[int, tuple[Candidates, NDArray[float32]]], gold: SupportsGetItem[int, str], rule: str, missing: str) -> Ranks:
    """
    Ranks of the gold candidates under several models of the same queries and candidates.
    """

def rank_scores(scores: NDArray[float32] | NDArray[float64], gold: NDArray[int64]) -> Ranks:
    """
    Ranks of the gold columns of a matrix of scores, one row a query; higher is better.
    """

def reads_vectors(config: str | PathLike[str], text: str | None, overrides: SupportsGetItem[int, str]) -> bool:
    """
    Returns whether the encoder of a configuration reads vectors, of a file or, with `text`, of this TOML; false for one that cannot be
    read, which whoever uses it refuses.
    """

def sketch_matrix(sketch: str, size: SupportsIndex, n: SupportsIndex, seed: SupportsIndex, scores: SupportsGetItem[int, SupportsFloat | SupportsIndex] | None) -> NDArray[float64]:
    """
    Returns R of a sketch, m × n; `scores` are those of a leverage sketch.
    """

def train(config: str | PathLike[str], text: str | None, overrides: SupportsGetItem[int, str], out: str | PathLike[str] | None, resume: bool, data: str | PathLike[str] | None, device: str, force: bool, listener: Callable[[str, Control], object] | None, steps: bool, encoder: Any | None) -> tuple[Path, list[str]]:
    """
    Trains the model of a configuration, of a file or, with `text`, of this TOML; `overrides` are `section.key=value`, and `listener` hears the
    lines of the log as JSON, with `steps` also each step. Returns the run directory and the advice on the configuration.
    """

def write_pairs(folder: str | PathLike[str], lines: SupportsGetItem[int, str], encoder: Any | None) -> Path:
    """
    Writes the lines of a table of pairs and the recommended configuration into a folder, and returns the configuration's
    path; with an `encoder` that of its training.
    """
