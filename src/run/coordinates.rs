//! Coordinates of candidates and outputs as other programs load them, and those that these have made.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use dsokr_basis::features::{Block, Selected};
use dsokr_core::store::{create_folder, write_atomically};
use dsokr_core::{Argument, Processes};
use dsokr_data::feature_file::read_features;
use dsokr_data::table::Table;
use dsokr_data::{Outputs, write_matrix, write_vector};
use dsokr_decode::CandidateBlocks;
use dsokr_nn::onnx::{Attribute, Dimension, Graph};
use dsokr_nn::pretrained::is_exported;

use super::{Member, OutputFolder};
use crate::error::{Error, ensure_run};
use crate::metrics::table::tsv_line;
use crate::targets::OutputSpace;

const POINTS: &str = "candidates.npy";
const VECTORS: &str = "candidates-l2.npy";
const CONSTANTS: &str = "constants.npy";
const MODEL: &str = "model.onnx";
/// The folder of what makes the inputs of [`MODEL`].
const INPUTS: &str = "inputs";
const TABLE: &str = "candidates.tsv";

/// The folder of an export. One without what every export has may be where an encoder was read from.
const OUTPUT: OutputFolder = OutputFolder {
    argument: "out",
    holds: "an earlier export only",
    is_own: |name| {
        let files = [POINTS, VECTORS, CONSTANTS, TABLE, MODEL, INPUTS];
        files.contains(&name) || is_exported(name)
    },
    always: &[TABLE, POINTS, CONSTANTS],
};

impl Member {
    /// Writes a fine-tuned encoder as a folder that the Python libraries transformers and
    /// sentence-transformers load, and the candidates next to it.
    ///
    /// | file | holds |
    /// |---|---|
    /// | `config.json`, `tokenizer.json`, `model.safetensors`, … | the encoder without its head: `AutoModel.from_pretrained`, `AutoTokenizer.from_pretrained` |
    /// | `modules.json`, `1_Pooling/`, `2_Dense/`, … | pooling and head: `SentenceTransformer(folder).encode(texts)` returns the coordinates z, scaled to unit length where the run scales them |
    /// | `candidates.npy` | ψ̃(c), 32-bit numbers `[candidates, p]` |
    /// | `constants.npy` | b(c), 32-bit numbers `[candidates]` |
    /// | `candidates.tsv` | `id`, `label` and further columns of each row; tabs and line breaks are replaced by spaces |
    ///
    /// The score of candidate c is `⟨z, ψ̃(c)⟩ + b(c)`. A tempered kernel and a correction for hubs are
    /// parts of ψ̃ and b.
    ///
    /// The folder appears as a whole, in the place of an earlier export.
    ///
    /// # Errors
    /// A run whose encoder was not read from a pretrained folder; [`dsokr_core::Error::Value`] for a folder in a run directory,
    /// and for one that holds anything but an earlier export; errors of the file system.
    pub fn export(&self, folder: &Path) -> Result<(), Error> {
        let unit_length = self.config.decoding.unit_length();
        self.write_export(folder, |here| self.predictor.export(here, unit_length))
    }

    /// Writes the candidates of a run of any encoder for programs that search by Euclidean distance: the files of
    /// candidates of [`export`](Self::export), and `candidates-l2.npy`, 32-bit numbers `[candidates, p + 1]`. Its
    /// rows are `x(c) = (ψ̃(c), √(C − 2 b(c) − ‖ψ̃(c)‖²))` with C the largest `2 b(c) + ‖ψ̃(c)‖²`, so that
    /// `‖x(c) − (z, 0)‖² = C + ‖z‖² − 2 (⟨z, ψ̃(c)⟩ + b(c))`: the rows nearest to `(z, 0)`, with z at unit length where the
    /// run scales it ([`DecodingConfig::unit_length`](crate::config::DecodingConfig::unit_length)), are the candidates with
    /// the largest scores (Bachrach et al., Speeding Up the Xbox Recommender System Using a Euclidean Transformation
    /// for Inner-Product Spaces, RecSys 2014).
    ///
    /// # Errors
    /// As [`export`](Self::export) of the folder.
    pub fn export_candidates(&self, folder: &Path) -> Result<(), Error> {
        self.write_export(folder, |here| self.write_vectors(here))
    }

    /// Writes a neural encoder with its head as an ONNX file, for onnxruntime 1.17 or later and what else reads
    /// operators of version 20, and the files of candidates of [`export`](Self::export) next to it.
    ///
    /// `model.onnx` has the output `coordinates`, float32 `[batch, p]`: z, scaled to unit length where the run scales
    /// it. With `scores` it holds the candidates too, and has the output `scores`, `[batch, candidates]`:
    /// `⟨z, ψ̃(c)⟩ + b(c)`. Where the run predicts numbers without candidates, `decoding.search = "exact"`, it has the
    /// output `numbers`, `[batch, numbers]`: the predicted numbers in the units of the data, in the order of
    /// `output.features.column`. Weights and products are 32-bit numbers.
    ///
    /// | encoder | inputs of a batch, padded to one length |
    /// |---|---|
    /// | `transformer`, `pretrained` | `input_ids` and `attention_mask`, int64 `[batch, length]` |
    /// | `ngram-bag`, `peak-bag` | `columns`, int64, and `values`, float32 `[batch, entries]`: rows of TF-IDF weights or of bins |
    /// | `bag-and-transformer`, `bag-and-pretrained` | those of both |
    /// | `peak-transformer` | `mz`, float64, `intensity`, float32, and `attention_mask`, int64 `[batch, length]`: the precursor first |
    /// | `mlp` | `vectors`, float32 `[batch, width]` |
    ///
    /// The folder `inputs` has what makes the inputs: `ngrams.json` or `spectra.json`, and for encoders of tokens
    /// `tokenizer.json`, which truncates texts and does not pad them, and `texts.json` with the `prompt` that is put
    /// before each text and the `max_length` in tokens. The metadata of the file have the table `encoder` of the
    /// configuration as TOML.
    ///
    /// # Errors
    /// As [`export`](Self::export) of the folder; [`dsokr_core::Error::Value`] for a different kind of encoder;
    /// [`dsokr_core::Error::Unsupported`] for a file beyond 2 GiB.
    pub fn export_onnx(&self, folder: &Path, scores: bool) -> Result<(), Error> {
        let p = self.candidates.dim();
        let n = self.candidates.len();
        let mut graph = Graph::default();
        let z = self.predictor.onnx(&mut graph).ok_or_else(|| {
            let archive = Argument::new("archive").with("FILE");
            let candidates = Argument::switch("candidates");
            let allowed = format_args!(
                "a neural encoder that ONNX can express: mlp, ngram-bag, peak-bag, transformer, peak-transformer, pretrained, \
                 bag-and-transformer, bag-and-pretrained; {archive} writes any run as one file, and {candidates} the \
                 candidates of any run"
            );
            Error::value("encoder.kind", format!("{:?}", self.config.encoder.kind()), allowed)
        })?;
        let z = if self.config.decoding.unit_length() {
            graph.node("LpNormalization", &[&z], &[])
        } else {
            z
        };
        let shape = |size| [Dimension::Any("batch"), Dimension::Size(size)];
        graph.output("coordinates", &z, &shape(p), "coordinates z of each input");
        if scores {
            let points = (0..n).map(|candidate| self.point(candidate));
            let points = points.collect::<Result<Vec<_>, _>>()?.concat();
            let points = graph.floats(&[n, p], &points);
            let constants = graph.floats(&[n], &self.each_constant());
            let transposed = [("transB", Attribute::Int(1))];
            let all = graph.node("Gemm", &[&z, &points, &constants], &transposed);
            graph.output("scores", &all, &shape(n), "of the rows of candidates.tsv");
        }
        let exact = self.decoder().exact()?;
        if let Some(map) = exact.map(|exact| exact.number_map(p)).transpose()?.flatten() {
            let count = map.means.len();
            let matrix = graph.floats(&[p, count], &map.matrix);
            let means = graph.floats(&[count], &map.means);
            let numbers = graph.node("Gemm", &[&z, &matrix, &means], &[]);
            graph.output("numbers", &numbers, &shape(count), &map.names.join(", "));
        }
        let file = graph.file(&[("encoder", toml::to_string(&self.config.encoder)?)])?;
        self.write_export(folder, |here| {
            let inputs = here.join(INPUTS);
            create_folder(&inputs).map_err(Error::io(&inputs))?;
            for (name, text) in self.predictor.input_files()? {
                write_atomically(&inputs.join(name), |file| file.write_all(text.as_bytes()))?;
            }
            Ok(write_atomically(&here.join(MODEL), |model| model.write_all(&file))?)
        })
    }

    /// Returns the constant b(c) of each candidate.
    fn each_constant(&self) -> Vec<f32> {
        let candidates = &self.candidates;
        (0..candidates.len())
            .map(|c| candidates.constants()[candidates.class_of(c) as usize])
            .collect()
    }

    /// Writes the files of candidates and what `more` writes into a folder.
    fn write_export(
        &self,
        folder: &Path,
        more: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<(), Error> {
        OUTPUT.check(folder)?;
        OUTPUT.write(folder, |here| {
            more(here)?;
            let candidates = &self.candidates;
            let point = |candidate| Ok(self.point(candidate)?.into_owned());
            self.write_rows(&here.join(POINTS), candidates.dim(), point)?;
            write_vector(&here.join(CONSTANTS), &self.each_constant())?;
            Ok(write_atomically(&here.join(TABLE), |file| {
                let columns = candidates.columns();
                write!(file, "{}", tsv_line(&columns.names().collect::<Vec<_>>()))?;
                (0..candidates.len()).try_for_each(|candidate| {
                    write!(file, "{}", tsv_line(&columns.row(candidate).collect::<Vec<_>>()))
                })
            })?)
        })
    }

    /// Writes `candidates-l2.npy`.
    fn write_vectors(&self, folder: &Path) -> Result<(), Error> {
        let candidates = &self.candidates;
        let p = self.candidates.dim();
        let sum = |(row, &constant): (usize, &f32)| {
            let square: f64 = candidates.point(row)?.iter().map(|&v| f64::from(v).powi(2)).sum();
            Ok(2.0 * f64::from(constant) + square)
        };
        let sums = candidates.constants().iter().enumerate().map(sum);
        let sums = sums.collect::<Result<Vec<f64>, Error>>()?;
        let most = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.write_rows(&folder.join(VECTORS), p + 1, |candidate| {
            let mut vector = self.point(candidate)?.into_owned();
            vector.push((most - sums[candidates.class_of(candidate) as usize]).sqrt() as f32);
            Ok(vector)
        })
    }

    /// Writes a row of this width for each candidate.
    fn write_rows(
        &self,
        file: &Path,
        width: usize,
        row: impl Fn(usize) -> Result<Vec<f32>, Error>,
    ) -> Result<(), Error> {
        let mut candidates = 0..self.candidates.len();
        write_matrix(file, candidates.len(), width, || candidates.next().map(&row).transpose())
    }
}

/// Candidates whose coordinates are compared with those that the data give now.
const COMPARED: usize = 32;

/// The largest difference between coordinates that were computed twice.
const ROUNDING: f32 = 1e-3;

impl Member {
    /// Returns the targets of the outputs that the rows of a table name: their coordinates ψ̃(y) among the
    /// predictions, `[rows × p]` row-major. The column `column` (default: `output.id`) holds the ids.
    ///
    /// A prediction z of any program ranks candidates by `⟨z, ψ̃(c)⟩ + b(c)`, with the constants b(c) of
    /// `candidates.safetensors`, which vanish for normalised kernels without a correction for hubs.
    /// Outputs that are not candidates are read from the data, under the data root `data` or where the
    /// run was trained.
    ///
    /// # Errors
    /// A table that cannot be read; an id that is not an output of the run; data that have changed;
    /// [`dsokr_core::Error::Value`] for a run whose predictions are not points of a feature space.
    pub fn embed_outputs(
        &self,
        table: &Path,
        column: Option<&str>,
        data: Option<&Path>,
    ) -> Result<Vec<f32>, Error> {
        let p = self.candidates.dim();
        let Some(centre) = self.space.as_ref().and_then(OutputSpace::origin) else {
            let value = "a run without a sketch of its outputs, or of quantiles";
            let allowed = "a run whose predictions are points of the outputs' feature space";
            return Err(Error::value(Argument::new("outputs"), value, allowed));
        };
        let column = column.unwrap_or(&self.config.output.id);
        let table = Table::read(table, &[column])?;
        let ids = table.column(column)?;
        let places: Vec<Option<usize>> = ids.iter().map(|id| self.candidates.find(id)).collect();
        let unknown = |row: usize| places[row].is_none();
        let others: Vec<usize> = (0..ids.len()).filter(|&row| unknown(row)).collect();
        let others = if others.is_empty() {
            Vec::new()
        } else {
            self.read_outputs(&table, ids, &others, data)?
        };
        let mut others = others.chunks_exact(p);
        let mut all = Vec::with_capacity(ids.len() * p);
        for place in &places {
            let row = match place {
                Some(candidate) => self.point(*candidate)?,
                None => others.next().unwrap_or_default().into(),
            };
            all.extend(row.iter().zip(&*centre).map(|(&at, from)| (f64::from(at) + from) as f32));
        }
        Ok(all)
    }

    /// Returns coordinates of the outputs in the rows `wanted` of a table, which are not candidates.
    fn read_outputs(
        &self,
        table: &Table,
        ids: &[String],
        wanted: &[usize],
        data: Option<&Path>,
    ) -> Result<Vec<f32>, Error> {
        let mut dataset = self.read_data(data, |source, root| source.load(root))?;
        self.config.standardise(&mut dataset, self.scaling.as_ref())?;
        let outputs = &dataset.outputs;
        let index: HashMap<&str, usize> =
            outputs.ids.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
        // candidates that were added are not outputs of the data
        let trained = self.candidates.len() - self.candidates.added();
        let compared: Vec<usize> = (0..trained).step_by(trained.div_ceil(COMPARED)).collect();
        let now: Option<Vec<usize>> =
            compared.iter().map(|&c| index.get(self.candidates.id(c)).copied()).collect();
        let same = match now {
            Some(rows) => {
                let before = compared.iter().map(|&candidate| self.point(candidate));
                let before = before.collect::<Result<Vec<_>, _>>()?.concat();
                let close = |(now, before): (&f32, &f32)| (now - before).abs() < ROUNDING;
                let now = self.project(outputs, &rows);
                now.is_ok_and(|now| now.iter().zip(&before).all(close))
            }
            None => false,
        };
        let root = self.config.data_root(data)?;
        let path = root.folder().unwrap_or_else(|| Path::new(""));
        ensure_run(same, path, "the outputs have changed since the run was trained on them")?;
        let place = |&row: &usize| {
            index.get(ids[row].as_str()).copied().ok_or_else(|| Error::Config {
                path: table.path().into(),
                message: format!(
                    "line {}: {:?} is neither a candidate nor an output of the run's data",
                    table.line(row),
                    ids[row]
                ),
            })
        };
        self.project(outputs, &wanted.iter().map(place).collect::<Result<Vec<_>, _>>()?)
    }

    /// Returns the coordinates of some outputs as those of the candidates are.
    fn project(&self, outputs: &Outputs, chosen: &[usize]) -> Result<Vec<f32>, Error> {
        let rows = Selected::new(outputs.rows.as_ref(), chosen);
        let Some(space) = &self.space else { return Ok(Vec::new()) };
        Ok(space.place(&rows, &Processes::default())?.coordinates)
    }

    fn point(&self, candidate: usize) -> Result<Cow<'_, [f32]>, Error> {
        Ok(self.candidates.point(self.candidates.class_of(candidate) as usize)?)
    }

    /// Reads coordinates that were made elsewhere, a row a query: a .npy file, or a .safetensors file of
    /// one tensor.
    ///
    /// # Errors
    /// A file that cannot be read, or that is not a matrix `[queries × p]` of finite numbers.
    pub fn read_coordinates(&self, file: &Path, queries: usize) -> Result<Vec<f32>, Error> {
        let rows = read_features(file, None, false)?;
        let shape = (rows.len(), rows.width());
        let p = self.candidates.dim();
        let wrong = |message| Err(Error::Config { path: file.into(), message });
        if shape != (queries, p) {
            let (rows, width) = shape;
            return wrong(format!(
                "a matrix [{rows} × {width}]; expected [{queries} × {p}], a row a query and a column \
                 a coordinate of the run"
            ));
        }
        match rows.block(0..queries)? {
            Block::Dense(block) => Ok(block.values().to_vec()),
            _ => wrong("packed bits; expected numbers".into()),
        }
    }
}
