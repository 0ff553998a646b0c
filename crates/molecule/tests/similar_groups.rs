//! Groups that are easily taken for others. RDKit's fragment counts agree where they count the same.

use std::collections::BTreeMap;

use dsokr_molecule::{FunctionalGroup as G, Molecule, functional_groups};

type Case<T> = (&'static str, &'static str, &'static [T]);

fn check(cases: &[Case<(G, usize)>]) {
    for (name, smiles, expected) in cases {
        let molecule = Molecule::parse(smiles).unwrap_or_else(|e| panic!("{smiles}: {e}"));
        let expected: BTreeMap<G, usize> = expected.iter().copied().collect();
        assert_eq!(functional_groups(&molecule), expected, "{name}");
    }
}

#[test]
fn groups_of_nitrogen_and_oxygen_are_told_apart() {
    check(&[
        ("nitroethane", "CC[N+](=O)[O-]", &[(G::Nitro, 1)]),
        ("nitrobenzene, five-valent", "O=N(=O)c1ccccc1", &[(G::Nitro, 1)]),
        ("ethyl nitrate", "CCO[N+](=O)[O-]", &[]),
        ("ethyl nitrate, five-valent", "CCON(=O)=O", &[]),
        ("nitric acid", "O[N+](=O)[O-]", &[]),
        ("ammonium nitrate", "[NH4+].[O-][N+](=O)[O-]", &[]),
        ("N-nitrodimethylamine", "CN(C)[N+](=O)[O-]", &[]),
        ("nitrosobenzene", "O=Nc1ccccc1", &[(G::Nitroso, 1)]),
        ("N-nitrosodimethylamine", "CN(C)N=O", &[(G::Nitroso, 1)]),
        ("propyl nitrite", "CCCON=O", &[]),
        ("sodium nitrite", "[Na+].[O-]N=O", &[]),
        ("pyridine N-oxide", "[O-][n+]1ccccc1", &[(G::NOxide, 1)]),
        ("pyridine N-oxide, five-valent", "O=n1ccccc1", &[(G::NOxide, 1)]),
        ("trimethylamine N-oxide", "C[N+](C)(C)[O-]", &[(G::NOxide, 1)]),
        ("trimethylamine N-oxide, five-valent", "CN(C)(C)=O", &[(G::NOxide, 1)]),
        ("acetaldehyde oxime", "CC=NO", &[(G::Oxime, 1)]),
        ("its anion", "CC=N[O-]", &[(G::Oxime, 1)]),
        ("its methyl ether", "CC=NOC", &[(G::Oxime, 1)]),
        ("a nitrone", "CC=[N+](C)[O-]", &[(G::NOxide, 1)]),
        ("a nitrone, five-valent", "CC=N(C)=O", &[(G::NOxide, 1)]),
        ("acetonitrile oxide", "CC#[N+][O-]", &[(G::NOxide, 1)]),
    ]);
}

#[test]
fn groups_of_nitrogen_are_told_apart() {
    check(&[
        ("propionitrile", "CCC#N", &[(G::Nitrile, 1)]),
        ("methyl thiocyanate", "CSC#N", &[(G::Nitrile, 1), (G::Sulfide, 1)]),
        ("ethyl isocyanide", "CC[N+]#[C-]", &[]),
        ("potassium cyanide", "[K+].[C-]#N", &[]),
        ("ethyl azide", "CCN=[N+]=[N-]", &[(G::Azide, 1)]),
        ("ethyl azide, other form", "CC[N-][N+]#N", &[(G::Azide, 1)]),
        ("sodium azide", "[Na+].[N-]=[N+]=[N-]", &[(G::Azide, 1)]),
        ("1,2,3-triazolium", "c1c[nH+]n[nH]1", &[]),
        ("2H-1,2,3-triazolium", "c1cn[nH+][nH]1", &[]),
        ("a protonated triazene", "CN=[NH+]NC", &[]),
        ("azomethane", "CN=NC", &[(G::Azo, 1)]),
        ("3,3-dimethyltriazene", "CN=NN(C)C", &[]),
        ("propan-2-imine", "CC(C)=N", &[(G::Imine, 1)]),
        ("an iminium ion", "CC(C)=[N+](C)C", &[(G::Imine, 1)]),
        ("acetone hydrazone", "CC(C)=NN", &[(G::Imine, 1)]),
        ("diazoethane", "CC=[N+]=[N-]", &[]),
        ("dimethylcarbodiimide", "CN=C=NC", &[]),
        ("acetamidine", "CC(N)=N", &[(G::Amidine, 1)]),
        ("acetamidoxime", "CC(N)=NO", &[(G::Oxime, 1)]),
    ]);
}

#[test]
fn groups_of_carbonyls_are_told_apart() {
    check(&[
        ("ethyl acetate", "CCOC(C)=O", &[(G::Ester, 1)]),
        ("ethyl formate", "CCOC=O", &[(G::Ester, 1)]),
        ("ethyl chloroformate", "CCOC(=O)Cl", &[(G::AcylHalide, 1), (G::Chloro, 1)]),
        ("acetyl chloride", "CC(=O)Cl", &[(G::AcylHalide, 1), (G::Chloro, 1)]),
        ("dimethylacetamide", "CC(=O)N(C)C", &[(G::Amide, 1)]),
        ("dimethylcarbamoyl chloride", "CN(C)C(=O)Cl", &[(G::AcylHalide, 1), (G::Chloro, 1)]),
        ("S-ethyl thioacetate", "CCSC(C)=O", &[(G::Thioester, 1)]),
        ("thioacetic acid", "CC(=O)S", &[(G::Thiol, 1)]),
        ("thioacetate", "CC(=O)[S-]", &[]),
        ("O,S-diethyl thiocarbonate", "CCOC(=O)SCC", &[]),
        ("S,S-diethyl dithiocarbonate", "CCSC(=O)SCC", &[]),
    ]);
}

#[test]
fn hydroxy_groups_are_told_apart() {
    check(&[
        ("ethanol", "CCO", &[(G::PrimaryAlcohol, 1)]),
        ("1-methoxyethanol", "COC(C)O", &[(G::Ether, 1), (G::Methoxy, 1), (G::Hemiacetal, 1)]),
        (
            "2-methoxypropan-2-ol",
            "COC(C)(C)O",
            &[(G::Ether, 1), (G::Methoxy, 1), (G::Hemiacetal, 1)],
        ),
        ("2-methoxyethanol", "COCCO", &[(G::Ether, 1), (G::Methoxy, 1), (G::PrimaryAlcohol, 1)]),
        ("oxan-2-ol", "OC1CCCCO1", &[(G::Ether, 1), (G::Hemiacetal, 1)]),
        ("oxan-3-ol", "OC1CCCOC1", &[(G::Ether, 1), (G::SecondaryAlcohol, 1)]),
        ("propane-2,2-diol", "CC(C)(O)O", &[(G::SecondaryAlcohol, 2)]),
        ("ethenol", "C=CO", &[(G::Enol, 1), (G::Alkene, 1)]),
        ("cyanic acid", "OC#N", &[(G::Nitrile, 1)]),
        ("a phenoxyl radical", "[O]c1ccccc1", &[]),
    ]);
}
