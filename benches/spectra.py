"""A fingerprint network in PyTorch: the peer of configs/massbank-bag.toml.

usage: spectra.py [EPOCHS [SEED]]    (data: DSOKR_DATA/massbank, default ../shared/data)

The inputs are those of the configuration: intensities to the power 0.25 of peaks and neutral losses in bins of 0.01 Da at two
offsets, in at least two training spectra, each block of unit length. A weighted sum of 512 embeddings, an MLP with 1,024
hidden units and dropout 0.5, and binary cross-entropy on Morgan bits (radius 2, 2,048) and MACCS keys. Candidates are ranked
by the cosine of their bits with the predicted probabilities. Prints a JSON object for each epoch: ranks in the whole pool and
among candidates of the same formula (queries with at least two), ties averaged. Needs numpy, torch, rdkit.
"""
import collections, json, os, pathlib, sys, time
import numpy as np, torch
from rdkit import Chem, DataStructs, RDLogger
from rdkit.Chem import MACCSkeys, rdFingerprintGenerator

RDLogger.DisableLog("rdApp.*")
data = pathlib.Path(os.environ.get("DSOKR_DATA", "../shared/data")) / "massbank"
epochs, seed = (int(value) for value in (sys.argv[1:] + ["10", "1"][len(sys.argv) - 1:]))
torch.manual_seed(seed)
torch.set_num_threads(2)
rng = np.random.default_rng(seed)


def read(path):
    spectra = []
    for line in open(path):
        line = line.strip()
        if line == "BEGIN IONS":
            spectra.append({"peaks": []})
        elif "=" in line and not line[0].isdigit():
            spectra[-1].update([line.split("=", 1)])
        elif line and line != "END IONS":
            spectra[-1]["peaks"].append(tuple(map(float, line.split())))
    return spectra


def bins(spectrum, loss, shift):
    found, precursor = collections.Counter(), float(spectrum["PEPMASS"])
    for mz, intensity in spectrum["peaks"]:
        mass = precursor - mz if loss else mz
        if not loss or mass >= 0.5:
            found[loss, shift, int((mass + shift) / 0.01)] += intensity**0.25
    return found


def row(spectrum, columns):
    indices, values = [], []
    for loss in (False, True):
        for shift in (0.0, 0.005):
            own = {b: v for b, v in bins(spectrum, loss, shift).items() if b in columns}
            norm = sum(v * v for v in own.values()) ** 0.5
            indices += [columns[b] for b in own]
            values += [v / norm for v in own.values()]
    return indices, values


def batch(rows):
    starts = np.cumsum([0] + [len(indices) for indices, _ in rows[:-1]])
    join = lambda part: [x for one in rows for x in one[part]]
    return torch.tensor(join(0)), torch.tensor(starts), torch.tensor(join(1), dtype=torch.float32)


train, validation = read(data / "train.mgf"), read(data / "validation.mgf")
count = collections.Counter(b for s in train for loss in (False, True) for shift in (0.0, 0.005) for b in bins(s, loss, shift))
columns = {b: at for at, b in enumerate(b for b, spectra in count.items() if spectra >= 2)}
inputs, queries = ([row(s, columns) for s in part] for part in (train, validation))
pool = [line.rstrip("\n").split("\t") for line in open(data / "molecules.tsv")][1:]
place = {line[0]: at for at, line in enumerate(pool)}
same = collections.defaultdict(list)
for at, line in enumerate(pool):
    same[line[2]].append(at)
morgan = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
bits = np.zeros((len(pool), 2048 + 167), np.float32)
for at, line in enumerate(pool):
    molecule = Chem.MolFromSmiles(line[1])
    for fingerprint, part in ((morgan.GetFingerprint(molecule), bits[at, :2048]), (MACCSkeys.GenMACCSKeys(molecule), bits[at, 2048:])):
        DataStructs.ConvertToNumpyArray(fingerprint, part)
unit = torch.from_numpy(bits / np.maximum(np.linalg.norm(bits, axis=1, keepdims=True), 1e-9))
gold, targets = [place[s["INCHIKEY"]] for s in validation], torch.from_numpy(bits[[place[s["INCHIKEY"]] for s in train]])


def ranks(scores, among=None):
    found = []
    for query, right in enumerate(gold):
        own = scores[query] if among is None else scores[query][among[query]]
        if len(own) > 1:
            found.append((own > scores[query][right]).sum() + 1 + ((own == scores[query][right]).sum() - 1) / 2)
    return np.array(found)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.EmbeddingBag(len(columns), 512, mode="sum", sparse=True)
        torch.nn.init.normal_(self.table.weight, 0.0, 0.1)
        gelu, drop = torch.nn.GELU(), torch.nn.Dropout(0.5)
        self.deep = torch.nn.Sequential(torch.nn.Linear(512, 1024), gelu, drop, torch.nn.Linear(1024, bits.shape[1]))

    def forward(self, rows):
        indices, starts, values = batch(rows)
        return self.deep(self.table(indices, starts, per_sample_weights=values))


network, start = Network(), time.time()
steps = [torch.optim.SparseAdam(network.table.parameters(), 1e-3), torch.optim.Adam(network.deep.parameters(), 1e-3)]
for epoch in range(1, epochs + 1):
    network.train()
    for chosen in np.array_split(rng.permutation(len(train)), len(train) // 64):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(network([inputs[i] for i in chosen]), targets[chosen])
        for step in steps:
            step.zero_grad()
        loss.backward()
        for step in steps:
            step.step()
    network.eval()
    with torch.no_grad():
        scores = (torch.sigmoid(network(queries)) @ unit.T).numpy()
    whole, formula = ranks(scores), ranks(scores, [same[s["FORMULA"]] for s in validation])
    print(json.dumps({"epoch": epoch, "mrr": np.mean(1 / whole), "hits@1": np.mean(whole <= 1), "hits@10": np.mean(whole <= 10), "formula_queries": len(formula), "formula_hits@1": np.mean(formula <= 1), "formula_mrr": np.mean(1 / formula), "seconds": time.time() - start}), flush=True)
