use std::path::PathBuf;

use crate::Error;
use crate::run::Run;

use crate::cli::output::print;

/// Writes a fine-tuned encoder and its candidates as a folder that the Python libraries transformers
/// and sentence-transformers load.
///
/// For runs with encoder.kind = "pretrained". SentenceTransformer(FOLDER).encode(texts) returns the
/// run's coordinates; candidates.npy, constants.npy and candidates.tsv hold the candidates. The score
/// of a candidate is the inner product plus its constant. With --candidates, the candidates alone, of a run
/// of any encoder.
#[derive(clap::Args)]
pub struct Arguments {
    /// The run directory.
    run: PathBuf,
    /// The folder, which appears as a whole. An earlier export that it holds is replaced; a folder with anything else
    /// is refused.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Write the candidates alone, also as vectors of one more dimension whose Euclidean distances to coordinates
    /// with a 0 at their end order them as the scores do (candidates-l2.npy).
    #[arg(long)]
    candidates: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let run: Run = Run::open(&arguments.run)?;
    let folder = arguments.out.display();
    let count = run.candidates.len();
    if arguments.candidates {
        run.export_candidates(&arguments.out)?;
        return print(&format!(
            "{folder}: {count} candidates in candidates.npy, constants.npy, candidates.tsv and candidates-l2.npy\n"
        ));
    }
    run.export(&arguments.out)?;
    print(&format!(
        "{folder}: SentenceTransformer({:?}).encode(texts) returns coordinates; {count} candidates \
         in candidates.npy, constants.npy and candidates.tsv\n",
        arguments.out
    ))
}
