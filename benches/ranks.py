"""Peak memory and time of each rank of a training by several processes.

usage: python benches/ranks.py DSOKR CONFIGURATION [RANKS ...] [-- ARGUMENT ...]

Runs `dsokr train` under mpirun with each number of ranks (1, 2 and 4, if none is given), one thread a rank. Prints of each rank the
peak of its resident memory and, on Linux, the largest that is not of mapped files, by samples each 20 ms; the time; and the
parts of both that a process of one rank has. DSOKR is a build with the feature mpi.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def rank(command):
    """Runs the program as one rank, and leaves its peaks in a file."""
    process = subprocess.Popen(command)
    most = 0
    while True:
        most = max(most, anonymous(process.pid))
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        time.sleep(0.02)
    number = os.environ["OMPI_COMM_WORLD_RANK"]
    Path(os.environ["PEAKS"], number).write_text(f"{1024 * usage.ru_maxrss} {most}", encoding="ascii")
    sys.exit(os.waitstatus_to_exitcode(status))


def anonymous(process):
    """Bytes that a process holds and that are not of mapped files; 0 where the system does not say."""
    try:
        status = Path("/proc", str(process), "status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    line = next((line for line in status.splitlines() if line.startswith("RssAnon:")), "RssAnon: 0 kB")
    return 1024 * int(line.split()[1])


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
            read = [Path(peaks, str(number)).read_text(encoding="ascii").split() for number in range(count)]
            all_peaks = [[int(size) / 1e6 for size in sizes] for sizes in zip(*read)]
            first = first or [max(sizes) for sizes in all_peaks]
            for what, sizes, of_one in zip(["resident", "not mapped"], all_peaks, first):
                each = ", ".join(f"{size:.0f}" for size in sizes)
                share = max(sizes) / of_one if of_one else 0
                print(f"{count} ranks, {what}: {each} MB, {share:.2f} of one, {seconds:.1f} s", flush=True)
            shutil.rmtree(Path(folder, "run"), ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1] == "--rank":
        rank(sys.argv[2:])
    words = sys.argv[3:]
    at = words.index("--") if "--" in words else len(words)
    main(str(Path(sys.argv[1]).resolve()), sys.argv[2], [int(word) for word in words[:at]] or [1, 2, 4], words[at + 1 :])
