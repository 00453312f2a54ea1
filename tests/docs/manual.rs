//! The man pages of section 1: one for verdictd, one a command, made of the definitions of the commands.

use super::roff::{Page, bold, escape, inline, italic};
use super::{are_all, is_current};
use clap::{Arg, Command};
use verdictd::cli::ExitCode;

const FOLDER: &str = "packaging/man";

/// What a page of a command says of files beside its config.
const CONFIG_FILES: &[(&str, &str)] = &[
    ("/etc/verdictd/verdictd.toml", "The config, unless --config names another one. See `verdictd.toml`(5)."),
    ("/etc/verdictd/conf.d/*.toml", "Laid over it in the order of their names."),
];
const STATE_FILES: &[(&str, &str)] = &[(
    "/var/lib/verdictd",
    "The state-dir: the log of verdicts with the cursors of the sinks and the quarantine. See `verdictd-operating`(7).",
)];
const SOCKET_FILES: &[(&str, &str)] = &[
    ("/run/verdictd/admin.sock", "Status and metrics, of the shipped config."),
    ("/run/verdictd/events.sock", "Where events are posted, of the shipped config."),
];
const MODEL_FILES: &[(&str, &str)] =
    &[("/var/lib/verdictd/models", "Bundles; `model.bundle` of the config names one.")];

/// The files of a command's page.
fn files(name: &str) -> Vec<(&'static str, &'static str)> {
    let groups: &[&[(&str, &str)]] = match name {
        "verdictd" | "run" | "check" => &[CONFIG_FILES, STATE_FILES, SOCKET_FILES, MODEL_FILES],
        "status" | "reload" => &[CONFIG_FILES, &SOCKET_FILES[..1]],
        "send" => &[&SOCKET_FILES[1..]],
        "store" | "quarantine" => &[CONFIG_FILES, STATE_FILES],
        "score" | "model" => &[MODEL_FILES],
        _ => &[],
    };
    groups.concat()
}

/// Every environment variable that the program itself reads: its name, the commands, what it does.
pub const VARIABLES: &[(&str, &[&str], &str)] = &[
    (
        "NO_COLOR",
        &["verdictd", "run", "check", "status", "send", "demo", "bench"],
        "Where it is set to anything, no colour is written to a terminal.",
    ),
    (
        "MAINPID",
        &["reload"],
        "Of systemd: the daemon, which is sent SIGHUP where it cannot be asked on its admin socket.",
    ),
    ("NOTIFY_SOCKET", &["run"], "Of systemd: where the daemon says that it is ready, reloads, stops, and how it does."),
    ("WATCHDOG_USEC", &["run"], "Of systemd: how often a sign of life is asked for; WATCHDOG_PID says of whom."),
    (
        "LISTEN_FDS",
        &["run"],
        "Of systemd: how many sockets are passed; LISTEN_FDNAMES names the source that each is for, LISTEN_PID the process.",
    ),
    ("JOURNAL_STREAM", &["run"], "Of systemd: whether standard error is the journal, for `log.format = \"auto\"`."),
    (
        "TMPDIR",
        &["demo", "bench", "store", "quarantine"],
        "Where temporary folders are made, instead of /tmp: the private folder of `demo` and `bench`, the copy that `store` and `quarantine` look at.",
    ),
];

/// Pages beside `verdictd`(1), of interest to who reads a command's.
fn related(name: &str) -> &'static [&'static str] {
    match name {
        "run" => &["check", "reload", "status", "store"],
        "reload" => &["check", "status", "run"],
        "check" => &["init", "reload", "run"],
        "init" => &["check"],
        "send" => &["simulate", "run"],
        "score" => &["model", "simulate"],
        "simulate" => &["send", "score"],
        "status" => &["store", "quarantine"],
        "store" => &["quarantine", "status"],
        "quarantine" => &["store", "status"],
        "model" => &["score", "check", "reload"],
        "demo" => &["bench", "init"],
        "bench" => &["demo"],
        _ => &["run", "status"],
    }
}

fn built() -> Command {
    let mut command = verdictd::cli::command();
    command.build();
    command
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

fn title(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

/// `verdictd check [--config FILE] [--json]`, as roff.
fn synopsis(command: &Command) -> String {
    let mut parts = vec![bold(command.get_bin_name().unwrap_or(command.get_name()))];
    // By what they do: `model pack` has a --version of its own.
    let is_builtin = |arg: &&Arg| {
        use clap::ArgAction::{Help, HelpLong, HelpShort, Version};
        !matches!(arg.get_action(), Help | HelpShort | HelpLong | Version)
    };
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()).filter(is_builtin) {
        let value = || {
            let names = arg.get_value_names().unwrap_or_default();
            names.iter().map(|name| italic(name)).collect::<Vec<_>>().join(" ")
        };
        let text = match arg.get_long() {
            Some(long) if arg.get_action().takes_values() => format!("{} {}", bold(&format!("--{long}")), value()),
            Some(long) => bold(&format!("--{long}")),
            None => value(),
        };
        let many = arg.get_num_args().is_some_and(|n| n.max_values() > 1)
            || matches!(arg.get_action(), clap::ArgAction::Append);
        let dots = if many { "…" } else { "" };
        parts.push(if arg.is_required_set() { format!("{text}{dots}") } else { format!("[{text}]{dots}") });
    }
    if command.has_subcommands() {
        parts.push(italic("COMMAND"));
    }
    parts.join(" ")
}

/// The options of a command, without the head of the section.
fn options(command: &Command) -> String {
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command.clone()).render_options_section(&mut bytes).expect("a page in memory");
    let text = String::from_utf8(bytes).expect("UTF-8").replace("\\*(Aq", "\\(aq");
    let lines =
        text.lines().filter(|line| !line.starts_with(".SH") && !line.starts_with(".ie") && !line.starts_with(".el"));
    // Code in a help text is between grave accents.
    let marked = lines.map(|line| {
        let parts: Vec<&str> = line.split('`').collect();
        if parts.len().is_multiple_of(2) {
            return line.to_owned();
        }
        let parts = parts.iter().enumerate();
        parts
            .map(|(n, part)| if n % 2 == 1 { format!("\\fB{part}\\fR") } else { (*part).to_owned() })
            .collect::<String>()
    });
    marked.collect::<Vec<_>>().join("\n")
}

fn command_page(command: &Command) -> String {
    let name = command.get_name();
    let about = command.get_about().expect("every command says what it does").to_string();
    let mut page = Page::new(&title(command), 1);
    page.section("Name");
    page.raw(&format!("{} \\- {}", escape(&title(command)), inline(&about)));
    page.section("Synopsis");
    let subs: Vec<&Command> = shown(command).collect();
    if subs.is_empty() {
        page.raw(&synopsis(command));
    }
    for (n, sub) in subs.iter().enumerate() {
        if n > 0 {
            page.raw(".br");
        }
        page.raw(&synopsis(sub));
    }
    page.section("Description");
    page.paragraphs(&command.get_long_about().expect("every command has a longer help").to_string());
    if subs.is_empty() {
        page.section("Options");
        page.raw(&options(command));
    } else {
        page.section("Commands");
        for sub in subs {
            page.subsection(sub.get_bin_name().unwrap_or_default());
            page.paragraphs(&sub.get_long_about().or_else(|| sub.get_about()).expect("what it does").to_string());
            page.raw(&options(&sub.clone().mut_arg("help", |help| help.hide(true))));
        }
    }
    ends(&mut page, name, command);
    page.finish()
}

/// The sections that every page ends with.
fn ends(page: &mut Page, name: &str, command: &Command) {
    page.section("Exit status");
    for code in ExitCode::ALL {
        page.term(&bold(&(code as u8).to_string()), format!("{} {}", code.meaning(), code.advice()).trim());
    }
    let variables: Vec<_> = VARIABLES.iter().filter(|(_, commands, _)| commands.contains(&name)).collect();
    if !variables.is_empty() {
        page.section("Environment");
        for (variable, _, text) in variables {
            page.term(&bold(variable), text);
        }
        if files(name).iter().any(|(file, _)| file.contains("verdictd.toml")) {
            page.paragraph("Texts of the config may name further variables: see `verdictd.toml`(5).");
        }
    }
    let files = files(name);
    if !files.is_empty() {
        page.section("Files");
        for (file, text) in files {
            page.term(&italic(file), text);
        }
    }
    let examples = command.get_after_long_help().expect("every command has examples").to_string();
    page.section("Examples");
    for line in examples.lines().skip(1).map(str::trim) {
        match line.strip_prefix("# ") {
            Some(text) => page.paragraph(&format!("{}{}:", text[..1].to_uppercase(), &text[1..])),
            None => page.example(line),
        }
    }
    let mut also: Vec<String> = related(name).iter().map(|other| format!("verdictd-{other}(1)")).collect();
    also.insert(0, "verdictd(1)".to_owned());
    also.extend(["verdictd.toml(5)".to_owned(), "verdictd-operating(7)".to_owned()]);
    page.see_also(&also);
}

fn main_page(command: &Command) -> String {
    let mut page = Page::new("verdictd", 1);
    page.section("Name");
    page.raw("verdictd \\- score events at the edge and make each verdict durable, deduplicated and forwarded");
    page.section("Synopsis");
    page.raw(&format!("{} {} [{}…]", bold("verdictd"), italic("COMMAND"), italic("OPTION")));
    page.section("Description");
    page.paragraphs(
        "A daemon for a small box at the edge of a site. It takes events in (over HTTP, a socket, a serial line, MQTT or Kafka, or from files), answers each with a model's verdict, and forgets neither: the answer comes only when the verdict is on the disk, a repeated event gets its first answer again, word for word, and every verdict is handed on in order to each sink, whenever the link is up.\n\n\
         One process, one folder of state, one config file. The same program is the daemon and every tool for it. Results go to standard output, everything else to standard error.",
    );
    page.section("Commands");
    for sub in shown(command) {
        page.term(&format!("{}(1)", bold(&title(sub))), &sub.get_about().expect("what it does").to_string());
    }
    page.section("Options");
    page.raw(&options(&verdictd::cli::command().subcommand_required(false)));
    page.section("Exit status");
    page.paragraph("Of every command:");
    for code in ExitCode::ALL {
        page.term(&bold(&(code as u8).to_string()), format!("{} {}", code.meaning(), code.advice()).trim());
    }
    page.section("Environment");
    for (variable, _, text) in VARIABLES.iter().filter(|(_, commands, _)| *commands != ["run"]) {
        page.term(&bold(variable), text);
    }
    page.paragraph("Texts of the config may name further variables: see `verdictd.toml`(5).");
    page.section("Files");
    for (file, text) in files("verdictd") {
        page.term(&italic(file), text);
    }
    page.section("Examples");
    page.paragraph("See the whole job once, then make a config, check it, and run it:");
    page.example("verdictd demo\nverdictd init > verdictd.toml\nverdictd check --config verdictd.toml\nverdictd run --config verdictd.toml");
    page.paragraph("Of the packaged service:");
    page.example("systemctl status verdictd\nverdictd status\njournalctl -u verdictd -p warning");
    let mut also: Vec<String> = shown(command).map(|sub| format!("{}(1)", title(sub))).collect();
    also.extend(["verdictd.toml(5)".to_owned(), "verdictd-operating(7)".to_owned()]);
    page.see_also(&also);
    page.finish()
}

/// Every page of section 1 with its file's name.
pub fn pages() -> Vec<(String, String)> {
    let command = built();
    let mut pages = vec![("verdictd.1".to_owned(), main_page(&command))];
    pages.extend(shown(&command).map(|sub| (format!("{}.1", title(sub)), command_page(sub))));
    pages
}

#[test]
fn the_man_pages_are_those_of_the_commands() {
    for (name, text) in pages() {
        is_current(&format!("{FOLDER}/{name}"), &text);
    }
}

/// The file names of all man pages.
fn file_names() -> Vec<String> {
    let mut names: Vec<String> = pages().into_iter().map(|(name, _)| name).collect();
    names.push("verdictd.toml.5".to_owned());
    names.extend(super::guides::file_names());
    names
}

#[test]
fn no_man_page_is_left_over() {
    are_all(FOLDER, &file_names());
}

#[test]
fn every_page_that_a_page_points_at_is_there() {
    let names = file_names();
    for name in &names {
        let text = super::read(&format!("{FOLDER}/{name}"));
        for line in text.lines().filter_map(|line| line.strip_prefix(".BR ")) {
            let (page, section) = line.trim_end_matches(" ,").split_once(" (").expect("a name and its section");
            let file = format!("{}.{}", page.replace("\\-", "-"), section.trim_end_matches(')'));
            assert!(names.contains(&file), "{name}: {file}");
        }
    }
}
