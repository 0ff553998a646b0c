//! Files of mass spectra that programs write, each odd in its own way.

use std::collections::BTreeSet;
use std::fmt::Write;

use dsokr::molecule::Molecule;

use super::{Bound, Pair, Stranger, pairs};
use crate::sandbox::{Sandbox, json};

const MRR: f64 = 0.3;

/// Peaks whose m/z are drawn from neighbouring characters of a SMILES, so that alike molecules have alike peaks; each
/// with its intensity, not in order. Two spectra of a molecule differ.
fn peaks(pair: &Pair, spectrum: usize) -> Vec<(f64, usize)> {
    let parts = pair.smiles.as_bytes().windows(3).enumerate();
    let parts = parts.filter(|(at, _)| !(at + spectrum).is_multiple_of(5));
    let peak = |(at, part): (usize, &[u8])| {
        let number = part.iter().fold(7, |sum, &byte| (31 * sum + usize::from(byte)) % 9973);
        (40.0 + number as f64 / 60.0, 1 + at % 4)
    };
    parts.map(peak).collect()
}

/// m/z of the ion of a pair's molecule with a proton more, or less.
fn ion(pair: &Pair, protons: f64) -> f64 {
    Molecule::parse(&pair.smiles).unwrap().exact_mass() + protons * 1.007276
}

/// That no molecule is in two of the files of a folder, and how many spectra these have.
fn divided(sandbox: &Sandbox, folder: &str) -> usize {
    let mut all = BTreeSet::new();
    let mut spectra = 0;
    for file in ["train.mgf", "validation.mgf", "test.mgf"] {
        let text = sandbox.read(&format!("{folder}/{file}"));
        let keys = text.lines().filter_map(|line| line.strip_prefix("INCHIKEY="));
        let keys: BTreeSet<String> = keys.map(str::to_owned).collect();
        assert!(!keys.is_empty() && all.is_disjoint(&keys), "{file}");
        all.extend(keys);
        spectra += text.matches("BEGIN IONS").count();
    }
    spectra
}

/// The share of spectra of a file whose first candidate is the molecule that it names.
fn first_is_right(sandbox: &Sandbox, run: &str, file: &str) -> f64 {
    let text = sandbox.read(file);
    let names = text.lines().filter_map(|line| line.strip_prefix("INCHIKEY="));
    let names: Vec<&str> = names.collect();
    let table = sandbox.succeed(&["predict", run, file, "--format", "tsv", "--top", "1"]);
    let rows: Vec<Vec<&str>> =
        table.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), names.len());
    let right = rows.iter().zip(&names).filter(|(row, name)| row[3] == **name).count();
    right as f64 / names.len() as f64
}

#[test]
fn an_mgf_file_with_odd_entries_is_divided_by_molecule() {
    let pairs = pairs(250);
    let mut text = "# made by a program\nCHARGE=1+\n".to_owned();
    for (at, pair) in pairs.iter().enumerate() {
        for spectrum in 0..2 {
            let (begin, end) =
                if at % 3 == 0 { ("begin ions", "end ions") } else { ("BEGIN IONS", "END IONS") };
            let mz = ion(pair, 1.0);
            write!(text, "{begin}\nTITLE={at}-{spectrum}\nPEPMASS={mz:.5} 1000\n").unwrap();
            writeln!(text, "MSLEVEL=2\nSMILES={}\n10.5 0", pair.smiles).unwrap();
            for (mz, intensity) in peaks(pair, spectrum) {
                writeln!(text, "{mz:.4} {intensity}").unwrap();
            }
            writeln!(text, "{end}\n").unwrap();
        }
        if at % 50 == 0 {
            // a survey, an empty spectrum, one without a structure
            let head = format!("BEGIN IONS\nPEPMASS=200.1\nSMILES={}\n", pair.smiles);
            write!(text, "{head}MSLEVEL=1\n50 1\nEND IONS\n{head}END IONS\n").unwrap();
            text += "BEGIN IONS\nPEPMASS=200.1\nSMILES=N/A\n50 1\nEND IONS\n";
        }
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "library.mgf",
        content: text.into_bytes(),
        arguments: &[],
        columns: ["spectrum", "smiles"],
        holds: "SMILES",
        skipped: 10,
        floor: ("mrr", Bound::AtLeast(MRR)),
    };
    stranger.trains(&sandbox);
    assert_eq!(divided(&sandbox, "library-spectra"), 500);
    let configuration = sandbox.read("library.toml");
    assert!(configuration.ends_with("\n[evaluation]\nsplit = \"test\"\n"), "{configuration}");
    let right = first_is_right(&sandbox, "runs/library", "library-spectra/test.mgf");
    assert!(right > 0.6, "{right}");
    // the card has what the first validation query is answered
    let card = sandbox.read("runs/library/README.md");
    assert!(card.contains("The first answers to the query `"), "{card}");
    assert!(card.contains("| rank | score | id | label |\n"), "{card}");
    sandbox.fail(&["init", "library.mgf"], 2, &["library.toml", "is there already"]);
    // further candidates, with ids of their own
    let mut candidates = "id\tsmiles\n".to_owned();
    for (at, pair) in super::pairs(400).iter().enumerate() {
        writeln!(candidates, "C{at}\t{}", pair.smiles).unwrap();
    }
    sandbox.write("candidates.tsv", &candidates);
    let more = ["init", "library.mgf", "--force", "--candidates", "candidates.tsv"];
    let said = sandbox.succeed(&more);
    assert!(said.contains("no molecule has spectra in two of them"), "{said}");
    let molecules = sandbox.read("library-spectra/molecules.tsv");
    assert!(molecules.lines().count() == 401, "{}", molecules.lines().count());
    assert!(sandbox.read("library-spectra/train.mgf").contains("INCHIKEY=C"));
    sandbox.fail(
        &["init", "candidates.tsv", "--candidates", "x.tsv"],
        2,
        &["files of mass spectra"],
    );
}

#[test]
fn an_msp_file_of_negative_mode_is_searched_with_a_proton_less() {
    let mut text = String::new();
    for (at, pair) in pairs(200).iter().enumerate() {
        let peaks = peaks(pair, 0);
        write!(
            text,
            "NAME: compound {at}\r\nPRECURSORMZ: {:.4}\r\nIONMODE: Negative\r\nSMILES: {}\r\nNum Peaks: {}\r\n",
            ion(pair, -1.0),
            pair.smiles,
            peaks.len()
        )
        .unwrap();
        for (mz, intensity) in peaks {
            write!(text, "{mz:.4}\t{intensity}\t\"C{at}; 1 ppm\"\r\n").unwrap();
        }
        text += "\r\n";
    }
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "negative.msp",
        content: text.into_bytes(),
        arguments: &[],
        columns: ["spectrum", "smiles"],
        holds: "SMILES",
        skipped: 0,
        floor: ("mrr", Bound::AtLeast(MRR)),
    };
    stranger.trains(&sandbox);
    assert_eq!(divided(&sandbox, "negative-spectra"), 200);
    let right = first_is_right(&sandbox, "runs/negative", "negative-spectra/test.mgf");
    assert!(right > 0.6, "{right}");
    // structures that are not read have a way to those that are
    let inchi = "NAME: ethanol\nPRECURSORMZ: 47.0491\nSMILES: N/A\nINCHI: InChI=1S/C2H6O/c1-2-3/h3H,2H2,1H3\nNum Peaks: 1\n29.04 1\n";
    sandbox.write("inchi.msp", inchi);
    let says = ["no tandem spectrum names the SMILES", "Chem.MolToSmiles(Chem.MolFromInchi(text))"];
    sandbox.fail(&["init", "inchi.msp"], 2, &says);
    let keys = inchi.replace(
        "INCHI: InChI=1S/C2H6O/c1-2-3/h3H,2H2,1H3",
        "INCHIKEY: LFQSCWFLJHTTHZ-UHFFFAOYSA-N",
    );
    sandbox.write("keys.msp", &keys);
    let says =
        ["no tandem spectrum names the SMILES", "add a field SMILES from a table of structures"];
    sandbox.fail(&["init", "keys.msp"], 2, &says);
    let query = "181.07066 adduct=[M+H]+ 50.1:1 60.2:1";
    let said = sandbox.succeed(&["search", "runs/negative", query]);
    assert!(said.contains("trained on negative mode only"), "{said}");
}

/// A table of spectra as MassSpecGym has it, with a row whose lists have different lengths.
#[test]
fn a_table_of_spectra_is_divided_by_molecule() {
    let mut table = "identifier\tmzs\tintensities\tsmiles\tprecursor_mz\tadduct\tfold\n".to_owned();
    for (at, pair) in pairs(200).iter().enumerate() {
        let peaks = peaks(pair, 0);
        let mzs: Vec<String> = peaks.iter().map(|(mz, _)| format!("{mz:.4}")).collect();
        let intensities = peaks.iter().map(|(_, intensity)| intensity.to_string());
        let intensities: Vec<String> = intensities.skip(usize::from(at == 7)).collect();
        writeln!(
            table,
            "Gym{at}\t{}\t{}\t{}\t{:.4}\t[M+H]+\t{}",
            mzs.join(","),
            intensities.join(","),
            pair.smiles,
            ion(pair, 1.0),
            ["train", "train", "train", "val", "test"][at % 5]
        )
        .unwrap();
    }
    let objects = table.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let numbers = |cell: &str| -> Vec<f64> {
            cell.split(',').map(|number| number.parse().unwrap()).collect()
        };
        let object = serde_json::json!({
            "identifier": cells[0],
            "mzs": numbers(cells[1]),
            "intensities": numbers(cells[2]),
            "smiles": cells[3],
            "precursor_mz": cells[4].parse::<f64>().unwrap(),
            "adduct": cells[5],
            "fold": cells[6],
        });
        format!("{object}\n")
    });
    let objects: String = objects.collect();
    let sandbox = Sandbox::new();
    let stranger = Stranger {
        file: "gym.tsv",
        content: table.into_bytes(),
        arguments: &[],
        columns: ["spectrum", "smiles"],
        holds: "SMILES",
        skipped: 1,
        floor: ("mrr", Bound::AtLeast(MRR)),
    };
    stranger.trains(&sandbox);
    assert_eq!(divided(&sandbox, "gym-spectra"), 199);
    // as matchms and GNPS write them, without the row that cannot be read
    let of_pairs = objects.lines().enumerate().filter(|(at, _)| *at != 7).map(|(_, line)| {
        let object = json(line);
        let [mzs, intensities] =
            ["mzs", "intensities"].map(|key| object[key].as_array().unwrap().clone());
        let peaks: Vec<_> = mzs.into_iter().zip(intensities).collect();
        let object = serde_json::json!({
            "spectrum_id": object["identifier"],
            "peaks_json": peaks,
            "Smiles": object["smiles"],
            "Precursor_MZ": object["precursor_mz"],
            "Adduct": object["adduct"],
            "inchikey": "N/A",
        });
        format!("{object}\n")
    });
    sandbox.write("pairs.jsonl", &of_pairs.collect::<String>());
    sandbox.write("lines.jsonl", &objects);
    sandbox.succeed(&["init", "pairs.jsonl"]);
    let shown = sandbox.succeed(&["init", "lines.jsonl"]);
    assert!(shown.contains("fold: its cells name the split of each row"), "{shown}");
    for name in ["train", "validation", "test"] {
        let [table, lines, pairs] = ["gym", "lines", "pairs"]
            .map(|stem| sandbox.read(&format!("{stem}-spectra/{name}.mgf")));
        assert_eq!(table, lines, "{name}");
        assert_eq!(table, pairs, "{name}");
    }
    let shown = sandbox.succeed(&["init", "gym.tsv", "--force"]);
    assert!(shown.contains("fold: its cells name the split of each row"), "{shown}");
    // who names columns has a table
    for [option, value, key] in [["--input", "mzs", "input"], ["--output", "fold", "output"]] {
        let stated = sandbox.succeed(&["init", "gym.tsv", "--force", "--json", option, value]);
        assert_eq!(json(&stated)[key], value, "{option}");
    }
    let split = ["init", "gym.tsv", "--force", "--split", "column=fold"];
    sandbox.fail(&split, 2, &["--split", "spectra are divided by molecule"]);
}
