//! What each column of a row adds to a score, exactly, where the score grows with a sum of trees or of a linear model.
//!
//! Such a model is found in the graph as one operator that adds up, with steps before it that make each of its columns
//! of one column of the row (scalers, imputers, encoders, one-hot, casts, Concat …), and behind it none but such as keep
//! the order. Everything is told by the operators themselves ([`Flow`], [`Sums`]), nothing is tried out; where any step
//! on the way is not known so, there are no such values.
//!
//! They are Shapley values against one row, the baseline: of trees by [`BaselineShap`], of a linear model the weight
//! times the distance, each summed over the columns that were made of one column of the row.

use super::super::trees::{BaselineScratch, BaselineShap};
use super::op::{Flow, Place};
use super::plan::Plan;
use super::program::{Program, State};
use super::sums::{Body, Combination, Sums};
use super::tensor::View;
use std::collections::HashMap;

/// Stands for a constant where a column's number would.
const FIXED: u32 = u32::MAX;

/// The one operator, and what its columns and scores are.
#[derive(Debug)]
pub struct Drivers {
    /// Its step, and where its rows lie when that is reached.
    step: usize,
    input: Place,
    /// The column of the row that each of its columns is made of.
    columns: Vec<u32>,
    adds: Adds,
    /// Of each number that a row gives.
    scores: Vec<Option<Combination>>,
}

#[derive(Debug)]
enum Adds {
    Trees(BaselineShap),
    Linear(std::sync::Arc<super::ml::Weights>),
}

/// Everything that a run writes to.
#[derive(Debug)]
pub struct Work {
    state: State,
    own: Vec<f64>,
    other: Vec<f64>,
    part: Vec<f64>,
    trees: Option<BaselineScratch>,
}

/// What is known of a buffer.
#[derive(Clone)]
enum Known {
    /// Each number is made of this column.
    Columns(Vec<u32>),
    /// Each number grows with this, of the operator of this step. Whether they add up to 1.
    Scores(usize, Vec<Option<Combination>>, bool),
}

/// What is known of each buffer; by step, what adds up, and over which columns.
type Traced = (HashMap<usize, Known>, HashMap<usize, (Sums, Vec<u32>)>);

impl Known {
    fn len(&self) -> usize {
        match self {
            Self::Columns(columns) => columns.len(),
            Self::Scores(_, scores, _) => scores.len(),
        }
    }
}

impl Drivers {
    /// None where there are no such values.
    #[must_use]
    pub fn of(plan: &Plan) -> Option<Self> {
        let program = plan.programs().first().filter(|program| program.rows == 1)?;
        let (known, sums) = trace(program);
        let mut scores = Vec::new();
        let mut step = None;
        for (result, output) in program.results.iter().zip(plan.outputs()) {
            match known.get(&result.buffer) {
                Some(Known::Scores(at, of, _)) if of.len() == output.width && step.is_none_or(|step| step == *at) => {
                    step = Some(*at);
                    scores.extend(of.iter().cloned());
                }
                _ => scores.resize(scores.len() + output.width, None),
            }
        }
        let step = step?;
        let (sums, columns) = sums.get(&step)?.clone();
        let input = *program.steps.get(step)?.inputs.first()?;
        let width = plan.columns().len();
        let adds = match sums.body {
            Body::Trees(forest) => Adds::Trees(BaselineShap::new(forest, columns.clone(), width).ok()?),
            Body::Linear(weights) if weights.width == columns.len() => Adds::Linear(weights),
            Body::Linear(_) => return None,
        };
        Some(Self { step, input, columns, adds, scores })
    }

    /// Whether number `at` of a row has such values.
    #[must_use]
    pub fn explains(&self, at: usize) -> bool {
        self.scores.get(at).is_some_and(Option::is_some)
    }

    /// Bytes of tables; weights and trees are the operator's own.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let trees = if let Adds::Trees(shap) = &self.adds { shap.bytes() } else { 0 };
        trees + self.columns.len() * size_of::<u32>()
    }

    /// Bytes of [`Self::work`].
    #[must_use]
    pub fn work_bytes(&self, plan: &Plan) -> usize {
        let trees = if let Adds::Trees(shap) = &self.adds { shap.scratch_bytes() } else { 0 };
        let state = plan.programs().first().map_or(0, Program::state_bytes);
        state + trees + (2 * self.columns.len() + plan.columns().len()) * size_of::<f64>()
    }

    #[must_use]
    pub fn work(&self, plan: &Plan) -> Option<Work> {
        let room = || vec![0.0; self.columns.len()];
        Some(Work {
            state: plan.programs().first()?.state(),
            own: room(),
            other: room(),
            part: vec![0.0; plan.columns().len()],
            trees: if let Adds::Trees(shap) = &self.adds { Some(shap.scratch()) } else { None },
        })
    }

    /// What each column of `row` adds to what number `at` grows with, beside `baseline`'s. Allocates nothing. False
    /// where it has no such values.
    pub fn run(
        &self,
        plan: &Plan,
        at: usize,
        row: &[f64],
        baseline: &[f64],
        values: &mut [f64],
        work: &mut Work,
    ) -> bool {
        let (Some(Some(combination)), Some(program)) = (self.scores.get(at), plan.programs().first()) else {
            return false;
        };
        let Work { state, own, other, part, trees } = work;
        for (row, cells) in [(row, &mut *own), (baseline, &mut *other)] {
            plan.enter(program, row, state);
            program.run_up_to(self.step, state);
            let place = [self.input];
            let inputs = super::op::Inputs { places: &place, buffers: &state.buffers, constants: &program.constants };
            read(inputs.get(0), cells);
        }
        values.fill(0.0);
        for (target, factor) in combination {
            part.fill(0.0);
            match (&self.adds, &mut *trees) {
                (Adds::Trees(shap), Some(trees)) => shap.run(own, other, *target, part, trees),
                (Adds::Linear(weights), _) => {
                    let weights = weights.of(*target).iter().map(|weight| f64::from(*weight));
                    for (column, (weight, (own, other))) in
                        self.columns.iter().zip(weights.zip(own.iter().zip(&*other)))
                    {
                        if let Some(part) = part.get_mut(*column as usize) {
                            *part += weight * (own - other);
                        }
                    }
                }
                (Adds::Trees(_), None) => return false,
            }
            values.iter_mut().zip(&*part).for_each(|(value, part)| *value += factor * part);
        }
        true
    }
}

/// Integers count as f32 in operators that add up.
#[allow(clippy::cast_possible_truncation)]
fn read(from: View<'_>, cells: &mut [f64]) {
    let is_wide = matches!(from, View::F64(_));
    for (n, cell) in cells.iter_mut().enumerate() {
        let number = from.number(n);
        *cell = if is_wide { number } else { f64::from(number as f32) };
    }
}

/// What is known of each buffer when all steps have run, and the operators that add up over known columns.
fn trace(program: &Program) -> Traced {
    let mut known: HashMap<usize, Known> = HashMap::new();
    let mut sums = HashMap::new();
    let mut next = 0u32;
    for at in &program.inputs {
        let count = program.buffers.get(*at).map_or(0, |(_, len)| *len);
        let columns: Vec<u32> = (next..).take(count).collect();
        next = next.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        known.insert(*at, Known::Columns(columns));
    }
    for (at, step) in program.steps.iter().enumerate() {
        let input = |n: usize| match step.inputs.get(n) {
            Some(Place::Buffer(buffer)) => known.get(buffer).cloned(),
            Some(Place::Constant(constant)) => {
                let length = program.constants.get(*constant).map_or(0, |tensor| tensor.view().len());
                Some(Known::Columns(vec![FIXED; length]))
            }
            _ => None,
        };
        let constant = |n: usize| match step.inputs.get(n) {
            Some(Place::Constant(constant)) => program.constants.get(*constant).map(|tensor| tensor.view()),
            _ => None,
        };
        let mut made = HashMap::new();
        if let (Some(found), Some(Known::Columns(columns))) = (step.op.sums(), input(0)) {
            made.insert(found.output, Known::Scores(at, found.scores.clone(), found.shares));
            sums.insert(at, (found, columns));
        } else {
            let length = step.op.outputs().first().map_or(0, super::tensor::TensorType::len);
            let all = || (0..step.inputs.len()).map(&input).collect::<Option<Vec<_>>>();
            // The one input that is no constant.
            let rows = step.inputs.iter().position(|place| matches!(place, Place::Buffer(_)));
            let alone = rows.filter(|_| step.inputs.iter().filter(|p| matches!(p, Place::Buffer(_))).count() == 1);
            let after = match step.op.flow(&constant) {
                Flow::Mixed => None,
                Flow::Each { grows } => alone.and_then(&input).and_then(|before| each(before, length, grows)),
                Flow::Joined => all().and_then(joined),
                Flow::Picked(places) => input(0).and_then(|before| picked(before, &places)),
                Flow::Shares => input(0).filter(|before| matches!(before, Known::Scores(_, _, true))),
            };
            made.extend(after.filter(|after| after.len() == length).map(|after| (0, after)));
        }
        for (n, buffer) in step.outputs.iter().enumerate() {
            match made.remove(&n) {
                Some(after) => drop(known.insert(*buffer, after)),
                None => drop(known.remove(buffer)),
            }
        }
    }
    (known, sums)
}

fn each(before: Known, length: usize, grows: bool) -> Option<Known> {
    match before {
        Known::Columns(columns) => {
            let times = length.checked_div(columns.len()).filter(|times| times * columns.len() == length)?;
            Some(Known::Columns(columns.iter().flat_map(|column| std::iter::repeat_n(*column, times)).collect()))
        }
        Known::Scores(at, scores, _) => (grows && scores.len() == length).then_some(Known::Scores(at, scores, false)),
    }
}

fn joined(parts: Vec<Known>) -> Option<Known> {
    let columns = parts.into_iter().map(|part| if let Known::Columns(columns) = part { Some(columns) } else { None });
    Some(Known::Columns(columns.collect::<Option<Vec<_>>>()?.concat()))
}

fn picked(before: Known, places: &[usize]) -> Option<Known> {
    match before {
        Known::Columns(columns) => {
            let all = places.iter().map(|place| columns.get(*place).copied());
            Some(Known::Columns(all.collect::<Option<_>>()?))
        }
        Known::Scores(at, scores, _) => {
            let all = places.iter().map(|place| scores.get(*place).cloned());
            Some(Known::Scores(at, all.collect::<Option<_>>()?, false))
        }
    }
}
