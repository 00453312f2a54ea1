//! Every kind of log message at the levels error, warn and info: what it means and what to do about it.
//!
//! A kind has a name (`kind` in the JSON form, `VERDICTD_KIND` in the journal) and an id of its own (`MESSAGE_ID`),
//! by which `journalctl MESSAGE_ID=…` finds its messages and the journal catalog explains them. Neither ever changes
//! its meaning; a kind that is no longer logged is removed, its id never used again.
//!
//! The lowest step of the house: every layer logs, and names the kind as `kind = notice::SINK_DOWN.kind`. What stands
//! here is also what the catalog and the reference of messages are made of.

mod catalog;
mod edges;
mod service;
mod store;

pub use catalog::{catalog, reference};
pub use edges::*;
pub use service::*;
pub use store::*;

/// What an operator must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something was lost, or someone must intervene.
    Error,
    /// A promise is shortened or a part is away; it goes on by itself.
    Warn,
    /// Starts, stops, changes.
    Info,
}

impl Level {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
        }
    }
}

/// A kind of log message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// kebab-case, unique.
    pub kind: &'static str,
    /// 32 hexadecimal digits, unique.
    pub id: &'static str,
    pub level: Level,
    /// Structured fields that each of its messages has, besides the kind.
    pub fields: &'static [&'static str],
    /// One line, no full stop.
    pub title: &'static str,
    pub meaning: &'static str,
    pub advice: &'static str,
}

impl Notice {
    /// All kinds, by part of the daemon.
    pub const ALL: [&'static [Self]; 3] = [service::ALL, store::ALL, edges::ALL];

    pub fn all() -> impl Iterator<Item = &'static Self> {
        Self::ALL.into_iter().flatten()
    }

    /// By its kind's name.
    #[must_use]
    pub fn find(kind: &str) -> Option<&'static Self> {
        Self::all().find(|notice| notice.kind == kind)
    }
}

/// Makes a constant of each kind, and `ALL` of them.
macro_rules! notices {
    ($($name:ident: $level:ident $kind:literal $id:literal [$($field:literal),*] $title:literal $meaning:literal $advice:literal;)*) => {
        $(
            #[doc = concat!("`", $kind, "`: ", $title, ".")]
            pub const $name: crate::notice::Notice = crate::notice::Notice {
                kind: $kind,
                id: $id,
                level: crate::notice::Level::$level,
                fields: &[$($field),*],
                title: $title,
                meaning: $meaning,
                advice: $advice,
            };
        )*
        pub(super) const ALL: &[crate::notice::Notice] = &[$($name),*];
    };
}
use notices;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_kind_has_a_name_and_an_id_of_its_own() {
        let kinds: BTreeSet<&str> = Notice::all().map(|notice| notice.kind).collect();
        let ids: BTreeSet<&str> = Notice::all().map(|notice| notice.id).collect();
        assert_eq!((kinds.len(), ids.len()), (Notice::all().count(), Notice::all().count()));
        for notice in Notice::all() {
            assert!(notice.kind.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", notice.kind);
            let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            assert!(notice.id.len() == 32 && notice.id.chars().all(hex), "{}: {}", notice.kind, notice.id);
            assert_eq!(Notice::find(notice.kind), Some(notice));
        }
    }

    #[test]
    fn each_kind_says_what_it_means_and_what_to_do() {
        for notice in Notice::all() {
            assert!(!notice.title.ends_with('.') && notice.title.len() <= 80, "{}: {}", notice.kind, notice.title);
            for text in [notice.meaning, notice.advice] {
                assert!(text.ends_with('.') && !text.contains("  ") && !text.contains('@'), "{}: {text}", notice.kind);
            }
        }
    }
}
