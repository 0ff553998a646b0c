"""Peak memory and time of each rank of a training by several processes.

usage: python benches/ranks.py DSOKR CONFIGURATION [RANKS ...] [-- ARGUMENT ...]

Runs `dsokr train` under mpirun with each number of ranks (1, 2 and 4, if none is given), one thread a rank. Prints the peak
memory of each rank, the time, and the part of the peak that a process of one rank has. DSOKR is a build with the feature mpi.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def rank(command):
    """Runs the program as one rank, and leaves its peak in a file."""
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    number = os.environ["OMPI_COMM_WORLD_RANK"]
    Path(os.environ["PEAKS"], number).write_text(str(1024 * usage.ru_maxrss), encoding="ascii")
    sys.exit(os.waitstatus_to_exitcode(status))


def main(program, config, counts, arguments):
    first = None
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            peaks = Path(folder, "peaks")
            peaks.mkdir()
            command = [program, "train", config, "--out", str(Path(folder, "run")), "--quiet", *arguments]
            mpirun = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-np", str(count), "-x", "RAYON_NUM_THREADS=1"]
            environment = {**os.environ, "PEAKS": str(peaks), "RAYON_NUM_THREADS": "1"}
            started = time.perf_counter()
            whole = [*mpirun, "-x", "PEAKS", sys.executable, __file__, "--rank", *command]
            subprocess.run(whole, check=True, stdout=subprocess.DEVNULL, env=environment)
            seconds = time.perf_counter() - started
            held = [int(Path(peaks, str(number)).read_text(encoding="ascii")) / 1e6 for number in range(count)]
            first = first or max(held)
            each = ", ".join(f"{size:.0f}" for size in held)
            print(f"{count} ranks: {each} MB, {max(held) / first:.2f} of one, {seconds:.1f} s", flush=True)
            shutil.rmtree(Path(folder, "run"), ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        rank(sys.argv[2:])
    words = sys.argv[3:]
    at = words.index("--") if "--" in words else len(words)
    main(str(Path(sys.argv[1]).resolve()), sys.argv[2], [int(word) for word in words[:at]] or [1, 2, 4], words[at + 1 :])
