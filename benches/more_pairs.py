"""Time, memory and validation MRR of configs/chebi20-all.toml on more pairs than there are, perturbed copies of its own.

usage: more_pairs.py DSOKR COUNT [SECTION.KEY=VALUE …]    (data: DSOKR_DATA, default ../shared/data)

Writes COUNT pairs to a temporary folder: those of train.tsv and more.tsv, then copies of them one after another, of whose
words a tenth is left out. Trains on them with the settings given, and prints the metrics of the validation split, seconds and
the largest memory of the process. From the project's root.
"""
import os, pathlib, random, resource, subprocess, sys, tempfile, time

root = pathlib.Path(os.environ.get("DSOKR_DATA", "../shared/data")).resolve()
dsokr, count, settings = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
random.seed(1)
pairs = []
for name in ("train.tsv", "more.tsv"):
    lines = (root / "chebi20" / name).read_text().splitlines()[1:]
    pairs += [line.split("\t")[:2] for line in lines]
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / "chebi20").mkdir()
    for file in (root / "chebi20").iterdir():
        if file.name not in ("train.tsv", "more.tsv"):
            (folder / "chebi20" / file.name).symlink_to(file)
    with open(folder / "chebi20" / "train.tsv", "w") as file:
        file.write("cid\tdescription\n")
        for at in range(count):
            cid, text = pairs[at % len(pairs)]
            if at >= len(pairs):
                text = " ".join(word for word in text.split(" ") if random.random() >= 0.1)
            file.write(f"{cid}\t{text}\n")
    run = ["train", "configs/chebi20-all.toml", "--out", str(folder / "run"), "--set", 'data.train=["train.tsv"]', "--json"]
    start = time.monotonic()
    command = [dsokr, *run, *(part for setting in settings for part in ("--set", setting))]
    done = subprocess.run(command, env=os.environ | {"DSOKR_DATA": str(folder)}, capture_output=True, text=True)
    seconds = time.monotonic() - start
    if done.returncode:
        sys.exit(done.stderr)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{count} pairs {' '.join(settings)}: {seconds:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processor time,"
          f" {used.ru_maxrss / 1e6:.2f} GB")
    print(done.stdout)
