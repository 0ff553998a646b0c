"""scikit-learn peer of configs/quantiles.toml: linear quantile regression on the same TF-IDF words.

usage: python benches/quantiles.py

One QuantileRegressor (linear programming, L1 penalty) for each level; its alpha is chosen on the validation
split. Prints one JSON line for the training numbers' quantiles as they are, and one for each alpha: figures as
`dsokr evaluate` has them, and seconds of the fits.
"""
import csv
import json
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import QuantileRegressor

LEVELS = [0.1, 0.3, 0.5, 0.7, 0.9]
folder = Path(__file__).parent.parent / "datasets/quickstart"


def rows(name):
    with open(folder / name, encoding="utf-8") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]


atoms = {row[0]: float(row[1]) for row in rows("atoms.tsv")}


def split(name):
    found = rows(name)
    return [row[1] for row in found], np.array([atoms[row[0]] for row in found])


def figures(quantiles, observed):
    errors = observed[:, None] - quantiles
    pinball = np.maximum(np.array(LEVELS) * errors, (np.array(LEVELS) - 1) * errors).sum(1).mean()
    crossing = np.maximum(quantiles[:, :-1] - quantiles[:, 1:], 0).sum(1).mean()
    return {"pinball": round(pinball, 4), "crossing": round(crossing, 4)}


(texts, y), validation, test = split("train.tsv"), split("validation.tsv"), split("test.tsv")
vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
X = vectorizer.fit_transform(texts)
constant = np.quantile(y, LEVELS)
always = figures(np.tile(constant, (len(test[1]), 1)), test[1])
print(json.dumps({"constant": constant.tolist(), "test": always}))
for alpha in [3e-5, 1e-4, 3e-4, 1e-3]:
    start = time.time()
    models = [QuantileRegressor(quantile=level, alpha=alpha, solver="highs").fit(X, y) for level in LEVELS]
    seconds = time.time() - start
    found = {"alpha": alpha, "fit_s": round(seconds, 2)}
    for name, (queries, observed) in [("validation", validation), ("test", test)]:
        vectors = vectorizer.transform(queries)
        found[name] = figures(np.stack([model.predict(vectors) for model in models], 1), observed)
    print(json.dumps(found))
