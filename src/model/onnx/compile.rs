//! From a graph to a program for a number of rows.
//!
//! First what does not depend on the rows is computed once ([`fold`]); then, for each number of rows, every node is
//! built in order with its inputs' types: shapes are all known, so what works on shapes is computed too. A chain of
//! dense layers becomes one step. Bytes are taken off the budget before anything is made, and the work of folding has
//! a limit of its own: small constants can be blown up (`ConstantOfShape`, Expand, Tile, Range).

use super::buffers;
use super::error::{Error, shown};
use super::graph::{Graph, place};
use super::op::{Built, Context, Fact, Inputs, Node, Op, Place};
use super::ops::{self, dense};
use super::program::{Program, Result as Output, Step};
use super::tensor::{Data, Kind, Tensor, TensorType};
use std::collections::HashMap;
use std::sync::Arc;

/// Elements and operations that folding may take: a second or two.
const FOLD_WORK_MAX: u64 = 1 << 30;
/// The same of one run of a program: a dense layer of 4,096 by 4,096 for 64 rows.
const RUN_WORK_MAX: u64 = 1 << 30;

/// What is known of a value.
#[derive(Clone, Debug)]
enum Value {
    Constant(Arc<Tensor>),
    /// The numbers of storage `.1` under this type.
    Rows(TensorType, usize),
}

impl Value {
    fn fact(&self) -> Fact {
        match self {
            Self::Constant(tensor) => Fact { of: tensor.of(), constant: Some(Arc::clone(tensor)) },
            Self::Rows(of, _) => Fact { of: of.clone(), constant: None },
        }
    }
}

/// Computes all nodes whose inputs are constants and takes them out of the graph.
///
/// # Errors
/// A node that cannot be built, by name, or more work or bytes than a model may take.
pub fn fold(graph: &mut Graph, context: &mut Context) -> Result<(), Error> {
    let mut work = 0;
    let mut left = Vec::new();
    for node in std::mem::take(&mut graph.nodes) {
        let constant = |name: &String| name.is_empty() || graph.constants.contains_key(name);
        if !node.inputs.iter().all(constant) {
            left.push(node);
            continue;
        }
        let facts: Vec<Option<Fact>> = node
            .inputs
            .iter()
            .map(|name| graph.constants.get(name).map(|t| Fact { of: t.of(), constant: Some(Arc::clone(t)) }))
            .collect();
        let built = build(&node, &facts, context)?;
        let made = constants(built, &facts, context, &mut work).map_err(|error| error.at(&place(&node)))?;
        for (name, tensor) in node.outputs.iter().zip(made).filter(|(name, _)| !name.is_empty()) {
            graph.constants.insert(name.clone(), tensor);
        }
    }
    graph.nodes = left;
    Ok(())
}

fn build(node: &Node, facts: &[Option<Fact>], context: &mut Context) -> Result<Built, Error> {
    context.enter(node);
    let found = ops::find(node).and_then(|build| build(node, facts, context));
    found.map_err(|error| Error::from(error).at(&place(node)))
}

/// What a node with constant inputs gives.
fn constants(
    built: Built,
    facts: &[Option<Fact>],
    context: &mut Context,
    work: &mut u64,
) -> Result<Vec<Arc<Tensor>>, Error> {
    match built {
        Built::Constants(made) => Ok(made),
        Built::Alias(input, of) => {
            let tensor = facts.get(input).and_then(Option::as_ref).and_then(|fact| fact.constant.clone());
            let tensor = tensor.ok_or_else(|| Error::new("expected a constant"))?;
            if tensor.of() == of {
                return Ok(vec![tensor]);
            }
            context.take(of.len().saturating_mul(of.kind.bytes()), "a constant")?;
            let made = Tensor::new(of.shape, tensor.data.clone());
            Ok(vec![Arc::new(made.ok_or_else(|| Error::new("its numbers do not fill its shape"))?)])
        }
        Built::Op(op) => evaluate(op.as_ref(), facts, context, work),
    }
}

fn evaluate(
    op: &dyn Op,
    facts: &[Option<Fact>],
    context: &mut Context,
    work: &mut u64,
) -> Result<Vec<Arc<Tensor>>, Error> {
    let mut outputs = Vec::new();
    *work = work.saturating_add(op.work());
    for fact in facts.iter().flatten() {
        *work = work.saturating_add(fact.of.len() as u64);
    }
    for of in op.outputs() {
        let bytes = of.checked_bytes().ok_or_else(|| Error(format!("its output {of} has too many elements")))?;
        context.take(bytes, "a constant")?;
        *work = work.saturating_add(of.len() as u64);
        outputs.push(of.clone());
    }
    if *work > FOLD_WORK_MAX {
        return Err(Error::new("its constants take too much work"));
    }
    let (mut places, mut tensors) = (Vec::new(), Vec::new());
    for fact in facts {
        match fact.as_ref().and_then(|fact| fact.constant.clone()) {
            Some(tensor) => {
                places.push(Place::Constant(tensors.len()));
                tensors.push(tensor);
            }
            None => places.push(Place::Nothing),
        }
    }
    let mut made: Vec<Data> = outputs.iter().map(|of| Data::zeros(of.kind, of.len())).collect();
    let inputs = Inputs { places: &places, buffers: &[], constants: &tensors };
    op.run(&inputs, &mut made, op.scratch().as_mut());
    let tensor = |(of, data): (TensorType, Data)| Tensor::new(of.shape, data).map(Arc::new);
    let made: Option<Vec<_>> = outputs.into_iter().zip(made).map(tensor).collect();
    made.ok_or_else(|| Error::new("its numbers do not fill its shape"))
}

/// Compiles a folded graph for inputs of these types.
///
/// # Errors
/// As [`fold`]; a graph that does not fit this number of rows.
pub fn compile(graph: &Graph, rows: usize, inputs: &[TensorType], context: &mut Context) -> Result<Program, Error> {
    let mut made = Compiler {
        graph,
        context,
        values: HashMap::new(),
        storages: Vec::new(),
        steps: Vec::new(),
        constants: Vec::new(),
        labels: HashMap::new(),
        work: 0,
    };
    let mut input_storages = Vec::new();
    for (input, of) in graph.inputs.iter().zip(inputs) {
        let storage = made.storage(of)?;
        made.values.insert(input.name.clone(), Value::Rows(of.clone(), storage));
        input_storages.push(storage);
    }
    let readers = dense::Readers::new(graph);
    let mut done = vec![false; graph.nodes.len()];
    for (at, node) in graph.nodes.iter().enumerate() {
        if !done.get(at).copied().unwrap_or_default() {
            made.node(at, node, &readers, &mut done)?;
        }
    }
    made.finish(rows, &input_storages)
}

struct Compiler<'a> {
    graph: &'a Graph,
    context: &'a mut Context,
    values: HashMap<String, Value>,
    storages: Vec<(Kind, usize)>,
    steps: Vec<Step>,
    constants: Vec<Arc<Tensor>>,
    labels: HashMap<String, Vec<String>>,
    work: u64,
}

impl Compiler<'_> {
    fn storage(&mut self, of: &TensorType) -> Result<usize, Error> {
        let Some(bytes) = of.checked_bytes() else { return Err(Error(format!("{of} has too many elements"))) };
        if bytes > self.context.left() {
            return Err(Error(format!("{of} takes {bytes} bytes, {} are left for the model", self.context.left())));
        }
        self.storages.push((of.kind, of.len()));
        Ok(self.storages.len() - 1)
    }

    fn value(&self, name: &str) -> Option<Value> {
        let constant = || self.graph.constants.get(name).map(|t| Value::Constant(Arc::clone(t)));
        self.values.get(name).cloned().or_else(constant)
    }

    fn node(&mut self, at: usize, node: &Node, readers: &dense::Readers, done: &mut [bool]) -> Result<(), Error> {
        let values: Vec<Option<Value>> = node.inputs.iter().map(|name| self.value(name)).collect();
        let facts: Vec<Option<Fact>> = values.iter().map(|value| value.as_ref().map(Value::fact)).collect();
        let lookup = |name: &str| match self.values.get(name) {
            Some(Value::Constant(tensor)) => Some(Arc::clone(tensor)),
            Some(Value::Rows(..)) => None,
            None => self.graph.constants.get(name).cloned(),
        };
        if let Some(chain) = dense::chain(self.graph, at, readers, &facts, &lookup) {
            for at in &chain.nodes {
                if let Some(done) = done.get_mut(*at) {
                    *done = true;
                }
            }
            self.context.enter(node);
            let op = chain.build(self.context).map_err(|error| Error::from(error).at(&place(node)))?;
            return self.step(node, Box::new(op), &values[..1.min(values.len())], &[chain.output]);
        }
        let constant = node
            .inputs
            .iter()
            .zip(&values)
            .all(|(name, value)| name.is_empty() || matches!(value, Some(Value::Constant(_))));
        let built = build(node, &facts, self.context)?;
        for (output, labels) in self.context.take_labels() {
            if let Some(name) = node.outputs.get(output) {
                self.labels.insert(name.clone(), labels);
            }
        }
        match built {
            _ if constant => {
                let made = constants(built, &facts, self.context, &mut self.work).map_err(|e| e.at(&place(node)))?;
                for (name, tensor) in node.outputs.iter().zip(made) {
                    self.values.insert(name.clone(), Value::Constant(tensor));
                }
                Ok(())
            }
            Built::Constants(made) => {
                for (name, tensor) in node.outputs.iter().zip(made) {
                    self.values.insert(name.clone(), Value::Constant(tensor));
                }
                Ok(())
            }
            Built::Alias(input, of) => {
                let wrong = || Error::new("expected as many elements as its input has").at(&place(node));
                let Some(Some(Value::Rows(old, storage))) = values.get(input) else {
                    let fact = [values.get(input).and_then(|v| v.as_ref()).map(Value::fact)];
                    let made = constants(Built::Alias(0, of), &fact, self.context, &mut self.work)?;
                    for (name, tensor) in node.outputs.iter().zip(made) {
                        self.values.insert(name.clone(), Value::Constant(tensor));
                    }
                    return Ok(());
                };
                if old.kind != of.kind || old.checked_len() != of.checked_len() {
                    return Err(wrong());
                }
                if let (Some(name), Some(from)) = (node.outputs.first(), node.inputs.get(input)) {
                    if let Some(labels) = self.labels.get(from).cloned() {
                        self.labels.entry(name.clone()).or_insert(labels);
                    }
                    self.values.insert(name.clone(), Value::Rows(of, *storage));
                }
                Ok(())
            }
            Built::Op(op) => self.step(node, op, &values, &node.outputs),
        }
    }

    fn step(&mut self, node: &Node, op: Box<dyn Op>, inputs: &[Option<Value>], names: &[String]) -> Result<(), Error> {
        let mut places = Vec::new();
        for value in inputs {
            places.push(match value {
                None => Place::Nothing,
                Some(Value::Rows(_, storage)) => Place::Buffer(*storage),
                Some(Value::Constant(tensor)) => {
                    self.constants.push(Arc::clone(tensor));
                    Place::Constant(self.constants.len() - 1)
                }
            });
        }
        let mut outputs = Vec::new();
        for (n, of) in op.outputs().to_vec().into_iter().enumerate() {
            let storage = self.storage(&of).map_err(|error| error.at(&place(node)))?;
            outputs.push(storage);
            if let Some(name) = names.get(n).filter(|name| !name.is_empty()) {
                self.values.insert(name.clone(), Value::Rows(of, storage));
            }
        }
        if let Some(name) = names.get(outputs.len()..).and_then(|rest| rest.iter().find(|name| !name.is_empty())) {
            return Err(Error(format!("it has no output '{}'", shown(name))).at(&place(node)));
        }
        self.inherit(node, op.outputs());
        self.steps.push(Step { name: node.name.clone(), op, inputs: places, outputs, in_place: false });
        Ok(())
    }

    /// Columns that a node only reckons with keep what they are called.
    fn inherit(&mut self, node: &Node, of: &[TensorType]) {
        let (Some(name), Some(of)) = (node.outputs.first(), of.first()) else { return };
        let inherited = node.inputs.iter().find_map(|input| self.labels.get(input)).cloned();
        if let Some(labels) = inherited.filter(|labels| of.kind.is_float() && labels.len() == of.row_len()) {
            self.labels.entry(name.clone()).or_insert(labels);
        }
    }

    fn finish(mut self, rows: usize, inputs: &[usize]) -> Result<Program, Error> {
        let mut results = Vec::new();
        let (mut kept, mut fixed) = (Vec::new(), Vec::new());
        for name in &self.graph.outputs {
            let (of, storage) = match self.value(name) {
                Some(Value::Rows(of, storage)) => (of, storage),
                Some(Value::Constant(tensor)) => {
                    fixed.push((name.clone(), tensor));
                    continue;
                }
                None => continue,
            };
            kept.push(storage);
            let labels = self.labels.get(name).cloned().unwrap_or_default();
            results.push(Output { name: name.clone(), buffer: storage, of, labels });
        }
        let (buffers, of) = buffers::assign(&mut self.steps, &self.storages, inputs, &kept);
        for result in &mut results {
            result.buffer = of.get(result.buffer).copied().unwrap_or(usize::MAX);
        }
        let inputs = inputs.iter().map(|storage| of.get(*storage).copied().unwrap_or(usize::MAX)).collect();
        let program = Program { rows, inputs, steps: self.steps, constants: self.constants, buffers, results, fixed };
        if program.work() > RUN_WORK_MAX {
            return Err(Error(format!("{} operations for {rows} rows are too many", program.work())));
        }
        self.context.take(program.state_bytes(), "the space to work in")?;
        let small = program.steps.len().saturating_mul(size_of::<Step>());
        self.context.take(small, "the plan's steps")?;
        Ok(program)
    }
}
