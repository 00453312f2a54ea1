//! What a graph is compiled to for one number of rows: steps over buffers that are all there before the first runs.
//!
//! A buffer serves several values one after the other, where kind and length are the same and one is read for the
//! last time before the next is written. `run` allocates nothing.

use super::op::{Inputs, Op, Place};
use super::tensor::{Data, Kind, Tensor, TensorType};
use std::any::Any;
use std::sync::Arc;

/// One operator with its places.
#[derive(Debug)]
pub struct Step {
    /// As errors and `inspect` call it.
    pub name: String,
    pub op: Box<dyn Op>,
    pub inputs: Vec<Place>,
    /// A buffer each.
    pub outputs: Vec<usize>,
    /// Input 0 and output 0 are one buffer.
    pub in_place: bool,
}

/// Where an output of the graph lies when all steps have run.
#[derive(Clone, Debug)]
pub struct Result {
    pub name: String,
    pub buffer: usize,
    pub of: TensorType,
    /// What its columns are called, where a node knows.
    pub labels: Vec<String>,
}

/// A graph compiled for `rows` rows.
#[derive(Debug)]
pub struct Program {
    pub rows: usize,
    /// A buffer for each input, in the graph's order.
    pub inputs: Vec<usize>,
    pub steps: Vec<Step>,
    pub constants: Vec<Arc<Tensor>>,
    pub buffers: Vec<(Kind, usize)>,
    pub results: Vec<Result>,
    /// Outputs that are the same for every row.
    pub fixed: Vec<(String, Arc<Tensor>)>,
}

/// Everything a program writes to.
#[derive(Debug)]
pub struct State {
    pub buffers: Vec<Data>,
    /// A step's outputs while it runs.
    taken: Vec<Vec<Data>>,
    scratch: Vec<Box<dyn Any + Send>>,
}

impl Program {
    /// Bytes of a [`State`].
    #[must_use]
    pub fn state_bytes(&self) -> usize {
        let buffers = self.buffers.iter().map(|(kind, len)| len.saturating_mul(kind.bytes()));
        let scratch = self.steps.iter().map(|step| step.op.scratch_bytes());
        let small = self.steps.iter().map(|step| 64 + size_of::<Data>() * step.outputs.len());
        buffers.chain(scratch).chain(small).fold(0, usize::saturating_add)
    }

    #[must_use]
    pub fn state(&self) -> State {
        State {
            buffers: self.buffers.iter().map(|(kind, len)| Data::zeros(*kind, *len)).collect(),
            taken: self.steps.iter().map(|step| step.outputs.iter().map(|_| Data::default()).collect()).collect(),
            scratch: self.steps.iter().map(|step| step.op.scratch()).collect(),
        }
    }

    /// Runs all steps on the inputs that have been written to their buffers.
    pub fn run(&self, state: &mut State) {
        self.run_up_to(self.steps.len(), state);
    }

    /// The same up to a step, which is not run.
    pub fn run_up_to(&self, end: usize, state: &mut State) {
        let State { buffers, taken, scratch } = state;
        for ((step, taken), scratch) in self.steps.iter().take(end).zip(taken).zip(scratch) {
            if step.in_place {
                let Some(at) = step.outputs.first() else { continue };
                let mut data = buffers.get_mut(*at).map(std::mem::take).unwrap_or_default();
                let inputs = Inputs { places: &step.inputs, buffers, constants: &self.constants };
                step.op.run_in_place(&inputs, &mut data, scratch.as_mut());
                if let Some(place) = buffers.get_mut(*at) {
                    *place = data;
                }
                continue;
            }
            for (at, data) in step.outputs.iter().zip(taken.iter_mut()) {
                if let Some(buffer) = buffers.get_mut(*at) {
                    std::mem::swap(buffer, data);
                }
            }
            let inputs = Inputs { places: &step.inputs, buffers, constants: &self.constants };
            step.op.run(&inputs, taken, scratch.as_mut());
            for (at, data) in step.outputs.iter().zip(taken.iter_mut()) {
                if let Some(buffer) = buffers.get_mut(*at) {
                    std::mem::swap(buffer, data);
                }
            }
        }
    }

    /// Elements read and written by one run, and what operators say they do beyond: what a run costs, roughly.
    #[must_use]
    pub fn work(&self) -> u64 {
        let of = |step: &Step| {
            let written = step.op.outputs().iter().map(|of| of.len() as u64).fold(0, u64::saturating_add);
            written.max(step.op.work())
        };
        self.steps.iter().map(of).fold(0, u64::saturating_add)
    }
}
