//! Graphs that are written here message by message: what is refused, what is dropped, and that rows do not mix.

mod bombs;
mod drivers;
mod files;
mod graphs;
mod rows;

use super::{External, Options, Plan, load, proto};
use bytes::Bytes;
use prost::Message;

/// A model under construction.
#[derive(Clone, Default)]
struct Model {
    nodes: Vec<proto::Node>,
    inputs: Vec<proto::ValueInfo>,
    outputs: Vec<proto::ValueInfo>,
    constants: Vec<proto::Tensor>,
    functions: Vec<proto::Function>,
}

/// A dimension: None is open.
type Dims<'a> = &'a [Option<i64>];

fn value(name: &str, kind: i32, dims: Dims<'_>) -> proto::ValueInfo {
    use proto::shape::{Dimension, dimension::Value};
    let dim = |dim: &Option<i64>| Dimension {
        value: Some(dim.map_or_else(|| Value::DimParam("N".to_owned()), Value::DimValue)),
    };
    let shape = proto::Shape { dim: dims.iter().map(dim).collect() };
    let of = proto::r#type::OfTensor { elem_type: Some(kind), shape: Some(shape) };
    let of = proto::Type { value: Some(proto::r#type::Value::TensorType(of)) };
    proto::ValueInfo { name: Some(name.to_owned()), r#type: Some(of) }
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn node(op: &str, inputs: &[&str], outputs: &[&str], attributes: &[proto::Attribute]) -> proto::Node {
    proto::Node {
        op_type: Some(op.to_owned()),
        input: strings(inputs),
        output: strings(outputs),
        attribute: attributes.to_vec(),
        ..proto::Node::default()
    }
}

fn int(name: &str, value: i64) -> proto::Attribute {
    proto::Attribute { name: Some(name.to_owned()), r#type: Some(2), i: Some(value), ..proto::Attribute::default() }
}

fn floats(name: &str, dims: &[i64], numbers: &[f32]) -> proto::Tensor {
    proto::Tensor {
        name: Some(name.to_owned()),
        dims: dims.to_vec(),
        data_type: Some(1),
        raw_data: Some(numbers.iter().flat_map(|x| x.to_le_bytes()).collect()),
        ..proto::Tensor::default()
    }
}

fn longs(name: &str, dims: &[i64], numbers: &[i64]) -> proto::Tensor {
    proto::Tensor {
        name: Some(name.to_owned()),
        dims: dims.to_vec(),
        data_type: Some(7),
        int64_data: numbers.to_vec(),
        ..proto::Tensor::default()
    }
}

impl Model {
    /// From `x`, rows of `width` floats.
    fn floats(width: i64) -> Self {
        Self::default().input("x", 1, &[None, Some(width)])
    }

    fn input(mut self, name: &str, kind: i32, dims: Dims<'_>) -> Self {
        self.inputs.push(value(name, kind, dims));
        self
    }

    fn output(mut self, name: &str) -> Self {
        self.outputs.push(value(name, 1, &[None]));
        self
    }

    fn node(self, op: &str, inputs: &[&str], outputs: &[&str]) -> Self {
        self.node_with(op, inputs, outputs, &[])
    }

    fn node_with(mut self, op: &str, inputs: &[&str], outputs: &[&str], attributes: &[proto::Attribute]) -> Self {
        self.nodes.push(node(op, inputs, outputs, attributes));
        self
    }

    fn constant(mut self, tensor: proto::Tensor) -> Self {
        self.constants.push(tensor);
        self
    }

    fn bytes_of(self, opset: i64) -> Bytes {
        let graph = proto::Graph {
            node: self.nodes,
            initializer: self.constants,
            input: self.inputs,
            output: self.outputs,
            ..proto::Graph::default()
        };
        let import =
            |domain: &str, version| proto::OperatorSet { domain: Some(domain.to_owned()), version: Some(version) };
        let model = proto::Model {
            ir_version: Some(8),
            graph: Some(graph),
            opset_import: vec![import("", opset), import("own", 1), import("ai.onnx.ml", 3)],
            functions: self.functions,
            ..proto::Model::default()
        };
        model.encode_to_vec().into()
    }

    fn bytes(self) -> Bytes {
        self.bytes_of(17)
    }

    fn load(self) -> Plan {
        load(self.bytes(), External::Nowhere, &options()).unwrap()
    }

    fn refusal(self) -> String {
        load(self.bytes(), External::Nowhere, &options()).unwrap_err().0
    }
}

/// Sixteen megabytes.
fn options() -> Options {
    Options { bytes: 16 << 20, width: None, outputs: Vec::new() }
}

fn run(plan: &Plan, rows: &[f64]) -> Vec<f64> {
    let count = rows.len() / plan.columns().len();
    let mut out = vec![f64::NAN; count * plan.out_width()];
    plan.run(rows, &mut out, &mut plan.scratch(count));
    out
}

/// As bits, so that NaN equals NaN and 0 is not -0.
fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}
