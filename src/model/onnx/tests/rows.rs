//! A row's numbers are its own: whatever the batch, whatever stands beside it.

use super::super::op::{Inputs, Op, Place};
use super::super::tensor::{Data, Kind, TensorType};
use super::super::{buffers, program::Step};
use super::*;
use std::any::Any;

/// Numbers without a pattern, NaN and infinities among them.
fn numbers(count: u32) -> Vec<f64> {
    let number = |n: u32| match n.wrapping_mul(2_654_435_761) >> 16 {
        n if n % 37 == 0 => f64::NAN,
        n if n % 41 == 0 => f64::INFINITY,
        n => f64::from(n) / 8192.0 - 4.0,
    };
    (0..count).map(number).collect()
}

fn mixed() -> Model {
    let weight: Vec<f32> = (0u8..77).map(|n| f32::from(n % 13) / 7.0 - 0.8).collect();
    Model::floats(7)
        .constant(floats("w", &[7, 11], &weight))
        .constant(floats("b", &[11], &weight[..11]))
        .constant(floats("v", &[11, 3], &weight[..33]))
        .constant(longs("k", &[1], &[2]))
        .node("MatMul", &["x", "w"], &["m"])
        .node("Add", &["b", "m"], &["a"])
        .node("Gelu", &["a"], &["g"])
        .node("MatMul", &["g", "v"], &["t"])
        .node("Softmax", &["t"], &["s"])
        .node_with("ReduceMean", &["a"], &["mean"], &[int("keepdims", 1)])
        .node_with("TopK", &["a", "k"], &["top", "places"], &[int("axis", 1)])
        .output("s")
        .output("top")
        .output("places")
}

#[test]
fn a_row_gives_the_same_bits_in_every_batch() {
    let plan = load(mixed().bytes_of(20), External::Nowhere, &options()).unwrap();
    assert!(plan.notes().is_empty(), "{:?}", plan.notes());
    let (width, out) = (plan.columns().len(), plan.out_width());
    let rows = numbers(u32::try_from(width).unwrap() * 150);
    let alone: Vec<u64> = rows.chunks(width).flat_map(|row| bits(&run(&plan, row))).collect();
    for batch in [2, 3, 7, 8, 9, 63, 64, 65, 129, 150] {
        let together: Vec<u64> = rows.chunks(width * batch).flat_map(|rows| bits(&run(&plan, rows))).collect();
        assert_eq!(together, alone, "batches of {batch}");
    }
    assert_eq!(alone.len(), 150 * out);
}

#[test]
fn a_graph_that_mixes_rows_is_run_row_by_row_and_says_so() {
    let axes = || longs("axes", &[1], &[0]);
    let mean =
        Model::floats(2).constant(axes()).node("ReduceMean", &["x", "axes"], &["m"]).node("Sub", &["x", "m"], &["y"]);
    let plan = load(mean.output("y").bytes_of(18), External::Nowhere, &options()).unwrap();
    assert_eq!(plan.notes(), ["rows are run one by one: a row's result depends on its neighbours"]);
    assert_eq!(run(&plan, &[1.0, 2.0, 3.0, 4.0]), [0.0; 4]);
    // A shape that only fits one row.
    let shape = Model::floats(2).constant(longs("shape", &[2], &[1, 2])).node("Reshape", &["x", "shape"], &["y"]);
    let plan = shape.output("y").load();
    assert!(plan.notes()[0].starts_with("rows are run one by one: node 'Reshape y'"), "{:?}", plan.notes());
    assert_eq!(run(&plan, &[1.0, 2.0, 3.0, 4.0]), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn a_fixed_batch_is_filled_up_and_one_that_mixes_rows_is_refused() {
    let fixed = |op: &str| {
        let model = Model::default().input("x", 1, &[Some(4), Some(2)]);
        model.node_with(op, &["x"], &["y"], &[int("axis", i64::from(op == "Softmax"))]).output("y")
    };
    let plan = fixed("Softmax").load();
    let rows = [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0, 6.0, 6.0];
    for count in 1..=7 {
        assert_eq!(run(&plan, &rows[..2 * count]), vec![0.5; 2 * count]);
    }
    let mixing = Model::default().input("x", 1, &[Some(4), Some(2)]).constant(longs("axis", &[], &[0]));
    let mixing = mixing.node("CumSum", &["x", "axis"], &["y"]).output("y");
    assert_eq!(mixing.refusal(), "the model takes 4 rows at once, and a row's result depends on its neighbours");
}

#[test]
fn a_value_that_is_read_again_is_not_overwritten() {
    // Neg could work in place; x and n are read again, and n is an output too.
    let plan = Model::floats(2)
        .node("Neg", &["x"], &["n"])
        .node("Exp", &["n"], &["e"])
        .node("Add", &["n", "x"], &["zero"])
        .node("Mul", &["zero", "zero"], &["square"])
        .node("Add", &["square", "e"], &["y"])
        .output("y")
        .output("n")
        .load();
    let one = 1f32.exp();
    assert_eq!(run(&plan, &[-1.0, 0.0]), [f64::from(one), 1.0, 1.0, -0.0]);
}

#[derive(Debug)]
struct Stub([TensorType; 1], bool);

impl Op for Stub {
    fn outputs(&self) -> &[TensorType] {
        &self.0
    }

    fn in_place(&self) -> bool {
        self.1
    }

    fn run(&self, _: &Inputs<'_>, _: &mut [Data], _: &mut dyn Any) {}
}

#[test]
fn buffers_are_shared_by_values_that_do_not_live_together() {
    let step = |input: usize, output: usize, in_place: bool| Step {
        name: String::new(),
        op: Box::new(Stub([TensorType::new(Kind::F32, [4])], in_place)),
        inputs: vec![Place::Buffer(input)],
        outputs: vec![output],
        in_place: false,
    };
    let values = [(Kind::F32, 4); 5];
    // A chain needs two buffers, in turn; in place one.
    let mut chain: Vec<Step> = (0..4).map(|n| step(n, n + 1, false)).collect();
    assert_eq!(buffers::assign(&mut chain, &values, &[0], &[4]).0.len(), 2);
    let mut chain: Vec<Step> = (0..4).map(|n| step(n, n + 1, true)).collect();
    assert_eq!(buffers::assign(&mut chain, &values, &[0], &[4]).0.len(), 1);
    assert!(chain.iter().all(|step| step.in_place));
    // Value 0 is read at the end: nothing takes its place.
    let mut again: Vec<Step> = vec![step(0, 1, true), step(1, 2, true), step(0, 3, false)];
    let (buffers, of) = buffers::assign(&mut again, &values[..4], &[0], &[2, 3]);
    assert_eq!((buffers.len(), again[0].in_place, again[1].in_place), (3, false, true));
    assert!(of[0] != of[1] && of[1] == of[2] && of[3] != of[2]);
}

#[test]
fn an_infinite_number_inside_a_network_is_not_made_a_nan_by_what_pads_it() {
    // Relu(-x) is 0 for x = inf; the lanes behind the two outputs must not bring in 0 · inf.
    let plan = Model::floats(1)
        .constant(floats("w", &[1, 3], &[-1.0, -1.0, -1.0]))
        .constant(floats("v", &[3, 1], &[1.0, 1.0, 1.0]))
        .node("MatMul", &["x", "w"], &["m"])
        .node("Relu", &["m"], &["r"])
        .node("MatMul", &["r", "v"], &["y"])
        .output("y")
        .load();
    assert_eq!(plan.explain().len(), 1);
    assert_eq!(run(&plan, &[f64::INFINITY]), [0.0]);
}
