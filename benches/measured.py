"""Trainings by the command, with the time and the memory that they take."""
import os, resource, subprocess, sys, time


def train(dsokr, config, out, *arguments, **environment):
    """The standard output of a training, and its seconds, processor time and largest memory as a text; ends the program where it fails."""
    command = [os.path.abspath(dsokr), "train", str(config), "--out", str(out), *arguments]
    start = time.monotonic()
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    seconds = time.monotonic() - start
    if done.returncode:
        sys.exit(done.stderr)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = used.ru_utime + used.ru_stime
    return done.stdout, f"{seconds:.0f} s, {processor:.0f} s of processor time, {used.ru_maxrss / 1e6:.2f} GB"
