//! What a key is: the one definition that the parser, `init` and the reference are made from.

use super::{Period, Size};

/// One key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub preset: Preset,
    /// What it does, in one line.
    pub doc: &'static str,
    /// What `init` writes where that is not the default.
    pub starter: Option<&'static str>,
}

/// What holds where no file sets the key.
#[derive(Clone, Copy, Debug)]
pub enum Preset {
    /// The default, as TOML.
    Default(&'static str),
    /// It must be set; an example as TOML.
    Required(&'static str),
    /// It may be left out; an example as TOML, and what leaving it out means.
    Optional(&'static str, &'static str),
}

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Text of 1 to so many bytes.
    Text(usize),
    Size {
        min: Size,
        max: Size,
    },
    Period {
        min: Period,
        max: Period,
    },
    Integer {
        min: i64,
        max: i64,
    },
    Bool,
    OneOf(&'static [&'static str]),
    /// A path to read from; a relative one starts at the folder of the config file that names it.
    Path,
    /// A path to write to.
    AbsolutePath,
    Listen,
    /// A file mode in octal, as in `"0660"`.
    Mode,
    Pointer,
    /// What has a form of its own, said so that it can stand after "expected".
    Form(&'static str),
    /// A list of texts.
    Texts,
    Table(&'static [Key]),
}

impl Key {
    #[must_use]
    pub const fn new(name: &'static str, kind: Kind, preset: Preset, doc: &'static str) -> Self {
        Self { name, kind, preset, doc, starter: None }
    }

    /// The same with a value for `init` that is not the default.
    #[must_use]
    pub const fn starting_with(mut self, toml: &'static str) -> Self {
        self.starter = Some(toml);
        self
    }
}

impl Kind {
    /// What it takes, to stand after "expected".
    #[must_use]
    pub fn expected(&self) -> String {
        match self {
            Self::Text(max) => format!("a text of 1 to {max} bytes"),
            Self::Size { min, max } => format!("a size as in \"64 MiB\", from \"{min}\" to \"{max}\""),
            Self::Period { min, max } => format!("a duration as in \"7 d\" or \"100 ms\", from \"{min}\" to \"{max}\""),
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Bool => "true or false".to_owned(),
            Self::OneOf(names) => names.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(" or "),
            Self::Path => "the path of a file".to_owned(),
            Self::AbsolutePath => "an absolute path".to_owned(),
            Self::Listen => "\"unix:/absolute/path\" or an address with its port, as in \"127.0.0.1:8080\"".to_owned(),
            Self::Mode => "a file mode in octal from \"0600\" to \"0777\", as in \"0660\"".to_owned(),
            Self::Pointer => "a JSON pointer, as in \"/id\"".to_owned(),
            Self::Form(form) => (*form).to_owned(),
            Self::Texts => "a list of texts, as in [\"block\"]".to_owned(),
            Self::Table(keys) => {
                format!("a table {{ {} }}", keys.iter().map(|k| k.name).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// A table of the config, for `init` and the reference.
#[derive(Clone, Copy, Debug)]
pub struct TableDoc {
    /// `limits`, `sources.NAME`; empty for the keys before the first table.
    pub path: &'static str,
    /// The type of a source or sink; empty for the rest.
    pub kind: &'static str,
    pub doc: &'static str,
    pub keys: &'static [Key],
}
