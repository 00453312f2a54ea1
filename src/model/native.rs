//! A tree library's model ready to run: recoded categories, raw sums, the library's own output.

use super::matching::Column;
use super::outputs::{Means, OutputSpec};
use super::trees::{Body, Kind, Linear, Native, Objective, PathScratch, PathShap, Precision, TreePlan, TreeScratch};
use crate::features::{ColumnKind, Texts};
use std::sync::Arc;

/// The plan.
#[derive(Debug)]
pub struct NativePlan {
    body: Running,
    /// What each column adds, where that is wanted and the file tells of covers.
    shap: Option<PathShap>,
    objective: Objective,
    objective_name: String,
    width: usize,
    targets: usize,
    /// Columns whose cells are numbers that the trees know by their place in the file's list: number and place, sorted.
    recoded: Vec<(usize, Vec<(f64, f64)>)>,
    notes: Vec<String>,
}

#[derive(Debug)]
enum Running {
    Trees(TreePlan),
    Linear(Linear),
}

/// The buffers of one scorer.
#[derive(Debug)]
pub struct NativeScratch {
    trees: Option<TreeScratch>,
    rows: Vec<f64>,
    raw: Vec<f64>,
}

/// Buffers for what each column adds.
#[derive(Debug, Default)]
pub struct NativeShapley {
    path: Option<PathScratch>,
}

impl NativePlan {
    /// Compiles what a loader read. Gives the columns and outputs too. `explain`: contributions are wanted.
    ///
    /// # Errors
    /// What is wrong with the trees.
    pub fn compile(native: Native, explain: bool) -> Result<(Self, Vec<Column>, Vec<OutputSpec>), String> {
        let (width, targets) = (native.width(), native.targets());
        let precision = match &native.body {
            Body::Forest(forest) => forest.precision,
            Body::Linear(linear) => linear.precision,
        };
        let number = if precision == Precision::F32 { ColumnKind::F32 } else { ColumnKind::F64 };
        let mut recoded = Vec::new();
        let mut columns = Vec::with_capacity(width);
        for at in 0..width {
            let kind = match native.columns.get(at) {
                Some(Kind::Texts(texts)) => {
                    let places = texts.iter().map(|text| text.as_str().into()).zip((0u32..).map(f64::from));
                    ColumnKind::Text(Arc::new(Texts::new(places, f64::NAN, f64::NAN)))
                }
                Some(Kind::Numbers(numbers)) => {
                    recoded.push((at, places_of(numbers)));
                    ColumnKind::F64
                }
                Some(Kind::Category | Kind::Number) | None => number.clone(),
            };
            let name = native.feature_names.get(at).filter(|_| !native.generic_names).cloned();
            columns.push(Column { name: name.unwrap_or_else(|| format!("f{at}")), kind });
        }
        let means = match native.objective {
            Objective::ArgMax | Objective::Step => Means::Label,
            objective if objective.is_probability() => Means::Probability,
            _ => Means::Number,
        };
        let outputs = vec![
            OutputSpec::new("prediction", native.outputs(), means),
            OutputSpec { aside: true, ..OutputSpec::new("margin", targets, Means::Number) },
        ];
        let Native { body, objective, objective_name, notes, .. } = native;
        // Where it cannot be had there are other reasons.
        let shap = match &body {
            Body::Forest(forest) if explain && forest.check()?.covers => PathShap::new(forest).ok(),
            _ => None,
        };
        let body = match body {
            Body::Forest(forest) => Running::Trees(TreePlan::new(&forest)?),
            Body::Linear(linear) => {
                linear.check()?;
                Running::Linear(linear)
            }
        };
        Ok((Self { body, shap, objective, objective_name, width, targets, recoded, notes }, columns, outputs))
    }

    /// Bytes of tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let body = match &self.body {
            Running::Trees(plan) => plan.bytes(),
            Running::Linear(linear) => linear.bytes(),
        };
        body + self.shap.as_ref().map_or(0, PathShap::bytes)
            + self.recoded.iter().map(|(_, numbers)| numbers.len() * size_of::<(f64, f64)>()).sum::<usize>()
    }

    /// Bytes of [`Self::scratch`].
    #[must_use]
    pub fn scratch_bytes(&self, rows: usize) -> usize {
        let trees = if let Running::Trees(plan) = &self.body { plan.scratch_bytes(rows) } else { 0 };
        let recoded = if self.recoded.is_empty() { 0 } else { rows * self.width };
        trees + (recoded + rows * self.targets) * size_of::<f64>()
    }

    /// Buffers for calls of up to `rows` rows.
    #[must_use]
    pub fn scratch(&self, rows: usize) -> NativeScratch {
        let trees = if let Running::Trees(plan) = &self.body { Some(plan.scratch(rows)) } else { None };
        let recoded = if self.recoded.is_empty() { 0 } else { rows * self.width };
        NativeScratch { trees, rows: vec![0.0; recoded], raw: vec![0.0; rows * self.targets] }
    }

    /// What the library predicts, and then the raw sums, for each row.
    pub fn run(&self, rows: &[f64], out: &mut [f64], scratch: &mut NativeScratch) {
        let NativeScratch { trees, rows: places, raw } = scratch;
        let rows = self.recode(rows, places);
        match (&self.body, trees) {
            (Running::Trees(plan), Some(trees)) => plan.run(rows, raw, trees),
            (Running::Linear(linear), _) => linear.run(rows, raw),
            (Running::Trees(_), None) => {}
        }
        let predictions = self.objective.outputs(self.targets);
        for (raw, out) in raw.chunks_exact(self.targets.max(1)).zip(out.chunks_exact_mut(predictions + self.targets)) {
            let (prediction, margin) = out.split_at_mut(predictions);
            self.objective.apply(raw, prediction);
            margin.copy_from_slice(raw);
        }
    }

    /// The leaf that a row reaches in each tree, as the library numbers them.
    pub fn leaves(&self, row: &[f64], ids: &mut Vec<u32>, scratch: &mut NativeScratch) {
        let NativeScratch { trees, rows: places, .. } = scratch;
        let row = self.recode(row, places);
        if let (Running::Trees(plan), Some(trees)) = (&self.body, trees) {
            ids.resize(plan.trees(), 0);
            plan.leaves(row, ids, trees);
        }
    }

    /// Which raw sum stands behind number `at` of a row's; None where it is made of several in a way that has no one sum.
    #[must_use]
    pub fn target_of(&self, at: usize) -> Option<usize> {
        let predictions = self.objective.outputs(self.targets);
        match at.checked_sub(predictions) {
            Some(target) => (target < self.targets).then_some(target),
            None if self.objective == Objective::ArgMax => None,
            None => Some(at),
        }
    }

    /// Whether [`Self::contributions`] can be had.
    #[must_use]
    pub fn explains(&self) -> bool {
        self.shap.is_some() || matches!(self.body, Running::Linear(_))
    }

    /// Lets go of the tables of [`Self::contributions`].
    pub fn forget_contributions(&mut self) {
        self.shap = None;
    }

    /// Buffers for [`Self::contributions`].
    #[must_use]
    pub fn shapley(&self) -> NativeShapley {
        NativeShapley { path: self.shap.as_ref().map(PathShap::scratch) }
    }

    /// Bytes of [`Self::shapley`].
    #[must_use]
    pub fn shapley_bytes(&self) -> usize {
        self.shap.as_ref().map_or(0, PathShap::scratch_bytes)
    }

    /// What each column of `row` adds to a raw sum, into `values`. Changes `row` and `baseline`.
    pub fn contributions(
        &self,
        target: usize,
        row: &mut [f64],
        baseline: &mut [f64],
        values: &mut [f64],
        work: &mut NativeShapley,
    ) -> bool {
        self.recode_in_place(row);
        self.recode_in_place(baseline);
        match &self.body {
            Running::Linear(linear) => {
                for (column, (value, (x, base))) in values.iter_mut().zip(row.iter().zip(baseline)).enumerate() {
                    *value = linear.term(target, column, *x) - linear.term(target, column, *base);
                }
                true
            }
            Running::Trees(_) => match (&self.shap, &mut work.path) {
                (Some(shap), Some(scratch)) => {
                    shap.run(row, target, values, scratch);
                    true
                }
                _ => false,
            },
        }
    }

    /// Rows with their known numbers replaced by the places that the trees know.
    fn recode<'a>(&self, rows: &'a [f64], places: &'a mut [f64]) -> &'a [f64] {
        if self.recoded.is_empty() {
            return rows;
        }
        let count = rows.len().min(places.len());
        let (Some(rows), Some(places)) = (rows.get(..count), places.get_mut(..count)) else { return rows };
        places.copy_from_slice(rows);
        self.recode_in_place(places);
        places
    }

    fn recode_in_place(&self, rows: &mut [f64]) {
        for row in rows.chunks_exact_mut(self.width.max(1)) {
            for (column, numbers) in &self.recoded {
                if let Some(cell) = row.get_mut(*column) {
                    // A number that was not there in training is no category of the model: missing. -0 is 0.
                    let found = numbers.binary_search_by(|(number, _)| number.total_cmp(&(*cell + 0.0)));
                    *cell = found.ok().and_then(|at| numbers.get(at)).map_or(f64::NAN, |(_, place)| *place);
                }
            }
        }
    }

    /// The instructions that it runs on.
    #[must_use]
    pub fn kernel(&self) -> &'static str {
        match &self.body {
            Running::Trees(plan) => plan.isa().name(),
            Running::Linear(_) => "portable",
        }
    }

    /// What runs, a line a step.
    #[must_use]
    pub fn explain(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (column, numbers) in &self.recoded {
            lines.push(format!("column {column}: one of {} numbers, by its place", numbers.len()));
        }
        match &self.body {
            Running::Trees(plan) => {
                let shape = plan.shape();
                lines.push(format!(
                    "{} trees, {} leaves ({} in the greatest), {} splits deep at most, {} bytes",
                    plan.trees(),
                    shape.leaves,
                    shape.leaves_max,
                    shape.depth,
                    plan.bytes()
                ));
            }
            Running::Linear(linear) => lines.push(format!("linear, {} columns, {} sums", linear.width, linear.targets)),
        }
        lines.push(format!("{}: {:?}", self.objective_name, self.objective).to_lowercase());
        lines.extend(self.notes.iter().cloned());
        lines
    }
}

fn places_of(numbers: &[f64]) -> Vec<(f64, f64)> {
    let numbered = numbers.iter().map(|number| number + 0.0).zip((0u32..).map(f64::from));
    let mut places: Vec<(f64, f64)> = numbered.filter(|(number, _)| !number.is_nan()).collect();
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    places
}
