"""What this project reads in molecules against RDKit: classes, formulas, masses, rings, groups, configurations, errors.

usage: rdkit_molecules.py [PROGRAM [ROWS]]

PROGRAM is the example `perceive` of crates/molecule (`cargo build --release -p dsokr-molecule --example perceive`; default
target/release/examples/perceive). ROWS is how many molecules of each set are taken, spread evenly; default: all. Reads
chebi20/molecules.tsv, massbank/molecules.tsv and qm9/smiles.txt of DSOKR_DATA (default ../shared/data).

Each molecule is read as it is given, with its atoms in a random order, and with marks (`@`, `/`) at every atom and double
bond that could bear one, most of which mean nothing. Prints, for each set:

- rows whose formula, mass, aromatic atoms, rings, number of centres and double bonds with a configuration, names of these
  (which of R, S, E and Z occur; RDKit's CIP labeler) and functional groups (SMARTS below) differ;
- canonical classes: the texts, of all three kinds, of a class of one program that the other one puts into several, by RDKit's
  stereo perception (the default one, and the newer one);
- texts with one edit, of which one program reads and the other one refuses.

The first disagreements follow each count. Needs rdkit.
"""
import collections, json, os, pathlib, random, re, subprocess, sys

from rdkit import Chem, RDLogger
from rdkit.Chem import Descriptors, rdCIPLabeler, rdMolDescriptors

RDLogger.DisableLog("rdApp.*")
data = pathlib.Path(os.environ.get("DSOKR_DATA", "../shared/data"))
program = sys.argv[1] if len(sys.argv) > 1 else "target/release/examples/perceive"
rows = int(sys.argv[2]) if len(sys.argv) > 2 else None
SHOWN = 5

# The first atom of a match is counted, once.
ACYL = "[C;A;$([CH1](=O)),$(C([#6])=O)]"
GROUPS = {
    "CarboxylicAcid": f"{ACYL}(=O)[OX2H1]",
    "Carboxylate": f"{ACYL}(=O)[OX1-]",
    "Ester": f"{ACYL}(=O)!@[OX2;+0;!$(O([C;A]=O)[C;A]=O)][#6]",
    "Lactone": f"{ACYL}(=O)@[OX2;+0;!$(O([C;A]=O)[C;A]=O)][#6]",
    "Anhydride": "[O;A;+0;X2]([C;A]=O)[C;A]=O",
    "Carbonate": "[C;A](=O)([#8])[#8]",
    "Carbamate": "[C;A](=O)([#8])[#7]",
    "Urea": "[C;A](=O)([#7])[#7]",
    "Imide": "[N;A;X3;+0;$(N-C);!$(N=*)]([C;A]=O)[C;A]=O",
    "AcylHalide": "[C;A](=O)[F,Cl,Br,I]",
    "Aldehyde": "[$([CH1]([#6])=O),$([CH2]=O)]",
    "Ketone": "[C;A;H0]([#6])([#6])=O",
    "RingOxo": "c=O",
    "PrimaryAlcohol": "[OX2H1]-[C;A;X4;!$(C([#6])[#6]);!$(C-[OX2]-[#6])]",
    "Phenol": "[OX2H1]-c",
    "Epoxide": "[O;A;X2;r3;+0]([C])[C]",
    "Peroxide": "[#8]-[#8]",
    "Ammonium": "[N;A;+1;!H0;!$(N=*);!$(N#*);!D0;!$(N[O-])]",
    "QuaternaryAmmonium": "[N;A;+1;X4]([#6])([#6])([#6])[#6]",
    "Nitro": "[N;+1](=O)([O-])[#6]",
    "Nitrile": "[C;+0]#[N;+0;D1]",
    "Azo": "[#6][N;A;D2]=[N;A;D2][#6]",
    "Thiol": "[S;A;H1;+0;D1][#6]",
    "Disulfide": "[S;A]-[S;A]",
    "Sulfone": "[S;A](=O)(=O)([#6])[#6]",
    "Sulfoxide": "[S;A;!$(S(=O)=O)](=O)([#6])[#6]",
    "SulfonicAcid": "[S;A](=O)(=O)([#6])[OX2H1]",
    "Phosphate": "[#15](~[#8])(~[#8])(~[#8])~[#8]",
    "Alkene": "[#6]=[#6]",
    "Alkyne": "[#6]#[#6]",
    "Fluoro": "[F;D1]",
    "Chloro": "[Cl;D1]",
    "Bromo": "[Br;D1]",
    "Iodo": "[I;D1]",
    "Trifluoromethyl": "[C;D4](F)(F)(F)[!F]",
}
BONDS = {"Alkene", "Alkyne", "Peroxide", "Disulfide", "Azo"}  # a match is counted, in either direction once
PATTERNS = {name: Chem.MolFromSmarts(smarts) for name, smarts in GROUPS.items()}


def read(texts):
    run = subprocess.run([program], input="\n".join(texts), capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(answers) == len(texts), (len(answers), len(texts))
    return answers


def groups(molecule):
    counts = {}
    for name, pattern in PATTERNS.items():
        matches = molecule.GetSubstructMatches(pattern, uniquify=name in BONDS, maxMatches=100_000)
        found = len(matches) if name in BONDS else len({match[0] for match in matches})
        if found:
            counts[name] = found
    return counts


def atoms(formula):
    """A formula without its order: without carbon, hydrogen is one of the others by Hill's rule, and first in RDKit."""
    return sorted(re.findall(r"[A-Z][a-z]?\d*|[+-]\d*", formula))


def facts(molecule):
    """What the program tells of a molecule, by RDKit."""
    double = [bond for bond in molecule.GetBonds() if bond.GetStereo() > Chem.BondStereo.STEREOANY]
    answer = {
        "formula": rdMolDescriptors.CalcMolFormula(molecule),
        "mass": Descriptors.ExactMolWt(molecule),
        "aromatic": sum(atom.GetIsAromatic() for atom in molecule.GetAtoms()),
        "rings": len(Chem.GetSSSR(molecule)),
        "centers": sum(atom.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED for atom in molecule.GetAtoms()),
        "double_bonds": len(double),
        "groups": groups(molecule),
    }
    rdCIPLabeler.AssignCIPLabels(molecule)
    labels = {atom.GetPropsAsDict().get("_CIPCode") for atom in molecule.GetAtoms()}
    labels |= {bond.GetPropsAsDict().get("_CIPCode") for bond in molecule.GetBonds()}
    answer["names"] = [label in labels for label in "RSEZ"]
    return answer


def marked(molecule, rng):
    """A text with a configuration at every atom and double bond that could have one, at random."""
    copy = Chem.RWMol(molecule)
    for atom in copy.GetAtoms():
        if atom.GetTotalDegree() == 4 and atom.GetTotalNumHs() <= 1 and not atom.GetIsAromatic():
            atom.SetChiralTag(rng.choice([Chem.ChiralType.CHI_TETRAHEDRAL_CW, Chem.ChiralType.CHI_TETRAHEDRAL_CCW]))
    for bond in copy.GetBonds():
        ends = [bond.GetBeginAtom(), bond.GetEndAtom()]
        others = [[n.GetIdx() for n in end.GetNeighbors() if n.GetIdx() not in [e.GetIdx() for e in ends]] for end in ends]
        if bond.GetBondType() == Chem.BondType.DOUBLE and not bond.GetIsAromatic() and all(others):
            bond.SetStereoAtoms(*(other[0] for other in others))
            bond.SetStereo(rng.choice([Chem.BondStereo.STEREOCIS, Chem.BondStereo.STEREOTRANS]))
    return Chem.MolToSmiles(copy, canonical=False)


def canonical(text, legacy):
    Chem.SetUseLegacyStereoPerception(legacy)
    molecule = Chem.MolFromSmiles(text)
    Chem.SetUseLegacyStereoPerception(True)
    return None if molecule is None else Chem.MolToSmiles(molecule)


def show(what, of, found):
    print(f"  {what}: {len(found)} of {of} differ")
    for row in found[:SHOWN]:
        print("     ", *row)


def compare_facts(texts, answers):
    found = collections.defaultdict(list)
    for text, answer in zip(texts, answers):
        molecule = Chem.MolFromSmiles(text)
        if molecule is None or "error" in answer:
            if molecule is not None or "error" not in answer:
                found["read"].append((text, answer.get("error", "only by this program")))
            continue
        for key, value in facts(molecule).items():
            ours = answer[key]
            if key == "groups":
                ours = {name: count for name, count in ours.items() if name in GROUPS}
                for name in sorted(ours.keys() | value.keys()):
                    if ours.get(name) != value.get(name):
                        found[f"group {name}"].append((text, ours.get(name, 0), value.get(name, 0)))
            elif key == "formula" and atoms(ours) == atoms(value) or key == "mass" and abs(ours - value) < 1e-4:
                continue
            elif ours != value:
                found[key].append((text, ours, value))
    for key in ["read", "formula", "mass", "aromatic", "rings", "centers", "double_bonds", "names"]:
        show(key, len(texts), found.pop(key, []))
    print(f"  groups: {len(GROUPS)} compared; {len(GROUPS) - len(found)} are equal in every molecule")
    for key in sorted(found):
        show(key, len(texts), found[key])


def compare_classes(texts, answers):
    for legacy in [True, False]:
        ours, theirs = collections.defaultdict(dict), collections.defaultdict(dict)
        for text, answer in zip(texts, answers):
            name = canonical(text, legacy)
            if name is not None and "error" not in answer:
                ours[answer["canonical"]].setdefault(name, text)
                theirs[name].setdefault(answer["canonical"], text)
        kind = "default" if legacy else "newer"
        show(f"classes that RDKit ({kind} stereo) splits", len(ours), [list(c.values())[:2] for c in ours.values() if len(c) > 1])
        show(f"classes of RDKit ({kind} stereo) that are split", len(theirs), [list(c.values())[:2] for c in theirs.values() if len(c) > 1])


TOKENS = re.compile(r"\[[^]]*\]|Cl|Br|%\d\d|.")
PIECES = ["C", "N", "O", "S", "P", "F", "Cl", "Br", "I", "B", "c", "n", "=", "#", "(", ")", "1", "/", "[N+]", "[O-]",
          "[C@H]", "[Si]", "[Se]", "[nH]", "[Na]", "(C)", "(=O)", ".", "[H]", "[B-]", "[S+]", "[PH]", "[I]", "[Al]", "[Sn]", "[2H]"]


def edited(text, rng):
    tokens = TOKENS.findall(text)
    place = rng.randrange(len(tokens))
    tokens[place:place + rng.choice([0, 1])] = [rng.choice(PIECES)]
    return "".join(tokens)


def compare_errors(texts):
    answers, found = read(texts), collections.defaultdict(list)
    refused = 0
    for text, answer in zip(texts, answers):
        theirs = Chem.MolFromSmiles(text)
        refused += theirs is None
        if theirs is None and "error" not in answer:
            found["only this program reads"].append((text, answer["canonical"]))
        elif theirs is not None and "error" in answer:
            found["only RDKit reads"].append((text, answer["error"]))
        elif theirs is not None and atoms(rdMolDescriptors.CalcMolFormula(theirs)) != atoms(answer["formula"]):
            found["read with other formulas"].append((text, answer["formula"], rdMolDescriptors.CalcMolFormula(theirs)))
    print(f"  edited texts: RDKit refuses {refused} of {len(texts)}")
    for key in ["only this program reads", "only RDKit reads", "read with other formulas"]:
        show(key, len(texts), found[key])


def column(path, at):
    return [line.rstrip("\n").split("\t")[at] for line in open(path)][1:]


sets = {
    "ChEBI-20": column(data / "chebi20/molecules.tsv", 1),
    "MassBank": column(data / "massbank/molecules.tsv", 1),
    "QM9": open(data / "qm9/smiles.txt").read().split(),
}
rng = random.Random(0)
for name, texts in sets.items():
    texts = texts[::max(1, len(texts) // rows)] if rows else texts
    print(f"{name}: {len(texts)} molecules", flush=True)
    molecules = [molecule for molecule in map(Chem.MolFromSmiles, texts) if molecule is not None]
    Chem.rdBase.SeedRandomNumberGenerator(0)
    shuffled = [Chem.MolToSmiles(molecule, doRandom=True) for molecule in molecules]
    noisy = [marked(molecule, rng) for molecule in molecules]
    compare_facts(texts, read(texts))
    sys.stdout.flush()
    everything = texts + shuffled + noisy
    compare_classes(everything, read(everything))
    sys.stdout.flush()
    compare_errors([edited(text, rng) for text in texts])
    sys.stdout.flush()
