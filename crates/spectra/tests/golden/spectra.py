"""Kernels of drawn spectra in NumPy, straight from their formulas: golden values of tests/suite/spectra.rs.

usage: spectra.py > spectra.json
"""
import json

import numpy as np

random = np.random.default_rng(39)
shared = np.sort(random.uniform(40, 300, 30)).round(4)
spectra = []
for _ in range(7):
    own = np.sort(np.concatenate([shared[random.random(30) < 0.7], random.uniform(40, 300, 5)]))
    mz = np.unique((own + random.normal(0, 0.002, len(own))).round(5))
    spectra.append((round(random.choice([310.0, 324.0157]) + random.normal(0, 0.001), 4), mz, random.uniform(0.01, 1, len(mz)).round(4)))


def masses(spectrum, of, power):
    precursor, mz, intensity = spectrum
    if of == "peaks":
        return mz, intensity**power
    if of == "losses":
        return precursor - mz, intensity**power
    low, high = np.triu_indices(len(mz), 1)
    return mz[high] - mz[low], (intensity[high] * intensity[low]) ** power


def cosine(gram):
    length = np.sqrt(np.diag(gram))
    return gram / np.outer(length, length)


def bins(of, width, shift, power):
    """The cosine of intensities in bins that at least two spectra have."""
    rows = []
    for spectrum in spectra:
        row = {}
        for mass, weight in zip(*masses(spectrum, of, power)):
            if of == "peaks" or mass >= 0.5:
                key = int(np.floor((mass + shift) / width))
                row[key] = row.get(key, 0) + weight
        rows.append(row)
    common = [k for k in set().union(*rows) if sum(k in row for row in rows) >= 2]
    dense = np.array([[row.get(k, 0.0) for k in common] for row in rows])
    return cosine(dense @ dense.T)


def mixtures(of, power, deviation, values=None):
    """The probability product kernel, a sum over all pairs of masses."""
    gram = np.zeros((len(spectra), len(spectra)))
    for i, a in enumerate(spectra):
        for j, b in enumerate(spectra):
            (m, w), (n, v) = masses(a, of, power), masses(b, of, power)
            w, v = w / w.max(), v / v.max()
            near = np.exp(-((m[:, None] - n[None, :]) ** 2) / (4 * deviation**2))
            gram[i, j] = (near * (np.outer(w, v) if values is None else np.exp(-((w[:, None] - v[None, :]) ** 2) / (4 * values**2)))).sum()
    return cosine(gram)


def text(precursor, mz, intensity):
    return " ".join([str(precursor)] + [f"{m}:{i}" for m, i in zip(mz, intensity)])


print(json.dumps({
    "spectra": [text(*spectrum) for spectrum in spectra],
    "bins": ((bins("peaks", 0.01, 0, 0.5) + bins("losses", 0.01, 0.005, 0.5) + bins("differences", 0.02, 0, 0.5)) / 3).tolist(),
    "peaks": mixtures("peaks", 0.5, 0.005).tolist(),
    "losses": mixtures("losses", 1.0, 0.01).tolist(),
    "values": mixtures("peaks", 0.5, 0.01, 0.2).tolist(),
}))
