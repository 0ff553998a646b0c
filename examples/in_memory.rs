//! Texts and molecules in two vectors, without files and without TOML: a kernel machine learns them, and answers.
//!
//! ```sh
//! cargo run --release --example in_memory
//! ```

use dsokr::basis::Kernel;
use dsokr::config::{KernelConfig, KernelMachineConfig, Lambda, MachineInputsConfig, NgramWeights};
use dsokr::data::config::{OutputFeatures, SubstructureFeatures};
use dsokr::data::featurizers::{NgramConfig, NgramKind};
use dsokr::molecule::{Morgan, Substructures};
use dsokr::{Config, EncoderTable, Error, Run, fit};

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
    // what the kernel compares, and what the machine reads
    let of = Substructures::Morgan(Morgan { radius: 2, width: 1024 });
    let column = "smiles".into();
    let features = SubstructureFeatures { column, of, log: false, exact: false, min_outputs: 1 };
    let blocks = vec![NgramConfig::new(NgramKind::Words, 1, 2)];
    let inputs = MachineInputsConfig::Ngrams { blocks, weights: NgramWeights::TfIdf };
    let machine = KernelMachineConfig::new(inputs, Lambda::Several(vec![1e-5, 1e-4, 1e-3]));
    let features = OutputFeatures::Substructures(features);
    let encoder = EncoderTable::from_learner(machine)?;
    let kernel = KernelConfig::from(Kernel::Cosine);
    let mut config = Config::in_memory(texts, smiles, features, kernel, encoder)?;
    config.sketch.size = 60;

    let trained = fit(&config.validate()?, "runs/in-memory")?;
    println!("{}", trained.report);
    // a run is read from its directory
    for hit in Run::open(&trained.path)?.search("a long chain with an amine", 3)?.hits {
        println!("{:.3}  {}", hit.score, hit.label);
    }
    Ok(())
}
