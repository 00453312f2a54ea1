//! `SVMRegressor`: one target; with `one_class` 1 inside and -1 outside.

use super::super::super::op::{Built, Context, Fact, Inputs, Node, Op, OpError, need};
use super::super::super::tensor::{Data, Kind, TensorType};
use super::super::linear::dot;
use super::super::rows::{Rows, as_f32, single};
use super::super::transform::Transform;
use super::kernel::{Kernel, Support};
use std::any::Any;
use std::sync::Arc;

#[derive(Debug)]
struct Regressor {
    outputs: [TensorType; 1],
    rows: Rows,
    machine: Arc<Machine>,
    one_class: bool,
    transform: Transform,
}

#[derive(Debug)]
struct Machine {
    /// None: the coefficients are weights of the columns.
    support: Option<Support>,
    coefficients: Vec<f32>,
    rho: f32,
}

pub(in super::super) fn build(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let rows = Rows::of(need(inputs, 0)?)?;
    let machine = context.shared(|context| machine(node, rows.width, context))?;
    Ok(Built::op(Regressor {
        outputs: [TensorType::new(Kind::F32, [rows.count, 1])],
        rows,
        machine,
        one_class: node.flag("one_class", false)?,
        transform: Transform::of(node)?,
    }))
}

fn machine(node: &Node, width: usize, context: &mut Context) -> Result<Machine, OpError> {
    let coefficients = node.floats("coefficients")?.unwrap_or_default();
    let rho = node.floats("rho")?.and_then(|rho| rho.first().copied());
    let rho = rho.ok_or_else(|| OpError::new("attribute rho: expected a number, found none"))?;
    let count = node.int("n_supports")?.unwrap_or(0);
    let count = usize::try_from(count).map_err(|_| OpError(format!("attribute n_supports: found {count}")))?;
    let expected = if count == 0 { width } else { count };
    if coefficients.len() != expected {
        return Err(OpError(format!("expected {expected} coefficients, found {}", coefficients.len())));
    }
    let support = match count {
        0 => None,
        count => {
            let vectors = node.floats("support_vectors")?.unwrap_or_default();
            Some(Support::new(Kernel::of(node)?, vectors, count, width, context)?)
        }
    };
    context.take(size_of_val(coefficients), "the coefficients")?;
    Ok(Machine { support, coefficients: coefficients.to_vec(), rho })
}

impl Op for Regressor {
    fn outputs(&self) -> &[TensorType] {
        &self.outputs
    }

    fn bytes(&self) -> usize {
        size_of_val(self.machine.coefficients.as_slice()) + self.machine.support.as_ref().map_or(0, Support::bytes)
    }

    fn scratch(&self) -> Box<dyn Any + Send> {
        Box::new((self.rows.copy(), vec![0.0f32; self.machine.coefficients.len()]))
    }

    fn scratch_bytes(&self) -> usize {
        self.rows.copied() + size_of_val(self.machine.coefficients.as_slice())
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], scratch: &mut dyn Any) {
        let Some((copy, kernels)) = scratch.downcast_mut::<(Vec<f32>, Vec<f32>)>() else { return };
        let Some(Data::F32(out)) = outputs.first_mut() else { return };
        let x = as_f32(inputs.get(0), copy);
        for (row, out) in out.iter_mut().enumerate() {
            let x = x.get(row * self.rows.width..(row + 1) * self.rows.width).unwrap_or_default();
            let weighed = match &self.machine.support {
                Some(support) => {
                    support.row(x, kernels);
                    kernels.as_slice()
                }
                None => x,
            };
            *out = single(dot(weighed, &self.machine.coefficients) + f64::from(self.machine.rho));
            if self.one_class {
                *out = if *out > 0.0 { 1.0 } else { -1.0 };
            }
            self.transform.apply(std::slice::from_mut(out));
        }
    }

    fn describe(&self) -> String {
        let vectors = self.machine.support.as_ref().map_or(0, |support| support.count);
        format!("{vectors} support vectors of {}", self.rows.width)
    }
}
