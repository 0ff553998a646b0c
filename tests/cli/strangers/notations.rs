//! Cells as NumPy, pandas and programs of chemistry write them.

use std::fmt::Write;

use super::programs::{init, table};
use super::{Bound, Stranger, pairs};
use crate::sandbox::Sandbox;

/// Four bits of a row, from which its number follows.
fn bits(at: usize) -> [usize; 4] {
    [0, 1, 2, 3].map(|bit| ((at * 37) >> bit) & 1)
}

/// The number of a row.
fn number(at: usize) -> f64 {
    let places = [0.5, 1.0, 2.0, 4.0];
    bits(at).iter().zip(places).map(|(&bit, place)| bit as f64 * place).sum()
}

/// From version 2 on, NumPy writes its numbers with their type where a list of Python holds them.
#[test]
fn lists_of_numbers_with_the_types_of_numpy_are_vectors() {
    let rows = table("embedding,y", |at| {
        let numbers = bits(at).map(|bit| format!("np.float64({bit}.5)")).join(", ");
        // no two vectors are alike
        format!("\"[{numbers}, np.int64({at})]\",{}", number(at))
    });
    let stranger = Stranger {
        file: "typed.csv",
        content: rows.into_bytes(),
        arguments: &[],
        columns: ["embedding", "y"],
        holds: "numbers",
        skipped: 0,
        floor: ("mae", Bound::AtMost(0.5)),
    };
    stranger.trains(&Sandbox::new());
}

/// As RDKit's `ToBitString` writes a fingerprint.
#[test]
fn bits_without_a_sign_between_are_vectors() {
    let rows = table("fingerprint,y", |at| {
        let bits: String = bits(at).iter().map(|bit| bit.to_string().repeat(8)).collect();
        // no two fingerprints are alike
        format!("{bits}{at:08b},{}", number(at))
    });
    let stranger = Stranger {
        file: "bits.csv",
        content: rows.into_bytes(),
        arguments: &[],
        columns: ["fingerprint", "y"],
        holds: "numbers",
        skipped: 0,
        floor: ("mae", Bound::AtMost(0.5)),
    };
    stranger.trains(&Sandbox::new());
}

#[test]
fn arrays_that_are_cut_and_dictionaries_are_named_with_the_remedy() {
    let sandbox = Sandbox::new();
    let rows = pairs(200);
    let beside = |name: &str, cell: &dyn Fn(usize) -> String| {
        let mut table = format!("smiles,{name},y\n");
        for (at, pair) in rows.iter().enumerate() {
            writeln!(table, "{},\"{}\",{}.5", pair.smiles, cell(at), pair.atoms).unwrap();
        }
        table
    };
    let cut = beside("embedding", &|at| format!("[0.{at} 1.5 2.5 ... 0.25 3.{at}]"));
    let (_, shown) = init(&sandbox, "cut.csv", &cut);
    let said = "arrays without their middle, which NumPy leaves out";
    assert!(shown.contains(said) && shown.contains("frame[\"embedding\"].map(list)"), "{shown}");
    let dictionaries = beside("facts", &|at| format!("{{'mass': {at}.5, 'rings': 2}}"));
    let (_, shown) = init(&sandbox, "dictionaries.csv", &dictionaries);
    let said = "pandas.json_normalize(frame[\"facts\"].map(ast.literal_eval))";
    assert!(shown.contains(said), "{shown}");
    let peaks = beside("peaks", &|at| format!("50.{at}:10 61.5:20.5 77.25:999"));
    let (_, shown) = init(&sandbox, "peaks.csv", &peaks);
    assert!(shown.contains("peaks: cells are peaks of mass spectra"), "{shown}");
}

/// The name of the column says what it is, though many cells are wrong.
#[test]
fn many_cells_of_a_column_of_smiles_may_be_wrong() {
    let sandbox = Sandbox::new();
    let mut rows = "SMILES,Tg\n".to_owned();
    for (at, pair) in pairs(200).iter().enumerate() {
        let smiles = if at % 3 == 2 { format!("{}(", pair.smiles) } else { pair.smiles.clone() };
        writeln!(rows, "{smiles},{}.5", pair.atoms).unwrap();
    }
    let (found, shown) = init(&sandbox, "polymers.csv", &rows);
    assert_eq!([&found["input"], &found["output"]], ["SMILES", "Tg"], "{found}");
    assert_eq!(found["skipped"], 66, "{found}");
    assert!(
        shown.contains("SMILES: SMILES in 134 of 200 cells; the first other one is"),
        "{shown}"
    );
}

#[test]
fn molecules_in_other_notations_are_refused_with_what_makes_smiles_of_them() {
    let sandbox = Sandbox::new();
    let letters =
        |at: usize| [at / 20, at % 20].map(|place| &"ACDEFGHIKLMNPQRSTVWY"[place..=place]);
    let symbols = |at: usize| {
        let bits = (0..8).map(|bit| if (at >> bit) & 1 == 1 { "[=C]" } else { "[C]" });
        bits.collect::<String>() + "[Ring1]"
    };
    let numbers = |at: usize| {
        let bits = (0..8).map(|bit| if (at >> bit) & 1 == 1 { "-[#6]" } else { "-[#7]" });
        format!("[#6]{}", bits.collect::<String>())
    };
    let selfies = table("selfies,y", |at| format!("{},{}.5", symbols(at), at % 27));
    let helm = table("helm,y", |at| {
        format!("PEPTIDE1{{A.C.{}}}$$$$V2.0,{}.5", letters(at).join("."), at % 27)
    });
    let smarts = table("pattern,y", |at| format!("{},{}.5", numbers(at), at % 27));
    for (file, rows, column, remedy) in [
        ("selfies.csv", &selfies, "selfies", "decoder(text) of the package selfies"),
        ("helm.csv", &helm, "helm", "Chem.MolToSmiles(Chem.MolFromHELM(text))"),
        ("smarts.csv", &smarts, "pattern", "these are patterns"),
    ] {
        sandbox.write(file, rows);
        let input = format!("--input {column} learns from the characters of {column:?}");
        sandbox.fail(&["init", file], 2, &["no column of texts", remedy, &input]);
        sandbox.succeed(&["init", file, "--input", column]);
    }
}

/// As Tox21 and other sets of several tasks have them.
#[test]
fn columns_of_bits_beside_the_output_are_joined_by_pandas() {
    let sandbox = Sandbox::new();
    let mut rows = "smiles,NR-AR,NR-ER,SR-p53\n".to_owned();
    for (at, pair) in pairs(200).iter().enumerate() {
        let bits = bits(at).map(|bit| bit.to_string());
        writeln!(rows, "{},{}", pair.smiles, bits[..3].join(",")).unwrap();
    }
    let (_, shown) = init(&sandbox, "tox21.csv", &rows);
    assert!(shown.contains("2 further columns of classes are left out"), "{shown}");
    assert!(shown.contains("row.index[row == 1]"), "{shown}");
}
