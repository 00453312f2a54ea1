//! The operators on numbers that were worked out by hand or are those of ONNX Runtime.

mod models;
mod preparing;
mod trees;

use super::super::op::{Attribute, Built, Context, Fact, Inputs, Node, OpError, Place};
use super::super::tensor::{Data, Tensor};
use std::sync::Arc;

fn floats(v: &[f32]) -> Attribute {
    Attribute::Floats(v.to_vec())
}

fn ints(v: &[i64]) -> Attribute {
    Attribute::Ints(v.to_vec())
}

fn texts(v: &[&str]) -> Attribute {
    Attribute::Texts(v.iter().map(ToString::to_string).collect())
}

fn text(v: &str) -> Attribute {
    Attribute::Text(v.to_owned())
}

/// A node of the newest version with as many outputs.
fn node(op: &str, outputs: usize, attributes: &[(&str, Attribute)]) -> Node {
    Node {
        name: op.to_owned(),
        domain: super::DOMAIN.to_owned(),
        op: op.to_owned(),
        version: 5,
        inputs: vec!["x".to_owned()],
        outputs: (0..outputs).map(|n| format!("y{n}")).collect(),
        attributes: attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
    }
}

fn tensor(shape: &[usize], data: Data) -> Tensor {
    Tensor::new(shape, data).unwrap()
}

/// Builds the node for these inputs, with a budget of 64 MB.
fn build(node: &Node, inputs: &[Tensor], context: &mut Context) -> Result<Built, OpError> {
    let facts: Vec<_> = inputs.iter().map(|x| Some(Fact { of: x.of(), constant: None })).collect();
    context.enter(node);
    super::find(&node.op).unwrap()(node, &facts, context)
}

fn context() -> Context {
    Context::new(64 << 20)
}

fn run_in(context: &mut Context, node: &Node, inputs: &[Tensor]) -> Vec<Data> {
    let Built::Op(op) = build(node, inputs, context).unwrap() else { panic!("no operator") };
    let constants: Vec<Arc<Tensor>> = inputs.iter().cloned().map(Arc::new).collect();
    let places: Vec<Place> = (0..inputs.len()).map(Place::Constant).collect();
    let mut out: Vec<Data> = op.outputs().iter().map(|of| Data::zeros(of.kind, of.len())).collect();
    let inputs = Inputs { places: &places, buffers: &[], constants: &constants };
    op.run(&inputs, &mut out, op.scratch().as_mut());
    out
}

fn run(node: &Node, inputs: &[Tensor]) -> Vec<Data> {
    run_in(&mut context(), node, inputs)
}

fn refused(node: &Node, inputs: &[Tensor]) -> String {
    build(node, inputs, &mut context()).unwrap_err().0
}

/// The numbers of an output, to six digits.
#[track_caller]
fn assert_close(found: &Data, expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (n, expected) in expected.iter().enumerate() {
        let found = found.view().number(n);
        let near = (found - expected).abs() <= 1e-6 * expected.abs().max(1.0);
        let same = near || (found.is_nan() && expected.is_nan());
        assert!(same, "number {n}: {found} for {expected}");
    }
}
