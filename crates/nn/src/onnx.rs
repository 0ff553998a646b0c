//! Encoders as ONNX files: each adds its own operators to a [`Graph`], next to the code that computes it here
//! ([`Encoder::onnx`](crate::Encoder::onnx)).
//!
//! Messages and field numbers follow `onnx.proto`. Files have version 20 of the operators, the first with GELU:
//! onnxruntime 1.17 or later.

use std::collections::HashMap;

use burn::module::{Param, ParamId};
use burn::tensor::Tensor;

use crate::error::Error;
use crate::parameters::FloatParameter;

/// The version of the operators, and the version of the format that came with it.
const OPERATORS: i64 = 20;
const FORMAT: i64 = 9;

/// The size of a message has 31 bits.
const MOST_BYTES: usize = i32::MAX as usize;

/// A message of protocol buffers: its fields, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    /// Writes an integer, seven bits a byte, the lowest first.
    fn varint(&mut self, mut value: u64) {
        while value >= 1 << 7 {
            self.0.push(value as u8 | 1 << 7);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Appends an integer field.
    pub fn int(mut self, field: u64, value: i64) -> Self {
        self.varint(field << 3);
        self.varint(value as u64);
        self
    }

    /// Appends a float field.
    pub fn float(mut self, field: u64, value: f32) -> Self {
        self.varint(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Appends a field with a float of 64 bits.
    pub fn double(mut self, field: u64, value: f64) -> Self {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Appends a field with a text, bytes or a message.
    pub fn bytes(mut self, field: u64, value: impl AsRef<[u8]>) -> Self {
        self.varint(field << 3 | 2);
        self.varint(value.as_ref().len() as u64);
        self.0.extend(value.as_ref());
        self
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The numbers of a tensor.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// 32-bit floats.
    Float = 1,
    /// 64-bit integers.
    Int = 7,
    /// 64-bit floats.
    Double = 11,
}

/// A dimension of an input or an output.
#[derive(Clone, Copy, Debug)]
pub enum Dimension {
    /// A dimension of this size.
    Size(usize),
    /// A dimension of any size; the same name stands for the same size.
    Any(&'static str),
}

/// A setting of an operator.
#[derive(Clone, Copy, Debug)]
pub enum Attribute<'a> {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f32),
    /// Integers.
    Ints(&'a [i64]),
    /// A text.
    Text(&'a str),
}

/// A tensor of a [`Graph`]: an input, a constant, or the result of an operator.
#[derive(Clone, Debug)]
pub struct Value(String);

/// Operators in the order in which they are computed.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The fields of a GraphProto so far.
    fields: Message,
    values: usize,
    /// The parameters that have been added: layers may share one, which the file then holds once.
    parameters: HashMap<ParamId, Value>,
}

impl Graph {
    fn add(&mut self, field: u64, message: &Message) {
        self.fields = std::mem::take(&mut self.fields).bytes(field, message);
    }

    fn name(&mut self) -> Value {
        self.values += 1;
        Value(format!("v{}", self.values))
    }

    fn declare(
        &mut self,
        field: u64,
        name: &str,
        element_type: Type,
        shape: &[Dimension],
        doc: &str,
    ) {
        let dimension = |shape: Message, dimension: &Dimension| {
            let dimension_message = Message::default();
            shape.bytes(
                1,
                match *dimension {
                    Dimension::Size(size) => dimension_message.int(1, size as i64),
                    Dimension::Any(name) => dimension_message.bytes(2, name),
                },
            )
        };
        let shape = shape.iter().fold(Message::default(), dimension);
        let tensor = Message::default().int(1, element_type as i64).bytes(2, shape);
        let declaration =
            Message::default().bytes(1, name).bytes(2, Message::default().bytes(1, tensor));
        self.add(field, &declaration.bytes(3, doc));
    }

    /// Returns an input of the file; `doc` says what it is.
    pub fn input(
        &mut self,
        name: &str,
        element_type: Type,
        shape: &[Dimension],
        doc: &str,
    ) -> Value {
        self.declare(11, name, element_type, shape, doc);
        Value(name.into())
    }

    /// Makes a value of floats an output of the file.
    pub fn output(&mut self, name: &str, value: &Value, shape: &[Dimension], doc: &str) {
        self.operator("Identity", &[value], &[], name);
        self.declare(12, name, Type::Float, shape, doc);
    }

    fn tensor<T, const N: usize>(
        &mut self,
        element_type: Type,
        shape: &[usize],
        values: &[T],
        bytes: impl Fn(&T) -> [u8; N],
    ) -> Value {
        let name = self.name();
        let sizes = shape
            .iter()
            .fold(Message::default(), |dimensions, &size| dimensions.int(1, size as i64));
        let bytes: Vec<u8> = values.iter().flat_map(bytes).collect();
        self.add(5, &sizes.int(2, element_type as i64).bytes(8, &name.0).bytes(9, bytes));
        name
    }

    /// Returns floats of any shape, row-major.
    pub fn floats(&mut self, shape: &[usize], values: &[f32]) -> Value {
        self.tensor(Type::Float, shape, values, |value| value.to_le_bytes())
    }

    /// Returns 64-bit floats of any shape, row-major.
    pub fn doubles(&mut self, shape: &[usize], values: &[f64]) -> Value {
        self.tensor(Type::Double, shape, values, |value| value.to_le_bytes())
    }

    /// Returns a vector of integers.
    pub fn ints(&mut self, values: &[i64]) -> Value {
        self.tensor(Type::Int, &[values.len()], values, |value| value.to_le_bytes())
    }

    /// Returns one integer without dimensions.
    pub fn int(&mut self, value: i64) -> Value {
        self.tensor(Type::Int, &[], &[value], |value| value.to_le_bytes())
    }

    /// Returns the values of a parameter, which the file holds once, however often they are asked for.
    pub fn parameter(&mut self, parameter: &dyn FloatParameter) -> Value {
        let id = parameter.id();
        if let Some(value) = self.parameters.get(&id) {
            return value.clone();
        }
        let value = self.floats(&parameter.shape(), &parameter.values());
        self.parameters.insert(id, value.clone());
        value
    }

    fn operator(
        &mut self,
        kind: &str,
        inputs: &[&Value],
        attributes: &[(&str, Attribute)],
        output: &str,
    ) {
        let node = Message::default();
        let node = inputs.iter().fold(node, |node, input| node.bytes(1, &input.0));
        let node = node.bytes(2, output).bytes(4, kind);
        let node = attributes.iter().fold(node, |node, (name, value)| {
            let attribute = Message::default().bytes(1, name);
            node.bytes(
                5,
                match *value {
                    Attribute::Float(value) => attribute.float(2, value).int(20, 1),
                    Attribute::Int(value) => attribute.int(3, value).int(20, 2),
                    Attribute::Text(value) => attribute.bytes(4, value).int(20, 3),
                    Attribute::Ints(values) => {
                        values.iter().fold(attribute, |list, &value| list.int(8, value)).int(20, 7)
                    }
                },
            )
        });
        self.add(1, &node);
    }

    /// Returns the result of an [operator](https://onnx.ai/onnx/operators/) that has one.
    pub fn node(
        &mut self,
        kind: &str,
        inputs: &[&Value],
        attributes: &[(&str, Attribute)],
    ) -> Value {
        let name = self.name();
        self.operator(kind, inputs, attributes, &name.0);
        name
    }

    /// Returns numbers or truth values as numbers of a type.
    pub fn cast(&mut self, x: &Value, element_type: Type) -> Value {
        self.node("Cast", &[x], &[("to", Attribute::Int(element_type as i64))])
    }

    /// Computes `x w + b` along the last dimension.
    pub fn linear(
        &mut self,
        x: &Value,
        weight: &Param<Tensor<2>>,
        bias: Option<&Param<Tensor<1>>>,
    ) -> Value {
        let weight = self.parameter(weight);
        let product = self.node("MatMul", &[x, &weight], &[]);
        match bias {
            Some(bias) => {
                let bias = self.parameter(bias);
                self.node("Add", &[&product, &bias], &[])
            }
            None => product,
        }
    }

    /// Returns the file, with names and texts of its metadata.
    ///
    /// # Errors
    /// [`dsokr_core::Error::Unsupported`] for one of 2 GiB, which is more than the format can hold.
    pub fn file(self, metadata: &[(&str, String)]) -> Result<Vec<u8>, Error> {
        let size = self.fields.0.len();
        if size > MOST_BYTES {
            let message = format!("an ONNX file of {size} bytes: the format holds {MOST_BYTES}");
            return Err(dsokr_core::Error::Unsupported(message).into());
        }
        let operators = Message::default().bytes(1, "").int(2, OPERATORS);
        let model = Message::default()
            .int(1, FORMAT)
            .bytes(2, "dsokr")
            .bytes(3, env!("CARGO_PKG_VERSION"))
            .bytes(8, operators)
            .bytes(7, self.fields.bytes(2, "dsokr"));
        let entry = |model: Message, (key, text): &(&str, String)| {
            model.bytes(14, Message::default().bytes(1, key).bytes(2, text))
        };
        Ok(metadata.iter().fold(model, entry).0)
    }
}
