use std::path::PathBuf;

use crate::error::Error;
use crate::run::Member;

use crate::cli::output::print;

/// Writes a fine-tuned encoder and its candidates as a folder that the Python libraries transformers
/// and sentence-transformers load.
///
/// For runs with encoder.kind = "pretrained". SentenceTransformer(FOLDER).encode(texts) returns the
/// run's coordinates; candidates.npy, constants.npy and candidates.tsv hold the candidates. The score
/// of a candidate is the inner product plus its constant. With --onnx, an encoder of any kind but a kernel
/// machine as one ONNX file; with --candidates, only the candidates, of a run of any encoder.
#[derive(clap::Args)]
pub struct Arguments {
    /// The run directory.
    run: PathBuf,
    /// The folder, which appears as a whole. An earlier export that it holds is replaced; a folder with anything else
    /// is refused.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Write model.onnx, which maps token ids, weights of n-grams or vectors to coordinates, and a folder inputs with
    /// the tokenizer or the n-grams.
    #[arg(long)]
    onnx: bool,
    /// Write only the candidates, also as vectors of one more dimension whose Euclidean distances to coordinates
    /// with a 0 at their end order them as the scores do (candidates-l2.npy). With --onnx, model.onnx holds the
    /// candidates too, and answers with their scores.
    #[arg(long)]
    candidates: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let Arguments { run, out, onnx, candidates } = arguments;
    let run: Member = Member::open(run)?;
    let what = match (onnx, candidates) {
        (true, _) => {
            run.export_onnx(out, *candidates)?;
            let scores = if *candidates { " and scores" } else { "" };
            format!("model.onnx returns coordinates{scores}; files of inputs/ make its inputs;")
        }
        (false, true) => {
            run.export_candidates(out)?;
            "candidates-l2.npy;".into()
        }
        (false, false) => {
            run.export(out)?;
            format!("SentenceTransformer({out:?}).encode(texts) returns coordinates;")
        }
    };
    let folder = out.display();
    let count = run.candidates.len();
    print(&format!(
        "{folder}: {what} {count} candidates in candidates.npy, constants.npy and candidates.tsv\n"
    ))
}
