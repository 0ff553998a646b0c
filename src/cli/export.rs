//! `dsokr export`: writes a run, its candidates or its encoder for other programs.

use std::path::{Path, PathBuf};

use dsokr_core::Argument;
use dsokr_core::memory::Bytes;

use crate::error::Error;
use crate::run::{Member, archive, check_output};

use crate::cli::output::{PROGRAM, print, shell_path};

/// Writes a run for other programs: as one file, its candidates, an ONNX file, or a folder for sentence-transformers.
///
/// With --archive, the run itself as one file, of any encoder and of ensembles. With --candidates, only the candidates,
/// of a run of any encoder. With --onnx, an encoder of any kind but a kernel machine as one ONNX file. Without these, for runs
/// with encoder.kind = "pretrained", a fine-tuned encoder as a folder that the Python libraries transformers and
/// sentence-transformers load: SentenceTransformer(FOLDER).encode(texts) returns the run's coordinates. Next to it,
/// candidates.npy, constants.npy and candidates.tsv hold the candidates; the score of a candidate is the inner product plus
/// its constant.
#[derive(clap::Args)]
pub struct Arguments {
    /// The run directory.
    run: PathBuf,
    /// The folder, which appears as a whole. An earlier export that it holds is replaced; a folder with anything else
    /// is refused.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Write the complete run as this file, model.tar.zst by convention, which dsokr serve opens and dsokr fetch model
    /// unpacks. Checkpoints, shards and the folder of the data are left out.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["out", "onnx", "candidates"])]
    archive: Option<PathBuf>,
    /// Write model.onnx, which maps token ids, weights of n-grams or vectors to coordinates, and to the numbers of a run
    /// that predicts numbers, and a folder inputs with the tokenizer or the n-grams.
    #[arg(long)]
    onnx: bool,
    /// Write only the candidates, also as vectors of one more dimension whose Euclidean distances to coordinates
    /// with a 0 at their end order them as the scores do (candidates-l2.npy): of runs with decoding.normalise, hubs or a
    /// reranker, coordinates at unit length, to which embed does not scale them. With --onnx, model.onnx holds the
    /// candidates too, and answers with their scores.
    #[arg(long)]
    candidates: bool,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    let Arguments { run, out, archive, onnx, candidates } = arguments;
    if let Some(archive) = archive {
        return write_archive(run, archive);
    }
    let Some(out) = out else {
        let one_file = Argument::new("archive").with("FILE");
        let allowed = format_args!("a folder, or {one_file}, which writes the run as one file");
        return Err(Error::value(Argument::new("out"), "none", allowed));
    };
    let run: Member = Member::open(run)?;
    let what = match (onnx, candidates) {
        (true, _) => {
            run.export_onnx(out, *candidates)?;
            let scores = if *candidates { " and scores" } else { "" };
            let has_files = !run.predictor.input_files()?.is_empty();
            let inputs = if has_files { " files of inputs/ make its inputs;" } else { "" };
            format!("model.onnx returns coordinates{scores};{inputs}")
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

/// Writes a run as one file.
fn write_archive(run: &Path, file: &Path) -> Result<(), Error> {
    check_output("archive", &file.to_path_buf())?;
    archive::pack(run, file)?;
    let bytes = Bytes(file.metadata().map_err(Error::io(file))?.len() as f64);
    let shown = file.display();
    let program = &*PROGRAM;
    let argument = shell_path(file);
    print(&format!(
        "{shown}: {bytes}; {program} serve {argument} opens it, {program} fetch model {argument} unpacks it\n"
    ))
}
