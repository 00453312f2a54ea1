//! A plan that has been loaded holds what it says, and running it takes nothing more.

use super::measured;
use super::onnx::{load_in, sound};
use super::wire::{Bytes, Of, attribute, graph, longs, model, node, tensor, value};
use std::hint::black_box;

fn floats(name: &str, dims: &[i64], numbers: impl Iterator<Item = u16>) -> Bytes {
    let raw: Bytes = numbers.flat_map(|n| (f32::from(n % 19) / 8.0 - 1.0).to_le_bytes()).collect();
    tensor(name, 1, dims, &raw)
}

/// An operator of every file that runs: dense layers, arithmetic, shapes, orders, normalisations.
fn wide() -> Bytes {
    let plain = |op: &str, inputs: &[&str], outputs: &[&str]| node("", op, inputs, outputs, &[]);
    let along = |op: &str, inputs: &[&str], outputs: &[&str], axis: i64| {
        node("", op, inputs, outputs, &[attribute("axis", Of::Int(axis))])
    };
    let nodes = [
        plain("MatMul", &["x", "w"], &["m"]),
        plain("Add", &["m", "b"], &["a"]),
        plain("Relu", &["a"], &["r"]),
        plain("MatMul", &["r", "v"], &["n"]),
        plain("Tanh", &["n"], &["t"]),
        along("Softmax", &["t"], &["s"], 1),
        plain("TopK", &["a", "two"], &["top", "places"]),
        plain("Greater", &["a", "zero"], &["positive"]),
        plain("Where", &["positive", "a", "zero"], &["chosen"]),
        along("Gather", &["chosen", "order"], &["gathered"], 1),
        node("", "Transpose", &["gathered"], &["turned"], &[attribute("perm", Of::Ints(vec![1, 0]))]),
        node("", "Transpose", &["turned"], &["back"], &[attribute("perm", Of::Ints(vec![1, 0]))]),
        node("", "ReduceMax", &["gathered"], &["most"], &[attribute("axes", Of::Ints(vec![1]))]),
        plain("LayerNormalization", &["a", "b", "b"], &["layer"]),
        along("ArgMax", &["s"], &["best"], 1),
        node("", "Cast", &["best"], &["best_float"], &[attribute("to", Of::Int(1))]),
        plain("CumSum", &["chosen", "one"], &["sums"]),
        along("Concat", &["s", "top", "most", "best_float", "layer", "sums", "back"], &["y"], 1),
    ];
    let constants = [
        floats("w", &[8, 16], 0..128),
        floats("b", &[16], 0..16),
        floats("v", &[16, 4], 0..64),
        floats("zero", &[], 8..9),
        tensor("two", 7, &[1], &longs(&[2])),
        tensor("one", 7, &[], &longs(&[1])),
        tensor("order", 7, &[3], &longs(&[2, -1, 0])),
    ];
    model(&graph(&nodes, &constants, &[value("x", 8)], &[value("y", 1)]))
}

#[test]
fn a_run_of_an_onnx_plan_takes_no_memory() {
    for (name, file) in [("wide", wide()), ("sound", sound())] {
        let plan = load_in(&file, None).unwrap();
        assert!(plan.notes().is_empty(), "{:?}", plan.notes());
        let cell = |n: usize| f64::from(u8::try_from(n % 23).unwrap_or(0)) - 11.0;
        let rows: Vec<f64> = (0..plan.columns().len() * 200).map(cell).collect();
        let mut out = vec![0.0; 200 * plan.out_width()];
        let mut scratch = plan.scratch(200);
        for batch in [1, 7, 8, 64, 200] {
            let (rows, out) = (&rows[..batch * plan.columns().len()], &mut out[..batch * plan.out_width()]);
            let ((), most) = measured(|| plan.run(rows, out, &mut scratch));
            assert_eq!(most, 0, "{name}: {batch} rows");
        }
        assert!(out.iter().all(|number| number.is_finite()), "{name}");
    }
}

#[test]
fn an_onnx_plan_holds_what_it_says() {
    for (name, file) in [("wide", wide()), ("sound", sound())] {
        let (plan, _) = measured(|| load_in(&file, None).unwrap());
        let (space, most) = measured(|| black_box(plan.scratch(64)));
        // Lists of pointers and the allocator's rounding aside.
        let says = plan.scratch_bytes(64);
        assert!(most <= says + says / 4 + 8192, "{name}: {most} bytes, said {says}");
        drop(space);
    }
}
