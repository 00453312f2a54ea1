//! One walk over a JSON value: checks it, fingerprints it, and captures what the pointers want.
//!
//! Limits: nesting [`DEPTH_MAX`]; a member twice in one object and a number beyond f64 are faults.
//! The parser underneath (jiter) checks the grammar of RFC 8259 and UTF-8; this file never recurses
//! deeper than the limit, whatever the input.

use super::fingerprint::{ValueHasher, beyond_f64, canonical};
use super::trie::{NodeId, Target, Trie};
use super::{Field, Span};
use jiter::{Jiter, JiterError, Peek};

/// Arrays and objects open at once.
pub const DEPTH_MAX: usize = 64;
/// Members of one object up to which a repeated name is looked for by comparing all pairs.
const PAIRS_MAX: usize = 24;

/// Why a text is not an event's JSON. Positions are byte offsets into the record.
#[derive(Debug, thiserror::Error)]
pub enum JsonFault {
    #[error("not JSON: {error} at byte {}", error.index)]
    Syntax { error: JiterError },
    #[error("expected JSON nested at most {DEPTH_MAX} deep, found more at byte {at}")]
    TooDeep { at: usize },
    #[error("expected each member once, found {name:?} twice in one object")]
    TwiceNamed { name: String },
    #[error("expected numbers within the range of a 64-bit float, found {text}")]
    NumberRange { text: String },
}

impl From<JiterError> for JsonFault {
    fn from(error: JiterError) -> Self {
        Self::Syntax { error }
    }
}

/// What an identity pointer found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Found {
    #[default]
    Missing,
    Null,
    Text(Span),
    /// A number's own spelling.
    Number(Span),
    /// Anything else, by the name of its JSON type.
    Other(&'static str),
}

/// Buffers reused from event to event.
#[derive(Default)]
pub struct Scratch {
    pub tape: Vec<u8>,
    digits: Vec<u8>,
    names: Vec<u64>,
    pub found: Vec<Found>,
}

/// A walk's surroundings: where captured values go.
pub struct Walk<'a> {
    pub trie: &'a Trie,
    pub hasher: ValueHasher,
    pub scratch: &'a mut Scratch,
    /// The event's own fields.
    pub fields: &'a mut [Field],
    pub text: &'a mut String,
}

impl Walk<'_> {
    /// Walks the value that `peek` announces, `depth` containers deep, and returns its fingerprint.
    ///
    /// # Errors
    /// The first fault, after which the rest of the document is unknown.
    pub fn value(
        &mut self,
        jiter: &mut Jiter<'_>,
        peek: Peek,
        node: Option<NodeId>,
        depth: usize,
    ) -> Result<u64, JsonFault> {
        let targets = node.map_or(&[][..], |node| self.trie.targets(node));
        match peek {
            Peek::String => {
                let text = jiter.known_str()?;
                if !targets.is_empty() {
                    let span = keep(self.text, text);
                    self.capture(targets, Field::Text(span), Found::Text(span));
                }
                Ok(self.hasher.text(text.as_bytes()))
            }
            Peek::Object => {
                self.capture(targets, Field::Composite, Found::Other("an object"));
                self.object(jiter, node, depth + 1)
            }
            Peek::Array => {
                self.capture(targets, Field::Composite, Found::Other("an array"));
                self.array(jiter, node, depth + 1)
            }
            Peek::True | Peek::False => {
                let value = jiter.known_bool(peek)?;
                self.capture(targets, Field::Bool(value), Found::Other("a boolean"));
                Ok(self.hasher.word(if value { b't' } else { b'f' }))
            }
            Peek::Null => {
                jiter.known_null()?;
                self.capture(targets, Field::Null, Found::Null);
                Ok(self.hasher.word(b'n'))
            }
            _ => self.number(jiter, peek, targets),
        }
    }

    fn number(&mut self, jiter: &mut Jiter<'_>, peek: Peek, targets: &[Target]) -> Result<u64, JsonFault> {
        let text = jiter.known_number_bytes(peek)?;
        let decimal = canonical(text, &mut self.scratch.digits);
        let spelled = || String::from_utf8_lossy(&text[..text.len().min(40)]).into_owned();
        if beyond_f64(decimal, &self.scratch.digits, text) {
            return Err(JsonFault::NumberRange { text: spelled() });
        }
        if !targets.is_empty() {
            // The grammar leaves only ASCII.
            let text = std::str::from_utf8(text).unwrap_or_default();
            let number = text.parse::<f64>().map_err(|_| JsonFault::NumberRange { text: spelled() })?;
            let span = keep(self.text, text);
            self.capture(targets, Field::Number(number), Found::Number(span));
        }
        Ok(self.hasher.number(decimal, &mut self.scratch.digits))
    }

    fn array(&mut self, jiter: &mut Jiter<'_>, node: Option<NodeId>, depth: usize) -> Result<u64, JsonFault> {
        check_depth(jiter, depth)?;
        let (mut hash, mut count) = (0, 0);
        let mut next = jiter.known_array()?;
        while let Some(peek) = next {
            let node = node.and_then(|node| self.trie.element(node, count));
            let element = self.value(jiter, peek, node, depth)?;
            hash = self.hasher.element(hash, element);
            count += 1;
            next = jiter.array_step()?;
        }
        Ok(self.hasher.array(hash, count as u64))
    }

    fn object(&mut self, jiter: &mut Jiter<'_>, node: Option<NodeId>, depth: usize) -> Result<u64, JsonFault> {
        check_depth(jiter, depth)?;
        let first_name = self.scratch.names.len();
        let mut hash: u64 = 0;
        let mut next = jiter.known_object()?;
        while let Some(name) = next {
            let name_hash = self.hasher.text(name.as_bytes());
            let node = node.and_then(|node| self.trie.child(node, name.as_bytes()));
            self.note_name(first_name, name_hash, name)?;
            let peek = jiter.peek()?;
            let value = self.value(jiter, peek, node, depth)?;
            hash = hash.wrapping_add(self.hasher.member(name_hash, value));
            next = jiter.next_key()?;
        }
        let count = (self.scratch.names.len() - first_name) as u64;
        self.close_names(first_name)?;
        Ok(self.hasher.object(hash, count))
    }

    /// Notes a member's name and refuses the second of one name while the object is small.
    pub fn note_name(&mut self, first: usize, hash: u64, name: &str) -> Result<(), JsonFault> {
        let names = &mut self.scratch.names;
        if names.len() - first <= PAIRS_MAX && names[first..].contains(&hash) {
            return Err(JsonFault::TwiceNamed { name: name.chars().take(64).collect() });
        }
        names.push(hash);
        Ok(())
    }

    /// Ends an object: a large one is searched for repeated names now, by sorting.
    pub fn close_names(&mut self, first: usize) -> Result<(), JsonFault> {
        let names = &mut self.scratch.names[first..];
        let twice = names.len() > PAIRS_MAX && {
            names.sort_unstable();
            names.windows(2).any(|pair| pair[0] == pair[1])
        };
        self.scratch.names.truncate(first);
        if twice { Err(JsonFault::TwiceNamed { name: "a name".to_owned() }) } else { Ok(()) }
    }

    /// Where the names of an object that opens now will start.
    pub fn names_mark(&self) -> usize {
        self.scratch.names.len()
    }

    /// Forgets the names of objects that a fault left open.
    pub fn forget_names(&mut self, mark: usize) {
        self.scratch.names.truncate(mark);
    }

    fn capture(&mut self, targets: &[Target], field: Field, found: Found) {
        for target in targets {
            match *target {
                Target::Feature(n) => {
                    if let Some(slot) = self.fields.get_mut(n as usize) {
                        *slot = field;
                    }
                }
                Target::Identity(n) => {
                    if let Some(slot) = self.scratch.found.get_mut(n as usize) {
                        *slot = found;
                    }
                }
            }
        }
    }
}

impl Scratch {
    /// Makes ready for the next event: nothing found yet of `identity` pointers.
    pub fn reset(&mut self, identity: usize) {
        self.names.clear();
        self.found.clear();
        self.found.resize(identity, Found::Missing);
    }
}

fn check_depth(jiter: &Jiter<'_>, depth: usize) -> Result<(), JsonFault> {
    if depth > DEPTH_MAX { Err(JsonFault::TooDeep { at: jiter.current_index() }) } else { Ok(()) }
}

/// Copies a piece into a batch's text; bodies are limited to far less than 4 GiB.
pub fn keep(text: &mut String, more: &str) -> Span {
    let start = u32::try_from(text.len()).unwrap_or(u32::MAX);
    text.push_str(more);
    Span { start, end: u32::try_from(text.len()).unwrap_or(u32::MAX) }
}
