//! The journal catalog and the reference of messages, made of the kinds.

use super::Notice;
use std::fmt::Write;

/// Lines of prose are broken here, in characters.
const WIDTH: usize = 100;

/// What `journalctl --catalog` shows of each kind: the file `verdictd.catalog`.
#[must_use]
pub fn catalog() -> String {
    let mut text = String::from(
        "# What journalctl --catalog says of verdictd's messages. Made of src/notice; not to be edited.\n",
    );
    for notice in Notice::all() {
        let _ = write!(text, "\n-- {}\nSubject: {}\nDefined-By: verdictd\n", notice.id, notice.title);
        text.push_str("Documentation: man:verdictd-messages(7)\n\n");
        text.push_str(&wrapped(notice.meaning));
        if !notice.fields.is_empty() {
            text.push('\n');
        }
        for field in notice.fields {
            let _ = writeln!(text, "{field}: @{}@", field.to_ascii_uppercase());
        }
        let _ = write!(text, "\n{}", wrapped(&format!("What to do: {}", notice.advice)));
    }
    text
}

/// All kinds for readers, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text = String::from(
        "# Log messages\n\n\
         Every message at the levels error, warn and info is of one of these kinds. The kind's name stands in the\n\
         journal field `VERDICTD_KIND`, in the member `kind` of the JSON form, and in brackets at the end of the text\n\
         form. `journalctl MESSAGE_ID=…` finds a kind's messages, and `journalctl --catalog` shows these explanations\n\
         beside them.\n\n\
         Levels say what must be done: *error*: something was lost, or someone must intervene; *warn*: a promise is\n\
         shortened or a part is away, it goes on by itself; *info*: starts, stops, changes.\n\n\
         Journal fields: the fields named with a kind in upper case (`SOURCE`, `SINK`, `SEQUENCE`, `ERROR`, …), `EVENT_ID`\n\
         where one event is meant, and `REPEATS` in a summary of messages that were held back: of one kind, one source or\n\
         sink and one level, the first few are written, then the number of the others every 30 s.\n",
    );
    for notice in Notice::all() {
        let (kind, level, id) = (notice.kind, notice.level.name(), notice.id);
        let _ = write!(text, "\n## {kind}\n\n{}.\n\n- level: {level}\n- `MESSAGE_ID={id}`\n", notice.title);
        if !notice.fields.is_empty() {
            let fields: Vec<String> = notice.fields.iter().map(|field| format!("`{field}`")).collect();
            let _ = writeln!(text, "- fields: {}", fields.join(", "));
        }
        let _ =
            write!(text, "\n{}\n{}", wrapped(notice.meaning), wrapped(&format!("**What to do:** {}", notice.advice)));
    }
    text
}

/// A paragraph in lines.
fn wrapped(paragraph: &str) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in paragraph.split(' ') {
        let chars = word.chars().count();
        if length > 0 && length + 1 + chars > WIDTH {
            lines.push('\n');
            length = 0;
        } else if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += chars;
    }
    lines.push('\n');
    lines
}
