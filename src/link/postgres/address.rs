//! Where a server is, and the name of a table on it.

use std::fmt;
use std::path::PathBuf;

/// Longest name of a table, schema or column. PostgreSQL cuts a longer one off.
pub const IDENTIFIER_BYTES_MAX: usize = 63;

/// A database on a server, and who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub place: Place,
    pub user: String,
    pub database: String,
}

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A name or an IP address, without brackets. A name is looked up at each connecting.
    Tcp { host: String, port: u16 },
    /// The folder of its Unix socket, in whose name the port stands.
    Unix { folder: PathBuf, port: u16 },
}

/// For people; there is no secret in it.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.place, self.database)
    }
}

impl Place {
    /// Whether nothing said there leaves this machine, as far as the place itself says.
    #[must_use]
    pub fn is_local(&self) -> bool {
        let Self::Tcp { host, .. } = self else { return true };
        let address = host.parse::<std::net::IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.to_canonical().is_loopback())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix { folder, port } => write!(f, "{}:{port}", folder.display()),
        }
    }
}

/// A table, by its schema or by the server's search path. The letters are taken as they are, capitals too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableName {
    pub schema: Option<String>,
    pub name: String,
}

impl TableName {
    /// Reads `table` or `schema.table`.
    ///
    /// # Errors
    /// When a part is none that PostgreSQL keeps; what was expected.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (schema, name) = match text.split_once('.') {
            Some((schema, name)) => (Some(schema), name),
            None => (None, text),
        };
        if schema.is_some_and(|schema| !is_identifier(schema)) || !is_identifier(name) || name.contains('.') {
            return Err("a table as in \"verdicts\" or \"schema.verdicts\", each name of 1 to 63 bytes");
        }
        Ok(Self { schema: schema.map(str::to_owned), name: name.to_owned() })
    }

    /// As SQL has it.
    #[must_use]
    pub fn sql(&self) -> String {
        let schema = self.schema.as_deref().map(|schema| quoted(schema) + ".");
        schema.unwrap_or_default() + &quoted(&self.name)
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => write!(f, "{}", self.name),
        }
    }
}

/// Whether PostgreSQL keeps the name as it is.
#[must_use]
pub fn is_identifier(text: &str) -> bool {
    (1..=IDENTIFIER_BYTES_MAX).contains(&text.len()) && !text.contains('\0')
}

/// A name as SQL has it: whatever is in it, it is a name and nothing else.
#[must_use]
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_one_or_two_names_and_stays_one_in_sql() {
        let sql = |text| TableName::parse(text).map(|table| table.sql());
        assert_eq!(sql("verdicts").unwrap(), "\"verdicts\"");
        assert_eq!(sql("Site.v\"; DROP TABLE x; --").unwrap(), "\"Site\".\"v\"\"; DROP TABLE x; --\"");
        for bad in ["", ".", "a.", ".b", "a.b.c", "a\0", &"x".repeat(64)] {
            assert!(sql(bad).is_err(), "{bad:?}");
        }
    }
}
