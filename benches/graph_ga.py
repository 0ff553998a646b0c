"""A genetic algorithm on molecular graphs, peer of the search beyond candidates: the same scores, starts and evaluations.

usage: graph_ga.py RUN [QUERIES [SEED [MUTATION_RATE [SETTINGS]]]]

RUN is a run of configs/smi2mol-20k.toml, which is copied and not changed; SETTINGS are those of `--beyond`, such as evaluations=300.

After Jensen (Chem. Sci. 2019, 10, 3567): parents are drawn by their score, crossed over at a bond outside of rings or at two
bonds of a ring, and mutated by one of seven changes with the paper's probabilities; the best of parents and children are the
next 20. Of the first QUERIES validation molecules (100) each starts with its 20 best candidates, as `dsokr predict --beyond`
does, and scores as many molecules as that did for it. Scores are those of the command: a generation is added by `dsokr
candidates add`, and `dsokr embed` writes its coordinates and those of the queries. Prints JSON: of first candidates, the search and the algorithm
the mean score, the share of exact molecules without configurations, the Tanimoto similarity (Morgan, radius 2), and the edit
distances of `dsokr evaluate`. $DSOKR names the command. Needs numpy, rdkit.
"""
import csv, json, os, pathlib, random, shutil, subprocess, sys, tempfile, time
import numpy as np
from rdkit import Chem, RDLogger
from rdkit.Chem import DataStructs, rdFingerprintGenerator

RDLogger.DisableLog("rdApp.*")
STARTS, CHILDREN, ATOMS, TRIES = 20, 50, 9, 20
ELEMENTS = [6, 7, 8, 9]
ORDERS = [Chem.BondType.SINGLE, Chem.BondType.DOUBLE, Chem.BondType.TRIPLE]
SINGLE = ORDERS[0]
ALLENE = Chem.MolFromSmarts("[R]=[R]=[R]")
morgan = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)


def flat(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    return molecule and Chem.MolToSmiles(molecule, isomericSmiles=False)


def kekule(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    Chem.Kekulize(molecule, clearAromaticFlags=True)
    return Chem.RWMol(molecule)


def checked(draft):
    """The SMILES of a draft that is a molecule, without a cumulated double bond in a ring; none of another."""
    try:
        for atom in draft.GetAtoms():
            atom.SetNoImplicit(False)
            atom.SetNumExplicitHs(0)
        molecule = Chem.Mol(draft)
        Chem.SanitizeMol(molecule)
        smiles = Chem.MolToSmiles(molecule, isomericSmiles=False)
    except (Chem.AtomValenceException, Chem.KekulizeException, ValueError, RuntimeError):
        return None
    if "." in smiles or not 2 <= molecule.GetNumAtoms() <= ATOMS or Chem.MolFromSmiles(smiles) is None:
        return None
    if any(atom.GetNumRadicalElectrons() for atom in molecule.GetAtoms()) or molecule.HasSubstructMatch(ALLENE):
        return None
    return smiles


def fragments(smiles, in_ring):
    """Two parts of a molecule, each with the numbers of the atoms where it was cut."""
    draft = kekule(smiles)
    bonds = (bond for bond in draft.GetBonds() if bond.IsInRing() == in_ring)
    own = [bond.GetIdx() for bond in bonds if in_ring or bond.GetBondType() == SINGLE]
    random.shuffle(own)
    cuts = [(a, b) for i, a in enumerate(own) for b in own[:i]] if in_ring else [(a,) for a in own]
    for cut in cuts[:TRIES]:
        parts = Chem.GetMolFrags(Chem.FragmentOnBonds(draft, cut), asMols=True, sanitizeFrags=False)
        if len(parts) == 2 and all(sum(a.GetAtomicNum() == 0 for a in part.GetAtoms()) == len(cut) for part in parts):
            return parts
    return None


def crossover(first, second):
    in_ring = random.random() < 0.5
    halves = [fragments(parent, in_ring) for parent in (first, second)]
    if None in halves:
        return None
    left, right = (random.choice(half) for half in halves)
    draft = Chem.RWMol(Chem.CombineMols(left, right))
    ends = lambda own: [a.GetIdx() for a in draft.GetAtoms() if a.GetAtomicNum() == 0 and (a.GetIdx() < left.GetNumAtoms()) == own]
    ours, theirs = ends(True), ends(False)
    random.shuffle(theirs)
    for a, b in zip(ours, theirs):
        a, b = (draft.GetAtomWithIdx(end).GetNeighbors()[0].GetIdx() for end in (a, b))
        if a == b or draft.GetBondBetweenAtoms(a, b):
            return None
        draft.AddBond(a, b, random.choice(ORDERS[:2]) if in_ring else SINGLE)
    for end in sorted(ours + theirs, reverse=True):
        draft.RemoveAtom(end)
    return checked(draft)


def append_atom(draft):
    atom = random.randrange(draft.GetNumAtoms())
    order = random.choices(ORDERS, [0.60, 0.35, 0.05])[0]
    draft.AddBond(atom, draft.AddAtom(Chem.Atom(random.choice(ELEMENTS))), order)


def insert_atom(draft):
    bond = random.choice(list(draft.GetBonds()))
    a, b = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
    draft.RemoveBond(a, b)
    new = draft.AddAtom(Chem.Atom(random.choice(ELEMENTS[:3])))
    draft.AddBond(a, new, random.choices(ORDERS, [0.60, 0.35, 0.05])[0])
    draft.AddBond(new, b, SINGLE)


def delete_atom(draft):
    atom = draft.GetAtomWithIdx(random.randrange(draft.GetNumAtoms()))
    near = [own.GetIdx() for own in atom.GetNeighbors()]
    random.shuffle(near)
    for a, b in zip(near, near[1:]):
        if not draft.GetBondBetweenAtoms(a, b):
            draft.AddBond(a, b, SINGLE)
    draft.RemoveAtom(atom.GetIdx())


def change_atom(draft):
    draft.GetAtomWithIdx(random.randrange(draft.GetNumAtoms())).SetAtomicNum(random.choice(ELEMENTS))


def change_order(draft):
    random.choice(list(draft.GetBonds())).SetBondType(random.choices(ORDERS, [0.45, 0.50, 0.05])[0])


def delete_cyclic_bond(draft):
    rings = [bond for bond in draft.GetBonds() if bond.IsInRing()]
    if rings:
        bond = random.choice(rings)
        draft.RemoveBond(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())


def add_ring(draft):
    paths = Chem.GetDistanceMatrix(draft)
    size = random.choices([3, 4, 5, 6], [0.05, 0.05, 0.45, 0.45])[0]
    ends = [(a, b) for a in range(len(paths)) for b in range(a) if paths[a][b] == size - 1]
    if ends:
        draft.AddBond(*random.choice(ends), SINGLE)


MUTATIONS = [insert_atom, change_order, delete_cyclic_bond, add_ring, delete_atom, change_atom, append_atom]


def mutated(smiles):
    draft = kekule(smiles)
    random.choices(MUTATIONS, [0.15, 0.14, 0.14, 0.14, 0.14, 0.14, 0.15])[0](draft)
    return checked(draft)


def child(population, rate):
    """A new molecule of two parents, or none where it took too many tries."""
    smiles, weights = zip(*((own, max(score, 1e-9)) for own, score in population.items()))
    for _ in range(TRIES):
        made = crossover(*random.choices(smiles, weights, k=2))
        made = mutated(made) if made and random.random() < rate else made
        if made:
            return made
    return None


def command(*arguments):
    line = [os.environ.get("DSOKR", "dsokr"), *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout


def compare(truth, found):
    prints = [[morgan.GetFingerprint(Chem.MolFromSmiles(own)) for own in side] for side in (truth, found)]
    alike = sum(DataStructs.TanimotoSimilarity(*pair) for pair in zip(*prints)) / len(truth)
    return {"exact_without_stereo": sum(map(str.__eq__, truth, found)) / len(truth), "tanimoto": alike}


def main():
    given = sys.argv[2:] + ["100", "0", "0.5", ""][len(sys.argv) - 2:]
    count, seed, rate, beyond = int(given[0]), int(given[1]), float(given[2]), f"--beyond={given[3]}"
    random.seed(seed)
    work = pathlib.Path(tempfile.mkdtemp())
    run, queries, table = work / "run", work / "queries.smi", work / "new.tsv"
    shutil.copytree(sys.argv[1], run)
    command("evaluate", run, "--split", "validation", "--report", work / "report")
    rows = list(csv.DictReader(open(work / "report/ranks.tsv"), delimiter="\t"))[:count]
    pool = [line.split()[0] for line in open(pathlib.Path(os.environ["DSOKR_DATA"]) / "qm9/smiles.txt")]
    truth = [pool[int(row["gold"]) - 1] for row in rows]
    queries.write_text("".join(f"{smiles}\n" for smiles in truth))
    start = time.time()
    answers = [json.loads(line) for line in command("predict", run, queries, beyond, "--top", 2 * STARTS).splitlines()]
    search_s = time.time() - start
    searched = json.loads(command("evaluate", run, "--queries", queries, beyond, "--json"))

    seen, best, names, start = [], [], {}, time.time()
    for answer in answers:
        own = {flat(hit["label"]): hit["score"] for hit in answer["candidates"]}
        own = dict(list(own.items())[:STARTS])
        seen.append(dict(own))
        best.append(own)
    budget = [answer["beyond"][0]["evaluated"] for answer in answers]
    stuck, points = set(), {}
    command("embed", run, queries, "--out", work / "z.npy")
    z = np.load(work / "z.npy")
    while any(len(own) < most and at not in stuck for at, (own, most) in enumerate(zip(seen, budget))):
        fresh = [set() for _ in answers]
        for at, own in enumerate(best):
            for _ in range(TRIES * CHILDREN):
                if len(fresh[at]) >= min(CHILDREN, budget[at] - len(seen[at])):
                    break
                made = child(own, rate)
                if made and made not in seen[at]:
                    fresh[at].add(made)
            if not fresh[at]:
                stuck.add(at)
        new = sorted(set().union(*fresh) - names.keys())
        names.update({smiles: f"ga{len(names) + at}" for at, smiles in enumerate(new)})
        if new:
            table.write_text("id\tsmiles\n" + "".join(f"{names[smiles]}\t{smiles}\n" for smiles in new))
            command("candidates", "add", run, table)
            command("embed", run, table, "--outputs", "--column", "id", "--out", work / "new.npy")
            points.update(zip(new, np.load(work / "new.npy")))
        if not any(fresh):
            break
        for at, own in enumerate(fresh):
            # the kernel is normalised, so candidates have no constants
            seen[at].update((smiles, float(z[at] @ points[smiles])) for smiles in sorted(own))
            best[at] = dict(sorted(seen[at].items(), key=lambda own: (-own[1], own[0]))[:STARTS])
        print(f"{sum(map(len, seen))} of {sum(budget)} molecules, {time.time() - start:.0f} s", file=sys.stderr, flush=True)
    truth = [flat(own) for own in truth]
    firsts = [flat(answer["candidates"][0]["label"]) for answer in answers]
    found = [flat(answer["beyond"][0]["label"]) for answer in answers]
    grown = [next(iter(own)) for own in best]
    distances = lambda own: {key: own[key] for key in ("ged", "ged_bonds", "exact")}
    # the best that the algorithm found for some query are the only new candidates of a copy
    shutil.rmtree(run)
    shutil.copytree(sys.argv[1], run)
    table.write_text("id\tsmiles\n" + "".join(f"ga{at}\t{own}\n" for at, own in enumerate(sorted(set(grown)))))
    command("candidates", "add", run, table)
    evolved = json.loads(command("evaluate", run, "--queries", queries, "--json"))
    mean = lambda values: sum(values) / len(values)
    print(json.dumps({
        "queries": len(truth), "evaluations": mean(budget), "seed": seed, "mutation_rate": rate,
        "candidates": {"score": mean([own["candidates"][0]["score"] for own in answers]), **compare(truth, firsts), **distances(searched)},
        "search": {"score": mean([own["beyond"][0]["score"] for own in answers]), **compare(truth, found), **distances(searched["beyond"]), "seconds": search_s},
        "genetic": {"score": mean([next(iter(own.values())) for own in best]), **compare(truth, grown), **distances(evolved), "seconds": time.time() - start},
    }))
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
