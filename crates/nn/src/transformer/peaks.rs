//! A transformer over the peaks of a spectrum.

use std::f64::consts::TAU;

use burn::module::Module;
use burn::tensor::Tensor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use super::{Pooling, Transformer, TransformerConfig};
use crate::encoder::{Encoder, PartSize};
use crate::error::{Error, check};
use crate::init::Start;
use crate::onnx::{Attribute, Dimension, Graph, Type, Value};
use crate::pass::Pass;

/// A transformer whose tokens are the precursor and the peaks of a spectrum, by decreasing intensity.
///
/// A token is a linear map of Fourier features `sin(2π m/λ)` and `cos(2π m/λ)` of its m/z and of its neutral loss, at
/// wavelengths λ from 0.01 to 2000 Da in a geometric sequence, of the square root of its intensity, and of whether it
/// is the precursor; a learned vector of its place is added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, SmartDefault)]
#[serde(deny_unknown_fields, default)]
pub struct PeakTransformerConfig {
    /// The most peaks of a spectrum, the most intense ones.
    #[default(100)]
    pub max_peaks: usize,
    /// Number of wavelengths.
    #[default(40)]
    pub wavelengths: usize,
    /// Number of layers.
    #[default(2)]
    pub layers: usize,
    /// Width d of the token vectors.
    #[default(256)]
    pub width: usize,
    /// Number of attention heads; must divide `width`.
    #[default(8)]
    pub heads: usize,
    /// Width of the feed-forward layers.
    #[default(512)]
    pub feed_forward: usize,
    /// Share of units dropped in training, in `[0, 1)`.
    #[default(0.1)]
    pub dropout: f32,
    /// The token vectors that the head reads; `first` is the precursor's.
    #[default(Pooling::Mean)]
    pub pooling: Pooling,
}

/// Wavelengths in Da.
const SHORTEST: f64 = 0.01;
const LONGEST: f64 = 2000.0;

impl PeakTransformerConfig {
    /// Checks sizes and rates.
    ///
    /// # Errors
    /// A size of 0, a number of heads that does not divide the width, or a dropout outside `[0, 1)`.
    pub fn validate(&self) -> Result<(), Error> {
        check(self.max_peaks > 0, "max_peaks", 0, "at least 1")?;
        check(self.wavelengths > 1, "wavelengths", self.wavelengths, "at least 2")?;
        self.inner().architecture(features(self.wavelengths)).validate()
    }

    /// Returns the transformer over the features of peaks, in the place of a vocabulary.
    fn inner(&self) -> TransformerConfig {
        TransformerConfig {
            max_length: self.max_peaks + 1,
            layers: self.layers,
            width: self.width,
            heads: self.heads,
            feed_forward: self.feed_forward,
            dropout: self.dropout,
            pooling: self.pooling,
            ..TransformerConfig::default()
        }
    }

    /// Returns the number of tokens of a spectrum: its peaks, and the precursor.
    pub fn length(&self, (_, peaks): &PeakList) -> usize {
        tokens(peaks.len(), self.max_peaks)
    }

    /// Returns the size of the encoder with `coordinates` coordinates, on spectra of `length` tokens.
    pub fn size(&self, length: f64, coordinates: usize) -> Vec<PartSize> {
        self.inner().size(features(self.wavelengths), length, coordinates)
    }

    /// Draws a transformer; the offset becomes the bias of the head.
    pub fn init(&self, start: Start) -> PeakTransformer {
        let Self { max_peaks, wavelengths, .. } = *self;
        let inner = self.inner().init(features(wavelengths), start);
        PeakTransformer { inner, max_peaks, wavelengths }
    }
}

/// Returns the number of features of a peak: sine and cosine of m/z and of loss at each wavelength, intensity,
/// precursor.
fn features(wavelengths: usize) -> usize {
    4 * wavelengths + 2
}

fn tokens(peaks: usize, most: usize) -> usize {
    peaks.min(most) + 1
}

/// See [`PeakTransformerConfig`].
#[derive(Module, Debug)]
pub struct PeakTransformer {
    inner: Transformer,
    #[module(skip)]
    max_peaks: usize,
    #[module(skip)]
    wavelengths: usize,
}

/// A spectrum as the transformer reads it: m/z of the precursor, then m/z and intensity of each peak.
pub type PeakList = (f64, Vec<(f64, f64)>);

impl Encoder for PeakTransformer {
    type Input = PeakList;

    fn dimension(&self) -> usize {
        self.inner.dimension()
    }

    fn length(&self, (_, peaks): &PeakList) -> usize {
        tokens(peaks.len(), self.max_peaks)
    }

    fn forward(&self, batch: &[&PeakList], pass: Pass) -> Tensor<2> {
        let lengths: Vec<usize> = batch.iter().map(|input| self.length(input)).collect();
        let tokens: usize = lengths.iter().sum();
        let mut rows = Vec::with_capacity(tokens * features(self.wavelengths));
        for (precursor, peaks) in batch {
            let mut peaks = peaks.clone();
            peaks.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.total_cmp(&b.0)));
            let largest = peaks.first().map_or(1.0, |peak| peak.1);
            self.add(&mut rows, (*precursor, *precursor), None);
            for &(mz, intensity) in peaks.iter().take(self.max_peaks) {
                self.add(&mut rows, (mz, *precursor), Some(intensity / largest));
            }
        }
        let Transformer { body, head, readout, .. } = &self.inner;
        head.forward(body.pooled_features(rows, &lengths, readout, pass))
    }

    fn onnx(&self, graph: &mut Graph) -> Option<Value> {
        let shape = ["batch", "length"].map(Dimension::Any);
        let most = self.max_peaks;
        let doc = format!(
            "m/z of the precursor, then of the peaks, by decreasing intensity, at most {most}"
        );
        let mz = graph.input("mz", Type::Double, &shape, &doc);
        let doc = "each peak's as a share of the largest, behind a number for the precursor that is not read";
        let intensity = graph.input("intensity", Type::Float, &shape, doc);
        let [axis_0, axis_1, axis_2, axis_4] = [0, 1, 2, 4].map(|axis| graph.ints(&[axis]));
        let along = |axis| [("axis", Attribute::Int(axis))];

        let precursor = graph.node("Gather", &[&mz, &axis_0], &along(1));
        let loss = graph.node("Sub", &[&precursor, &mz], &[]);
        let masses = [&mz, &loss].map(|mass| graph.node("Unsqueeze", &[mass, &axis_2], &[]));
        let masses = graph.node("Concat", &masses.each_ref(), &along(2));
        let masses = graph.node("Unsqueeze", &[&masses, &axis_2], &[]);
        let each: Vec<f64> = self.each_wavelength().collect();
        let each = graph.doubles(&[each.len(), 1], &each);
        let turns = graph.node("Div", &[&masses, &each], &[]);
        let whole = graph.node("Floor", &[&turns], &[]);
        let turns = graph.node("Sub", &[&turns, &whole], &[]);
        let turns = graph.cast(&turns, Type::Float);
        let tau = graph.floats(&[], &[TAU as f32]);
        let angles = graph.node("Mul", &[&turns, &tau], &[]);
        let waves = ["Sin", "Cos"].map(|kind| {
            let wave = graph.node(kind, &[&angles], &[]);
            graph.node("Unsqueeze", &[&wave, &axis_4], &[])
        });
        let waves = graph.node("Concat", &waves.each_ref(), &along(4));
        let flat = graph.ints(&[0, 0, 4 * self.wavelengths as i64]);
        let waves = graph.node("Reshape", &[&waves, &flat], &[]);

        // 1 at the precursor, which is the first, and 0 at peaks
        let shape = graph.node("Shape", &[&intensity], &[]);
        let zeros = graph.node("ConstantOfShape", &[&shape], &[]);
        let one = graph.floats(&[], &[1.0]);
        let [begin, second, end] = [0, 1, i64::MAX].map(|place| graph.ints(&[place]));
        let column = graph.node("Slice", &[&zeros, &begin, &second, &axis_1], &[]);
        let column = graph.node("Add", &[&column, &one], &[]);
        let rest = graph.node("Slice", &[&zeros, &second, &end, &axis_1], &[]);
        let first = graph.node("Concat", &[&column, &rest], &along(1));
        let peaks = graph.node("Sub", &[&one, &first], &[]);
        let intensity = graph.node("Mul", &[&intensity, &peaks], &[]);
        let root = graph.node("Sqrt", &[&intensity], &[]);
        let last = [root, first].map(|column| graph.node("Unsqueeze", &[&column, &axis_2], &[]));
        let features = graph.node("Concat", &[&waves, &last[0], &last[1]], &along(2));
        let Transformer { body, head, readout, .. } = &self.inner;
        let tokens = graph.linear(&features, &body.tokens, None);
        let x = body.onnx_of(graph, tokens, None, readout);
        Some(graph.linear(&x, &head.weight, head.bias.as_ref()))
    }
}

impl PeakTransformer {
    fn each_wavelength(&self) -> impl Iterator<Item = f64> {
        let ratio = (LONGEST / SHORTEST).powf(1.0 / (self.wavelengths - 1) as f64);
        std::iter::successors(Some(SHORTEST), move |wavelength| Some(wavelength * ratio))
            .take(self.wavelengths)
    }

    /// Adds the features of a peak, or of the precursor, which has no intensity.
    fn add(&self, rows: &mut Vec<f32>, (mz, precursor): (f64, f64), intensity: Option<f64>) {
        for wavelength in self.each_wavelength() {
            for mass in [mz, precursor - mz] {
                // only the rest of a large argument matters
                let (sin, cos) = (TAU * (mass / wavelength).fract()).sin_cos();
                rows.extend([sin as f32, cos as f32]);
            }
        }
        let last = [intensity.map_or(0.0, f64::sqrt), if intensity.is_some() { 0.0 } else { 1.0 }];
        rows.extend(last.map(|value| value as f32));
    }
}
