"""Scores of a large table of molecules for texts, by Ray Data on the cores of a machine or of a cluster.

usage: python score.py RUN TABLE OUT TEXT...

RUN is a run directory with hashed counts of substructures as features of outputs, which Python makes of any SMILES:
output.features = { kind = "substructures", column = "smiles", count = { name = "morgan" } }, "configurations", "chains", "rings" or
"components".
TABLE is a CSV or Parquet file, or a folder of Parquet files, with the column "smiles". OUT gets Parquet files: the table with a
column "score 1", "score 2", … for each text, as `dsokr search RUN TEXT` scores candidates; NaN for what is not a SMILES.
"""

import sys
import time

import numpy as np
import ray

import dsokr


class Scorer:
    """One in each process: the model is read once."""

    def __init__(self, run, texts):
        model = dsokr.Model.load(run)
        output, decoding = model.config["output"], model.config["decoding"]
        if decoding["normalise"] or decoding.get("hubs") or decoding.get("reranker"):
            raise ValueError(f"{run}: predictions are corrected after the scores that this program computes")
        features = output.get("features", {})
        plain = {"kind": "substructures", "exact": False, "log": False, "min_outputs": 1}
        counted = features.get("count", {})
        hashed = counted.get("name") in ("morgan", "configurations", "chains", "rings", "components")
        if not hashed or any(features[key] != value for key, value in plain.items()):
            raise ValueError(f"{run}: output.features = {features}, expected {plain} of hashed counts")
        self.basis, self.counted, self.z = model.basis, counted, model.encode(texts)

    def scores(self, smiles):
        counted = dict(self.counted)
        rows = dsokr.molecules.features(smiles, kind=counted.pop("name"), **counted)
        pool = dsokr.Candidates(self.basis, rows)
        return pool.coordinates_of(pool.ids) @ self.z.T + pool.constants[:, None]

    def __call__(self, batch):
        smiles = [str(text) for text in batch["smiles"]]
        scores = np.full((len(smiles), len(self.z)), np.nan, np.float32)
        try:
            scores[:] = self.scores(smiles)
        except dsokr.Error:
            valid = [at for at, text in enumerate(smiles) if is_molecule(text)]
            if valid:
                scores[valid] = self.scores([smiles[at] for at in valid])
        return {**batch, **{f"score {at + 1}": column for at, column in enumerate(scores.T)}}


def is_molecule(smiles):
    try:
        dsokr.molecules.canonical([smiles])
    except dsokr.Error:
        return False
    return True


def best(batch, count=5):
    """The rows of a batch that are among its ``count`` best for a text; NaN is sorted last."""
    scores = [column for name, column in batch.items() if name.startswith("score ")]
    rows = np.unique([np.argsort(-column)[:count] for column in scores])
    return {name: column[rows] for name, column in batch.items()}


def main(run, table, out, *texts):
    read = ray.data.read_csv if str(table).endswith(".csv") else ray.data.read_parquet
    ray.init(ignore_reinit_error=True)
    # one core is left to what reads and writes
    processes = max(1, int(ray.cluster_resources()["CPU"]) - 1)
    begun = time.perf_counter()
    scored = read(str(table)).map_batches(
        Scorer,
        fn_constructor_args=(str(run), list(texts)),
        batch_size=4096,
        compute=ray.data.ActorPoolStrategy(size=processes),
    )
    scored.write_parquet(str(out))
    scored = ray.data.read_parquet(str(out))
    print(f"{scored.count()} molecules in {time.perf_counter() - begun:.1f} s")
    rows = scored.map_batches(best).take_all()
    for at, text in enumerate(texts):
        score = f"score {at + 1}"
        print(text)
        known = [row for row in rows if not np.isnan(row[score])]
        for row in sorted(known, key=lambda row: row[score], reverse=True)[:5]:
            print(f"  {row[score]:.4f}  {row['smiles']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
