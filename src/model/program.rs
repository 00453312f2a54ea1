//! A model ready to run, of whatever format: rows in, the numbers of its outputs out.

use super::matching::Column;
use super::native::{NativePlan, NativeScratch, NativeShapley};
use super::network;
use super::outputs::{self, OutputSpec};
use super::{graph, onnx};
use crate::features::ColumnKind;

/// Rows that go through the model together; more are taken in blocks. A row's numbers do not depend on it.
pub const BLOCK_ROWS: usize = 64;

/// What runs, and what goes in and comes out. Immutable, shared by all scorers.
#[derive(Debug)]
pub struct Program {
    core: Core,
    columns: Vec<Column>,
    outputs: Vec<OutputSpec>,
    /// The place in a row of each of the model's columns, where they are not in order.
    order: Option<Vec<u32>>,
    /// Of the model's columns those that take whole numbers: a row without one there has no numbers.
    whole: Vec<usize>,
    /// Columns of a row.
    width: usize,
    /// Numbers of all outputs.
    numbers: usize,
}

/// The plans of each family.
#[derive(Debug)]
pub enum Core {
    Network(network::Plan),
    Native(Box<NativePlan>),
    Graph(Box<onnx::Plan>, Option<Box<onnx::Drivers>>),
}

/// One thread's buffers.
#[derive(Debug)]
pub struct Scratch {
    core: CoreScratch,
    /// Rows with their columns in the model's order.
    ordered: Vec<f64>,
    numbers: Vec<f64>,
}

/// Buffers for what each column adds, in the model's order.
#[derive(Debug)]
pub struct Shapley {
    row: Vec<f64>,
    baseline: Vec<f64>,
    values: Vec<f64>,
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    Native(NativeShapley),
    Graph(onnx::Work),
    Nothing,
}

#[derive(Debug)]
enum CoreScratch {
    Network(network::Scratch),
    Native(NativeScratch),
    Graph(onnx::Scratch),
}

impl Program {
    /// `columns` and `outputs` are those of `core`.
    #[must_use]
    pub fn new(core: Core, columns: Vec<Column>, outputs: Vec<OutputSpec>) -> Self {
        let (width, numbers) = (columns.len(), outputs::width(&outputs));
        let whole = columns.iter().enumerate().filter(|(_, column)| column.kind == ColumnKind::I64);
        let whole = whole.map(|(n, _)| n).collect();
        Self { core, columns, outputs, order: None, whole, width, numbers }
    }

    /// The same for rows whose columns stand elsewhere: `order` has the place of each of the model's columns.
    #[must_use]
    pub fn ordered(self, order: Option<Vec<u32>>) -> Self {
        Self { order, ..self }
    }

    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    #[must_use]
    pub fn outputs(&self) -> &[OutputSpec] {
        &self.outputs
    }

    /// Columns of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Numbers that a row gives, of all outputs.
    #[must_use]
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    /// Bytes of weights and tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let core = match &self.core {
            Core::Network(plan) => plan.bytes(),
            Core::Native(plan) => plan.bytes(),
            Core::Graph(plan, drivers) => plan.bytes() + drivers.as_ref().map_or(0, |drivers| drivers.bytes()),
        };
        let texts = self.columns.iter().map(|column| match &column.kind {
            ColumnKind::Text(texts) => texts.bytes(),
            _ => 0,
        });
        core + texts.sum::<usize>() + self.order.as_ref().map_or(0, |order| order.len() * size_of::<u32>())
    }

    /// Bytes of [`Self::scratch`].
    #[must_use]
    pub fn scratch_bytes(&self, max_batch: usize) -> usize {
        let rows = max_batch.clamp(1, BLOCK_ROWS);
        let core = match &self.core {
            Core::Network(plan) => plan.scratch_bytes(rows),
            Core::Native(plan) => plan.scratch_bytes(rows),
            Core::Graph(plan, _) => plan.scratch_bytes(rows),
        };
        let ordered = if self.order.is_some() { rows * self.width } else { 0 };
        core + (ordered + rows * self.numbers) * size_of::<f64>()
    }

    /// Buffers for calls of up to `max_batch` rows; more are taken in blocks.
    #[must_use]
    pub fn scratch(&self, max_batch: usize) -> Scratch {
        let rows = max_batch.clamp(1, BLOCK_ROWS);
        let core = match &self.core {
            Core::Network(plan) => CoreScratch::Network(plan.scratch(rows)),
            Core::Native(plan) => CoreScratch::Native(plan.scratch(rows)),
            Core::Graph(plan, _) => CoreScratch::Graph(plan.scratch(rows)),
        };
        let ordered = if self.order.is_some() { rows * self.width } else { 0 };
        Scratch { core, ordered: vec![0.0; ordered], numbers: vec![f64::NAN; rows * self.numbers] }
    }

    /// Rows that one call of [`Self::run`] takes.
    #[must_use]
    pub fn block(&self, scratch: &Scratch) -> usize {
        scratch.numbers.len().checked_div(self.numbers).unwrap_or(1).max(1)
    }

    /// Runs up to a block of `rows`, row after row; the numbers of all outputs, row after row. Allocates nothing.
    pub fn run<'s>(&self, rows: &[f64], scratch: &'s mut Scratch) -> &'s [f64] {
        let width = self.width.max(1);
        let count = (rows.len() / width).min(self.block(scratch));
        let Scratch { core, ordered, numbers } = scratch;
        let rows = self.reorder(rows.get(..count * width).unwrap_or_default(), ordered);
        let numbers = numbers.get_mut(..count * self.numbers).unwrap_or_default();
        match (&self.core, core) {
            (Core::Network(plan), CoreScratch::Network(scratch)) => plan.run(rows, numbers, scratch),
            (Core::Native(plan), CoreScratch::Native(scratch)) => plan.run(rows, numbers, scratch),
            (Core::Graph(plan, _), CoreScratch::Graph(scratch)) => plan.run(rows, numbers, scratch),
            // A scratch of another model, which no caller has.
            _ => numbers.fill(f64::NAN),
        }
        if !self.whole.is_empty() {
            // The graph has taken a 0 for it.
            for (row, numbers) in rows.chunks_exact(width).zip(numbers.chunks_exact_mut(self.numbers.max(1))) {
                if self.whole.iter().any(|at| row.get(*at).is_none_or(|value| value.is_nan())) {
                    numbers.fill(f64::NAN);
                }
            }
        }
        numbers
    }

    /// The leaf that a row reaches in each tree, as the library numbers them; none where it is no model of trees.
    pub fn leaves(&self, row: &[f64], ids: &mut Vec<u32>, scratch: &mut Scratch) {
        ids.clear();
        let Scratch { core, ordered, .. } = scratch;
        let row = self.reorder(row, ordered);
        if let (Core::Native(plan), CoreScratch::Native(scratch)) = (&self.core, core) {
            plan.leaves(row, ids, scratch);
        }
    }

    /// Whether [`Self::contributions`] are to be had of number `at` of a row's.
    #[must_use]
    pub fn explains(&self, at: usize) -> bool {
        match &self.core {
            Core::Native(plan) => plan.target_of(at).is_some_and(|_| plan.explains()),
            Core::Graph(_, drivers) => drivers.as_ref().is_some_and(|drivers| drivers.explains(at)),
            Core::Network(_) => false,
        }
    }

    /// Lets go of the tables of [`Self::contributions`], which then cannot be had.
    pub fn forget_contributions(&mut self) {
        match &mut self.core {
            Core::Native(plan) => plan.forget_contributions(),
            Core::Graph(_, drivers) => *drivers = None,
            Core::Network(_) => {}
        }
    }

    /// Buffers for [`Self::contributions`].
    #[must_use]
    pub fn shapley(&self) -> Shapley {
        let inner = match &self.core {
            Core::Native(plan) => Inner::Native(plan.shapley()),
            Core::Graph(plan, drivers) => {
                drivers.as_ref().and_then(|drivers| drivers.work(plan)).map_or(Inner::Nothing, Inner::Graph)
            }
            Core::Network(_) => Inner::Nothing,
        };
        Shapley { row: vec![0.0; self.width], baseline: vec![0.0; self.width], values: vec![0.0; self.width], inner }
    }

    /// Bytes of [`Self::shapley`].
    #[must_use]
    pub fn shapley_bytes(&self) -> usize {
        let inner = match &self.core {
            Core::Native(plan) => plan.shapley_bytes(),
            Core::Graph(plan, drivers) => drivers.as_ref().map_or(0, |drivers| drivers.work_bytes(plan)),
            Core::Network(_) => 0,
        };
        inner + 3 * self.width * size_of::<f64>()
    }

    /// What each column adds to the raw sum behind number `at`: exact Shapley values. `baseline`: the row that stands for
    /// nothing known. `out`: a number a column, as they stand in the row. False where they cannot be had. Allocates
    /// nothing.
    pub fn contributions(&self, at: usize, row: &[f64], baseline: &[f64], out: &mut [f64], work: &mut Shapley) -> bool {
        let place = |n: usize| self.order.as_ref().map_or(Some(n), |order| order.get(n).map(|at| *at as usize));
        let Shapley { row: own, baseline: base, values, inner } = work;
        for (n, (own, base)) in own.iter_mut().zip(base.iter_mut()).enumerate() {
            let from = place(n).unwrap_or(usize::MAX);
            *own = row.get(from).copied().unwrap_or(f64::NAN);
            *base = baseline.get(from).copied().unwrap_or(f64::NAN);
        }
        let found = match (&self.core, inner) {
            (Core::Native(plan), Inner::Native(inner)) => {
                plan.target_of(at).is_some_and(|target| plan.contributions(target, own, base, values, inner))
            }
            (Core::Graph(plan, Some(drivers)), Inner::Graph(work)) => drivers.run(plan, at, own, base, values, work),
            _ => false,
        };
        if !found {
            return false;
        }
        for (n, value) in values.iter().enumerate() {
            if let Some(out) = place(n).and_then(|at| out.get_mut(at)) {
                *out = *value;
            }
        }
        true
    }

    /// Rows with their columns in the model's order.
    fn reorder<'a>(&self, rows: &'a [f64], ordered: &'a mut [f64]) -> &'a [f64] {
        let Some(order) = &self.order else { return rows };
        let width = self.width.max(1);
        for (row, place) in rows.chunks_exact(width).zip(ordered.chunks_exact_mut(width)) {
            for (to, from) in place.iter_mut().zip(order) {
                *to = usize::try_from(*from).ok().and_then(|from| row.get(from)).copied().unwrap_or(f64::NAN);
            }
        }
        ordered.get(..rows.len()).unwrap_or_default()
    }

    /// Whether its numbers are f32.
    #[must_use]
    pub fn is_f32(&self) -> bool {
        match &self.core {
            Core::Network(_) => true,
            Core::Native(_) => false,
            Core::Graph(plan, _) => graph::is_f32(plan),
        }
    }

    /// Names of the files beside the model's own that it was read from too.
    #[must_use]
    pub fn files(&self) -> &[String] {
        match &self.core {
            Core::Graph(plan, _) => plan.files(),
            Core::Network(_) | Core::Native(_) => &[],
        }
    }

    /// What runs, a line a step.
    #[must_use]
    pub fn explain(&self) -> Vec<String> {
        match &self.core {
            Core::Network(plan) => plan.explain(),
            Core::Native(plan) => plan.explain(),
            Core::Graph(plan, _) => plan.explain().into_iter().chain(plan.notes().iter().cloned()).collect(),
        }
    }

    /// The kernel that runs most of it.
    #[must_use]
    pub fn kernel(&self) -> &'static str {
        match &self.core {
            Core::Network(plan) => plan.kernel().name(),
            Core::Native(plan) => plan.kernel(),
            Core::Graph(..) => super::Kernel::best().name(),
        }
    }
}
