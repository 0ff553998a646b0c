//! Peaks as fragments of molecules.

use dsokr_molecule::{
    BondOrder, ELECTRON, Element, ElementCounts, Fragmenter, Molecule, exact_mass,
};
use dsokr_spectra::{
    AnnotatedSpectrum, Explanation, FileContext, Peak, PeakExplainer, Spectrum, SpectrumFormat,
};
use proptest::prelude::*;

/// A SMILES, the beginning of a spectrum's text, and peaks with their formulas.
type Known = (&'static str, &'static str, &'static [(f64, &'static str)]);

/// Peaks of MassBank's and MoNA's spectra of well-known molecules with the formulas that are published for them.
const KNOWN: [Known; 7] = [
    // paracetamol loses ketene; phenol's cation; that loses CO; acetyl
    (
        "CC(=O)Nc1ccc(O)cc1",
        "152.0706 adduct=[M+H]+",
        &[(110.0600, "C6H8NO"), (93.0335, "C6H5O"), (65.0386, "C5H5"), (43.0178, "C2H3O")],
    ),
    // acetylsalicylic acid loses water, ketene, both
    (
        "CC(=O)Oc1ccccc1C(=O)O",
        "181.0495 adduct=[M+H]+",
        &[(163.0390, "C9H7O3"), (139.0390, "C7H7O3"), (121.0284, "C7H5O2")],
    ),
    // caffeine loses methyl isocyanate, and then CO
    (
        "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
        "195.0877 adduct=[M+H]+",
        &[(138.0662, "C6H8N3O"), (110.0713, "C5H8N3")],
    ),
    // cocaine loses benzoic acid; benzoyl
    (
        "COC(=O)C1C(OC(=O)c2ccccc2)CC2CCC1N2C",
        "304.1543 adduct=[M+H]+",
        &[(182.1176, "C10H16NO2"), (105.0335, "C7H5O")],
    ),
    // ibuprofen loses carbon dioxide
    ("CC(C)Cc1ccc(cc1)C(C)C(=O)O", "205.1234 adduct=[M-H]-", &[(161.1336, "C12H17")]),
    // phenylalanine loses formic acid
    ("NC(Cc1ccccc1)C(=O)O", "166.0863 adduct=[M+H]+", &[(120.0808, "C8H10N")]),
    // the sodium stays with glucose, which loses water
    ("OCC1OC(O)C(O)C(O)C1O", "203.0526 adduct=[M+Na]+", &[(185.0420, "C6H10NaO5")]),
];

/// Makes a spectrum whose peaks have the intensity 1.
fn spectrum(head: &str, mzs: impl IntoIterator<Item = f64>) -> Spectrum {
    let peaks = mzs.into_iter().map(|mz| format!(" {mz}:1")).collect::<String>();
    format!("{head}{peaks}").parse().unwrap()
}

fn explain(spectrum: &Spectrum, molecule: &Molecule) -> Explanation {
    PeakExplainer::new(spectrum, 10.0).unwrap().explain(molecule).unwrap()
}

#[test]
fn a_molecule_that_explains_nothing_has_the_score_0() {
    let molecule = Molecule::parse("CCO").unwrap();
    let explanation = explain(&spectrum("47.0491 adduct=[M+H]+", [40.5]), &molecule);
    assert!(explanation.peaks.is_empty());
    assert_eq!(explanation.score.to_bits(), 0.0_f64.to_bits());
}

#[test]
fn well_known_peaks_are_the_fragments_that_are_published() {
    for (smiles, head, peaks) in KNOWN {
        let molecule = Molecule::parse(smiles).unwrap();
        let spectrum = spectrum(head, peaks.iter().map(|peak| peak.0));
        let explanation = explain(&spectrum, &molecule);
        let mut found: Vec<(f64, String)> = Vec::new();
        for peak in &explanation.peaks {
            found.push((spectrum.peaks()[peak.peak].mz, peak.formula(&molecule)));
            let atoms = exact_mass(&peak.composition(&molecule));
            let sign = if head.ends_with("]-") { -1.0 } else { 1.0 };
            assert!((atoms - sign * ELECTRON - peak.mz).abs() < 1e-6, "{smiles} {peak:?}");
        }
        found.reverse();
        let expected: Vec<(f64, String)> =
            peaks.iter().map(|&(mz, formula)| (mz, formula.to_owned())).collect();
        assert_eq!(found, expected, "{smiles}");
    }
}

/// Paracetamol has 151.06333 Da, with a sodium ion m/z 174.05255; what has lost ketene has 132.0420.
#[test]
fn of_several_adducts_the_one_nearest_to_the_precursor_counts_in_any_order() {
    let paracetamol = Molecule::parse("CC(=O)Nc1ccc(O)cc1").unwrap();
    let mzs = [132.0420, 174.0525];
    let alone = explain(&spectrum("174.0525 adduct=[M+Na]+", mzs), &paracetamol);
    let formulas = alone.peaks.iter().map(|peak| peak.formula(&paracetamol)).collect::<Vec<_>>();
    assert_eq!(formulas, ["C6H7NNaO", "C8H9NNaO2"]);
    for adducts in ["[M+H]+/[M+Na]+", "[M+Na]+/[M+H]+", "[M+H]+,[M+2H]2+,[M+Na]+"] {
        let open = spectrum(&format!("174.0525 adduct={adducts}"), mzs);
        assert_eq!(explain(&open, &paracetamol), alone, "{adducts}");
        let (text, adduct) = open.ion_of(151.06333).unwrap();
        assert_eq!((text, adduct), ("[M+Na]+", "[M+Na]+".parse().unwrap()), "{adducts}");
        // each molecule has its own: C9H7N3O has 173.0589 Da
        assert_eq!(open.ion_of(173.0589).unwrap().0, "[M+H]+", "{adducts}");
    }
    assert_eq!(spectrum("174.0525", mzs).ion_of(151.06333).unwrap().0, "[M+H]+");
    assert!(spectrum("174.0525 adduct=[M+H]+/[M+?]+", mzs).ion_of(151.06333).is_err());
}

#[test]
fn a_peak_has_the_atoms_and_bonds_of_its_fragment() {
    let molecule = Molecule::parse("CC(=O)Nc1ccc(O)cc1").unwrap();
    let spectrum: Spectrum = "152.0706 adduct=[M+H]+ 110.06:1 43.0178:0.25".parse().unwrap();
    let explanation = explain(&spectrum, &molecule);
    let [acetyl, aminophenol] = explanation.peaks.as_slice() else { panic!("{explanation:?}") };
    let amide = molecule.bonds().iter().position(|bond| bond.atoms == [1, 3]).unwrap();
    for (peak, atoms, hydrogens) in
        [(acetyl, vec![0, 1, 2], 0), (aminophenol, (3..11).collect(), 2)]
    {
        assert_eq!(peak.atoms().collect::<Vec<_>>(), atoms);
        assert_eq!((peak.broken.as_slice(), peak.hydrogens), ([amide].as_slice(), hydrogens));
        // the bond at nitrogen, and a hydrogen more or less than the protonated fragment
        assert!((peak.cost - 1.0).abs() < 1e-9, "{peak:?}");
        assert!(peak.ppm.abs() < 10.0);
    }
    let weights = 110.06_f64.sqrt() + (0.25 * 43.0178_f64).sqrt();
    let explainer = PeakExplainer::new(&spectrum, 10.0).unwrap();
    assert!((explainer.largest_score() - weights).abs() < 1e-9);
    assert!((explanation.score - weights * (-0.5_f64).exp()).abs() < 1e-9);
    // nothing at another tolerance, and of another molecule
    let wide = PeakExplainer::new(&spectrum, 0.1).unwrap();
    assert!(wide.explain(&molecule).unwrap().peaks.is_empty());
    assert!(explain(&spectrum, &Molecule::parse("c1ccccc1").unwrap()).peaks.is_empty());
}

#[test]
fn fragments_have_the_isotopes_of_their_molecule() {
    for (smiles, head, peaks) in [
        // acetyl, and what is left: deuterium does not move to it as hydrogen does
        (
            "[2H]C([2H])([2H])C(=O)Nc1ccc(O)cc1",
            "155.0894 adduct=[M+H]+",
            vec![(46.0367, "C2[2H3]O", "0.6ppm")],
        ),
        (
            "[13CH3]C(=O)Nc1ccc(O)cc1",
            "153.0740 adduct=[M+H]+",
            vec![(44.0212, "C[13C1]H3O", "0.1ppm"), (110.0600, "C6H8NO", "-0.4ppm")],
        ),
    ] {
        let molecule = Molecule::parse(smiles).unwrap();
        let spectrum = spectrum(head, peaks.iter().map(|peak| peak.0));
        let explanation = explain(&spectrum, &molecule);
        let formulas = explanation.peaks.iter().map(|peak| peak.formula(&molecule));
        let expected: Vec<&str> = peaks.iter().map(|peak| peak.1).collect();
        assert_eq!(formulas.collect::<Vec<_>>(), expected, "{smiles}");
        let annotated = AnnotatedSpectrum {
            name: "labelled",
            spectrum: &spectrum,
            smiles,
            molecule: &molecule,
            explanation: &explanation,
            comments: &[],
        };
        let entry = annotated.msp();
        for (_, formula, ppm) in peaks {
            assert!(entry.contains(&format!("\"f{{{formula}}}/{ppm}\"")), "{formula} of {entry}");
        }
    }
}

/// Returns the score by going through all fragments, hydrogens and peaks, with formulas in place of tables of masses.
fn slow_score(spectrum: &Spectrum, molecule: &Molecule, ppm: f64) -> f64 {
    let mut least = vec![f64::INFINITY; spectrum.peaks().len()];
    let cost = |&bond: &usize| {
        let bond = molecule.bonds()[bond];
        let carbons = bond.atoms.iter().all(|&end| molecule.atoms()[end].element == Element::C);
        match (bond.aromatic, bond.order, carbons) {
            (true, ..) => 1.5,
            (_, BondOrder::Double, _) => 2.0,
            (_, BondOrder::Triple, _) => 3.0,
            (.., true) => 1.0,
            (.., false) => 0.75,
        }
    };
    let all = molecule.composition()[&Element::H] as i64 + 1;
    Fragmenter::new(molecule).unwrap().each(&mut |part| {
        let mut atoms = ElementCounts::new();
        let mut hydrogens = 1;
        for (at, atom) in molecule.atoms().iter().enumerate() {
            if part.atoms >> at & 1 == 1 {
                *atoms.entry(atom.element).or_insert(0) += 1;
                hydrogens += i64::from(atom.hydrogens);
            }
        }
        for change in -3..=3 {
            let Ok(count) = usize::try_from(hydrogens + change) else { continue };
            if hydrogens + change > all {
                continue;
            }
            let mut ion = atoms.clone();
            ion.insert(Element::H, count);
            let mz = exact_mass(&ion) - ELECTRON;
            let broken: f64 = part.broken.iter().map(cost).sum();
            let cost = broken + 0.25 * change.abs() as f64;
            for (least, peak) in least.iter_mut().zip(spectrum.peaks()) {
                if (peak.mz - mz).abs() <= ppm * 1e-6 * peak.mz {
                    *least = least.min(cost);
                }
            }
        }
    });
    let scores = spectrum.peaks().iter().zip(least);
    scores.map(|(peak, cost)| (peak.mz * peak.intensity).sqrt() * (-cost / 2.0).exp()).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn scores_are_those_of_a_search_through_all_fragments(
        peaks in prop::collection::vec((15.0..310.0f64, 0.001..1.0f64), 1..40),
        at in 0usize..6,
        ppm in prop::sample::select(vec![10.0, 500.0, 3000.0]),
    ) {
        let molecule = Molecule::parse(KNOWN[at].0).unwrap();
        let peaks = peaks.into_iter().map(|(mz, intensity)| Peak { mz, intensity }).collect();
        let spectrum = Spectrum::new(300.0, peaks).unwrap();
        let explainer = PeakExplainer::new(&spectrum, ppm).unwrap();
        let score = explainer.explain(&molecule).unwrap().score;
        let expected = slow_score(&spectrum, &molecule, ppm);
        prop_assert!((score - expected).abs() < 1e-9 * expected.max(1.0), "{score} {expected}");
        prop_assert!(score <= explainer.largest_score());
    }
}

#[test]
fn annotated_spectra_are_read_again() {
    for (smiles, head, peaks) in KNOWN {
        let molecule = Molecule::parse(smiles).unwrap();
        let mzs = peaks.iter().map(|peak| peak.0).chain([400.5]);
        let spectrum = spectrum(head, mzs);
        let explanation = explain(&spectrum, &molecule);
        let comments = [("score", "0.5".to_owned()), ("said", "a \"word\"".to_owned())];
        let annotated = AnnotatedSpectrum {
            name: "a\nname",
            spectrum: &spectrum,
            smiles,
            molecule: &molecule,
            explanation: &explanation,
            comments: &comments,
        };
        let entry = annotated.msp();
        assert_eq!(entry.matches("ppm\"").count(), peaks.len(), "{entry}");
        assert!(entry.contains("said=a 'word'"), "{entry}");
        let record =
            SpectrumFormat::Msp.record(&entry, &mut FileContext::default()).unwrap().unwrap();
        let read: Spectrum = record.spectrum(None).unwrap().parse().unwrap();
        let formula = molecule.formula();
        assert_eq!(read, spectrum.with_formula(&formula).unwrap());
    }
}
