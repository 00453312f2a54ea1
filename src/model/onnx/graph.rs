//! The graph of a model: nodes in an order in which they can run, and the constants they read.
//!
//! Every value has one name and one origin: an input, a constant, or one output of one node. The file's order does
//! not count; nodes that no wanted output needs are dropped.

use super::error::{Error, shown};
use super::op::Node;
use super::tensor::{Kind, Tensor};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A dimension of an input, as the file states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim {
    Fixed(usize),
    /// Named, zero, negative or left out.
    Open,
}

/// An input of the model.
#[derive(Clone, Debug)]
pub struct Input {
    pub name: String,
    pub kind: Kind,
    /// None where the file states no shape.
    pub dims: Option<Vec<Dim>>,
    /// The keys of a map, which are its columns; empty for a tensor.
    pub keys: Vec<String>,
}

/// What the import makes of a file.
#[derive(Debug, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    pub inputs: Vec<Input>,
    /// In the file's order.
    pub outputs: Vec<String>,
    pub constants: HashMap<String, Arc<Tensor>>,
}

/// The node, for an error.
#[must_use]
pub fn place(node: &Node) -> String {
    let domain = if node.domain.is_empty() { String::new() } else { format!("{}.", node.domain) };
    format!("node '{}' ({domain}{})", shown(&node.name), shown(&node.op))
}

impl Graph {
    /// Checks the names and puts the nodes that the outputs need in an order in which they can run.
    ///
    /// # Errors
    /// A name with two origins or none; a circle.
    pub fn order(&mut self) -> Result<(), Error> {
        let mut origin: HashMap<&str, usize> = HashMap::new();
        let mut given: HashSet<&str> = HashSet::new();
        for input in &self.inputs {
            if !given.insert(&input.name) {
                return Err(Error(format!("two inputs are named '{}'", shown(&input.name))));
            }
        }
        // An initializer may stand for an input of the same name; the import has taken that input away.
        if let Some(name) = self.constants.keys().find(|name| given.contains(name.as_str())) {
            return Err(Error(format!("'{}' is an input and a constant", shown(name))));
        }
        for (at, node) in self.nodes.iter().enumerate() {
            for name in node.outputs.iter().filter(|name| !name.is_empty()) {
                let taken = given.contains(name.as_str()) || self.constants.contains_key(name);
                if taken || origin.insert(name, at).is_some() {
                    return Err(Error(format!("{}: its output '{}' has another origin too", place(node), shown(name))));
                }
            }
        }
        for node in &self.nodes {
            for name in node.inputs.iter().filter(|name| !name.is_empty()) {
                let known = given.contains(name.as_str()) || self.constants.contains_key(name);
                if !known && !origin.contains_key(name.as_str()) {
                    return Err(Error(format!("{}: it reads '{}', which nothing gives", place(node), shown(name))));
                }
            }
        }
        for name in &self.outputs {
            let known = given.contains(name.as_str()) || self.constants.contains_key(name);
            if !known && !origin.contains_key(name.as_str()) {
                return Err(Error(format!("nothing gives the output '{}'", shown(name))));
            }
        }
        let order = self.sorted(&origin)?;
        let mut nodes: Vec<Option<Node>> = std::mem::take(&mut self.nodes).into_iter().map(Some).collect();
        self.nodes = order.into_iter().filter_map(|at| nodes.get_mut(at).and_then(Option::take)).collect();
        Ok(())
    }

    /// Depth first from the outputs, with a stack of its own: a node comes after all that it reads.
    fn sorted(&self, origin: &HashMap<&str, usize>) -> Result<Vec<usize>, Error> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.nodes.len()];
        let mut order = Vec::with_capacity(self.nodes.len());
        for output in &self.outputs {
            let Some(first) = origin.get(output.as_str()) else { continue };
            let mut stack = vec![(*first, 0)];
            while let Some((at, next)) = stack.pop() {
                let (Some(mark), Some(node)) = (marks.get_mut(at), self.nodes.get(at)) else { continue };
                if *mark == Mark::Done {
                    continue;
                }
                if *mark == Mark::Open && next == 0 {
                    return Err(Error(format!("{}: it needs its own output", place(node))));
                }
                *mark = Mark::Open;
                let Some(name) = node.inputs.get(next) else {
                    *mark = Mark::Done;
                    order.push(at);
                    continue;
                };
                stack.push((at, next + 1));
                if let Some(input) = origin.get(name.as_str()) {
                    stack.push((*input, 0));
                }
            }
        }
        Ok(order)
    }

    /// How many inputs of nodes read each value; outputs count as one more.
    #[must_use]
    pub fn readers(&self) -> HashMap<String, usize> {
        let mut readers = HashMap::new();
        let names = self.nodes.iter().flat_map(|node| &node.inputs).chain(&self.outputs);
        for name in names.filter(|name| !name.is_empty()) {
            *readers.entry(name.clone()).or_insert(0) += 1;
        }
        readers
    }
}
