//! Sink `postgres`: a verdict a row, written once under its identity.

use super::{DECISIONS, START, of_type};
use crate::config::{
    Key, Kind, Period, Preset, Size,
    client::{PASSWORD_FILE, TLS, read_tls},
    database::postgres_url,
    node::{Node, Value},
    section::{Expected, Section},
};
use crate::link::ClientTls;
use crate::link::postgres::{Address, Place, TableName, is_identifier};
use crate::verdict::Member;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresSink {
    pub address: Address,
    pub password_file: Option<PathBuf>,
    /// Some: TLS, also where no file is named.
    pub tls: Option<ClientTls>,
    pub table: TableName,
    pub on_conflict: OnConflict,
    /// In the order of the verdict's members, the rest last; source and id are among them.
    pub columns: Vec<Column>,
    /// Rows of a batch, and their bytes.
    pub batch: usize,
    pub batch_size: Size,
    /// Batches handed to the server and not confirmed.
    pub in_flight: usize,
    pub timeout: Period,
}

/// A column and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// None: all members that no other column holds, as a JSON object.
    pub member: Option<Member>,
}

/// What is done with a row that is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// The first one stays.
    #[default]
    Nothing,
    /// The one of the higher sequence stays.
    Update,
}

/// What a column holds that takes all that is left.
const REST: &str = "*";

const TYPE: Key = of_type("\"postgres\"");
const URL: Key = Key::new(
    "url",
    Kind::Form("\"postgres://USER@HOST:PORT/DATABASE\" or \"postgres://USER@/DATABASE?host=/FOLDER/OF/THE/SOCKET\""),
    Preset::Required("\"postgres://verdictd@/site?host=/run/postgresql\""),
    "The database and who writes there, without a password.",
);
const PASSWORD: Key = Key::new(
    PASSWORD_FILE.name,
    PASSWORD_FILE.kind,
    Preset::Optional("\"/etc/verdictd/postgres.password\"", "no password"),
    PASSWORD_FILE.doc,
);
const SERVER_TLS: Key = Key::new(
    TLS.name,
    TLS.kind,
    TLS.preset,
    "TLS to the server, whatever is in the table; `{}` trusts the system's authorities.",
);
const TABLE: Key = Key::new(
    "table",
    Kind::Form("a table as in \"verdicts\" or \"schema.verdicts\", each name of 1 to 63 bytes"),
    Preset::Default("\"verdicts\""),
    "The table, in the letters it was made with; `verdictd sink ddl postgres` prints how to make it.",
);
const ON_CONFLICT: Key = Key::new(
    "on-conflict",
    Kind::OneOf(&["nothing", "update"]),
    Preset::Default("\"nothing\""),
    "What a verdict does whose source and id are in the table: nothing, or take the row over where its sequence is higher.",
);
const COLUMNS: Key = Key::new(
    "columns",
    Kind::Form(
        "a table of columns and the member that each holds, as in { source = \"source\", id = \"id\", rest = \"*\" }",
    ),
    Preset::Default(
        "{ source = \"source\", id = \"id\", key = \"key\", time = \"time\", decision = \"decision\", score = \"score\", \
         sequence = \"sequence\", decided = \"decided\", rest = \"*\" }",
    ),
    "Columns and the verdict's member that each holds; source and id must be among them. \"*\": those that have no column, as JSON.",
);
const BATCH: Key = Key::new(
    "batch",
    Kind::Integer { min: 1, max: 10_000 },
    Preset::Default("1000"),
    "Verdicts that one statement writes at most. It does not wait for so many.",
);
const BATCH_SIZE: Key = Key::new(
    "batch-size",
    Kind::Size { min: Size::kib(16), max: Size::mib(16) },
    Preset::Default("\"256 KiB\""),
    "The same in bytes; whichever is reached first. A few times of it count in `limits.memory`.",
);
const IN_FLIGHT: Key = Key::new(
    "in-flight",
    Kind::Integer { min: 1, max: 64 },
    Preset::Default("4"),
    "Batches that may be sent ahead of their confirmation. After a crash at most so many come again, which the table absorbs.",
);
const TIMEOUT: Key = Key::new(
    "timeout",
    Kind::Period { min: Period::seconds(1), max: Period::seconds(3_600) },
    Preset::Default("\"30 s\""),
    "How long connecting may take, and a batch at the server, a wait for locks included; then it is tried again.",
);
const ENCODING: Key = Key::new(
    super::ENCODING.name,
    super::ENCODING.kind,
    super::ENCODING.preset,
    "What the column of \"*\" holds: the members that have no column, or the whole verdict in a CloudEvents envelope.",
);
pub(in crate::config) const KEYS: &[Key] = &[
    TYPE,
    URL,
    PASSWORD,
    SERVER_TLS,
    TABLE,
    ON_CONFLICT,
    COLUMNS,
    BATCH,
    BATCH_SIZE,
    IN_FLIGHT,
    TIMEOUT,
    ENCODING,
    DECISIONS,
    START,
];

pub(super) fn read(section: &mut Section<'_>) -> Option<PostgresSink> {
    section.one_of(&TYPE, super::SINK_TYPES);
    let address = section.text_as(&URL, postgres_url);
    let password_file = section.path(&PASSWORD);
    let tls = read_tls(section, &SERVER_TLS);
    let table = section.text_as(&TABLE, TableName::parse);
    let on_conflict = section.one_of(&ON_CONFLICT, &[OnConflict::Nothing, OnConflict::Update]);
    let columns = section.value(&COLUMNS, columns);
    let batch = usize::try_from(section.integer(&BATCH)).unwrap_or_default();
    let batch_size = section.size(&BATCH_SIZE);
    let in_flight = usize::try_from(section.integer(&IN_FLIGHT)).unwrap_or_default();
    let timeout = section.period(&TIMEOUT);
    let is_socket = address.as_ref().is_some_and(|address| matches!(address.place, Place::Unix { .. }));
    if is_socket && section.entry(SERVER_TLS.name).is_some() {
        section.fault(&SERVER_TLS, "TLS is for a host, and url has the folder of a Unix socket");
    }
    let holds = |member| columns.iter().flatten().any(|column| column.member == Some(member));
    if on_conflict == Some(OnConflict::Update) && columns.is_some() && !holds(Member::Sequence) {
        let why = "\"update\" needs a column for sequence, by which it tells the newer verdict, and columns has none";
        section.fault(&ON_CONFLICT, why);
    }
    Some(PostgresSink {
        address: address?,
        password_file,
        tls,
        table: table?,
        on_conflict: on_conflict?,
        columns: columns?,
        batch,
        batch_size,
        in_flight,
        timeout: timeout?,
    })
}

/// The columns that the default names.
#[must_use]
pub fn default_columns() -> Vec<Column> {
    let Preset::Default(toml) = COLUMNS.preset else { return Vec::new() };
    crate::config::node::default_node(toml).and_then(|node| columns(&node).ok()).unwrap_or_default()
}

fn columns(node: &Node) -> Result<Vec<Column>, Expected> {
    let Value::Table(table) = &node.value else { return Err(Expected::from(String::new())) };
    let members = || {
        let names = Member::ALL.iter().map(|member| member.name()).chain([REST]);
        names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(" or ")
    };
    let mut columns: Vec<Column> = Vec::with_capacity(table.len());
    for (name, entry) in table {
        let of = |text: String| Expected::of(&format!(".{name}"), &entry.node, text);
        if !is_identifier(name) {
            return Err(of("a column's name of 1 to 63 bytes before it".to_owned()));
        }
        let member = match &entry.node.value {
            Value::Text(text) if text == REST => None,
            Value::Text(text) => Some(Member::of_name(text).ok_or_else(|| of(members()))?),
            _ => return Err(of(members())),
        };
        if columns.iter().any(|column| column.member == member) {
            return Err(of("each member in one column".to_owned()));
        }
        columns.push(Column { name: name.clone(), member });
    }
    for needed in [Member::Source, Member::Id] {
        if columns.iter().all(|column| column.member != Some(needed)) {
            return Err(Expected::from(format!(
                "a column for \"{}\" among them: (source, id) is the key",
                needed.name()
            )));
        }
    }
    columns.sort_by_key(|column| (column.member.is_none(), column.member));
    Ok(columns)
}
