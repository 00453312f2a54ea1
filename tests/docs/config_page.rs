//! verdictd.toml.5, made of the definitions of the keys, as packaging/reference/config.md is.

use super::is_current;
use super::roff::{Page, bold, escape, italic};
use verdictd::config::{Key, Kind, Preset, TABLES};

const INTRODUCTION: &str = "\
The config is one TOML file. Names of keys are in small letters with `-`; a key that verdictd does not know is an error, \
so that a slip is not passed over. `verdictd check` says every fault at once, with file, line and column.

`conf.d/*.toml` beside the file is laid over it in the order of the names: tables are merged key by key, any other \
value replaces the one below it. So a package's config stays as it came, and what is yours stands in a file of its own.

A size is a text such as \"64 MiB\" or \"2 GB\" (B, kB, KiB, MB, MiB, GB, GiB, TB, TiB). A duration is a text such as \
\"100 ms\", \"30 s\", \"5 min\", \"2 h\" or \"7 d\". A path to read from starts at the folder of the file that names it; a path to \
write to is absolute.";

const VARIABLES: &str = "\
In every text value, `${NAME}` stands for the environment variable of that name, which must be set, and \
`${NAME:-default}` for its value or, where it is unset or empty, for the default. `$${` stands for `${` itself. What comes \
out of a variable is taken as it is. Not for secrets, because `check` shows the values in effect: a secret always stands \
in a file of its own, which a `…-file` key names. With a credential of systemd that is, say, \
`token-file = \"${CREDENTIALS_DIRECTORY}/token\"`.";

const EXAMPLE: &str = "\
state-dir = \"/var/lib/verdictd\"

[sources.pos]
type = \"http\"
listen = \"unix:/run/verdictd/events.sock\"
event = { id = \"/TRANSACTION_ID\", key = \"/CUSTOMER_ID\", time = \"/TX_DATETIME\" }

[sinks.audit]
type = \"file\"
path = \"/var/lib/verdictd/verdicts/verdicts.ndjson\"
keep = 30";

fn key(page: &mut Page, key: &Key, within: &str) {
    let dot = if within.is_empty() { "" } else { "." };
    let sign =
        if within.is_empty() { format!(" = {}", italic(&takes(key))) } else { format!(": {}", italic(&takes(key))) };
    let default = match key.preset {
        Preset::Default(default) => format!("Default: `{default}`."),
        Preset::Required(example) => format!("Required; as in `{} = {example}`.", key.name),
        Preset::Optional(_, without) => format!("Without it: {without}."),
    };
    page.term(&format!("{}{sign}", bold(&format!("{within}{dot}{}", key.name))), &format!("{} {default}", key.doc));
}

/// The kind in a few words, so that it fits beside the name.
fn takes(key: &Key) -> String {
    match key.kind {
        Kind::Table(_) => "a table".to_owned(),
        kind => kind.expected(),
    }
}

fn page() -> String {
    let mut page = Page::new("verdictd.toml", 5);
    page.section("Name");
    page.raw("verdictd.toml \\- config of verdictd");
    page.section("Synopsis");
    page.raw(&italic("/etc/verdictd/verdictd.toml"));
    page.raw(".br");
    page.raw(&italic("/etc/verdictd/conf.d/*.toml"));
    page.section("Description");
    page.paragraphs(INTRODUCTION);
    page.section("Environment variables in values");
    page.paragraphs(VARIABLES);
    page.section("Keys");
    for table in TABLES {
        let of_type = if table.kind.is_empty() { String::new() } else { format!(", type = \"{}\"", table.kind) };
        let title =
            if table.path.is_empty() { "Before the first table".to_owned() } else { format!("[{}]", table.path) };
        page.subsection(&format!("{title}{of_type}"));
        if !table.doc.is_empty() {
            page.paragraph(table.doc);
        }
        for one in table.keys {
            key(&mut page, one, "");
            if let Kind::Table(members) = one.kind {
                for member in members {
                    key(&mut page, member, one.name);
                }
            }
        }
    }
    page.section("Files");
    page.term(&italic("/etc/verdictd/verdictd.toml"), "The config, unless --config names another one.");
    page.term(
        &italic("/etc/verdictd/conf.d/*.toml"),
        "Laid over it. At most 256 files; names that begin with a dot are passed over.",
    );
    page.section("Examples");
    page.paragraph("The least: one source and one sink, everything else by its default.");
    page.example(EXAMPLE);
    page.paragraph("A file of one's own in conf.d, which changes one value and adds a sink:");
    page.example("[limits]\nmemory = \"128 MiB\"\n\n[sinks.bank]\ntype = \"kafka\"\nbrokers = [\"kafka.site:9093\"]\ntopic = \"verdicts\"");
    page.see_also(
        &["verdictd(1)", "verdictd-check(1)", "verdictd-init(1)", "verdictd-operating(7)"].map(str::to_owned),
    );
    page.finish()
}

#[test]
fn the_page_of_the_config_is_that_of_the_key_definitions() {
    is_current("packaging/man/verdictd.toml.5", &page());
}

#[test]
fn every_config_key_is_in_its_page() {
    let page = page();
    for table in TABLES {
        let heads: Vec<&str> = page.split(".SS ").filter(|part| part.contains(&escape(table.path))).collect();
        for key in table.keys {
            let term = format!("\n{}", bold(key.name));
            assert!(heads.iter().any(|part| part.contains(&term)), "{}.{} is not there", table.path, key.name);
        }
    }
}

#[test]
fn the_example_of_the_page_is_a_config() {
    let text = verdictd::config::Text { file: "example.toml".into(), text: EXAMPLE.to_owned() };
    verdictd::config::parse(&[text], "host", &|_| None).expect("a config");
}
