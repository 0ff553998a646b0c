"""Writes MassSpecGym's published files as dsokr reads them.

usage: prepare.py FOLDER [OUT]    (OUT: default FOLDER)

FOLDER has MassSpecGym.tsv, MassSpecGym_retrieval_candidates_mass.json and MassSpecGym_retrieval_candidates_formula.json, as
https://huggingface.co/datasets/roman-bushuiev/MassSpecGym has them. Rows go by their `fold` to train.tsv, validation.tsv and
test.tsv, with all columns. molecules.tsv has each SMILES of the table and of the lists once, and candidates_mass.jsonl and
candidates_formula.jsonl the list of each spectrum of validation and test, by its identifier. The right one of a list is the
SMILES of the query; where a list writes it in another way, RDKit is needed, and the first block of the InChIKey says which.
"""
import csv, json, pathlib, sys

folder = pathlib.Path(sys.argv[1])
out = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else folder)
csv.field_size_limit(1 << 30)
FOLDS = {"train": "train", "val": "validation", "test": "test"}


def written(smiles, inchikey, own):
    """The molecule as its list of candidates writes it."""
    try:
        from rdkit import Chem
    except ImportError:
        sys.exit(f"{smiles!r} is not in its own list of candidates; RDKit is needed to find it")
    keys = ((one, Chem.MolToInchiKey(Chem.MolFromSmiles(one))[:14]) for one in own)
    return next((one for one, key in keys if key == inchikey), None)


out.mkdir(parents=True, exist_ok=True)
molecules, queries = {}, []
with open(folder / "MassSpecGym.tsv", newline="") as table:
    rows = csv.DictReader(table, delimiter="\t")
    files = {fold: open(out / f"{name}.tsv", "w", newline="") for fold, name in FOLDS.items()}
    writers = {fold: csv.writer(file, delimiter="\t", lineterminator="\n") for fold, file in files.items()}
    for writer in writers.values():
        writer.writerow(rows.fieldnames)
    for number, row in enumerate(rows, 2):
        if row["fold"] not in FOLDS:
            sys.exit(f"MassSpecGym.tsv:{number}: fold {row['fold']!r}; expected train, val or test")
        writers[row["fold"]].writerow(row.values())
        molecules[row["smiles"]] = None
        if row["fold"] != "train":
            queries.append((row["identifier"], row["smiles"], row["inchikey"]))
    for file in files.values():
        file.close()
for name in ("mass", "formula"):
    path = folder / f"MassSpecGym_retrieval_candidates_{name}.json"
    lists, renamed = json.load(open(path)), {}
    with open(out / f"candidates_{name}.jsonl", "w") as file:
        for identifier, smiles, inchikey in queries:
            if smiles not in lists:
                sys.exit(f"{path}: no list of {smiles!r}, the molecule of {identifier}")
            own = list(dict.fromkeys(lists[smiles]))
            if smiles not in own:
                if smiles not in renamed:
                    renamed[smiles] = written(smiles, inchikey, own)
                if renamed[smiles] is None:
                    sys.exit(f"{path}: the list of {smiles!r} lacks it")
                own[own.index(renamed[smiles])] = smiles
            molecules.update(dict.fromkeys(own))
            file.write(json.dumps({"query": identifier, "candidates": own}) + "\n")
with open(out / "molecules.tsv", "w") as file:
    file.write("smiles\n" + "".join(f"{smiles}\n" for smiles in molecules))
