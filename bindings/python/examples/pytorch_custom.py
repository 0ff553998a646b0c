"""A PyTorch module trained on dsokr's targets, and one scored by cosine similarity, both ranked by dsokr.

usage: python pytorch_custom.py [folder of the quickstart set]
"""

import csv
import sys
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy, mse_loss, normalize

import dsokr


def read(path):
    with open(path, newline="") as file:
        return list(csv.reader(file, delimiter="\t"))[1:]


def counts(texts, vocabulary):
    """Word counts of unit length, (n, words)."""
    found = torch.zeros(len(texts), len(vocabulary))
    for row, text in enumerate(texts):
        for word in text.lower().split():
            if word in vocabulary:
                found[row, vocabulary[word]] += 1
    return normalize(found)


def train(module, loss, inputs, targets, epochs):
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    for _ in range(epochs):
        for batch in torch.randperm(len(inputs)).split(100):
            optimizer.zero_grad()
            loss(module, inputs[batch], targets[batch]).backward()
            optimizer.step()


def main(folder):
    torch.manual_seed(0)
    smiles = dict(read(folder / "molecules.tsv"))
    ids, texts = zip(*read(folder / "train.tsv"), strict=True)
    gold, test_texts = zip(*read(folder / "test.tsv"), strict=True)
    words = sorted({word for text in texts for word in text.lower().split()})
    vocabulary = {word: at for at, word in enumerate(words)}
    X, X_test = counts(texts, vocabulary), counts(test_texts, vocabulary)

    # the targets: coordinates of the molecules in a sketched basis
    Y_all = dsokr.molecules.features(smiles.values(), kind="morgan", radius=2)
    position = {id: at for at, id in enumerate(smiles)}
    Y = Y_all.select([position[id] for id in ids])
    psi = dsokr.Basis.fit(Y, kernel="cosine", sketch=dsokr.Gaussian(400), power=0.5, seed=0)
    T = torch.from_numpy(psi.project(Y))
    pool = dsokr.Candidates(psi, Y_all, ids=smiles, labels=smiles.values())

    # any module of yours
    module = torch.nn.Linear(len(words), psi.rank)
    train(module, lambda module, x, t: mse_loss(module(x), t) * psi.rank, X, T, epochs=20)
    targets = pool.rank(module(X_test).detach(), gold)
    print("trained on targets:", targets.metrics(ci=0.95))

    # a model scored by cosine similarity: a text tower beside one of fingerprints
    fingerprints = torch.from_numpy(dsokr.molecules.features(smiles.values(), bits=True).toarray())
    towers = torch.nn.ModuleDict({"text": torch.nn.Linear(len(words), 64), "molecule": torch.nn.Linear(2048, 64)})

    def embed(name, x):
        return normalize(towers[name](x))

    def contrastive(towers, x, molecules):
        similarity = embed("text", x) @ embed("molecule", fingerprints[molecules]).T
        return cross_entropy(20 * similarity, torch.arange(len(x)))

    train(towers, contrastive, X, torch.tensor([position[id] for id in ids]), epochs=20)
    with torch.no_grad():
        scores = embed("text", X_test) @ embed("molecule", fingerprints).T
    cosine = dsokr.metrics.rank_scores(scores, np.array([position[id] for id in gold]))
    print("scored by cosine similarity:", cosine.metrics(ci=0.95))
    print("difference:", targets.compare(cosine)["mrr"])
    return targets, cosine


if __name__ == "__main__":
    quickstart = Path(__file__).parents[3] / "datasets" / "quickstart"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else quickstart)
