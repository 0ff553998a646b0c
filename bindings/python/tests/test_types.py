"""The types that the package declares, as mypy and pyright read them in a user's program and in the lines of the book."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dsokr

BOOK = Path(__file__).parents[3] / "book/src/python.md"

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


def mypy(folder, program):
    """The lines of a program that mypy refuses."""
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--ignore-missing-imports"]
    environment = {"MYPYPATH": str(Path(dsokr.__file__).parents[1]), "PYTHONPATH": ":".join(filter(None, sys.path))}
    found = subprocess.run([*command, str(program)], capture_output=True, text=True, env=environment, cwd=folder)
    lines = re.findall(r"program\.py:(\d+): error: (.*)", found.stdout)
    return {int(line): message for line, message in lines}


def pyright(folder, program):
    """The lines of a program that pyright refuses."""
    command = shutil.which("pyright", path=str(Path(sys.executable).parent)) or shutil.which("pyright")
    if command is None:
        pytest.skip("pyright is not installed")
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(Path(dsokr.__file__).parents[1])]}
    settings |= {"reportMissingTypeStubs": False, "reportMissingImports": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    arguments = ["--outputjson", "--pythonpath", sys.executable, "--project", str(folder), str(program)]
    found = subprocess.run([command, *arguments], capture_output=True, text=True, cwd=folder)
    errors = [each for each in json.loads(found.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    return {each["range"]["start"]["line"] + 1: each["message"] for each in errors}


def written(folder, text):
    program = folder / "program.py"
    program.write_text(text)
    return program


@pytest.fixture(params=[mypy, pyright], ids=["mypy", "pyright"])
def checker(request):
    return request.param


def test_programs_of_users_are_typed(tmp_path, checker):
    assert checker(tmp_path, written(tmp_path, PROGRAM)) == {}


def test_mistakes_of_users_are_found(tmp_path, checker):
    found = checker(tmp_path, written(tmp_path, "\n".join(["import dsokr", *WRONG]) + "\n"))
    assert set(found) == set(range(2, 2 + len(WRONG))), found


def test_lines_of_the_book_are_typed(tmp_path, checker):
    if not BOOK.exists():
        pytest.skip("the package is tested without the book")
    blocks = re.findall(r"```python\n(.*?)```", BOOK.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        if "from sklearn" in block or "import torch" in block:
            # whose own types are missing or partial
            block = "# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false\n" + block
        assert checker(tmp_path, written(tmp_path, block)) == {}, block
