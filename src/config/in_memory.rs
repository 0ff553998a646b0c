//! The configuration of pairs in memory, for programs that have no file of it.

use dsokr_data::config::{DataConfig, DataSource, MemoryConfig, OnBadRow, OutputFeatures};

use super::{
    Config, DecodingConfig, EncoderTable, EvaluationConfig, FORMAT, KernelConfig, LoggingConfig,
    OutputConfig, SketchConfig, TrainingConfig,
};
use crate::error::Error;

impl Config {
    /// Creates a configuration for texts and outputs in memory, one output a text: SMILES of molecules, sets of labels,
    /// rankings or numbers, as `features` read them. All other settings are the defaults; the fields are there to
    /// change them. One pair in ten is for validation, and each output is a candidate.
    ///
    /// A run keeps the configuration and not the pairs. It answers texts, and is evaluated on files of queries.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Value`] for lists of different lengths, less than two pairs, and features that are not of a column.
    pub fn in_memory(
        texts: Vec<String>,
        outputs: Vec<String>,
        features: OutputFeatures,
        kernel: KernelConfig,
        encoder: EncoderTable,
    ) -> Result<Self, Error> {
        let pairs = MemoryConfig::new(texts, outputs, &features)?;
        let data = DataConfig {
            corrupted: 0.0,
            seed: None,
            limit: None,
            on_bad_row: OnBadRow::Stop,
            licence: None,
            fold: None,
            source: DataSource::Memory(pairs),
        };
        let output = OutputConfig {
            id: MemoryConfig::ID.into(),
            label: features.column().map(str::to_owned),
            features,
            kernel: Some(kernel),
            ..OutputConfig::default()
        };
        Ok(Self {
            format: FORMAT,
            name: "in-memory".into(),
            seed: 0,
            data,
            output,
            sketch: SketchConfig::default(),
            encoder,
            training: TrainingConfig::default(),
            decoding: DecodingConfig::default(),
            evaluation: EvaluationConfig::default(),
            logging: LoggingConfig::default(),
            ensemble: None,
        })
    }
}
