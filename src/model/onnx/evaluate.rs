//! A model run once on whole tensors: what the operators' node tests need, and nothing that scores does.

use super::op::{Context, Dictionary};
use super::tensor::{Tensor, TensorType};
use super::{Error, External, compile, import, program, proto, survey, weights};
use bytes::Bytes;
use prost::Message;
use std::sync::Arc;

/// Bytes that such a run may take.
const BYTES_MAX: usize = 256 << 20;

/// Which inputs are known when the model is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// All: everything is computed at load.
    All,
    /// All but the first: that one comes with a row.
    ButFirst,
}

/// What a model made of its inputs, beside what was expected.
#[derive(Debug)]
pub struct Evaluation {
    pub outputs: Vec<Tensor>,
    pub expected: Vec<Tensor>,
    /// Of the texts of both.
    pub dictionary: Dictionary,
}

fn decoded(bytes: &Bytes, context: &mut Context) -> Result<Arc<Tensor>, Error> {
    let proto = proto::Tensor::decode(bytes.clone()).map_err(|error| Error(format!("not a tensor: {error}")))?;
    Ok(Arc::new(weights::tensor(&proto, External::Nowhere, context)?))
}

/// Runs a model on `inputs` (each a `TensorProto`, in the model's order) and reads `expected` beside it.
///
/// # Errors
/// As [`super::load`]; a tensor that cannot be read.
pub fn evaluate(model: &Bytes, inputs: &[Bytes], expected: &[Bytes], known: Known) -> Result<Evaluation, Error> {
    survey::survey(std::io::Cursor::new(model), model.len() as u64)?;
    let mut context = Context::new(BYTES_MAX);
    let model = proto::Model::decode(model.clone()).map_err(|error| Error(format!("not an ONNX model: {error}")))?;
    let mut graph = import::import(model, External::Nowhere, &[], &mut context)?;
    let mut first = None;
    let tensors = inputs.iter().map(|input| decoded(input, &mut context)).collect::<Result<Vec<_>, _>>()?;
    for (n, (input, tensor)) in std::mem::take(&mut graph.inputs).into_iter().zip(tensors).enumerate() {
        if n == 0 && known == Known::ButFirst {
            graph.inputs.push(input);
            first = Some(tensor);
        } else {
            graph.constants.insert(input.name, tensor);
        }
    }
    compile::fold(&mut graph, &mut context)?;
    let types: Vec<TensorType> = first.iter().map(|tensor| tensor.of()).collect();
    let program = compile::compile(&graph, 1, &types, &mut context)?;
    let mut state = program.state();
    if let (Some(tensor), Some(at)) = (first, program.inputs.first())
        && let Some(buffer) = state.buffers.get_mut(*at)
    {
        *buffer = tensor.data.clone();
    }
    program.run(&mut state);
    let mut outputs = Vec::new();
    for name in &graph.outputs {
        let found = program.results.iter().find(|result| &result.name == name);
        let fixed = program.fixed.iter().find(|(fixed, _)| fixed == name);
        let tensor = match (found, fixed) {
            (Some(program::Result { buffer, of, .. }), _) => {
                let data = state.buffers.get(*buffer).cloned().unwrap_or_default();
                Tensor::new(of.shape.clone(), data)
            }
            (None, Some((_, tensor))) => Some(tensor.as_ref().clone()),
            (None, None) => None,
        };
        outputs.push(tensor.ok_or_else(|| Error(format!("no numbers of output '{name}'")))?);
    }
    let expected = expected.iter().map(|tensor| decoded(tensor, &mut context));
    let expected = expected.map(|tensor| tensor.map(|tensor| tensor.as_ref().clone())).collect::<Result<_, _>>()?;
    Ok(Evaluation { outputs, expected, dictionary: std::mem::take(&mut context.dictionary) })
}
