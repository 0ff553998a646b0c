import csv

import torch

import dsokr


def read(name: str) -> tuple[list[str], list[str]]:
    with open(f"datasets/quickstart/{name}.tsv", newline="") as file:
        first, second = zip(*list(csv.reader(file, delimiter="\t"))[1:])
        return list(first), list(second)


dsokr.quickstart(".")  # writes 2,000 molecules with descriptions
ids, smiles = read("molecules")
gold, texts = read("train")

# the output side: targets of the training outputs, and every molecule as a candidate
Y = dsokr.molecules.features(smiles, kind="morgan", radius=2)
psi = dsokr.Basis.fit(Y[[ids.index(id) for id in gold]], kernel="cosine", sketch=dsokr.Gaussian(400), power=0.5)
targets = psi.targets(Y[[ids.index(id) for id in gold]])
pool = dsokr.Candidates(psi, Y, ids=ids, labels=smiles)

# your own model and loop: a bag of words
words = {word: at for at, word in enumerate(sorted({word for text in texts for word in text.lower().split()}))}


def encoded(some: list[str]) -> torch.Tensor:
    counts = torch.zeros(len(some), len(words))
    for row, text in enumerate(some):
        counts[row, [words[word] for word in text.lower().split() if word in words]] = 1
    return torch.nn.functional.normalize(counts)


torch.manual_seed(0)
model, inputs = torch.nn.Linear(len(words), psi.rank), encoded(texts)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for _ in range(500):
    batch = torch.randint(len(texts), (64,))
    optimizer.zero_grad()
    psi.loss(model(inputs[batch]), targets[batch], "softmax").backward()
    optimizer.step()

# exact ranks of the right molecules among all, with bootstrap intervals
test_gold, test_texts = read("test")
ranks = pool.rank(model(encoded(test_texts)).detach(), test_gold)
print(ranks.metrics(k=(1, 10), ci=0.95))
