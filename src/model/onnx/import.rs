//! From the file's messages to a [`Graph`]: opsets, constants, attributes, the model's own functions.
//!
//! **Opsets**: 7 to 21 of ai.onnx, 1 to 5 of ai.onnx.ml; a newer one is taken as long as its operators are known
//! (what came after 21 added kinds of numbers to old operators, not meanings). **Functions** of the model are put in
//! place of the nodes that call them, with the caller's name in front of theirs; nesting and the number of nodes are
//! limited. **Subgraphs** (If, Loop, Scan) are refused by name.

use super::error::{Error, shown};
use super::external::External;
use super::graph::{Dim, Graph, Input, place};
use super::op::{Attribute, Context, Node};
use super::survey::NODES_MAX;
use super::{ml, proto, weights};
use bytes::Bytes;
use prost::Message;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The oldest opset of ai.onnx whose operators mean what is meant here.
const OPSET_MIN: i64 = 7;
/// Nobody has seen a newer one.
const OPSET_MAX: i64 = 64;
/// Functions that call functions.
const CALLS_MAX: usize = 16;

type Versions = HashMap<String, i64>;
type Functions = HashMap<(String, String, String), proto::Function>;

/// Makes the graph, in order, with what its outputs need. `outputs`: those wanted; empty: all.
///
/// # Errors
/// Whatever the file holds that is not a model as verdictd understands it, by name.
pub fn import(
    model: proto::Model,
    beside: External<'_>,
    outputs: &[String],
    context: &mut Context,
) -> Result<Graph, Error> {
    let versions = versions(&model.opset_import)?;
    let graph = model.graph.ok_or_else(|| Error::new("expected an ONNX model, found no graph in it"))?;
    if !graph.sparse_initializer.is_empty() {
        return Err(Error::new("sparse constants are not supported"));
    }
    let functions = functions(model.functions)?;
    let mut made = Graph::default();
    for tensor in graph.initializer {
        let name = tensor.name.clone().unwrap_or_default();
        let constant = Arc::new(weights::tensor(&tensor, beside, context)?);
        if name.is_empty() || made.constants.insert(name.clone(), constant).is_some() {
            return Err(Error(format!("two constants are named '{}'", shown(&name))));
        }
    }
    let mut maps = Vec::new();
    for value in graph.input {
        if value.name.as_ref().is_some_and(|name| made.constants.contains_key(name)) {
            continue;
        }
        let map = value.r#type.as_ref().and_then(|of| of.value.as_ref());
        if matches!(map, Some(proto::r#type::Value::MapType(_))) {
            maps.push(made.inputs.len());
        }
        made.inputs.push(input(value)?);
    }
    let mut seen = HashSet::new();
    for value in graph.output {
        let name = value.name.unwrap_or_default();
        if !seen.insert(name.clone()) {
            return Err(Error(format!("two outputs are named '{}'", shown(&name))));
        }
        made.outputs.push(name);
    }
    if made.outputs.is_empty() {
        return Err(Error::new("the model has no output"));
    }
    let given = made.inputs.iter().map(|input| &input.name).chain(made.constants.keys()).cloned();
    let names = given.map(|name| (name.clone(), name)).collect();
    let mut reader = Reader { functions: &functions, beside, context, nodes: Vec::new(), calls: 0 };
    reader.nodes(graph.node, &versions, &Scope { names, ..Scope::default() })?;
    made.nodes = reader.nodes;
    for at in maps {
        if let Some(input) = made.inputs.get_mut(at) {
            columns_of_map(input, &made.nodes)?;
        }
    }
    if let Some(name) = outputs.iter().find(|name| !made.outputs.contains(name)) {
        return Err(Error(format!("no output '{}'; there are {}", shown(name), quoted(&made.outputs))));
    }
    if !outputs.is_empty() {
        made.outputs.retain(|name| outputs.contains(name));
    }
    made.order()?;
    Ok(made)
}

fn quoted(names: &[String]) -> String {
    names.iter().take(16).map(|name| format!("'{}'", shown(name))).collect::<Vec<_>>().join(", ")
}

fn versions(imports: &[proto::OperatorSet]) -> Result<Versions, Error> {
    let mut versions = Versions::new();
    for import in imports {
        let domain = plain_domain(import.domain.as_deref());
        let version = import.version.unwrap_or_default();
        if domain.is_empty() && !(OPSET_MIN..=OPSET_MAX).contains(&version) {
            return Err(Error(format!("opset {version} of ai.onnx, expected 9 to 21")));
        }
        // skl2onnx states one domain twice: the newest counts.
        let known = versions.entry(domain).or_insert(version);
        *known = version.max(*known);
    }
    Ok(versions)
}

/// "ai.onnx" is another name of "".
fn plain_domain(domain: Option<&str>) -> String {
    match domain {
        None | Some("ai.onnx") => String::new(),
        Some(other) => other.to_owned(),
    }
}

fn functions(list: Vec<proto::Function>) -> Result<Functions, Error> {
    let mut functions = Functions::new();
    for function in list {
        let name = function.name.clone().unwrap_or_default();
        let key =
            (plain_domain(function.domain.as_deref()), name.clone(), function.overload.clone().unwrap_or_default());
        if functions.insert(key, function).is_some() {
            return Err(Error(format!("two functions are named '{}'", shown(&name))));
        }
    }
    Ok(functions)
}

fn input(value: proto::ValueInfo) -> Result<Input, Error> {
    let name = value.name.unwrap_or_default();
    let at = |what: &str| Error(format!("input '{}': {what}", shown(&name)));
    let tensor = match value.r#type.and_then(|of| of.value) {
        Some(proto::r#type::Value::TensorType(tensor)) => tensor,
        Some(proto::r#type::Value::MapType(map)) => {
            let of = map.value_type.and_then(|of| of.tensor_type).and_then(|tensor| tensor.elem_type);
            let kind = weights::kind(of.unwrap_or_default()).map_err(|error| at(&error.0))?;
            // How wide it is stands in the node that reads it.
            return Ok(Input { name, kind, dims: Some(Vec::new()), keys: Vec::new() });
        }
        Some(_) => return Err(at("expected a tensor")),
        None => return Err(at("the model does not say its type")),
    };
    let kind = weights::kind(tensor.elem_type.unwrap_or_default()).map_err(|error| at(&error.0))?;
    let dim = |dim: &proto::shape::Dimension| match dim.value {
        Some(proto::shape::dimension::Value::DimValue(size)) if size > 0 => {
            usize::try_from(size).map_or(Dim::Open, Dim::Fixed)
        }
        _ => Dim::Open,
    };
    let dims = tensor.shape.map(|shape| shape.dim.iter().map(dim).collect());
    Ok(Input { name, kind, dims, keys: Vec::new() })
}

/// Makes columns of a map: the vocabulary of the one `DictVectorizer` that reads it.
fn columns_of_map(input: &mut Input, nodes: &[Node]) -> Result<(), Error> {
    let at = |what: String| Error(format!("input '{}': {what}", shown(&input.name)));
    let mut readers = nodes.iter().filter(|node| node.inputs.contains(&input.name));
    let (reader, more) = (readers.next(), readers.next());
    let reader = reader.filter(|node| node.domain == ml::DOMAIN && node.op == "DictVectorizer" && more.is_none());
    let reader = reader.ok_or_else(|| at("expected a map to be read by one DictVectorizer alone".to_owned()))?;
    if !input.kind.is_number() {
        return Err(at(format!("expected a map of numbers, found one of {}", input.kind)));
    }
    let keys = ml::dictionary_columns(reader).map_err(|error| at(error.0))?;
    input.dims = Some(vec![Dim::Open, Dim::Fixed(keys.len())]);
    input.keys = keys;
    Ok(())
}

/// What the names and attributes of a function's nodes stand for; of the model's own nodes, nothing.
#[derive(Default)]
struct Scope {
    /// In front of the names of what the function makes.
    prefix: String,
    /// Values from outside by the name they have inside.
    names: HashMap<String, String>,
    attributes: BTreeMap<String, Attribute>,
    calls: usize,
}

impl Scope {
    fn name(&self, inner: String) -> String {
        match self.names.get(&inner) {
            Some(outer) => outer.clone(),
            None if inner.is_empty() || self.prefix.is_empty() => inner,
            None => format!("{}/{inner}", self.prefix),
        }
    }
}

struct Reader<'a> {
    functions: &'a Functions,
    beside: External<'a>,
    context: &'a mut Context,
    nodes: Vec<Node>,
    /// Of functions, so far: an empty function makes no node.
    calls: u64,
}

impl Reader<'_> {
    fn nodes(&mut self, list: Vec<proto::Node>, versions: &Versions, scope: &Scope) -> Result<(), Error> {
        for (at, node) in list.into_iter().enumerate() {
            let overload = node.overload.clone().unwrap_or_default();
            let node = self.node(node, at, versions, scope)?;
            let key = (node.domain.clone(), node.op.clone(), overload);
            if let Some(function) = self.functions.get(&key) {
                self.calls += 1;
                if self.calls > NODES_MAX {
                    return Err(Error(format!("expected at most {NODES_MAX} calls of functions in a model")));
                }
                // A copy of its messages, several times as large as they are in the file.
                self.context.take(function.encoded_len().saturating_mul(8), "a function's body")?;
                let function = function.clone();
                self.call(&node, function, scope).map_err(|error| error.at(&place(&node)))?;
                continue;
            }
            if self.nodes.len() as u64 >= NODES_MAX {
                return Err(Error(format!("expected at most {NODES_MAX} nodes in a model")));
            }
            self.nodes.push(node);
        }
        Ok(())
    }

    fn node(&mut self, node: proto::Node, at: usize, versions: &Versions, scope: &Scope) -> Result<Node, Error> {
        let op = node.op_type.unwrap_or_default();
        let domain = plain_domain(node.domain.as_deref());
        let name = match node.name {
            Some(name) if !name.is_empty() => name,
            _ => format!("{op} {}", node.output.first().map_or(at.to_string(), Clone::clone)),
        };
        let name = if scope.prefix.is_empty() { name } else { format!("{}/{name}", scope.prefix) };
        let mut made = Node { name, op, ..Node::default() };
        // A model of ai.onnx.ml alone may leave ai.onnx out.
        made.version = versions.get(&domain).copied().unwrap_or(1);
        made.domain = domain;
        made.inputs = node.input.into_iter().map(|name| scope.name(name)).collect();
        made.outputs = node.output.into_iter().map(|name| scope.name(name)).collect();
        for attribute in node.attribute {
            let name = attribute.name.clone().unwrap_or_default();
            let at = |error: Error| error.at(&format!("{}: attribute {}", place(&made), shown(&name)));
            let value = match &attribute.ref_attr_name {
                Some(outer) if !outer.is_empty() => scope.attributes.get(outer).cloned(),
                _ => Some(self.attribute(attribute).map_err(at)?),
            };
            if let Some(value) = value
                && made.attributes.insert(name.clone(), value).is_some()
            {
                return Err(Error(format!("{}: two attributes are named {}", place(&made), shown(&name))));
            }
        }
        Ok(made)
    }

    fn attribute(&mut self, attribute: proto::Attribute) -> Result<Attribute, Error> {
        let text = |text: &Bytes| match std::str::from_utf8(text) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(Error::new("a text that is not UTF-8")),
        };
        Ok(match attribute.r#type.unwrap_or_default() {
            1 => Attribute::Float(attribute.f.unwrap_or_default()),
            2 => Attribute::Int(attribute.i.unwrap_or_default()),
            3 => Attribute::Text(text(&attribute.s.unwrap_or_default())?),
            4 => match attribute.t {
                Some(tensor) => Attribute::Tensor(Arc::new(weights::attribute(&tensor, self.beside, self.context)?)),
                None => return Err(Error::new("expected a tensor")),
            },
            6 => Attribute::Floats(attribute.floats),
            7 => Attribute::Ints(attribute.ints),
            8 => Attribute::Texts(attribute.strings.iter().map(text).collect::<Result<_, _>>()?),
            5 | 10 => Attribute::Other("a subgraph"),
            9 => Attribute::Other("tensors"),
            11 | 12 => Attribute::Other("a sparse tensor"),
            13 | 14 => Attribute::Other("a type"),
            other => return Err(Error(format!("of an unknown kind ({other})"))),
        })
    }

    /// Puts a function's nodes in place of the node that calls it.
    fn call(&mut self, node: &Node, function: proto::Function, scope: &Scope) -> Result<(), Error> {
        if scope.calls >= CALLS_MAX {
            return Err(Error(format!("expected at most {CALLS_MAX} functions that call each other")));
        }
        let mut inner = Scope { prefix: node.name.clone(), calls: scope.calls + 1, ..Scope::default() };
        if node.inputs.len() > function.input.len() || node.outputs.len() > function.output.len() {
            return Err(Error::new("it has more inputs or outputs than its function"));
        }
        for (at, name) in function.input.into_iter().enumerate() {
            inner.names.insert(name, node.inputs.get(at).cloned().unwrap_or_default());
        }
        for (at, name) in function.output.into_iter().enumerate() {
            // An output that the caller does not want still is one of some node inside.
            let outer = node.outputs.get(at).filter(|name| !name.is_empty());
            let outer = outer.cloned().unwrap_or_else(|| format!("{}/{name}", node.name));
            inner.names.insert(name, outer);
        }
        for attribute in function.attribute_proto {
            let name = attribute.name.clone().unwrap_or_default();
            let value = self.attribute(attribute)?;
            inner.attributes.insert(name, value);
        }
        inner.attributes.extend(node.attributes.clone());
        let versions = versions(&function.opset_import)?;
        self.nodes(function.node, &versions, &inner)
    }
}
