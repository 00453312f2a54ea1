//! Chains of dense layers: `MatMul` or Gemm with constant weights, bias, activation, and the next one, as one step.
//!
//! The layers run on the kernels of the dense plan: rows in blocks, lanes of eight, bias and `ReLU` fused. A row's sums
//! are made in the same order whatever the number of rows. In a chain Identity, Dropout and a Cast to float do nothing.

use super::super::graph::Graph;
use super::super::op::{Attribute, Context, Fact, Inputs, Node, Op, OpError};
use super::super::tensor::{Data, Kind, Tensor, TensorType};
use super::unary::{self, Unary};
use crate::model::kernel::{Kernel, LANE, Lane, Packed, lanes};
use crate::model::network::{Activation, Dense};
use std::any::Any;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

/// Rows worked on at once: their lanes stay in the first-level caches.
const BLOCK_ROWS: usize = 64;

/// Who reads a value, where it is one node alone.
#[derive(Debug, Default)]
pub struct Readers(HashMap<String, usize>);

impl Readers {
    #[must_use]
    pub fn new(graph: &Graph) -> Self {
        let counts = graph.readers();
        let mut readers = HashMap::new();
        for (at, node) in graph.nodes.iter().enumerate() {
            for name in node.inputs.iter().filter(|name| counts.get(*name) == Some(&1)) {
                readers.insert(name.clone(), at);
            }
        }
        for name in &graph.outputs {
            readers.remove(name);
        }
        Self(readers)
    }
}

/// Layers that follow each other.
#[derive(Debug)]
pub struct Chain {
    /// Nodes of the graph that it stands for.
    pub nodes: Vec<usize>,
    /// The last one's output.
    pub output: String,
    layers: Vec<Layer>,
    out: TensorType,
}

#[derive(Debug)]
struct Layer {
    weight: Arc<Tensor>,
    /// The weight is `[outputs][inputs]` already.
    transposed: bool,
    alpha: f32,
    beta: f32,
    bias: Option<Arc<Tensor>>,
    after: Option<After>,
    inputs: usize,
    outputs: usize,
}

#[derive(Clone, Debug)]
enum After {
    Relu,
    Leaky(f32),
    Each(Unary),
}

type Constant<'a> = &'a dyn Fn(&str) -> Option<Arc<Tensor>>;

/// The chain that begins at node `at`, if one does.
#[must_use]
pub fn chain(
    graph: &Graph,
    at: usize,
    readers: &Readers,
    facts: &[Option<Fact>],
    constant: Constant<'_>,
) -> Option<Chain> {
    let input = facts.first()?.as_ref()?;
    if input.of.kind != Kind::F32 || input.constant.is_some() || input.of.rank() < 2 {
        return None;
    }
    let mut width = *input.of.shape.last()?;
    let mut chain = Chain { nodes: Vec::new(), output: String::new(), layers: Vec::new(), out: input.of.clone() };
    let mut next = Some(at);
    let mut value: &str = graph.nodes.get(at)?.inputs.first()?;
    while let Some(at) = next {
        let node = graph.nodes.get(at)?;
        if node.inputs.first().map(String::as_str) != Some(value) && !adds(node, value, constant) {
            break;
        }
        let taken = match (node.op.as_str(), chain.layers.last_mut()) {
            _ if !node.domain.is_empty() => false,
            ("MatMul" | "Gemm", _) => match layer(node, width, input.of.rank(), constant) {
                Some(layer) => {
                    width = layer.outputs;
                    chain.layers.push(layer);
                    true
                }
                None => false,
            },
            ("Add", Some(layer)) if layer.bias.is_none() && layer.after.is_none() => {
                let bias = node.inputs.iter().filter_map(|name| constant(name)).find(|t| is_bias(t, layer.outputs));
                layer.beta = 1.0;
                layer.bias = bias;
                layer.bias.is_some()
            }
            ("Identity" | "Dropout", Some(_)) => node.outputs.iter().filter(|name| !name.is_empty()).count() == 1,
            ("Cast", Some(_)) => matches!(node.attributes.get("to"), Some(Attribute::Int(1))),
            (_, Some(layer)) if layer.after.is_none() => {
                layer.after = after(node);
                layer.after.is_some()
            }
            _ => false,
        };
        if !taken {
            break;
        }
        chain.nodes.push(at);
        value = node.outputs.first()?;
        value.clone_into(&mut chain.output);
        next = readers.0.get(value).copied();
    }
    *chain.out.shape.last_mut()? = width;
    (!chain.layers.is_empty()).then_some(chain)
}

/// An Add whose other input is the value.
fn adds(node: &Node, value: &str, constant: Constant<'_>) -> bool {
    node.op == "Add"
        && node.domain.is_empty()
        && node.inputs.get(1).is_some_and(|name| name == value)
        && node.inputs.first().is_some_and(|name| constant(name).is_some())
}

fn after(node: &Node) -> Option<After> {
    match node.op.as_str() {
        "Relu" => Some(After::Relu),
        "LeakyRelu" => Some(After::Leaky(node.float("alpha").ok()?.unwrap_or(0.01))),
        _ => unary::activation(node).map(After::Each),
    }
}

fn layer(node: &Node, width: usize, rank: usize, constant: Constant<'_>) -> Option<Layer> {
    let weight = constant(node.inputs.get(1)?)?;
    let [rows, columns] = weight.shape.as_slice() else { return None };
    if weight.data.kind() != Kind::F32 || width == 0 || *rows == 0 || *columns == 0 {
        return None;
    }
    let mut layer = Layer {
        transposed: false,
        alpha: 1.0,
        beta: 1.0,
        bias: None,
        after: None,
        inputs: *rows,
        outputs: *columns,
        weight: Arc::clone(&weight),
    };
    if node.op == "Gemm" {
        if rank != 2 || node.flag("transA", false).ok()? {
            return None;
        }
        layer.transposed = node.flag("transB", false).ok()?;
        layer.alpha = node.float("alpha").ok()?.unwrap_or(1.0);
        layer.beta = node.float("beta").ok()?.unwrap_or(1.0);
        if layer.transposed {
            (layer.inputs, layer.outputs) = (*columns, *rows);
        }
        if let Some(name) = node.inputs.get(2).filter(|name| !name.is_empty()) {
            layer.bias = Some(constant(name).filter(|bias| is_bias(bias, layer.outputs))?);
        }
    }
    (layer.inputs == width).then_some(layer)
}

/// One number for each output, or one for all.
fn is_bias(bias: &Tensor, outputs: usize) -> bool {
    let (last, others) = bias.shape.split_last().map_or((1, &[][..]), |(last, others)| (*last, others));
    bias.data.kind() == Kind::F32
        && others.iter().all(|dim| *dim == 1)
        && others.len() <= 1
        && (last == outputs || last == 1)
}

impl Chain {
    /// # Errors
    /// The packed weights do not fit.
    pub fn build(&self, context: &mut Context) -> Result<Layers, OpError> {
        let stages = context.shared(|context| self.stages(context))?;
        let input = self.layers.first().map_or(0, |layer| layer.inputs);
        let rows = self.out.len() / self.out.shape.last().copied().unwrap_or(1).max(1);
        let widest = self.layers.iter().map(|layer| layer.outputs).chain([input]).max().unwrap_or(0);
        Ok(Layers { stages, input, rows, lanes: lanes(widest), out: [self.out.clone()], kernel: Kernel::best() })
    }

    fn stages(&self, context: &mut Context) -> Result<Stages, OpError> {
        let mut stages = Vec::new();
        for layer in &self.layers {
            let bytes = Packed::bytes_of(layer.inputs, layer.outputs).unwrap_or(usize::MAX);
            let plain = layer.weight.bytes();
            context.take(bytes.saturating_add(plain), "a dense layer's weights")?;
            stages.push(layer.pack());
            context.give(plain);
        }
        Ok(Stages(stages))
    }
}

impl Layer {
    fn pack(&self) -> Stage {
        let numbers = self.weight.view().f32();
        let mut weight = Vec::with_capacity(numbers.len());
        if self.transposed {
            weight.extend_from_slice(numbers);
        } else {
            for output in 0..self.outputs {
                weight.extend(numbers.iter().skip(output).step_by(self.outputs));
            }
        }
        if self.alpha.to_bits() != 1f32.to_bits() {
            for weight in &mut weight {
                *weight *= self.alpha;
            }
        }
        let bias = self.bias.as_ref().map(|bias| bias.view().f32()).unwrap_or_default();
        let one = |n: usize| bias.get(n).or(if bias.len() == 1 { bias.first() } else { None }).copied();
        let bias = (0..self.outputs).map(|n| one(n).unwrap_or(0.0) * self.beta).collect();
        let activation = match self.after {
            Some(After::Relu) => Some(Activation::Relu),
            Some(After::Leaky(slope)) => Some(Activation::LeakyRelu { slope }),
            _ => None,
        };
        let dense = Dense { inputs: self.inputs, outputs: self.outputs, weight, bias, activation };
        let each = if let Some(After::Each(each)) = &self.after { Some(each.clone()) } else { None };
        Stage { packed: Packed::new(&dense), each }
    }
}

/// A chain's packed weights, for every number of rows.
#[derive(Debug)]
struct Stages(Vec<Stage>);

#[derive(Debug)]
struct Stage {
    packed: Packed,
    each: Option<Unary>,
}

/// The step.
#[derive(Debug)]
pub struct Layers {
    stages: Arc<Stages>,
    input: usize,
    rows: usize,
    lanes: usize,
    out: [TensorType; 1],
    kernel: Kernel,
}

struct Space {
    front: Vec<Lane>,
    back: Vec<Lane>,
}

impl Layers {
    fn space(&self) -> usize {
        self.lanes * self.rows.clamp(1, BLOCK_ROWS)
    }

    fn block(&self, x: &[f32], out: &mut [f32], space: &mut Space) {
        let (mut front, mut back) = (space.front.as_mut_slice(), space.back.as_mut_slice());
        let mut at = lanes(self.input);
        let mut count = 0;
        for (row, place) in x.chunks_exact(self.input).zip(front.chunks_exact_mut(at)) {
            let (numbers, rest) = Lane::flat_mut(place).split_at_mut(self.input);
            numbers.copy_from_slice(row);
            rest.fill(0.0);
            count += 1;
        }
        let mut width = self.input;
        for stage in &self.stages.0 {
            self.kernel.run(&stage.packed, front, count, back);
            std::mem::swap(&mut front, &mut back);
            (at, width) = (stage.packed.output_lanes(), stage.packed.outputs);
            for row in Lane::flat_mut(front).chunks_exact_mut(at * LANE).take(count) {
                let (numbers, rest) = row.split_at_mut(width);
                if let Some(each) = &stage.each {
                    each.apply_f32(numbers);
                }
                // Behind an infinite number they are not zeros, and the dot form reads whole lanes.
                rest.fill(0.0);
            }
        }
        for (row, out) in Lane::flat(front).chunks_exact(at * LANE).zip(out.chunks_exact_mut(width)).take(count) {
            out.copy_from_slice(&row[..width]);
        }
    }
}

impl Op for Layers {
    fn outputs(&self) -> &[TensorType] {
        &self.out
    }

    fn bytes(&self) -> usize {
        self.stages.0.iter().map(|stage| stage.packed.bytes()).sum()
    }

    fn scratch(&self) -> Box<dyn Any + Send> {
        let lanes = vec![Lane::default(); self.space()];
        Box::new(Space { back: lanes.clone(), front: lanes })
    }

    fn scratch_bytes(&self) -> usize {
        2 * self.space() * size_of::<Lane>()
    }

    fn work(&self) -> u64 {
        let layer: u64 =
            self.stages.0.iter().map(|s| (s.packed.inputs as u64).saturating_mul(s.packed.outputs as u64)).sum();
        layer.saturating_mul(self.rows as u64)
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], scratch: &mut dyn Any) {
        let (Some(space), Some(out)) = (scratch.downcast_mut::<Space>(), outputs.first_mut()) else { return };
        let (x, out) = (inputs.get(0).f32(), out.f32_mut());
        let width = self.out.first().and_then(|of| of.shape.last()).copied().unwrap_or(1);
        let blocks = x.chunks(BLOCK_ROWS * self.input).zip(out.chunks_mut(BLOCK_ROWS * width.max(1)));
        for (x, out) in blocks {
            self.block(x, out, space);
        }
    }

    fn describe(&self) -> String {
        let mut text = format!("dense {}", self.input);
        for stage in &self.stages.0 {
            let _ = write!(text, "-{}", stage.packed.outputs);
        }
        format!("{text} ({})", self.kernel.name())
    }
}
