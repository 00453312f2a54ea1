//! A model that runs: programs for several numbers of rows, and what goes in and comes out.
//!
//! A graph whose first dimension is open is compiled for 1, 8 and 64 rows; one with a fixed first dimension for just
//! that. Rows are run in the largest blocks that they fill; a rest is filled up with its last row. Before a program
//! for several rows is taken, a probe at load makes sure that rows do not mix and that each gives the same numbers,
//! bit for bit, as alone.

use super::error::shown;
use super::graph::{Dim, Graph, Input};
use super::op::{Context, Dictionary};
use super::program::{Program, State};
use super::tensor::{Data, Kind, TensorType, View};
use super::{Error, External, compile, import, probe, proto, survey};
use bytes::Bytes;
use prost::Message;
use std::collections::HashSet;
use std::sync::Arc;

/// Numbers of rows that an open graph is compiled for.
const BLOCKS: [usize; 3] = [1, 8, 64];
/// Most rows that a fixed graph may want at once.
const FIXED_MAX: usize = 4096;
/// Most columns of a row, and numbers of its outputs.
const WIDTH_MAX: usize = 1 << 20;

/// What a model may take, and what is wanted of it.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes for everything that is made of the file, the largest moment counted.
    pub bytes: usize,
    /// Columns of a row, where the file's one input does not say it.
    pub width: Option<usize>,
    /// Outputs wanted; empty: all. What only others need is not computed.
    pub outputs: Vec<String>,
}

/// A column of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The input's name; `name[i]` where it has several columns.
    pub name: String,
    pub kind: Kind,
}

/// What an output's numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// Floats.
    Number,
    /// Floats whose columns are classes.
    Probability,
    /// Integers: a class.
    Label,
    /// Codes of the dictionary: a class, by name.
    Text,
}

/// An output of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSpec {
    pub name: String,
    /// Numbers a row.
    pub width: usize,
    /// The classes that the columns are, where the model names them.
    pub labels: Vec<String>,
    pub kind: OutputKind,
    pub of: Kind,
}

/// A compiled model.
#[derive(Debug)]
pub struct Plan {
    columns: Vec<Column>,
    /// Kind and columns of each input.
    inputs: Vec<(Kind, usize)>,
    outputs: Vec<OutputSpec>,
    width: usize,
    out_width: usize,
    /// By rows, ascending.
    programs: Vec<Program>,
    dictionary: Dictionary,
    bytes: usize,
    notes: Vec<String>,
    files: Vec<String>,
}

/// Everything that running a plan writes to.
#[derive(Debug)]
pub struct Scratch(Vec<State>);

/// Reads a model. `beside`: where external data may lie.
///
/// # Errors
/// It is no model, holds what is not supported, or takes more than it may: with the name of the node or tensor.
pub fn load(bytes: Bytes, beside: External<'_>, options: &Options) -> Result<Plan, Error> {
    let found = survey::survey(std::io::Cursor::new(&bytes), bytes.len() as u64)?;
    let decoded = usize::try_from(found.decoded).unwrap_or(usize::MAX);
    let mut context = Context::new(options.bytes);
    context.take(decoded, "the model's file, read,")?;
    let model = proto::Model::decode(bytes).map_err(|error| Error(format!("not an ONNX model: {error}")))?;
    let mut graph = import::import(model, beside, &options.outputs, &mut context)?;
    let files = context.files();
    compile::fold(&mut graph, &mut context)?;
    graph.order()?;
    Ok(Plan { files, ..build(&graph, options, context)? })
}

fn build(graph: &Graph, options: &Options, mut context: Context) -> Result<Plan, Error> {
    if graph.inputs.is_empty() {
        return Err(Error::new("the model has no input"));
    }
    let fixed = batch(&graph.inputs)?;
    let sizes = match fixed {
        Some(rows) => vec![rows],
        None => BLOCKS.to_vec(),
    };
    let mut notes = Vec::new();
    let mut programs: Vec<Program> = Vec::new();
    for rows in sizes {
        let types = graph.inputs.iter().map(|input| input_type(input, rows, graph.inputs.len(), options.width));
        let types = types.collect::<Result<Vec<_>, _>>()?;
        let compiled = compile::compile(graph, rows, &types, &mut context).and_then(|program| rows_of(program, rows));
        match (compiled, programs.first()) {
            (Ok(program), None) => programs.push(program),
            (Err(error), None) => return Err(error),
            (Ok(program), Some(one)) => match probe::same(one, &program) {
                Ok(()) => programs.push(program),
                Err(why) => {
                    notes.push(format!("rows are run one by one: {why}"));
                    break;
                }
            },
            (Err(error), Some(_)) => {
                notes.push(format!("rows are run one by one: {error}"));
                break;
            }
        }
    }
    let Some(first) = programs.first() else { return Err(Error::new("the model could not be compiled")) };
    if let Some(rows) = fixed.filter(|rows| *rows > 1) {
        probe::apart(first).map_err(|why| Error(format!("the model takes {rows} rows at once, and {why}")))?;
    }
    let rows = first.rows;
    let inputs: Vec<(Kind, usize)> = first
        .inputs
        .iter()
        .map(|at| first.buffers.get(*at).map_or((Kind::F32, 0), |(kind, len)| (*kind, len / rows)))
        .collect();
    let outputs: Vec<OutputSpec> = first.results.iter().map(spec).collect();
    let width = inputs.iter().map(|(_, width)| *width).sum();
    let out_width = outputs.iter().map(|output| output.width).sum();
    if width > WIDTH_MAX || out_width > WIDTH_MAX {
        return Err(Error(format!("expected at most {WIDTH_MAX} columns in a row")));
    }
    let columns = columns(&graph.inputs, &inputs);
    let mut plan = Plan {
        columns,
        inputs,
        outputs,
        width,
        out_width,
        programs,
        dictionary: std::mem::take(&mut context.dictionary),
        bytes: 0,
        notes,
        files: Vec::new(),
    };
    plan.bytes = plan.held();
    Ok(plan)
}

/// The number of rows that the inputs fix; None where it is open.
fn batch(inputs: &[Input]) -> Result<Option<usize>, Error> {
    let mut fixed = None;
    for input in inputs {
        let at = |what: String| Error(format!("input '{}': {what}", shown(&input.name)));
        match input.dims.as_ref().and_then(|dims| dims.first()) {
            Some(Dim::Fixed(rows)) if fixed.is_some_and(|fixed| fixed != *rows) => {
                return Err(at(format!("{rows} rows, another input has {}", fixed.unwrap_or_default())));
            }
            Some(Dim::Fixed(rows)) if *rows > FIXED_MAX => {
                return Err(at(format!("{rows} rows at once, expected at most {FIXED_MAX}")));
            }
            Some(Dim::Fixed(rows)) => fixed = Some(*rows),
            Some(Dim::Open) => {}
            None if input.dims.is_none() => {}
            None => return Err(at("expected a dimension for the rows".to_owned())),
        }
    }
    Ok(fixed)
}

/// An input's type for a number of rows.
fn input_type(input: &Input, rows: usize, inputs: usize, width: Option<usize>) -> Result<TensorType, Error> {
    let at = |what: &str| Error(format!("input '{}': {what}", shown(&input.name)));
    let mut shape = vec![rows];
    let unknown = "the model does not say how many columns it has";
    let width = || if inputs == 1 { width.ok_or_else(|| at(unknown)) } else { Ok(1) };
    match &input.dims {
        None => shape.push(width()?),
        Some(dims) => {
            let open = dims.iter().skip(1).filter(|dim| **dim == Dim::Open).count();
            for dim in dims.iter().skip(1) {
                shape.push(match dim {
                    Dim::Fixed(size) => *size,
                    Dim::Open if open > 1 || dims.len() > 2 => return Err(at(unknown)),
                    Dim::Open => width()?,
                });
            }
        }
    }
    let of = TensorType::new(input.kind, shape);
    if of.checked_len().is_none_or(|len| len / rows > WIDTH_MAX) {
        return Err(at(&format!("expected at most {WIDTH_MAX} columns")));
    }
    Ok(of)
}

/// Leaves out results that are not of each row.
fn rows_of(mut program: Program, rows: usize) -> Result<Program, Error> {
    program.results.retain(|result| result.of.shape.first() == Some(&rows));
    if program.results.is_empty() {
        return Err(Error(format!("no output has a row for each of {rows} rows")));
    }
    Ok(program)
}

fn spec(result: &super::program::Result) -> OutputSpec {
    let width = result.of.row_len();
    let labels = if result.labels.len() == width { result.labels.clone() } else { Vec::new() };
    let kind = match result.of.kind {
        Kind::F32 | Kind::F64 if labels.is_empty() => OutputKind::Number,
        Kind::F32 | Kind::F64 => OutputKind::Probability,
        Kind::I64 | Kind::I32 | Kind::Bool => OutputKind::Label,
        Kind::Text => OutputKind::Text,
    };
    OutputSpec { name: result.name.clone(), width, labels, kind, of: result.of.kind }
}

fn columns(inputs: &[Input], widths: &[(Kind, usize)]) -> Vec<Column> {
    let of = |(input, (kind, width)): (&Input, &(Kind, usize))| {
        let name = |n: usize| match input.keys.get(n) {
            Some(key) if input.keys.len() == *width => key.clone(),
            _ if *width == 1 => input.name.clone(),
            _ => format!("{}[{n}]", input.name),
        };
        (0..*width).map(|n| Column { name: name(n), kind: *kind }).collect::<Vec<_>>()
    };
    inputs.iter().zip(widths).flat_map(of).collect()
}

impl Plan {
    /// A row's columns, in order.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// What comes out, side by side.
    #[must_use]
    pub fn outputs(&self) -> &[OutputSpec] {
        &self.outputs
    }

    /// Numbers that come out for a row.
    #[must_use]
    pub fn out_width(&self) -> usize {
        self.out_width
    }

    /// The codes of the texts in rows and outputs.
    #[must_use]
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// What could not be done as well as it might be.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Names of the files beside the model's own where it keeps tensors.
    #[must_use]
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// The programs, for whoever looks for one tree ensemble or linear model in them.
    #[must_use]
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// A line a step.
    #[must_use]
    pub fn explain(&self) -> Vec<String> {
        let Some(program) = self.programs.last() else { return Vec::new() };
        let line = |step: &super::program::Step| {
            let outputs: Vec<String> = step.op.outputs().iter().map(ToString::to_string).collect();
            let what = step.op.describe();
            let what = if what.is_empty() { step.name.clone() } else { what };
            format!("{what} -> {}{}", outputs.join(", "), if step.in_place { " (in place)" } else { "" })
        };
        program.steps.iter().map(line).collect()
    }

    /// Bytes of weights, tables and constants.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Each constant once, and each table: what a step of one program shares with that of another is of one size.
    fn held(&self) -> usize {
        let mut bytes = self.dictionary.bytes();
        let mut seen = HashSet::new();
        let last: Vec<usize> =
            self.programs.last().map(|p| p.steps.iter().map(|step| step.op.bytes()).collect()).unwrap_or_default();
        bytes += last.iter().sum::<usize>();
        for program in &self.programs {
            bytes += program.steps.len() * size_of::<super::program::Step>();
            for constant in &program.constants {
                bytes += if seen.insert(Arc::as_ptr(constant)) { constant.bytes() } else { 0 };
            }
            let own = program.steps.iter().map(|step| step.op.bytes()).zip(&last);
            bytes += own.filter(|(own, last)| own != *last).map(|(own, _)| own).sum::<usize>();
        }
        bytes
    }

    /// Bytes of [`Self::scratch`].
    #[must_use]
    pub fn scratch_bytes(&self, max_batch: usize) -> usize {
        self.used(max_batch).iter().map(Program::state_bytes).fold(0, usize::saturating_add)
    }

    /// Space for batches of up to `max_batch` rows.
    #[must_use]
    pub fn scratch(&self, max_batch: usize) -> Scratch {
        Scratch(self.used(max_batch).iter().map(Program::state).collect())
    }

    /// The programs that so many rows are run with.
    fn used(&self, max_batch: usize) -> &[Program] {
        let used = self.programs.iter().take_while(|program| program.rows <= max_batch.max(1)).count();
        self.programs.get(..used.max(1)).unwrap_or(&self.programs)
    }

    /// Runs `rows`, [`Self::columns`] numbers each, and writes [`Self::out_width`] numbers for each to `out`. As many
    /// rows as both have. Allocates nothing.
    pub fn run(&self, rows: &[f64], out: &mut [f64], scratch: &mut Scratch) {
        let (width, out_width) = (self.width.max(1), self.out_width.max(1));
        let mut left = (rows.len() / width).min(out.len() / out_width);
        let (mut rows, mut out) = (rows, out);
        while left > 0 {
            let programs = self.programs.iter().zip(scratch.0.iter_mut());
            // The largest that is filled, or filled well enough: a block of eight costs about as much as three rows.
            let fits = |rows: usize| rows <= left || rows <= left.saturating_mul(8) / 3;
            let mut chosen = None;
            for (program, state) in programs {
                if chosen.is_none() || fits(program.rows) {
                    chosen = Some((program, state));
                }
            }
            let Some((program, state)) = chosen else { return };
            let count = program.rows.min(left);
            let (Some((now, later)), Some((to, rest))) = (
                rows.split_at_checked(count * width),
                std::mem::take(&mut out).split_at_mut_checked(count * out_width),
            ) else {
                return;
            };
            self.fill(program, now, state);
            program.run(state);
            self.collect(program, state, to);
            (rows, out) = (later, rest);
            left -= count;
        }
    }

    /// Writes a row to the inputs of a program for one.
    pub(super) fn enter(&self, program: &Program, row: &[f64], state: &mut State) {
        self.fill(program, row, state);
    }

    fn fill(&self, program: &Program, rows: &[f64], state: &mut State) {
        let mut column = 0;
        for (at, (_, width)) in program.inputs.iter().zip(&self.inputs) {
            if let Some(buffer) = state.buffers.get_mut(*at) {
                fill(buffer, rows, self.width, column, *width);
            }
            column += width;
        }
    }

    fn collect(&self, program: &Program, state: &State, out: &mut [f64]) {
        let mut column = 0;
        for (result, output) in program.results.iter().zip(&self.outputs) {
            if let Some(buffer) = state.buffers.get(result.buffer) {
                collect(buffer.view(), out, self.out_width, column, output.width);
            }
            column += output.width;
        }
    }
}

/// Writes columns `from..from + count` of the rows to an input's buffer, and the last row again where it is longer.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a column's number is cut to its input's kind
pub fn fill(buffer: &mut Data, rows: &[f64], width: usize, from: usize, count: usize) {
    fn each<T: Copy>(to: &mut [T], rows: &[f64], width: usize, from: usize, count: usize, cut: impl Fn(f64) -> T) {
        if count == 0 {
            return;
        }
        let mut filled = 0;
        for (row, to) in rows.chunks_exact(width).zip(to.chunks_exact_mut(count)) {
            for (to, value) in to.iter_mut().zip(&row[from..]) {
                *to = cut(*value);
            }
            filled += count;
        }
        if filled >= count && filled < to.len() {
            let (done, rest) = to.split_at_mut(filled);
            for rest in rest.chunks_exact_mut(count) {
                rest.copy_from_slice(&done[filled - count..]);
            }
        }
    }
    match buffer {
        Data::F32(to) => each(to, rows, width, from, count, |v| v as f32),
        Data::F64(to) => each(to, rows, width, from, count, |v| v),
        Data::I64(to) => each(to, rows, width, from, count, |v| v as i64),
        Data::I32(to) => each(to, rows, width, from, count, |v| v as i32),
        Data::Bool(to) => each(to, rows, width, from, count, |v| u8::from(v != 0.0)),
        Data::Text(to) => each(to, rows, width, from, count, |v| v as u32),
    }
}

/// Reads an output's rows into columns `from..from + count` of `out`.
#[allow(clippy::cast_precision_loss)] // a class beyond 2^53 has no use
pub fn collect(view: View<'_>, out: &mut [f64], width: usize, from: usize, count: usize) {
    fn each<T: Copy>(v: &[T], out: &mut [f64], width: usize, from: usize, count: usize, wide: impl Fn(T) -> f64) {
        if count == 0 {
            return;
        }
        for (row, out) in v.chunks_exact(count).zip(out.chunks_exact_mut(width)) {
            for (value, out) in row.iter().zip(&mut out[from..]) {
                *out = wide(*value);
            }
        }
    }
    match view {
        View::F32(v) => each(v, out, width, from, count, f64::from),
        View::F64(v) => each(v, out, width, from, count, |v| v),
        View::I64(v) => each(v, out, width, from, count, |v| v as f64),
        View::I32(v) => each(v, out, width, from, count, f64::from),
        View::Bool(v) => each(v, out, width, from, count, f64::from),
        View::Text(v) => each(v, out, width, from, count, f64::from),
    }
}
