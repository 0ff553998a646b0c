"""What a plan says of a run, and what the run takes.

usage: python benches/plan.py DSOKR [FOLDER] [NAME ...]

Runs `dsokr train --plan` and then `dsokr train` for twelve combinations of learner, solver and number of rows, or for those
that are named, one after another on an otherwise quiet machine. Prints seconds and megabytes (the peak of the process) as
planned and as measured, and their ratios. Tables of molecules with label sets are written into the folder by
benches/large_table.py, which needs RDKit; other configurations use the quickstart's data.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SKETCH = "sketch = { size = 2000 }"
MEMBERS = 'ensemble.members=[{ name = "first" }, { name = "second", seed = 1 }]'


def solver(text):
    return f"encoder.solver={{ {text} }}"


# name: rows of a table, or a configuration; changes of what `dsokr init` writes for the table, or of the configuration
RUNS = {
    "closed form, 2,000 rows": (2_000, []),
    "closed form, 20,000 rows": (20_000, []),
    "sketched, 20,000 rows": (20_000, [solver(f'name = "sketched", {SKETCH}')]),
    "sketched, 160,000 rows": (160_000, []),
    "conjugate gradients, 20,000 rows": (
        20_000,
        [solver(f'name = "conjugate-gradients", {SKETCH}, iterations = 20'), "encoder.lambda=1e-5"],
    ),
    "divide and conquer, 20,000 rows": (
        20_000,
        [solver(f'name = "divide-and-conquer", {SKETCH}, parts = 4'), "encoder.lambda=1e-5"],
    ),
    "Lipschitz loss, quickstart": ("quantiles", []),
    "conjugate gradients, quickstart": ("quickstart-conjugate-gradients", []),
    "closed form with a reranker and hubs, quickstart": ("texts", []),
    "bag with hubs, quickstart": ("quickstart", []),
    "transformer, quickstart, two epochs": ("quickstart-transformer", ["training.epochs=2"]),
    "ensemble of two, graphs": ("graphs", [MEMBERS]),
}


def table(folder, rows):
    """The configuration that `dsokr init` writes for a table of so many rows."""
    path = folder / f"table-{rows}.csv"
    if not path.exists():
        subprocess.run([sys.executable, ROOT / "benches/large_table.py", path, str(rows)], check=True)
    config = path.with_suffix(".toml")
    if not config.exists():
        subprocess.run([DSOKR, "init", path], check=True, stdout=subprocess.DEVNULL)
    return config


def texts(folder):
    """The configuration that `dsokr init` writes for the quickstart's training texts and molecules."""
    config = folder / "train-molecules.toml"
    if not config.exists():
        for name in ("train.tsv", "molecules.tsv"):
            shutil.copy(ROOT / "datasets/quickstart" / name, folder)
        command = [DSOKR, "init", "train.tsv", "molecules.tsv"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return config


def configuration(folder, origin):
    if isinstance(origin, int):
        return table(folder, origin)
    return texts(folder) if origin == "texts" else ROOT / f"configs/{origin}.toml"


def planned(command):
    """Seconds and bytes of a plan; those of an ensemble's members are taken one after another."""
    plans = json.loads(subprocess.run([*command, "--plan", "--json"], check=True, capture_output=True, text=True).stdout)
    plans = plans if isinstance(plans, list) else [plans]
    return sum(plan["seconds"] for plan in plans), max(plan["bytes"] for plan in plans)


def measured(command):
    """Seconds and bytes, at its peak, of a run."""
    started = time.perf_counter()
    process = subprocess.Popen([*command, "--quiet"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(map(str, command))} failed")
    return time.perf_counter() - started, 1024 * usage.ru_maxrss


def main(folder, names):
    print(f"{'':50} {'planned':>9} {'took':>9} {'ratio':>6} {'planned':>11} {'took':>9} {'ratio':>6}")
    for name in names or RUNS:
        origin, changes = RUNS[name]
        config = configuration(folder, origin)
        out = Path(tempfile.mkdtemp(dir=folder)) / "run"
        command = [DSOKR, "train", config, "--out", out, *(word for change in changes for word in ("--set", change))]
        seconds, size = planned(command)
        took, held = measured(command)
        shutil.rmtree(out.parent)
        print(
            f"{name:50} {seconds:7.1f} s {took:7.1f} s {took / seconds:6.2f} "
            f"{size / 1e6:8.0f} MB {held / 1e6:6.0f} MB {held / size:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    DSOKR = Path(sys.argv[1]).resolve()
    FOLDER = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
    FOLDER.mkdir(exist_ok=True)
    os.chdir(ROOT)
    main(FOLDER.resolve(), sys.argv[3:])
