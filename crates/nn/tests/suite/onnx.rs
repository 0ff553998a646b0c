//! Files of ONNX, whose messages are read here without the code that writes them; `tests/cli/onnx.rs` computes them
//! with onnxruntime.

use std::collections::BTreeSet;

use burn::module::Param;
use burn::tensor::{Device, Tensor};
use dsokr_nn::onnx::{Dimension, Graph};
use dsokr_nn::{BagBeside, BagConfig, Encoder, Pooling, parameters};

use crate::encoders::{bag, bag_config, mlp, peaks, transformer};

/// A field of a message: its number, and an integer or bytes.
type Field<'a> = (u64, Result<u64, &'a [u8]>);

fn varint(bytes: &mut &[u8]) -> u64 {
    let end = bytes.iter().position(|byte| byte >> 7 == 0).unwrap();
    let (digits, rest) = bytes.split_at(end + 1);
    *bytes = rest;
    digits.iter().rev().fold(0, |sum, byte| sum << 7 | u64::from(byte & 127))
}

fn fields(mut bytes: &[u8]) -> Vec<Field<'_>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let content = match key & 7 {
            0 => Ok(varint(&mut bytes)),
            kind => {
                let size = if kind == 5 { 4 } else { varint(&mut bytes) as usize };
                let (content, rest) = bytes.split_at(size);
                bytes = rest;
                Err(content)
            }
        };
        all.push((key >> 3, content));
    }
    all
}

fn messages<'a>(fields: &[Field<'a>], number: u64) -> Vec<&'a [u8]> {
    fields.iter().filter(|field| field.0 == number).map(|field| field.1.unwrap_err()).collect()
}

fn ints(fields: &[Field], number: u64) -> Vec<u64> {
    fields.iter().filter(|field| field.0 == number).map(|field| field.1.unwrap()).collect()
}

/// Asserts that each operator reads what was there before it, that every parameter of the encoder is in the file, and that
/// every tensor of the file is read: onnxruntime warns of others.
fn is_whole<E: Encoder>((encoder, inputs): (E, Vec<E::Input>), names: &[&str]) {
    assert!(!inputs.is_empty());
    let mut graph = Graph::default();
    let z = encoder.onnx(&mut graph).unwrap();
    let shape = [Dimension::Any("batch"), Dimension::Size(encoder.dimension())];
    graph.output("coordinates", &z, &shape, "z");
    let file = graph.file(&[("key", "text".into())]).unwrap();

    let model = fields(&file);
    assert_eq!(ints(&model, 1), [9]);
    assert_eq!(ints(&fields(messages(&model, 8)[0]), 2), [20]);
    assert_eq!(messages(&fields(messages(&model, 14)[0]), 2), [b"text"]);
    let graph = fields(messages(&model, 7)[0]);
    let tensors = messages(&graph, 5).into_iter().map(fields);
    let tensors: Vec<_> = tensors
        .map(|tensor| {
            (ints(&tensor, 1), ints(&tensor, 2), messages(&tensor, 8)[0], messages(&tensor, 9)[0])
        })
        .collect();
    for (shape, kind, _, bytes) in &tensors {
        // 32-bit floats, or 64-bit integers or floats
        let width = if kind[..] == [1] { 4 } else { 8 };
        assert_eq!(bytes.len() as u64, width * shape.iter().product::<u64>());
    }
    let inputs: Vec<&[u8]> =
        messages(&graph, 11).iter().map(|input| messages(&fields(input), 1)[0]).collect();
    assert_eq!(inputs, names.iter().map(|name| name.as_bytes()).collect::<Vec<_>>());
    let mut defined: BTreeSet<&[u8]> =
        inputs.into_iter().chain(tensors.iter().map(|tensor| tensor.2)).collect();
    let mut read: BTreeSet<&[u8]> = BTreeSet::new();
    for node in messages(&graph, 1).into_iter().map(fields) {
        assert!(messages(&node, 1).iter().all(|input| defined.contains(input)));
        assert!(defined.insert(messages(&node, 2)[0]));
        read.extend(messages(&node, 1));
    }
    for tensor in &tensors {
        assert!(read.contains(&tensor.2), "{}", String::from_utf8_lossy(tensor.2));
    }
    assert!(defined.contains(&b"coordinates"[..]));

    for (name, parameter) in parameters::collect(&encoder) {
        let shape: Vec<u64> = parameter.shape.iter().map(|&size| size as u64).collect();
        let bytes: Vec<u8> =
            parameter.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        assert!(tensors.iter().any(|tensor| tensor.0 == shape && tensor.3 == bytes), "{name}");
    }
}

#[test]
fn a_parameter_that_layers_share_is_in_the_file_once() {
    let parameter = || Param::from_tensor(Tensor::<2>::ones([2, 3], &Device::flex()));
    let shared = parameter();
    let mut graph = Graph::default();
    let first = graph.parameter(&shared);
    let again = graph.parameter(&shared);
    let other = graph.parameter(&parameter());
    let sum = graph.node("Add", &[&first, &again], &[]);
    let sum = graph.node("Add", &[&sum, &other], &[]);
    graph.output("sum", &sum, &[Dimension::Size(2), Dimension::Size(3)], "the sum");
    let file = graph.file(&[]).unwrap();
    let model = fields(&file);
    assert_eq!(messages(&fields(messages(&model, 7)[0]), 5).len(), 2);
}

#[test]
fn files_of_onnx_hold_every_parameter() {
    is_whole(mlp(&[16, 8]), &["vectors"]);
    let sparse = ["columns", "values"];
    for (linear, hidden) in [(true, vec![10]), (true, vec![]), (false, vec![10]), (false, vec![])] {
        is_whole(bag(&BagConfig { linear, hidden, ..bag_config() }, 5), &sparse);
    }
    let tokens = ["input_ids", "attention_mask"];
    for pooling in [Pooling::First, Pooling::Mean, Pooling::Max] {
        is_whole(transformer(pooling), &tokens);
    }
    is_whole(peaks(), &["mz", "intensity", "attention_mask"]);
    let (bag, rows) = bag(&bag_config(), 5);
    let (beside, ids) = transformer(Pooling::Mean);
    let both = (BagBeside { bag, beside }, rows.into_iter().zip(ids).collect());
    is_whole(both, &[&sparse[..], &tokens].concat());
}
