"""SD files of molecules, as RDKit writes them, with RDKit's own SMILES of what it reads back: structures.sdf (V2000, drawn),
structures_v3000.sdf, and structures_3d.sdf, whose configurations are in the places of atoms only."""

from pathlib import Path

from rdkit import Chem
from rdkit.Chem import AllChem

HERE = Path(__file__).parent
MOLECULES = [
    "CCO", "c1ccccc1O", "C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)[O-]", "F/C=C/Cl", "F/C=C\\Cl", "FC=CCl",
    "C/C(F)=C(\\C)Cl", "[13CH4]", "[2H]C([2H])([2H])O", "C[N+](C)(C)C", "CC(=O)[O-].[Na+]", "[CH3]", "C[NH+](C)C",
    "O=[N+]([O-])c1ccccc1", "c1cc[nH]c1", "c1ccsc1", "Cn1cccc1", "C[n+]1ccccc1", "CS(C)=O", "C[S@](=O)CC",
    "CP(=O)(O)O", "OS(=O)(=O)O", "ClCl", "C#N", "[C-]#[O+]", "OCC1O[C@H](O)[C@@H](O)[C@H](O)[C@@H]1O",
    "C[C@]12CC[C@H]3[C@@H](CCc4cc(O)ccc34)[C@@H]1CC[C@@H]2O", "C1CC1", "C[C@@]1(F)OC1", "B(O)O", "C[Si](C)(C)C",
    "[Fe+2]", "C/C=C/C=C\\C", "O=C1CCCCCCC/C=C/CCCCCC1", "N[C@@H](Cc1c[nH]c2ccccc12)C(=O)O", "[O-][Cl+3]([O-])([O-])[O-]",
    "CC(C)=NO", "C/C=N/O", "[H][H]", "S=C=S", "CN=[N+]=[N-]",
]


def write(name, v3000=False, solid=False):
    writer = Chem.SDWriter(str(HERE / name))
    writer.SetForceV3000(v3000)
    for number, smiles in enumerate(MOLECULES):
        molecule = Chem.MolFromSmiles(smiles)
        if solid:
            molecule = Chem.AddHs(molecule)
            if AllChem.EmbedMolecule(molecule, randomSeed=1) != 0:
                continue
        else:
            AllChem.Compute2DCoords(molecule)
        molecule.SetProp("_Name", f"molecule {number}")
        block = Chem.MolToMolBlock(molecule, forceV3000=v3000)
        read = Chem.MolFromMolBlock(block)
        molecule.SetProp("rdkit", Chem.MolToSmiles(read))
        if number % 2 == 0:
            molecule.SetProp("half", f"{number / 2}")
        writer.write(molecule)
    writer.close()


write("structures.sdf")
write("structures_v3000.sdf", v3000=True)
write("structures_3d.sdf", solid=True)
