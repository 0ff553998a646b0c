"""scikit-learn peer of property prediction: numbers and classes of molecules.

usage: python benches/property.py [DSOKR] [FOLDER] [SEED]

Makes tables of the quickstart's molecules with RDKit: a noisy logP, a noisy QED, four properties in one table, and a class
that substructures decide, with noise. `dsokr init` and `dsokr train` run on each as on a stranger's table. In the same run
scikit-learn learns from counts of Morgan fingerprints (RDKit, radius 2, 2,048 columns) on the same training and
validation pairs and answers the same test pairs: ridge regression, random forests, gradient boosting, and support vector
machines whose settings five-fold cross-validation chooses. Nothing is chosen on test pairs. Each figure of dsokr's is also computed by
scikit-learn from its predictions, and must agree. Beside each figure of the best peer stands the 95 % interval of how much
better it is than dsokr's, by a bootstrap over the test pairs; ends with an error where a whole interval is above 0. The seed
draws the noise of the tables and the splits.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rdkit import Chem, RDLogger
from rdkit.Chem import Crippen, Descriptors, rdFingerprintGenerator, rdMolDescriptors
from scipy.stats import spearmanr
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    mean_absolute_error,
    mean_squared_error,
    r2_score,
    roc_auc_score,
)
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR

RDLogger.DisableLog("rdApp.*")
ROOT = Path(__file__).resolve().parent.parent
DSOKR = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/dsokr")
FOLDER = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 0
RESAMPLES = 500
NUMBERS = ["mae", "rmse", "r2", "spearman"]
CLASSES = ["accuracy", "roc_auc", "pr_auc", "f1"]


def tables():
    """Names of tables, with their columns of outputs; the files are written."""
    with open(ROOT / "datasets/quickstart/molecules.tsv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    molecules = [(row["id"], row["smiles"], Chem.MolFromSmiles(row["smiles"])) for row in rows]
    molecules = [row for row in molecules if row[2]]
    random = np.random.default_rng(SEED)
    count = len(molecules)

    def of(function):
        return np.array([function(molecule) for *_, molecule in molecules], float)

    def noisy(values, share):
        return np.round(values + share * values.std() * random.standard_normal(count), 3)

    parts = ["[CX3](=O)[OX2H1]", "[NX3;!$(N-C=O)]", "a1aaaaa1", "[OX2H]", "[F,Cl,Br]"]
    weights = [1.2, -1.0, 0.8, -0.4, 0.7]
    patterns = [Chem.MolFromSmarts(part) for part in parts]
    score = sum(
        weight * of(lambda m, p=pattern: len(m.GetSubstructMatches(p)))
        for weight, pattern in zip(weights, patterns)
    )
    active = score - np.quantile(score, 0.7) + 0.2 * random.logistic(size=count) > 0
    logp = of(Crippen.MolLogP)
    written = {
        "logp": {"logp": noisy(logp, 0.2)},
        "qed": {"qed": noisy(of(Descriptors.qed), 0.1)},
        "several": {
            "logp": noisy(logp, 0.1),
            "tpsa": noisy(of(rdMolDescriptors.CalcTPSA), 0.1),
            "refractivity": noisy(of(Crippen.MolMR), 0.1),
            "rotatable": of(rdMolDescriptors.CalcNumRotatableBonds),
        },
        "active": {"active": np.where(active, "yes", "no")},
    }
    for name, columns in written.items():
        with open(FOLDER / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["id", "smiles", *columns])
            for at, (identifier, smiles, _) in enumerate(molecules):
                table.writerow([identifier, smiles, *(column[at] for column in columns.values())])
    return {name: list(columns) for name, columns in written.items()}


def run(*arguments):
    done = subprocess.run([DSOKR, *arguments], cwd=FOLDER, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{arguments}: {done.stderr}")
    return done.stdout


def numbers(truth, found):
    return {
        "mae": mean_absolute_error(truth, found),
        "rmse": mean_squared_error(truth, found) ** 0.5,
        "r2": r2_score(truth, found),
        "spearman": spearmanr(truth, found)[0],
    }


def classes(truth, scores, found):
    return {
        "accuracy": accuracy_score(truth, found),
        "roc_auc": roc_auc_score(truth, scores),
        "pr_auc": average_precision_score(truth, scores),
        "f1": f1_score(truth, found),
    }


def figures_of(column, truth, predicted, pairs=slice(None)):
    """The figures of predictions: of a class its scores and whether it is predicted, else of numbers."""
    if column == "active":
        scores, found = predicted
        return classes(truth[pairs], scores[pairs], found[pairs])
    return numbers(truth[pairs], predicted[pairs])


def interval(column, metric, truth, own, other):
    """The 95 % interval of how much better the second predictions are by a metric, over resampled test pairs."""
    sign = -1 if metric in ("mae", "rmse") else 1
    random = np.random.default_rng(0)
    better = []
    for _ in range(RESAMPLES):
        pairs = random.integers(0, len(truth), len(truth))
        first, second = (figures_of(column, truth, predicted, pairs)[metric] for predicted in (own, other))
        better.append(sign * (second - first))
    return np.quantile(better, [0.025, 0.975])


def dsokr(name, columns, rows):
    """The ids of the test rows of a run, its predictions for each column, and the seconds that it took."""
    start = time.time()
    run("init", f"{name}.csv", "--force")
    report = json.loads(run("train", f"{name}.toml", "--json", "--quiet", "--out", f"runs/{name}", "--set", f"seed={SEED}"))
    seconds = time.time() - start
    run("evaluate", f"runs/{name}", "--report", f"report-{name}")
    with open(FOLDER / f"report-{name}/ranks.tsv", encoding="utf-8") as file:
        test = [row["query"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    by_id = {row["id"]: row for row in rows}
    with open(FOLDER / f"{name}-test.tsv", "w", encoding="utf-8") as file:
        file.write("id\tsmiles\n" + "".join(f"{own}\t{by_id[own]['smiles']}\n" for own in test))
    lines = run("predict", f"runs/{name}", f"{name}-test.tsv", "--id", "id", "--column", "smiles", "--top", "2" if columns == ["active"] else "1")
    answers = [json.loads(line) for line in lines.splitlines()]
    predictions = {}
    if columns == ["active"]:
        scores = [{hit["id"]: hit["score"] for hit in answer["candidates"]} for answer in answers]
        margin = np.array([own["yes"] - own["no"] for own in scores])
        predictions["active"] = (margin, margin > 0)
        own = {"active": report}
    else:
        found = np.array([[float(part) for part in answer["exact"]["label"].split()] for answer in answers])
        for at, column in enumerate(columns):
            predictions[column] = found[:, at]
        own = dict(zip(columns, report["targets"]))
    for column in columns:
        for metric, value in figures_of(column, truth_of(column, rows, test), predictions[column]).items():
            assert abs(own[column][metric] - value) < 1e-4, (name, column, metric, own[column][metric], value)
    return test, predictions, seconds


def truth_of(column, rows, ids):
    """The true classes or numbers of rows with these ids."""
    cells = {row["id"]: row[column] for row in rows}
    if column == "active":
        return np.array([cells[own] == "yes" for own in ids])
    return np.array([float(cells[own]) for own in ids])


def peers(name, column, rows, test):
    """The predictions of each peer for the test rows."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    features = {row["id"]: generator.GetCountFingerprintAsNumPy(Chem.MolFromSmiles(row["smiles"])) for row in rows}
    held = set(test)
    train = [row["id"] for row in rows if row["id"] not in held]
    x, queries = (np.array([features[own] for own in ids], float) for ids in (train, test))
    y = truth_of(column, rows, train)
    if column == "active":
        models = {
            "logistic regression": GridSearchCV(LogisticRegression(max_iter=500), {"C": [0.01, 0.1, 1.0]}, scoring="roc_auc"),
            "random forest": RandomForestClassifier(300, random_state=0),
            "boosted trees": HistGradientBoostingClassifier(random_state=0),
            "support vectors": GridSearchCV(SVC(), {"C": [1, 10, 100]}, scoring="roc_auc"),
        }
        for model in models.values():
            model.fit(x, y)
        score = lambda model: model.decision_function(queries) if hasattr(model, "decision_function") else model.predict_proba(queries)[:, 1]
        return {key: (score(model), model.predict(queries)) for key, model in models.items()}
    models = {
        "ridge": RidgeCV(np.logspace(-2, 4, 13)),
        "random forest": RandomForestRegressor(300, max_features=0.3, random_state=0),
        "boosted trees": HistGradientBoostingRegressor(random_state=0),
        "support vectors": GridSearchCV(SVR(), {"C": [1, 10, 100]}),
    }
    return {key: model.fit(x, y).predict(queries) for key, model in models.items()}


def main():
    lost = []
    for name, columns in tables().items():
        with open(FOLDER / f"{name}.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        test, predictions, seconds = dsokr(name, columns, rows)
        metrics = CLASSES if columns == ["active"] else NUMBERS
        print(f"\n{name}: {len(rows)} molecules, {len(test)} of them test pairs; dsokr in {seconds:.0f} s")
        print("  " + " " * 34 + "".join(f"{metric:>10}" for metric in metrics))
        for column in columns:
            truth = truth_of(column, rows, test)
            all_predictions = {"dsokr": predictions[column], **peers(name, column, rows, test)}
            figures = {key: figures_of(column, truth, predicted) for key, predicted in all_predictions.items()}
            for key, found in figures.items():
                print(f"  {column:<14}{key:<20}" + "".join(f"{found[metric]:>10.4f}" for metric in metrics), flush=True)
            own = figures.pop("dsokr")
            for metric in metrics:
                sign = -1 if metric in ("mae", "rmse") else 1
                best = max(figures, key=lambda key: sign * figures[key][metric])
                if sign * own[metric] >= sign * figures[best][metric]:
                    continue
                low, high = interval(column, metric, truth, predictions[column], all_predictions[best])
                line = f"{name} {column} {metric}: {own[metric]:.4f}, {best} {figures[best][metric]:.4f}, better by {low:.4f} to {high:.4f}"
                print(f"  {line}")
                if low > 0:
                    lost.append(line)
    if lost:
        sys.exit("a peer is better:\n  " + "\n  ".join(lost))


if __name__ == "__main__":
    main()
