//! Texts and molecules in two vectors, without files, a folder and a configuration: a model learns them, and answers.
//!
//! ```sh
//! cargo run --release --example in_memory
//! ```

use dsokr::{Error, fit_pairs};

fn main() -> Result<(), Error> {
    let ends =
        [("alcohol", "O"), ("amine", "N"), ("carboxylic acid", "C(=O)O"), ("nitrile", "C#N")];
    let mut texts = Vec::new();
    let mut smiles = Vec::new();
    for carbons in 10..40 {
        for (name, end) in ends {
            texts.push(format!("A chain of {carbons} carbon atoms with an {name} at its end."));
            smiles.push("C".repeat(carbons) + end);
        }
    }
    let trained = fit_pairs(&texts, &smiles)?;
    println!("{}", trained.report);
    for hit in trained.run.search("a long chain with an amine", 3)?.hits {
        println!("{:.3}  {}", hit.score, hit.label);
    }
    Ok(())
}
