"""Training, and trained models."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from . import _dsokr
from ._basis import Basis
from ._candidates import Candidates, lists_of_ids, missing_rule
from ._errors import ConfigError, FileError, file_error
from ._evaluation import Evaluation
from ._event import Event
from ._hits import Hits
from ._module import Encoder, as_encoder
from ._pairs import Cell, Columns, frame_columns, lines, only_column, paired, query_dictionaries, query_frame, text_column
from ._progress import LOGGER, shown
from ._dsokr import Rows
from ._rows import as_matrix, as_rows, is_missing, listed, real, texts, whole
from ._tables import Device, Missing, Rule, Split, to_json, to_toml
from .metrics import Ranks

PathLike = str | os.PathLike[str]

# of a run directory, which has it from the file of this name that a fit writes beside its pairs
_INPUT_COLUMNS = "input-columns.json"


def train(
    config: PathLike | Mapping[str, Any],
    *,
    set: Mapping[str, Any] | None = None,
    out: PathLike | None = None,
    seed: int | None = None,
    resume: bool = False,
    data: PathLike | None = None,
    device: Device = "cpu",
    force: bool = False,
    callback: Callable[[Event], Any] | None = None,
    on_step: Callable[[Event], Any] | None = None,
    encoder: Any = None,
) -> Model | Any:
    """Trains the model of a configuration, writes its run directory, and returns it: a ``Model``, or of
    a configuration with members an ``Ensemble``.

    ``config`` is the configuration's file, or its tables as a dict, such as ``{"data": {"folder": …}, "output": …}``.
    ``set`` has values of the configuration by key, such as ``{"training.epochs": 20}``, and ``seed`` is that of its
    key "seed". ``out`` is the run directory (default: runs/NAME, or the first free one of runs/NAME-2, -3, …); with
    ``resume`` it may exist, and training goes on from its last checkpoint. ``data`` is the data root (default: the
    environment variable DSOKR_DATA, else data/), ``device`` "cpu", or of a build that has them "wgpu", "cuda" or
    "cuda:1". A run whose estimated memory exceeds what is available is refused, unless ``force`` is set.

    ``encoder`` is a ``torch.nn.Module``, a function that makes one, or a ``dsokr.Encoder``, in the place of the
    configuration's own. A module starts from the values that it holds, which behind a training are those of its last pass; a
    function that makes the module, or one ``dsokr.Encoder`` for several trainings, starts anew.

    ``callback`` is called on the caller's thread with each line of the log, log.jsonl: an ``Event``, which is a dict with
    "step", "epoch", "loss", "learning_rate", "best", "seconds" and the validation "metrics"; ``dsokr.log_to`` makes one for
    a tracker. A kernel machine has one line, of step 0, without loss and learning rate. ``on_step`` is called after each
    step with "step", "epoch", "loss" and "learning_rate". Both may ask the training for something: ``event.stop()`` ends it
    as an early stop does, ``event.set_learning_rate(1e-4)`` and ``event.scale_learning_rate(0.5)`` change the rate of
    further steps, ``event.evaluate()`` asks for an evaluation after the step, and ``event.parameters()`` are the model's.
    Trainings of an ensemble's members tell of evaluations alone. Fits without a part of the pairs, by which an encoder's hubs
    and reranker learn, tell of theirs too, although they are no lines of the log.
    Ctrl-C, or an exception of a callback, interrupts training after the step at hand and keeps its state for ``resume``.
    """
    changes = dict(set or {})
    if seed is not None:
        changes["seed"] = whole(seed, "seed", 0, 2**63 - 1)
    text = None
    if isinstance(config, Mapping):
        text = "".join(f"{key} = {to_toml(value, key)}\n" for key, value in config.items())
        config = ""
    file = Path(config)
    overrides = [f"{key}={to_toml(value, f'set[{key!r}]')}" for key, value in changes.items()]
    encoder = as_encoder(encoder, lambda: _dsokr.reads_vectors(file, text, overrides))
    if encoder is not None:
        table = {"kind": "module", "vectors": encoder.vectors}
        overrides = [f"encoder={to_toml(table, 'encoder')}", *overrides]

    def tell(line: str, control: _dsokr.Control) -> None:
        event = Event(json.loads(line), control)
        function = on_step if event.metrics is None else callback
        if function is not None:
            function(event)

    path, advice = _dsokr.train(
        file,
        text,
        overrides,
        None if out is None else Path(out),
        bool(resume),
        None if data is None else Path(data),
        str(device),
        bool(force),
        None if callback is None and on_step is None else tell,
        on_step is not None,
        encoder,
    )
    kind = Ensemble if (path / "members").is_dir() else Model
    run = kind.load(path, device=device, encoder=encoder)
    run.advice = advice
    return run


def fit(
    inputs: Any,
    outputs: Any,
    folder: PathLike | None = None,
    *,
    set: Mapping[str, Any] | None = None,
    seed: int | None = None,
    device: Device = "cpu",
    force: bool = False,
    callback: Callable[[Event], Any] | None = None,
    on_step: Callable[[Event], Any] | None = None,
    encoder: Any = None,
    progress: bool = True,
) -> Model:
    """Trains the recommended model for pairs of an input and an output, and returns it.

    Both are lists, arrays, tensors, or columns and frames of pandas, polars and Arrow. Inputs are texts, or vectors: the rows
    of a matrix, also a sparse one, or of a frame with several columns of numbers. Outputs are SMILES, label sets (sets, lists
    of texts, or a matrix or frame of 0 and 1), classes (two values, or a few names that recur, also texts such as "1"; three or
    more whole numbers are numbers), rankings (lists of the ranks 1 to m), numbers, several numbers (a matrix), or texts;
    which of these is found out, as ``dsokr init`` does. Dictionaries are rows by name; two dictionaries in the place of
    lists are paired by their keys. Lists of numbers have one length. Pairs that lack a value (None, NaN, NA) are left out, with
    a warning. A tenth of the pairs is for validation, and a tenth for the test.

    The names of a frame's columns, or of dictionaries, are kept: queries of the model that have names are read by these, in any
    order, and other names are refused. A name that a query lacks is refused for a model that was fitted on a frame, and 0 for one
    that was fitted on dictionaries.

    ``folder`` gets pairs.jsonl, the configuration pairs.toml, names of columns as input-columns.json, and the run directory run;
    default: the first free one of runs/fit, runs/fit-2, …. Where the training ends before it has a state to go on from, nothing
    is left there. ``set``, ``seed``, ``device``, ``force``, ``callback``, ``on_step`` and ``encoder`` are those of ``train``. With
    ``progress`` the lines of the logger ``dsokr`` are printed on standard error, unless the program handles them.

    With an ``encoder``, a ``torch.nn.Module`` or a function that makes one for p coordinates, the module learns by AdamW at
    a rate of 1e-3 for at most 40 epochs, and the parameters that are best on the validation pairs are kept; ``set`` changes
    that: ``set={"training.learning_rate": 2e-5}``. It reads texts, or vectors where the inputs are.
    """
    read, wanted, input_columns = paired(inputs, outputs)
    if not any(None not in pair for pair in zip(read, wanted, strict=True)):
        found = f"{len(read)} pairs, of which none has an input and an output" if read else "no pairs"
        raise ConfigError(f"inputs and outputs: {found}, expected at least 10 to have training, validation and test pairs")
    encoder = as_encoder(encoder, lambda: any(isinstance(cell, list) for cell in read))
    is_new = folder is None or not Path(folder).exists()
    folder = _made_folder() if folder is None else Path(folder)
    table, config, columns = folder / "pairs.jsonl", folder / "pairs.toml", folder / _INPUT_COLUMNS
    if table.exists():
        remedy = f"dsokr.train({str(config)!r}) trains on it, or name a different folder"
        raise file_error(f"{table} exists: {remedy}", str(table), errno.EEXIST)
    if config.exists():
        raise file_error(f"{config} exists: name a different folder", str(config), errno.EEXIST)
    run = folder / "run"
    has_run = run.exists()
    try:
        with shown(progress):
            _warn_of_lacking(read, wanted)
            written = _dsokr.write_pairs(folder, list(lines(read, wanted)), encoder)
            if input_columns is None:
                # those of a fit before, whose pairs were deleted
                columns.unlink(missing_ok=True)
            else:
                named = {"inputs": input_columns.names, "outputs": [], "dense": input_columns.is_dense}
                columns.write_text(json.dumps({"named": named}) + "\n", encoding="utf-8")
            return train(
                written,
                out=run,
                set=set,
                seed=seed,
                device=device,
                force=force,
                callback=callback,
                on_step=on_step,
                encoder=encoder,
            )
    except BaseException:
        if not has_run and not any((run / name).exists() for name in ("checkpoint/last.safetensors", "metrics.json")):
            # nothing is lost: the run has no state to go on from
            shutil.rmtree(run, ignore_errors=True)
            table.unlink(missing_ok=True)
            config.unlink(missing_ok=True)
            columns.unlink(missing_ok=True)
            if is_new and folder.exists():
                folder.rmdir()
        raise


def _made_folder() -> Path:
    """Makes the first free one of runs/fit, runs/fit-2, …, so that fits of several threads or processes have one each."""
    number = 1
    while True:
        folder = Path("runs") / ("fit" if number == 1 else f"fit-{number}")
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            number += 1
        except OSError as error:
            raise file_error(f"{folder}: {error.strerror}", str(folder), error.errno) from error


def _members(run: Path) -> list[Path]:
    """Returns the run directories of the members of an ensemble's directory, or a model's own."""
    members = run / "members"
    return sorted(path for path in members.iterdir() if path.is_dir()) if members.is_dir() else [run]


def _fitted_columns(runs: Iterable[Path]) -> list[Columns]:
    """Returns the input columns that models were fitted on, each list of names once; dense where one of its models says so."""
    found: dict[tuple[str, ...], bool] = {}
    for path in (member for run in runs for member in _members(run)):
        file = path / _INPUT_COLUMNS
        # numbered columns have no names
        named = _json(file).get("named") if file.exists() else None
        if named and named["inputs"]:
            names = tuple(named["inputs"])
            found[names] = found.get(names, False) or named["dense"]
    return [Columns(list(names), is_dense) for names, is_dense in found.items()]


def _warn_of_lacking(inputs: list[Cell], outputs: list[Cell]) -> None:
    """Warns of pairs that lack an input or an output, which are left out."""
    lacking = [at for at, pair in enumerate(zip(inputs, outputs, strict=True)) if None in pair]
    if lacking:
        message = "%d of %d pairs lack an input or an output and are left out, the first one at %d"
        LOGGER.warning(message, len(lacking), len(inputs), lacking[0])


def demo() -> Model:
    """Returns a model that searches 2,000 molecules by their descriptions, trained in a second on data that are part of the
    package."""
    folder = tempfile.TemporaryDirectory(prefix="dsokr-")
    model = Model.load(_dsokr.demo(Path(folder.name)))
    # which is removed when the model is gone
    model._folder = folder
    return model


def log_to(tracker: Any) -> Callable[[dict[str, Any]], None]:
    """Returns a callback of ``train`` that sends the numbers of each line to a tracker; as ``on_step`` those of each step.

    ``tracker`` has ``log_metrics(numbers, step=…)``, as MLflow and its client, or ``log(numbers, step=…)``, as the modules
    and runs of Weights & Biases and trackio. Names have "_" in the place of "@", which MLflow refuses; steps are those of the training, whole numbers.
    """
    send = getattr(tracker, "log_metrics", None) or tracker.log

    def numbers(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, float]]:
        for name, value in table.items():
            name = before + name.replace("@", "_")
            if isinstance(value, Mapping):
                yield from numbers(value, f"{name}/")
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                yield name, value

    def log(line: dict[str, Any]) -> None:
        line = dict(line)
        # a step has none
        metrics = line.pop("metrics", {})
        send({**dict(numbers(line)), **dict(numbers(metrics, "validation/"))}, step=line["step"])

    return log


def quickstart(folder: PathLike = ".") -> Path:
    """Writes the quickstart data and configuration into a folder, and returns the configuration's path.

    Its 2,000 molecules with descriptions train a model in seconds.
    """
    return _dsokr.quickstart(Path(folder))


class _Runs:
    """What a model and an ensemble share."""

    _inner: _dsokr.Runs
    _columns: list[Columns]
    """The input columns that the models were fitted on, where they keep them; of members several that differ."""

    def _fitted(self) -> Columns | None:
        """Returns the columns of queries, where the models know them."""
        if len(self._columns) > 1:
            one, other = (columns.names for columns in self._columns[:2])
            raise ConfigError(f"queries: members were fitted on different columns, {one} and {other}: ask each of them by itself")
        return self._columns[0] if self._columns else None

    @overload
    def search(
        self,
        query: str,
        k: int = 10,
        *,
        coverage: float | None = None,
        candidates: str | None = None,
        filter: str | None = None,
    ) -> Hits: ...

    @overload
    def search(
        self,
        query: Any,
        k: int = 10,
        *,
        coverage: float | None = None,
        candidates: str | None = None,
        filter: str | None = None,
    ) -> list[Hits]: ...

    def search(
        self,
        query: Any,
        k: int = 10,
        *,
        coverage: float | None = None,
        candidates: str | None = None,
        filter: str | None = None,
    ) -> Hits | list[Hits]:
        """Returns the ``k`` best candidates for a text, or for each of several texts; for a model that reads vectors, of
        rows. Columns and frames are those of ``fit``: where a model was fitted on a frame, or on dictionaries, numbers are
        found by the names that it had, in any order, and other names are refused. A name that a dictionary lacks is refused
        where it was fitted on a frame, else 0.

        With ``coverage``, such as 0.9, in their place the smallest set that holds a right output with this probability;
        ``calibration`` says what it is calibrated on. The ``candidates`` of each spectrum are those with the precursor's
        mass, ``mass:PPM``, of the formula that it names, ``formula``, or ``all``; default: ``mass:10`` where candidates are
        molecules, else all.

        ``filter`` leaves only candidates for which an expression holds, such as ``'price < 10 and group = "ester"'``: it
        compares columns of the candidates, and of molecules mass, formula, group and similarity("SMILES"). Ranks stay
        those among all candidates.
        """
        coverage = None if coverage is None else real(coverage, "coverage")
        answers = self._inner.search(_queries(query, self._fitted()), whole(k, "k", 0), coverage, candidates, filter)
        all_hits = [Hits.from_json(answer) for answer in answers]
        return all_hits[0] if isinstance(query, str) else all_hits

    def score(
        self,
        texts: str | Iterable[str],
        molecules: str | Iterable[str],
        *,
        on_bad: Literal["raise", "nan"] = "raise",
    ) -> np.ndarray:
        """Returns the score of each pair of a text and a molecule, as a SMILES, in their order: (n,) float64. One text is
        that of all molecules, and one SMILES that of all texts.

        A molecule need not be a candidate. Its score is the one that ``search`` would show if the molecule were added to
        the candidates, with the correction for hubs, the reranker and all members of an ensemble; where an ensemble
        standardises scores, their mean and deviation stay those of the candidates. A molecule that cannot
        be read is an error, or NaN with ``on_bad="nan"``. The outputs of the model must have features that any molecule
        has.
        """
        if on_bad not in ("raise", "nan"):
            raise ConfigError(f'on_bad = {on_bad!r}, allowed: "raise", "nan"')
        texts, molecules = _paired(texts, molecules)
        scores = self._inner.score(texts, molecules, on_bad == "nan")
        return np.array(scores, np.float64)

    def calibration(self, coverage: float, *, candidates: str | None = None) -> dict[str, Any]:
        """Returns what sets of candidates with this coverage are calibrated on: ``on`` the validation split or held-out
        predictions, the number of ``queries``, that of their ``groups`` where each of these counts as one, and a
        ``caution`` where λ, checkpoints or the like were chosen on these too."""
        return json.loads(self._inner.calibration(real(coverage, "coverage"), candidates))

    def evaluate(
        self,
        split: Split | None = None,
        *,
        queries: PathLike | None = None,
        query_id: str | None = None,
        filter_known: bool = False,
        candidates: PathLike | None = None,
        least_candidates: int | None = None,
        missing_gold: Missing | None = None,
        mces: bool = False,
        data: PathLike | None = None,
        coordinates: Any = None,
    ) -> Evaluation:
        """Ranks the right outputs of queries, and compares predicted outputs with true ones.

        Queries are a ``split`` of the data, "train", "validation" or "test" (default: evaluation.split of the configuration), or
        the rows of a file ``queries``, whose column ``query_id`` names queries that have several right outputs. With
        ``filter_known`` those outputs that training pairs give a query do not compete. ``candidates`` is a file of
        lists, one a query; ``"queries"``, the right outputs of all queries; ``"sample:N"``, the right output and N others; or
        for spectra ``"mass:PPM"`` or ``"formula"``. Queries with fewer than ``least_candidates`` are left out. With
        ``missing_gold="rank-infinity"`` a query whose right output is no candidate counts as not found, and with "error" it is an
        error (default: evaluation.missing_gold of the configuration; "rank-infinity" for classes of a new table, and for its
        molecules that are compared; its label sets, rankings, graphs and numbers are compared only, and refuse "error"). With ``mces`` the
        metrics have MCES at 1 of molecules, as MassSpecGym measures it. ``coordinates`` (queries, p) stand in the place of the
        predictions of a model. ``data`` is the data root (default: that of the training).
        """
        if split is not None and queries is not None:
            raise ConfigError("split: given with queries, allowed: one of them")
        if not isinstance(queries, (str, os.PathLike, type(None))):
            remedy = "expected the path of a table with the columns of the training's own, such as DataFrame.to_csv writes"
            raise ConfigError(f"queries: {type(queries).__name__}, {remedy}")
        return Evaluation(
            self._inner.evaluate(
                split,
                None if queries is None else Path(queries),
                query_id,
                bool(filter_known),
                None if candidates is None else os.fspath(candidates),
                None if least_candidates is None else whole(least_candidates, "least_candidates", 0),
                None if missing_gold is None else missing_rule(missing_gold, "missing_gold"),
                bool(mces),
                None if data is None else Path(data),
                None if coordinates is None else as_matrix(coordinates, "coordinates"),
            )
        )

    @property
    def config(self) -> dict[str, Any]:
        """The configuration with all defaults; of an ensemble that of its first member."""
        return json.loads(self._inner.description)[2]

    @cached_property
    def candidates(self) -> Candidates:
        """The candidates, in the coordinates of the model; of an ensemble those of its first member."""
        return Candidates._of(self._inner.candidates)


class Model(_Runs):
    """A trained model: the run directory that ``train`` or the command has written."""

    path: Path
    """The run directory, absolute."""
    advice: Sequence[str] = ()
    """After ``train``: advice on the configuration and the data."""
    _device: str
    _beyond: bool | Mapping[str, Any]
    _encoder: Encoder | None
    _folder: tempfile.TemporaryDirectory[str]

    @classmethod
    def load(
        cls, path: PathLike, *, device: Device = "cpu", beyond: bool | Mapping[str, Any] = False, encoder: Any = None
    ) -> Model:
        """Reads a run directory, of one model; ``encoder`` is that of ``train``, where it had one.

        ``beyond`` has it search molecules that are not candidates, with the settings of the table decoding.beyond, or
        with ``True`` by their defaults: the attribute ``beyond`` of ``Hits``, and of the metrics of an evaluation.
        """
        self = cls.__new__(cls)
        # a later change of the working directory must not make a different run of it
        self.path = Path(path).absolute()
        self._device = str(device)
        if (self.path / "members").is_dir():
            raise FileError(f"{path}: an ensemble, which dsokr.Ensemble.load reads", str(path))
        self._beyond = beyond
        self._encoder = _encoder_of(encoder, self.path)
        self._inner = _dsokr.Runs.open([self.path], self._device, None, False, None, _search(beyond), self._encoder)
        self._columns = _fitted_columns([self.path])
        return self

    def encode(self, queries: str | Iterable[str] | Any) -> np.ndarray:
        """Returns predicted coordinates: (p,) of a text, (n, p) float32 of several, or of rows where the model reads
        vectors."""
        predictions = self._inner.embed(_queries(queries, self._fitted()), False)
        return predictions[0] if isinstance(queries, str) else predictions

    @property
    def offset(self) -> np.ndarray | None:
        """b, (p,) float32, of a model whose encoder is a ``torch.nn.Module``, which predicts the coordinates b + module(inputs);
        None for any other."""
        return self._inner.offset

    def rank(
        self,
        queries: Iterable[str] | Any,
        gold: Iterable[Any],
        *,
        lists: Sequence[Iterable[Any]] | None = None,
        missing: Missing = "error",
    ) -> Ranks:
        """Ranks the gold candidate, by id, of each text, or of each row where the model reads vectors; scores are those of
        ``search``, with the reranker of the model. ``lists`` and ``missing`` are those of ``Candidates.rank``.
        """
        given = _queries(queries, self._fitted())
        _refuse_dictionary(gold, "gold", "ids")
        names = [str(at) for at in range(len(given))]
        return Ranks(
            self._inner.rank(given, texts(gold, "gold", len(given)), names, missing_rule(missing), lists_of_ids(lists))
        )

    @property
    def basis(self) -> Basis:
        """The basis of the outputs; an error for a model whose outputs are not sketched."""
        return Basis.load(self.path / "basis.safetensors")

    @property
    def metrics(self) -> dict[str, Any]:
        """What the training found at its end: the metrics, their intervals, chance and perfect h."""
        return _json(self.path / "metrics.json")

    @property
    def log(self) -> list[dict[str, Any]]:
        """The lines of log.jsonl, one an evaluation."""
        lines = _text(self.path / "log.jsonl").splitlines(keepends=True)
        # a training at work may be writing the last one
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def learning_curve(self) -> Any:
        """Returns the lines of the log as a pandas frame with the columns step, epoch, loss, …, and metrics by their names."""
        import pandas

        rows = []
        for line in self.log:
            metrics = line.pop("metrics")
            rows.append({**line, **metrics})
        return pandas.DataFrame(rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, (Model, self.path, {"device": self._device, "beyond": self._beyond, "encoder": self._encoder})

    def __repr__(self) -> str:
        return f"Model({str(self.path)!r})"


class Ensemble(_Runs):
    """Trained models whose scores or ranks are combined."""

    paths: tuple[Path, ...]
    """The run directories, absolute."""
    advice: Sequence[str] = ()
    _options: dict[str, Any]

    @classmethod
    def load(
        cls,
        paths: PathLike | Iterable[PathLike],
        *,
        rule: Rule | None = None,
        fit_weights: bool = False,
        data: PathLike | None = None,
        device: Device = "cpu",
        beyond: bool | Mapping[str, Any] = False,
        encoder: Any = None,
    ) -> Ensemble:
        """Reads run directories of models, or the directory of an ensemble; ``encoder`` is that of ``train``, ``beyond``
        that of ``Model.load``.

        ``rule`` is that of ``dsokr.rank_ensemble``; by default that of the ensemble's directory, else the mean of
        standardised scores. With ``fit_weights`` its weights are fitted on the validation split.
        """
        given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        if not given:
            raise ConfigError("paths: none, at least 1 is needed")
        self = cls.__new__(cls)
        # a later change of the working directory must not make different runs of them
        self.paths = tuple(Path(path).absolute() for path in given)
        root = None if data is None else Path(data).absolute()
        self._options = {"rule": rule, "fit_weights": bool(fit_weights), "data": root, "device": str(device)}
        self._options |= {"beyond": beyond, "encoder": _encoder_of(encoder, self.paths[0])}
        self._inner = _dsokr.Runs.open(
            list(self.paths),
            str(device),
            None if rule is None else to_json(rule, "rule"),
            bool(fit_weights),
            root,
            _search(beyond),
            self._options["encoder"],
        )
        self._columns = _fitted_columns(self.paths)
        return self

    @property
    def names(self) -> list[str]:
        """Names of the members."""
        return json.loads(self._inner.description)[0]

    @property
    def rule(self) -> dict[str, Any]:
        """How the members are combined, with fitted weights."""
        return json.loads(self._inner.description)[1]

    @property
    def metrics(self) -> dict[str, Any]:
        """What the training of an ensemble's directory found at its end."""
        if len(self.paths) > 1:
            raise ConfigError(f"metrics: {len(self.paths)} run directories, allowed: the directory of an ensemble")
        return _json(self.paths[0] / "metrics.json")

    def __len__(self) -> int:
        return len(self.names)

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, (Ensemble, self.paths, self._options)

    def __repr__(self) -> str:
        return f"Ensemble({self.names})"


def _encoder_of(encoder: Any, run: Path) -> Encoder | None:
    """Returns the encoder of a run, which reads what that was trained on."""
    return as_encoder(encoder, lambda: _dsokr.reads_vectors(run / "config.toml", None, []))


def _loaded(kind: Any, paths: Any, options: dict[str, Any]) -> Any:
    return kind.load(paths, **options)


def _search(beyond: bool | Mapping[str, Any]) -> str | None:
    """Settings of a search as JSON; none without a search."""
    return None if beyond is False else to_json({} if beyond is True else beyond, "beyond")


def _paired(texts: str | Iterable[str], molecules: str | Iterable[str]) -> tuple[list[str], list[str]]:
    """Texts and molecules of equal number, where one may stand for all."""
    if isinstance(texts, str) and isinstance(molecules, str):
        return _strings([texts], "texts"), _strings([molecules], "molecules")
    if isinstance(molecules, str):
        texts = _strings(texts, "texts")
        return texts, _strings([molecules], "molecules") * len(texts)
    molecules = _strings(molecules, "molecules")
    if isinstance(texts, str):
        return _strings([texts], "texts") * len(molecules), molecules
    return _strings(texts, "texts"), molecules


def _strings(values: Iterable[str], name: str) -> list[str]:
    """Texts as a list, without missing ones."""
    _refuse_dictionary(values, name, "texts")
    column = text_column(values)
    found = listed(values if column is None else column, name, "texts")
    for at, value in enumerate(found):
        if not isinstance(value, str) or is_missing(value):
            raise ConfigError(f"{name}: {value!r} at {at}, expected a text")
    return found


def _refuse_dictionary(values: Any, name: str, of: str) -> None:
    """Refuses a dictionary, which would be read as its keys."""
    if isinstance(values, Mapping):
        raise ConfigError(f"{name}: {type(values).__name__}, expected a list of {of}")


def _queries(queries: Any, fitted: Columns | None) -> Any:
    """Texts as a list, anything else as rows; a single column of a frame is a list of its values. ``fitted`` are the columns
    that the model was fitted on."""
    if isinstance(queries, str):
        return listed([queries], "queries")
    _refuse_dictionary(queries, "queries", "texts, or rows of numbers")
    columns = frame_columns(queries)
    if columns:
        if len(columns) == 1:
            return _queries(only_column(columns), fitted)
        return as_rows(query_frame(columns, fitted), "queries")
    column = text_column(queries)
    if column is not None:
        return _queries(column, fitted)
    if isinstance(queries, Rows) or hasattr(queries, "tocsr") or getattr(queries, "ndim", 1) != 1:
        return as_rows(queries, "queries")
    found = listed(queries, "queries", "texts, or rows of numbers")
    lacking = next((at for at, query in enumerate(found) if is_missing(query)), None)
    if lacking is not None:
        raise ConfigError(f"queries: {found[lacking]!r} at {lacking}, expected a text or a number")
    if any(isinstance(query, Mapping) for query in found):
        return as_rows(query_dictionaries(found, fitted), "queries")
    if all(isinstance(query, str) for query in found):
        return found
    if all(isinstance(query, (bool, int, float)) for query in found):
        found = [[query] for query in found]
    return as_rows(found, "queries")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise file_error(f"{path}: {error.strerror}", str(path), error.errno) from error
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: {error}", str(path)) from error


def _json(path: Path) -> dict[str, Any]:
    try:
        return json.loads(_text(path))
    except json.JSONDecodeError as error:
        raise FileError(f"{path}: {error}", str(path)) from error
