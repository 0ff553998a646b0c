"""Memory and time of sketched inputs on as many spectra as MassSpecGym has, perturbed copies of MassBank's.

usage: spectra_size.py DSOKR [COUNT [SKETCH]]    (data: DSOKR_DATA/massbank, default ../shared/data)

Writes COUNT (231,000) spectra to a temporary folder, each a training spectrum whose m/z are moved by 2 ppm, whose intensities are
multiplied by log-normal noise, and of which a tenth of the peaks are left out. Trains SISOKR with a sketch of SKETCH (1,000) inputs
on bins of peaks and neutral losses. Prints seconds and the largest memory of the process.
"""
import os, pathlib, random, sys, tempfile
from measured import train

data = pathlib.Path(os.environ.get("DSOKR_DATA", "../shared/data")) / "massbank"
count, sketch = (int(value) for value in (sys.argv[2:] + ["231000", "1000"][len(sys.argv) - 2:]))
CONFIG = f"""
[data]
folder = "./"
train = "train.mgf"
validation = "validation.mgf"
id = "inchikey"
query = "identifier"
inputs = {{ column = "spectrum" }}
[output]
table = "molecules.tsv"
label = "smiles"
features = {{ kind = "substructures", column = "smiles", count = {{ name = "morgan" }}, log = true }}
kernel = {{ name = "cosine" }}
[sketch]
size = 400
[encoder]
kind = "kernel-machine"
kernel = {{ name = "cosine" }}
solver = {{ name = "sketched", sketch = {{ size = {sketch} }} }}
lambda = 1e-5
inputs = {{ kind = "spectra", blocks = [
  {{ source = "peaks", power = 0.25, min_spectra = 20 }}, {{ source = "losses", power = 0.25, min_spectra = 20 }},
] }}
"""
random.seed(1)
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for name in ("validation.mgf", "molecules.tsv"):
        (folder / name).symlink_to((data / name).resolve())
    spectra = (data / "train.mgf").read_text().split("END IONS\n")[:-1]
    with open(folder / "train.mgf", "w") as file:
        for at in range(count):
            lines = spectra[at % len(spectra)].strip().split("\n")
            for line in lines:
                if not line[0].isdigit():
                    file.write(f"{line}-{at}\n" if line.startswith("TITLE=") else line + "\n")
            peaks = [tuple(map(float, line.split())) for line in lines if line[0].isdigit()]
            if at >= len(spectra):
                kept = [peak for peak in peaks if random.random() >= 0.1] or peaks[:1]
                peaks = sorted((mz * (1 + random.gauss(0, 2e-6)), i * random.lognormvariate(0, 0.2)) for mz, i in kept)
            file.writelines(f"{mz:.5f} {intensity:.4g}\n" for mz, intensity in peaks)
            file.write("END IONS\n\n")
    (folder / "size.toml").write_text(CONFIG)
    found, took = train(sys.argv[1], folder / "size.toml", folder / "run")
    size = (folder / "train.mgf").stat().st_size / 1e6
    print(f"{found}{count} spectra, {size:.0f} MB: {took}")
