"""Scores of a large table of molecules for texts, by Ray Data on the cores of a machine or of a cluster.

usage: python score.py RUN TABLE OUT TEXT...

RUN is any run directory, of a model or an ensemble, whose outputs have features that every molecule has. TABLE is a CSV or Parquet file, or a folder of
Parquet files, with the column "smiles". OUT gets Parquet files: the table with a column "score 1", "score 2", … for each
text, as `dsokr search RUN TEXT` scores candidates; NaN for what is not a SMILES. A worker that is killed is started again,
and its part of the table scored anew.
"""

import sys
from pathlib import Path

import ray

import dsokr


class Scorer:
    """One in each process: the model is read once."""

    def __init__(self, run, texts):
        kind = dsokr.Ensemble if (Path(run) / "members").is_dir() else dsokr.Model
        self.model = kind.load(run)
        self.texts = texts

    def __call__(self, batch):
        molecules = [str(text) for text in batch["smiles"]]
        for at, text in enumerate(self.texts):
            batch[f"score {at + 1}"] = self.model.score(text, molecules, on_bad="nan")
        return batch


def main(run, table, out, *texts):
    read = ray.data.read_csv if str(table).endswith(".csv") else ray.data.read_parquet
    ray.init(ignore_reinit_error=True)
    # one core is left to what reads and writes
    processes = max(1, int(ray.cluster_resources()["CPU"]) - 1)
    scored = read(str(table)).map_batches(
        Scorer,
        fn_constructor_args=(str(run), list(texts)),
        batch_size=4096,
        compute=ray.data.ActorPoolStrategy(size=processes),
    )
    scored.write_parquet(str(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
