//! The plan of a native model: cells looked up where the file has categories, trees or weights, then the objective.

use super::linear::Linear;
use super::native::{Body, Kind, Native};
use super::objective::Objective;
use super::plan::{Options, TreePlan, TreeScratch};

/// Rows that go through together.
const ROWS: usize = 64;

/// What the numbers of a row are to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gives {
    /// The library's `predict`.
    #[default]
    Prediction,
    /// The raw sums.
    Margin,
}

/// A native model ready to run. Shared by all scorers.
#[derive(Clone, Debug)]
pub struct NativePlan {
    width: usize,
    targets: usize,
    outputs: usize,
    gives: Gives,
    objective: Objective,
    recodes: Vec<Recode>,
    tables: Tables,
}

#[derive(Clone, Debug)]
enum Tables {
    Trees(Box<TreePlan>),
    Linear(Linear),
}

/// A column whose cells are looked up: those that are not found are missing.
#[derive(Clone, Debug)]
struct Recode {
    column: usize,
    /// The cell and the number that the trees have for it, ascending by cell.
    cells: Vec<(f64, f64)>,
}

/// The buffers of one scorer.
#[derive(Clone, Debug)]
pub struct NativeScratch {
    rows: usize,
    cells: Vec<f64>,
    raw: Vec<f64>,
    trees: Option<TreeScratch>,
}

impl NativePlan {
    /// Compiles a model. `code` gives the number that stands in a cell for a text.
    ///
    /// # Errors
    /// What is wrong with the model.
    pub fn new(
        native: &Native,
        gives: Gives,
        options: Options,
        mut code: impl FnMut(&str) -> f64,
    ) -> Result<Self, String> {
        let tables = match &native.body {
            Body::Forest(forest) => Tables::Trees(Box::new(TreePlan::with(forest, options)?)),
            Body::Linear(linear) => {
                linear.check()?;
                Tables::Linear(linear.clone())
            }
        };
        let mut recodes = Vec::new();
        for (column, kind) in native.columns.iter().enumerate() {
            let cells = match kind {
                Kind::Number | Kind::Category => continue,
                Kind::Numbers(numbers) => Recode::of(column, numbers.iter().copied()),
                Kind::Texts(texts) => Recode::of(column, texts.iter().map(|text| code(text))),
            };
            recodes.push(cells);
        }
        let (width, targets) = (native.width(), native.targets());
        let outputs = if gives == Gives::Margin { targets } else { native.outputs() };
        Ok(Self { width, targets, outputs, gives, objective: native.objective, recodes, tables })
    }

    /// Columns of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Numbers that a run gives for a row.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The trees' plan, if there are trees.
    #[must_use]
    pub fn trees(&self) -> Option<&TreePlan> {
        match &self.tables {
            Tables::Trees(plan) => Some(plan),
            Tables::Linear(_) => None,
        }
    }

    /// Bytes of the tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let recodes: usize = self.recodes.iter().map(|recode| recode.cells.len() * size_of::<(f64, f64)>()).sum();
        let tables = match &self.tables {
            Tables::Trees(plan) => plan.bytes(),
            Tables::Linear(linear) => linear.bytes(),
        };
        tables + recodes + self.recodes.len() * size_of::<Recode>()
    }

    /// Bytes of one scratch.
    #[must_use]
    pub fn scratch_bytes(&self, max_batch: usize) -> usize {
        let rows = max_batch.clamp(1, ROWS);
        let cells = if self.recodes.is_empty() { 0 } else { self.width };
        rows * (cells + self.targets) * size_of::<f64>() + self.trees().map_or(0, |plan| plan.scratch_bytes(rows))
    }

    /// Every buffer that a run needs, for batches of up to `max_batch` rows (more are taken too, in parts).
    #[must_use]
    pub fn scratch(&self, max_batch: usize) -> NativeScratch {
        let rows = max_batch.clamp(1, ROWS);
        let cells = if self.recodes.is_empty() { 0 } else { self.width };
        NativeScratch {
            rows,
            cells: vec![0.0; rows * cells],
            raw: vec![0.0; rows * self.targets],
            trees: self.trees().map(|plan| plan.scratch(rows)),
        }
    }

    /// Looks up a row's cells in place: what [`run`](Self::run) does first to a copy.
    pub fn recode(&self, row: &mut [f64]) {
        for recode in &self.recodes {
            if let Some(cell) = row.get_mut(recode.column) {
                *cell = recode.look_up(*cell);
            }
        }
    }

    /// The outputs of rows: `rows` holds `width` cells a row, `out` takes `outputs` numbers a row. `scratch` must be
    /// this plan's own.
    pub fn run(&self, rows: &[f64], out: &mut [f64], scratch: &mut NativeScratch) {
        let count = rows.len().checked_div(self.width).unwrap_or(out.len() / self.outputs);
        let NativeScratch { rows: most, cells, raw, trees } = scratch;
        for start in (0..count).step_by((*most).max(1)) {
            let part = (count - start).min(*most);
            let mut rows = &rows[start * self.width..(start + part) * self.width];
            let Some(out) = out.get_mut(start * self.outputs..(start + part) * self.outputs) else { return };
            if !self.recodes.is_empty() {
                let Some(cells) = cells.get_mut(..rows.len()) else { return };
                cells.copy_from_slice(rows);
                cells.chunks_exact_mut(self.width).for_each(|row| self.recode(row));
                rows = cells;
            }
            let Some(raw) = raw.get_mut(..part * self.targets) else { return };
            match (&self.tables, &mut *trees) {
                (Tables::Trees(plan), Some(trees)) => plan.run(rows, raw, trees),
                (Tables::Linear(linear), _) => linear.run(rows, raw),
                (Tables::Trees(_), None) => return,
            }
            if self.gives == Gives::Margin {
                out.copy_from_slice(raw);
                continue;
            }
            for (raw, out) in raw.chunks_exact(self.targets).zip(out.chunks_exact_mut(self.outputs)) {
                self.objective.apply(raw, out);
            }
        }
    }
}

impl Recode {
    fn of(column: usize, values: impl Iterator<Item = f64>) -> Self {
        let mut cells: Vec<(f64, f64)> = (0_u32..)
            .zip(values)
            .filter(|(_, cell)| !cell.is_nan())
            .map(|(at, cell)| (cell + 0.0, f64::from(at)))
            .collect();
        cells.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { column, cells }
    }

    fn look_up(&self, cell: f64) -> f64 {
        // -0.0 is 0.0.
        let found = self.cells.binary_search_by(|(of, _)| of.total_cmp(&(cell + 0.0)));
        found.ok().and_then(|at| self.cells.get(at)).map_or(f64::NAN, |(_, number)| *number)
    }
}
