"""Adducts as matchms 0.33 knows them: m/z of the ions of glucose, and other ways of writing them.

    python adducts.py > adducts.tsv
"""

import csv
from pathlib import Path

import matchms

GLUCOSE = 180.063388
data = Path(matchms.__file__).parent / "data"
print("adduct\tmz")
masses = {}
for row in csv.DictReader((data / "known_adducts_table.csv").open(encoding="utf-8-sig")):
    # its acetate is 243 Da heavy
    if row["adduct"] != "[M+OAc]-":
        masses[row["adduct"]] = GLUCOSE * float(row["mass_multiplier"]) + float(row["correction_mass"])
for adduct, mz in masses.items():
    print(f"{adduct}\t{mz:.4f}")
for row in csv.DictReader((data / "known_adduct_conversions.csv").open(encoding="utf-8-sig")):
    written, known = row["input_adduct"], row["corrected_adduct"]
    if known in masses and "/" not in written and "e" not in written:
        print(f"{written}\t{masses[known]:.4f}")
