//! Rules and lists beside the model: what decides before a threshold does.
//!
//! ```toml
//! [[list]]
//! name = "stolen"
//! file = "stolen.txt"          # beside model.toml, or an absolute path; one key a line
//! key = "/CUSTOMER_ID"         # what is looked up; the event's key where it is left out
//! decision = "block"           # with a decision the list acts by itself
//! reason = "stolen-card"       # the list's name where it is left out
//!
//! [[rule]]
//! when = "CUSTOMER_ID_NB_TX_1DAY_WINDOW > 50 and TX_AMOUNT > 200"
//! decision = "block"
//! reason = "velocity"          # unique; rule-N where it is left out
//! ```
//!
//! **Precedence.** Lists with a decision in their order, then rules in their order; the first that holds wins. Only
//! where none does, the model's thresholds decide, or the fallback of what cannot be scored: lists and rules judge that
//! too. The verdict names the reason first.
//!
//! **Limits.** 64 lists, 256 rules, an expression of 4,096 bytes and 32 levels; a list's file as [`List`] says.
//!
//! **Values.** A name is a feature, with its value before the transforms, or else the top-level field of that name;
//! `field("/a/b")` is any field; `score`, `key` and `source` are the event's own; names with other characters stand in
//! back-quotes. Types are checked when a rule is read. A feature is a number, but for those that take texts; of those
//! and of fields the type follows from the use. A boolean counts as 1 or 0 where a number is wanted; where a text is
//! wanted, a whole number counts as its digits and a boolean as its word. A text never is a number.
//!
//! **What is missing**: no such field, null, a value of another type, the score of what cannot be scored, division by
//! zero and whatever else gives no finite number. Arithmetic with it is missing. A comparison with it is false, also
//! `!=`, `in` and `not in`; so is a missing boolean, and `starts_with` and the like. `not` of that is true.
//! `has(x)` says whether a value is there; `default(x, 0)` puts a number in its place.
//!
//! **Layout.** `token` and `parse` read a text to a tree (`syntax`), `types` finds what each name is and every conflict,
//! `compile` makes a `program` of it, which evaluates without an allocation.
//!
//! **Why no crate.** Measured for `n > 50 and a > 200`, release, beside an empty program: cel 0.13 adds 1.6 MB, 31
//! crates (an ANTLR runtime among them), takes 577 ns a call, allocates, checks no types beforehand and has no `and`;
//! evalexpr 13 adds 230 KB, takes 490 ns, checks no types and is AGPL-3.0. Filter engines with static types have no
//! arithmetic on floats. This module takes about 40 ns.

mod compile;
mod event;
mod facts;
mod fault;
mod parse;
mod program;
mod read;
mod syntax;
mod token;
mod types;

#[cfg(test)]
mod tests;

pub use event::EventFacts;
pub use facts::Facts;
pub use fault::Fault;
pub use parse::{EXPRESSION_BYTES_MAX, NESTING_MAX};
pub use read::{LISTS_MAX, RULES_MAX};

use crate::event::Pointer;
use crate::features::{FeatureSet, List, Looked, Problems};
use program::Truth;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use types::{Origin, Type, Use};

/// Lists and rules, compiled. Immutable and cheap to clone; only the lists' keys are exchanged inside.
#[derive(Clone, Debug, Default)]
pub struct RuleSet(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    lists: Vec<Arc<List>>,
    /// The lists that act by themselves.
    acts: Vec<Act>,
    rules: Vec<Rule>,
    pointers: Vec<Pointer>,
    wants_score: bool,
    uses: Vec<Use>,
    notes: Vec<String>,
    /// Of all together; 0: not said.
    bytes_max: AtomicUsize,
}

#[derive(Debug)]
struct Act {
    list: Arc<List>,
    origin: Origin,
    outcome: Outcome,
}

#[derive(Debug)]
struct Rule {
    when: Truth,
    /// About what `when` takes.
    bytes: usize,
    outcome: Outcome,
}

#[derive(Debug)]
struct Outcome {
    decision: Box<str>,
    reason: Box<str>,
}

/// What a list or a rule has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruled<'a> {
    pub decision: &'a str,
    pub reason: &'a str,
}

/// A list whose file has changed or cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reloaded {
    pub list: Arc<str>,
    pub looked: Looked,
}

impl RuleSet {
    /// The fields that it reads beyond those of the features, in the order of [`Facts::field`].
    #[must_use]
    pub fn pointers(&self) -> &[Pointer] {
        &self.0.pointers
    }

    /// Whether a rule names the score: without one the model need not have run.
    #[must_use]
    pub fn wants_score(&self) -> bool {
        self.0.wants_score
    }

    /// Whether what the rules use of the features is what the model takes there. `features`: those that it was read with,
    /// bound to the model by now. Problems name the rule and the place.
    pub fn check(&self, features: &FeatureSet, problems: &mut Problems) {
        for one in &self.0.uses {
            let is_text = features.raw_is_text(one.feature);
            if is_text == (one.used_as == Type::Number) {
                let (name, wanted) = (features.feature(one.feature), one.used_as.name());
                let takes = if is_text { "texts" } else { "numbers" };
                problems.add(&one.at, format!("expected {wanted}, found {name}, where the model takes {takes}"));
            }
        }
    }

    /// Nothing to judge by.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.acts.is_empty() && self.0.rules.is_empty()
    }

    /// Numbers of lists that act by themselves and of rules.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.0.acts.len(), self.0.rules.len())
    }

    /// All lists, also those that only rules and features use.
    #[must_use]
    pub fn lists(&self) -> &[Arc<List>] {
        &self.0.lists
    }

    /// What each list and rule would decide, in the order of precedence.
    pub fn outcomes(&self) -> impl Iterator<Item = Ruled<'_>> {
        self.0.acts.iter().map(|act| act.outcome.ruled()).chain(self.0.rules.iter().map(|rule| rule.outcome.ruled()))
    }

    /// What looks like a slip but may be meant, a line each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// The first list or rule that holds. Allocates nothing.
    #[must_use]
    pub fn judge(&self, facts: &impl Facts) -> Option<Ruled<'_>> {
        let act = self.0.acts.iter().find(|act| act.list.holds(act.origin.load(facts)) == Some(true));
        if let Some(act) = act {
            return Some(act.outcome.ruled());
        }
        self.0.rules.iter().find(|rule| rule.when.holds(facts)).map(|rule| rule.outcome.ruled())
    }

    /// Has the lists never grow so far that all of it takes more than `bytes_max` bytes: a file with too many keys is then
    /// refused and the keys before stay in force.
    pub fn keep_within(&self, bytes_max: usize) {
        self.0.bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    /// Looks at each list's file and takes what has changed and is whole: a change shows at the second look that finds
    /// it the same. Gives what there is to tell, which is nothing mostly. Does input and output, up to 64 MiB a list.
    #[must_use]
    pub fn reload_lists(&self) -> Vec<Reloaded> {
        let most = match self.0.bytes_max.load(Ordering::Relaxed) {
            0 => usize::MAX,
            most => most,
        };
        let looked = self.0.lists.iter().map(|list| {
            let others = self.bytes().saturating_sub(list.bytes());
            (list, list.look_within(most.saturating_sub(others)))
        });
        let news = looked.filter(|(_, looked)| *looked != Looked::Same);
        news.map(|(list, looked)| Reloaded { list: list.name().into(), looked }).collect()
    }

    /// Bytes of memory that it takes, lists included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let rules = self.0.rules.iter().map(|rule| rule.bytes + rule.outcome.bytes());
        let lists = self.0.lists.iter().map(|list| list.bytes());
        rules.sum::<usize>() + lists.sum::<usize>() + self.0.acts.iter().map(|act| act.outcome.bytes()).sum::<usize>()
    }
}

impl Outcome {
    fn ruled(&self) -> Ruled<'_> {
        Ruled { decision: &self.decision, reason: &self.reason }
    }

    fn bytes(&self) -> usize {
        size_of::<Rule>() + self.decision.len() + self.reason.len()
    }
}
