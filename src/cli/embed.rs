//! `dsokr embed`: writes the coordinates of texts or outputs as a matrix.

use std::path::PathBuf;

use dsokr_core::Argument;
use dsokr_data::config::OnBadRow;
use dsokr_data::write_matrix;
use dsokr_decode::CandidateBlocks;
use dsokr_nn::Processor;

use crate::cli::arguments::{TextArguments, is_standard_input, read};
use crate::cli::output::print;
use crate::cli::signals;
use crate::error::{Error, ensure};
use crate::run::{Member, check_not_read, check_output};

/// Texts that are encoded at once.
const BATCH: usize = 256;

/// Writes the coordinates of texts, or of outputs, as a .npy file, a row a text or an output.
///
/// A text's coordinates z rank candidates by their inner products with the outputs' coordinates, plus a
/// constant a candidate where the kernel is not normalised or candidates are corrected for hubs.
#[derive(clap::Args)]
pub struct Arguments {
    /// The run directory.
    run: PathBuf,
    /// The file of the texts, or of the vectors of a run that reads them (.npy, .npz or .safetensors); with --outputs a table
    /// whose rows name outputs.
    file: PathBuf,
    /// The .npy file; a file of that name is replaced.
    #[arg(long)]
    out: PathBuf,
    /// Write the coordinates of the outputs that the rows of the table name: the targets of a training
    /// elsewhere. --column is the column of their ids; default: output.id of the run.
    #[arg(long, conflicts_with_all = ["id", "input"])]
    outputs: bool,
    #[command(flatten)]
    texts: TextArguments,
    /// The data root, for outputs that are not candidates; default: the folder of the data that the run was
    /// trained on, else the environment variable DSOKR_DATA, else data/.
    #[arg(long, requires = "outputs")]
    data: Option<PathBuf>,
    /// The device: cpu, wgpu, cuda or cuda:NUMBER.
    #[arg(long, default_value_t)]
    device: Processor,
}

pub fn run(arguments: &Arguments) -> Result<(), Error> {
    check_output("out", &arguments.out)?;
    check_not_read("out", &arguments.out, &arguments.file)?;
    let is_npy = arguments.out.extension().is_some_and(|extension| extension == "npy");
    let allowed = "a path that ends with .npy, by which other commands know the format";
    ensure(is_npy, Argument::new("out"), arguments.out.display(), allowed)?;
    let device = arguments.device.open()?;
    let mut member = Member::open_on(&arguments.run, &device)?;
    let file = &arguments.file;
    let out = &arguments.out;
    let width = member.candidates.dim();
    let there = out.clone();
    signals::advise(move || {
        format!("{} is as it was; the same command starts again", there.display())
    });
    let rows = if arguments.outputs {
        let column = arguments.texts.column.as_deref();
        let mut all = Some(member.embed_outputs(file, column, arguments.data.as_deref())?);
        let rows = all.iter().flatten().count() / width;
        write_matrix::<Error>(out, rows, width, || Ok(all.take()))?;
        rows
    } else {
        let allowed = "a file, which is read twice, first for the number of its texts";
        ensure(!is_standard_input(file), "FILE", "-", allowed)?;
        // the rows of the matrix follow those of the file
        member.config.set_on_bad_row(OnBadRow::Stop)?;
        let mut texts = arguments.texts.open(file, &member, None)?;
        let mut rows = 0;
        let mut more = 1;
        while more > 0 {
            more = texts.batch(BATCH)?.ids.len();
            rows += more;
        }
        ensure(rows != 0, "FILE", format!("{} without texts", file.display()), "texts")?;
        let mut texts = arguments.texts.open(file, &member, None)?;
        write_matrix(out, rows, width, || {
            let batch = texts.batch(BATCH)?;
            if batch.ids.is_empty() {
                return Ok(None);
            }
            member.coordinates(&read(&batch, &member)?).map(Some)
        })?;
        rows
    };
    print(&format!("{}: {rows} rows of {width} coordinates\n", out.display()))
}
