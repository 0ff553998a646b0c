"""The types that the package declares, as mypy reads them in a user's program."""

import subprocess
import sys
from pathlib import Path

import pytest

import dsokr

pytest.importorskip("mypy")

PROGRAM = """
import numpy as np

import dsokr

smiles = ["CCO", "CCN"]
Y = dsokr.molecules.features(smiles, kind="morgan", radius=2)
psi = dsokr.Basis.fit(Y, kernel="cosine", sketch=dsokr.Gaussian(6), seed=0)
pool = dsokr.Candidates(psi, Y, ids=range(2), labels=smiles)
pool.rank(psi.project(Y), gold=range(2)).metrics(k=(1, 5), ci=0.95)
config = dsokr.quickstart(".")
model = dsokr.train(config, set={"training.epochs": 2}, out="runs/first", callback=print)
print(model.search("an ester", k=3)[0].label, model.encode(["an ester"]))
evaluation = model.evaluate("test")
print(dsokr.compare({"first": evaluation, "second": model.evaluate("validation")}))
fitted = dsokr.fit(np.ones((20, 3)), smiles * 10, progress=False)
print(fitted.path, fitted.search(["a", "b"])[0][0].label)
dsokr.Ensemble.load([fitted.path]).evaluate("validation").metrics
"""

WRONG = [
    'dsokr.nonsense(3)',
    'dsokr.Basis.fit([[1.0]], kernel="cosin")',
    'dsokr.train("config.toml", device="gpu")',
    'dsokr.Model.load("run").evaluate("tran")',
    'dsokr.fit(["a"], ["C"], seeed=1)',
]


def errors(folder, text):
    """The lines of a program that mypy refuses."""
    program = folder / "program.py"
    program.write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--ignore-missing-imports"]
    environment = {"MYPYPATH": str(Path(dsokr.__file__).parents[1]), "PYTHONPATH": ":".join(filter(None, sys.path))}
    found = subprocess.run([*command, str(program)], capture_output=True, text=True, env=environment, cwd=folder)
    return [line for line in found.stdout.splitlines() if "program.py:" in line]


def test_programs_of_users_are_typed(tmp_path):
    assert errors(tmp_path, PROGRAM) == []
    lines = errors(tmp_path, "\n".join(["import dsokr", *WRONG]) + "\n")
    assert {int(line.split(":")[1]) for line in lines if ": error:" in line} == set(range(2, 2 + len(WRONG))), lines
