//! Which values share a buffer.
//!
//! Steps run one after the other, so a value lives from the step that writes it to the last that reads it. A value
//! that dies leaves its buffer to the next one of its kind and length. A step that can work in place takes over the
//! buffer of its first input, where it is that input's last reader.

use super::op::Place;
use super::program::Step;
use super::tensor::Kind;
use std::collections::HashMap;

/// Replaces the values in the steps' places by buffers. `values`: kind and length of each; `inputs` are written
/// before the first step; `kept` are read behind the last. Returns the buffers, and the buffer of each value.
pub fn assign(
    steps: &mut [Step],
    values: &[(Kind, usize)],
    inputs: &[usize],
    kept: &[usize],
) -> (Vec<(Kind, usize)>, Vec<usize>) {
    const NEVER: usize = usize::MAX;
    let mut last = vec![0usize; values.len()];
    for (at, step) in steps.iter().enumerate() {
        for value in step.inputs.iter().filter_map(buffer).chain(step.outputs.iter().copied()) {
            if let Some(last) = last.get_mut(value) {
                *last = at;
            }
        }
    }
    for value in kept {
        if let Some(last) = last.get_mut(*value) {
            *last = NEVER;
        }
    }
    let mut pool = Pool { buffers: Vec::new(), free: HashMap::new(), of: vec![NEVER; values.len()] };
    for value in inputs {
        pool.give(*value, values);
    }
    for (at, step) in steps.iter_mut().enumerate() {
        let dies = |value: usize| last.get(value) == Some(&at);
        let reads: Vec<usize> = step.inputs.iter().filter_map(buffer).collect();
        let first = step.inputs.first().and_then(buffer);
        if step.op.in_place()
            && let (Some(first), Some(output)) = (first, step.outputs.first().copied())
            && dies(first)
            && values.get(first) == values.get(output)
            && reads.iter().filter(|value| **value == first).count() == 1
        {
            step.in_place = true;
            pool.pass(first, output);
        }
        for output in step.outputs.clone() {
            pool.give(output, values);
        }
        // What has been passed on is the output's now.
        let passed = if step.in_place { first } else { None };
        let ends = reads.into_iter().chain(step.outputs.iter().copied());
        let mut dead: Vec<usize> = ends.filter(|value| dies(*value) && Some(*value) != passed).collect();
        dead.sort_unstable();
        dead.dedup();
        for value in dead {
            pool.free(value, values);
        }
    }
    for step in steps.iter_mut() {
        for place in &mut step.inputs {
            if let Place::Buffer(value) = place {
                *value = pool.of.get(*value).copied().unwrap_or(NEVER);
            }
        }
        for output in &mut step.outputs {
            *output = pool.of.get(*output).copied().unwrap_or(NEVER);
        }
    }
    (pool.buffers, pool.of)
}

fn buffer(place: &Place) -> Option<usize> {
    if let Place::Buffer(value) = place { Some(*value) } else { None }
}

struct Pool {
    buffers: Vec<(Kind, usize)>,
    free: HashMap<(Kind, usize), Vec<usize>>,
    /// The buffer of each value; passed on means: it is the other's now.
    of: Vec<usize>,
}

impl Pool {
    /// A buffer for a value that has none.
    fn give(&mut self, value: usize, values: &[(Kind, usize)]) {
        let (Some(of), Some(size)) = (self.of.get_mut(value), values.get(value)) else { return };
        if *of != usize::MAX {
            return;
        }
        *of = self.free.get_mut(size).and_then(Vec::pop).unwrap_or_else(|| {
            self.buffers.push(*size);
            self.buffers.len() - 1
        });
    }

    fn pass(&mut self, from: usize, to: usize) {
        let buffer = self.of.get(from).copied();
        if let (Some(buffer), Some(to)) = (buffer, self.of.get_mut(to)) {
            *to = buffer;
        }
    }

    fn free(&mut self, value: usize, values: &[(Kind, usize)]) {
        if let (Some(of), Some(size)) = (self.of.get(value), values.get(value)) {
            self.free.entry(*size).or_default().push(*of);
        }
    }
}
