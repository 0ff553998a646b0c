"""Threads, signals, forks and spawned processes."""

import json
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import dsokr


def fit(seed):
    y = np.random.default_rng(0).standard_normal((200, 20)).astype(np.float32)
    return dsokr.Basis.fit(y, "cosine", dsokr.Gaussian(10), seed=seed).project(y)


def test_threads_of_the_caller_agree():
    found = {}

    def run(name):
        found[name] = fit(7)

    threads = [threading.Thread(target=run, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and all(np.array_equal(found[name], fit(7)) for name in found)


def large():
    rng = np.random.default_rng(0)
    return rng.standard_normal((20_000, 64)).astype(np.float32)


def test_the_lock_is_released():
    """A thread of Python counts while one call works."""
    y = large()
    counted = 0
    done = False

    def count():
        nonlocal counted
        while not done:
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted
    dsokr.Basis.fit(y[:4000], {"name": "gaussian", "gamma": 0.01}, dsokr.Gaussian(100))
    during = counted - before
    done = True
    thread.join()
    assert during > 20


GAUSSIAN = {"name": "gaussian", "gamma": 0.01}


def points():
    rng = np.random.default_rng(1)
    return dsokr.Candidates.from_points(rng.standard_normal((60_000, 64)).astype(np.float32))


def long_calls():
    """Calls that take many seconds or minutes, made when asked for."""
    def ridge(rows, sketch):
        y = large()[:rows]
        targets = np.ones((rows, 300))
        machine = dsokr._dsokr.KernelMachine
        return lambda: machine.ridge(dsokr.as_rows(y), json.dumps(GAUSSIAN), targets, 1e-3, sketch, 0, None)

    def projection():
        basis = dsokr.Basis.fit(large()[:2000], GAUSSIAN, dsokr.Subsampling(2000))
        return lambda: basis.project(large())

    def rank():
        pool, gold = points(), [0] * 20_000
        return lambda: pool.rank(large(), gold)

    def ensemble():
        pool, gold = points(), [0] * 20_000
        return lambda: dsokr.rank_ensemble([(pool, large()), (pool, -large())], gold, rule="rank")

    def bootstrap():
        ranks = dsokr.metrics.rank_scores(large(), np.zeros(20_000, int))
        return lambda: ranks.metrics(resamples=10_000)

    return {
        "kernel_matrix": lambda: lambda: dsokr.kernel_matrix(large(), large()[:2000], GAUSSIAN),
        "fit": lambda: lambda: dsokr.Basis.fit(large(), GAUSSIAN, dsokr.Gaussian(500)),
        "projection": projection,
        "ridge": lambda: ridge(8_000, None),
        "sketched ridge": lambda: ridge(20_000, ('{"kind": "gaussian"}', 2000)),
        "rank": rank,
        "top_k": lambda: lambda pool=points(): pool.top_k(large(), 10),
        "hubs": lambda: lambda pool=points(): pool.with_hubs(large()),
        "ensemble": ensemble,
        "bootstrap": bootstrap,
    }


@pytest.mark.parametrize("name", long_calls())
def test_keyboard_interrupt_ends_long_calls(name, interrupted):
    call = long_calls()[name]()
    with interrupted(1.0):
        while True:
            call()
    # the next call works
    assert fit(0).shape == (200, 10)


def in_process(seed, queue):
    queue.put(fit(seed))


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_other_processes(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    expected = fit(3)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=in_process, args=(3, queue))
    process.start()
    found = queue.get(timeout=60)
    process.join(60)
    assert process.exitcode == 0 and np.array_equal(found, expected)


def run(code, *arguments, seconds=180, **environment):
    """Runs a program that must come to its end; its output."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env={**os.environ, **environment})
    assert found.returncode == 0, found.stderr
    return found.stdout.split()


FORKS = """
    import os, signal, threading, time
    import numpy as np
    import dsokr

    y = np.random.default_rng(0).standard_normal((20, 4)).astype(np.float32)
    done = threading.Event()

    def calls():
        while not done.is_set():
            dsokr.kernel_matrix(y)

    threads = [threading.Thread(target=calls) for _ in range(4)]
    for thread in threads:
        thread.start()
    late = 0
    for at in range(40):
        child = os.fork()
        if child == 0:
            dsokr.kernel_matrix(y)
            os._exit(0)
        until = time.monotonic() + 30
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > until:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                late += 1
                break
            time.sleep(0.002)
    done.set()
    for thread in threads:
        thread.join()
    print(late)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forks_while_other_threads_work():
    """A child has none of its parent's threads, and may not wait for a lock that one of them holds."""
    assert run(FORKS) == ["0"]


LARGE_BASIS = """
    import os, signal, time
    import numpy as np
    import dsokr

    # above 512 rows the eigendecomposition has a thread of its own, which signals do not wait for
    y = np.random.default_rng(0).standard_normal((700, 600)).astype(np.float32)
    first = dsokr.Basis.fit(y, "linear", dsokr.Gaussian(560)).spectrum
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(dsokr.Basis.fit(y, "linear", dsokr.Gaussian(560)).spectrum, first) else 1)
    until = time.monotonic() + 60
    while (found := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    print(found[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_after_a_large_eigendecomposition():
    """A worker of a pool that forks, or of a DataLoader, fits what its parent has fitted."""
    assert run(LARGE_BASIS) == ["0"]


FIRST_CALLS = """
    import os, signal, sys, threading, time
    import numpy as np
    import dsokr

    y = np.ones((4, 2), np.float32)
    # the first call makes the threads; the fork is at any time of that
    thread = threading.Thread(target=dsokr.kernel_matrix, args=(y,))
    thread.start()
    time.sleep(float(sys.argv[1]))
    child = os.fork()
    if child == 0:
        dsokr.kernel_matrix(y)
        os._exit(0)
    thread.join()
    until = time.monotonic() + 30
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            print("late")
            break
        time.sleep(0.002)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("seconds", [0, 0.0001, 0.0003, 0.001])
def test_forks_during_the_first_call(seconds):
    assert run(FIRST_CALLS, seconds) == []


def test_molecules_are_interrupted(interrupted):
    smiles = ["CC(C)Cc1ccc(cc1)C(C)C(=O)O" * 20] * 50_000
    for call in (dsokr.molecules.features, dsokr.molecules.canonical):
        with interrupted(1.0):
            while True:
                call(smiles)


def test_import_needs_numpy_alone():
    """None of the optional packages is imported by the package itself."""
    code = "import sys, dsokr; print([name for name in ('scipy', 'sklearn', 'torch', 'pandas', 'networkx') if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_estimators_are_imported_on_first_use():
    pytest.importorskip("sklearn")
    code = "import dsokr; print(dsokr.sklearn.IOKR(kernel='cosine', n_components=300, alpha=1e-3))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.startswith("IOKR(")
