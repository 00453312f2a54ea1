//! All JSON pointers of a decoder as one tree, so that a document is walked once for all of them.

use super::Pointer;

/// What the value at a pointer is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A feature's field, by its index among the model's pointers.
    Feature(u32),
    /// A part of the identity, by its index among the decoder's own pointers.
    Identity(u32),
}

/// A place in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeId(u32);

#[derive(Debug, Default)]
struct Node {
    children: Vec<(Box<str>, NodeId)>,
    targets: Vec<Target>,
}

#[derive(Debug)]
pub struct Trie {
    nodes: Vec<Node>,
}

impl Trie {
    pub const ROOT: NodeId = NodeId(0);

    #[must_use]
    pub fn new<'a>(pointers: impl Iterator<Item = (&'a Pointer, Target)>) -> Self {
        let mut trie = Self { nodes: vec![Node::default()] };
        for (pointer, target) in pointers {
            let mut at = Self::ROOT;
            for part in pointer.parts() {
                at = trie.child(at, part.as_bytes()).unwrap_or_else(|| trie.add(at, part));
            }
            trie.nodes[at.0 as usize].targets.push(target);
        }
        trie
    }

    fn add(&mut self, parent: NodeId, name: &str) -> NodeId {
        // A config cannot hold 2^32 pointers: its size is limited long before.
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(Node::default());
        self.nodes[parent.0 as usize].children.push((name.into(), id));
        id
    }

    #[must_use]
    pub fn child(&self, node: NodeId, name: &[u8]) -> Option<NodeId> {
        self.nodes[node.0 as usize].children.iter().find(|(n, _)| n.as_bytes() == name).map(|(_, id)| *id)
    }

    /// The element of an array: pointers name it by its index in decimal.
    #[must_use]
    pub fn element(&self, node: NodeId, index: usize) -> Option<NodeId> {
        let children = &self.nodes[node.0 as usize].children;
        if children.is_empty() { None } else { self.child(node, index.to_string().as_bytes()) }
    }

    #[must_use]
    pub fn targets(&self, node: NodeId) -> &[Target] {
        &self.nodes[node.0 as usize].targets
    }
}
