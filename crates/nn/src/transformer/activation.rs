use std::f32::consts::FRAC_1_SQRT_2;

use burn::tensor::Tensor;
use burn::tensor::activation::{leaky_relu, mish, relu, sigmoid, tanh};
use serde::{Deserialize, Serialize};

use crate::onnx::{Attribute, Graph, Value};

/// A function of each unit of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// x.
    Identity,
    /// `x Φ(x)`, with the distribution function Φ of the normal distribution.
    Gelu,
    /// `x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³)))`, which is near [`Gelu`](Self::Gelu).
    GeluTanh,
    /// `x σ(1.702 x)`, with the logistic function σ.
    QuickGelu,
    /// `max(x, 0)`.
    Relu,
    /// `max(x, x/100)`.
    LeakyRelu,
    /// `x σ(x)`.
    Silu,
    /// `x tanh(ln(1 + eˣ))`.
    Mish,
    /// `1 / (1 + e⁻ˣ)`.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
}

/// √(2/π) and the factor of x³ in [`Activation::GeluTanh`].
const TANH_SCALE: f32 = 0.797_884_6;
const TANH_CUBE: f32 = 0.044_715;
/// The factor in [`Activation::QuickGelu`].
const QUICK: f32 = 1.702;
/// The slope of [`Activation::LeakyRelu`] below 0, PyTorch's default.
const LEAK: f64 = 0.01;

/// The names of activations in a model's `hidden_act`, as transformers knows them.
const NAMES: [(&str, Activation); 16] = [
    ("gelu", Activation::Gelu),
    ("gelu_python", Activation::Gelu),
    ("gelu_new", Activation::GeluTanh),
    ("gelu_fast", Activation::GeluTanh),
    ("gelu_accurate", Activation::GeluTanh),
    ("gelu_pytorch_tanh", Activation::GeluTanh),
    ("gelu_python_tanh", Activation::GeluTanh),
    ("quick_gelu", Activation::QuickGelu),
    ("relu", Activation::Relu),
    ("leaky_relu", Activation::LeakyRelu),
    ("silu", Activation::Silu),
    ("swish", Activation::Silu),
    ("mish", Activation::Mish),
    ("sigmoid", Activation::Sigmoid),
    ("tanh", Activation::Tanh),
    ("linear", Activation::Identity),
];

/// The classes of PyTorch that a `Dense` layer of sentence-transformers may name.
const CLASSES: [(&str, Activation); 8] = [
    ("torch.nn.modules.linear.Identity", Activation::Identity),
    ("torch.nn.modules.activation.Tanh", Activation::Tanh),
    ("torch.nn.modules.activation.GELU", Activation::Gelu),
    ("torch.nn.modules.activation.ReLU", Activation::Relu),
    ("torch.nn.modules.activation.LeakyReLU", Activation::LeakyRelu),
    ("torch.nn.modules.activation.SiLU", Activation::Silu),
    ("torch.nn.modules.activation.Mish", Activation::Mish),
    ("torch.nn.modules.activation.Sigmoid", Activation::Sigmoid),
];

/// Returns the names of a list, for messages.
fn listed(list: &[(&str, Activation)]) -> String {
    let names: Vec<String> = list.iter().map(|(name, _)| format!("{name:?}")).collect();
    format!("one of {}", names.join(", "))
}

impl Activation {
    /// Returns the activation of a `hidden_act`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let entry = NAMES.iter().find(|(entry_name, _)| *entry_name == name);
        entry.map(|(_, activation)| *activation)
    }

    /// Returns what a `hidden_act` may be.
    pub(crate) fn names() -> String {
        listed(&NAMES)
    }

    /// Returns the activation of a class of PyTorch, which may be named by where it is exported (`torch.nn.Tanh`).
    pub(crate) fn of_class(class: &str) -> Option<Self> {
        let last = class.strip_prefix("torch.nn.")?.rsplit('.').next()?;
        let entry = CLASSES.iter().find(|(name, _)| name.rsplit('.').next() == Some(last));
        entry.map(|(_, activation)| *activation)
    }

    /// Returns what the class of a `Dense` layer may be.
    pub(crate) fn classes() -> String {
        listed(&CLASSES)
    }

    /// Returns the class of PyTorch, for a `Dense` layer that was read from one.
    pub(crate) fn class(self) -> &'static str {
        let entry = CLASSES.iter().find(|(_, activation)| *activation == self);
        entry.map_or("torch.nn.modules.linear.Identity", |(name, _)| name)
    }

    /// Applies it to each element.
    pub fn apply(self, x: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Identity => x,
            // on GPUs, Burn's function has the gradient of the form with tanh
            Self::Gelu => ((x.clone() * FRAC_1_SQRT_2).erf() + 1.0) * (x * 0.5),
            Self::GeluTanh => {
                let cube = x.clone().powi_scalar(3) * TANH_CUBE;
                let inner = (x.clone() + cube) * TANH_SCALE;
                x * 0.5 * (tanh(inner) + 1.0)
            }
            Self::QuickGelu => x.clone() * sigmoid(x * QUICK),
            Self::Relu => relu(x),
            Self::LeakyRelu => leaky_relu(x, LEAK),
            Self::Silu => x.clone() * sigmoid(x),
            Self::Mish => mish(x),
            Self::Sigmoid => sigmoid(x),
            Self::Tanh => tanh(x),
        }
    }

    /// Applies it as operators of ONNX.
    pub(crate) fn onnx(self, graph: &mut Graph, x: &Value) -> Value {
        let mut one = |name: &str| graph.node(name, &[x], &[]);
        match self {
            Self::Identity => x.clone(),
            Self::Gelu => one("Gelu"),
            Self::GeluTanh => graph.node("Gelu", &[x], &[("approximate", Attribute::Text("tanh"))]),
            Self::QuickGelu => {
                let factor = graph.floats(&[], &[QUICK]);
                let scaled = graph.node("Mul", &[x, &factor], &[]);
                let share = graph.node("Sigmoid", &[&scaled], &[]);
                graph.node("Mul", &[x, &share], &[])
            }
            Self::Relu => one("Relu"),
            Self::LeakyRelu => {
                graph.node("LeakyRelu", &[x], &[("alpha", Attribute::Float(LEAK as f32))])
            }
            Self::Silu => {
                let share = one("Sigmoid");
                graph.node("Mul", &[x, &share], &[])
            }
            Self::Mish => one("Mish"),
            Self::Sigmoid => one("Sigmoid"),
            Self::Tanh => one("Tanh"),
        }
    }
}
