//! Turns a guide in Markdown into a man page: as much of Markdown as the guides use, and an error for the rest.
//!
//! | Markdown | on the page |
//! |---|---|
//! | `# title`, `## title`, `### title` | the name line, a section, a subsection |
//! | a paragraph, a list, a numbered list, a code block | the same |
//! | a table | a term a row: its first cell, then the others, each after the head of its column |
//! | code, strong | bold; emphasis is in italics |
//! | a link | its text, and what it points at where that is another guide or a page of the web |

use super::roff::{Page, bold, escape};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use std::fmt::Write;

/// A page of section 7. Its first heading is `# name: what it is`.
pub fn page(name: &str, section: u8, markdown: &str, see_also: &[String]) -> String {
    let mut writer = Writer { page: Page::new(name, section), ..Writer::default_of(name) };
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        writer.event(event);
    }
    writer.page.see_also(see_also);
    writer.page.finish()
}

struct Writer {
    page: Page,
    name: String,
    /// The line of text, as roff, while it is put together.
    line: String,
    /// Next number of each open list; none in one with bullets.
    lists: Vec<Option<u64>>,
    /// Whether the next text belongs to the mark of its item.
    item_begins: bool,
    /// Whether the title stands there, and nothing after it.
    is_titled: bool,
    heads: Vec<String>,
    cells: Vec<String>,
    code: Option<String>,
    link: Option<String>,
}

impl Writer {
    fn default_of(name: &str) -> Self {
        Self {
            page: Page::new(name, 7),
            name: name.to_owned(),
            line: String::new(),
            lists: Vec::new(),
            item_begins: false,
            is_titled: false,
            heads: Vec::new(),
            cells: Vec::new(),
            code: None,
            link: None,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.line.push_str(&escape(&text)),
            },
            Event::Code(text) => self.line.push_str(&bold(&text)),
            Event::SoftBreak => self.line.push(' '),
            other => panic!("{}: {other:?} has no place on a man page", self.name),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => {
                if std::mem::take(&mut self.is_titled) {
                    self.page.section("Description");
                }
                if !std::mem::take(&mut self.item_begins) {
                    self.page.raw(if self.lists.is_empty() { ".PP" } else { ".IP" });
                }
            }
            Tag::Heading { .. } | Tag::TableHead | Tag::TableRow => {}
            Tag::TableCell => self.line.clear(),
            Tag::Table(_) => self.heads.clear(),
            Tag::CodeBlock(CodeBlockKind::Fenced(_)) => self.code = Some(String::new()),
            Tag::List(first) => {
                self.flush();
                if !self.lists.is_empty() {
                    self.page.raw(".RS");
                }
                self.lists.push(first);
            }
            Tag::Item => {
                match self.lists.last_mut() {
                    Some(Some(number)) => {
                        self.page.raw(&format!(".IP {number}. 4"));
                        *number += 1;
                    }
                    _ => self.page.raw(".IP \\(bu 3"),
                }
                self.item_begins = true;
            }
            Tag::Emphasis => self.line.push_str("\\fI"),
            Tag::Strong => self.line.push_str("\\fB"),
            Tag::Link { dest_url, .. } => self.link = Some(dest_url.to_string()),
            other => panic!("{}: {other:?} has no place on a man page", self.name),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => {
                let title = std::mem::take(&mut self.line);
                self.is_titled = false;
                match level as usize {
                    1 => {
                        let (_, what) = title.split_once(": ").expect("# name: what it is");
                        self.page.section("Name");
                        self.page.raw(&format!("{} \\- {what}", escape(&self.name)));
                        self.is_titled = true;
                    }
                    2 => self.page.raw(&format!(
                        ".SH \"{}\"",
                        title.to_uppercase().replace("\\FB", "\\fB").replace("\\FR", "\\fR")
                    )),
                    _ => self.page.raw(&format!(".SS \"{title}\"")),
                }
            }
            TagEnd::Paragraph => self.flush(),
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                if self.lists.is_empty() {
                    self.page.example(&code);
                } else {
                    self.page.raw(".RS");
                    self.page.example(&code);
                    self.page.raw(".RE");
                }
            }
            TagEnd::List(_) => {
                self.lists.pop();
                if !self.lists.is_empty() {
                    self.page.raw(".RE");
                }
            }
            TagEnd::Item => {
                self.flush();
                self.item_begins = false;
            }
            TagEnd::TableCell => self.cells.push(std::mem::take(&mut self.line)),
            TagEnd::TableHead => self.heads = std::mem::take(&mut self.cells),
            TagEnd::TableRow => self.row(),
            TagEnd::Emphasis | TagEnd::Strong => self.line.push_str("\\fR"),
            TagEnd::Link => {
                let target = self.link.take().unwrap_or_default();
                if let Some(page) = guide_page(&target) {
                    let _ = write!(self.line, " (\\fB{}\\fR(7))", escape(&page));
                } else if target.contains("://") {
                    let _ = write!(self.line, " ({})", escape(&target));
                }
            }
            TagEnd::Table => {}
            other => panic!("{}: {other:?} has no place on a man page", self.name),
        }
    }

    /// A row of a table: its first cell is the term.
    fn row(&mut self) {
        let cells = std::mem::take(&mut self.cells);
        let (term, rest) = cells.split_first().expect("a row with cells");
        self.page.raw(".TP");
        self.line.clone_from(term);
        self.flush();
        let alone = rest.len() == 1;
        for (n, cell) in rest.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            if n > 0 {
                self.page.raw(".IP");
            }
            let head = self.heads.get(n + 1).filter(|_| !alone && n > 0);
            self.line = head.map_or_else(|| cell.clone(), |head| format!("\\fI{head}:\\fR {cell}"));
            self.flush();
        }
    }

    fn flush(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.item_begins &= line.is_empty();
        if !line.is_empty() {
            let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
            self.page.raw(&format!("{guard}{line}"));
        }
    }
}

/// The man page of another guide: `verdictd-backup` for backup.md.
fn guide_page(target: &str) -> Option<String> {
    let file = target.split('#').next().unwrap_or_default();
    let name = file.strip_suffix(".md").filter(|name| !name.contains('/'))?;
    Some(format!("verdictd-{name}"))
}

/// The lines after the head and before "see also".
#[cfg(test)]
fn body(markdown: &str) -> Vec<String> {
    let text = page("verdictd-x", 7, markdown, &["verdictd(1)".to_owned()]);
    let body = text.lines().skip(2).take_while(|line| !line.contains("SEE ALSO"));
    body.map(str::to_owned).collect()
}

#[test]
fn headings_become_name_sections_and_subsections() {
    assert_eq!(
        body("# Operating: how to run it\n\nFor all.\n\n## A `b` c\n\n### D e\n"),
        [
            ".SH \"NAME\"",
            "verdictd\\-x \\- how to run it",
            ".SH \"DESCRIPTION\"",
            ".PP",
            "For all.",
            ".SH \"A \\fBB\\fR C\"",
            ".SS \"D e\""
        ]
    );
}

#[test]
fn paragraphs_keep_code_strong_and_emphasis() {
    assert_eq!(body("A **b** *c* `d-e`\nand.\n"), [".PP", "A \\fBb\\fR \\fIc\\fR \\fBd\\-e\\fR and."]);
    assert_eq!(body("`.x` is first\n")[1], "\\fB.x\\fR is first");
}

#[test]
fn lists_keep_their_numbers_and_nest() {
    assert_eq!(
        body("1. one\n2. two\n   - in\n"),
        [".IP 1. 4", "one", ".IP 2. 4", "two", ".RS", ".IP \\(bu 3", "in", ".RE"]
    );
}

#[test]
fn a_row_of_a_table_is_a_term_and_its_cells() {
    assert_eq!(
        body("| you see | means | do |\n|---|---|---|\n| `a` | b | c |\n"),
        [".TP", "\\fBa\\fR", "b", ".IP", "\\fIdo:\\fR c"]
    );
    assert_eq!(body("| a | b |\n|---|---|\n| x | y |\n"), [".TP", "x", "y"]);
}

#[test]
fn code_is_as_it_stands() {
    assert_eq!(body("```sh\n. 'x' \\\n```\n"), [".PP", ".RS 4", ".nf", "\\&. \\(aqx\\(aq \\e", ".fi", ".RE"]);
}

#[test]
fn links_name_the_page_of_another_guide_and_the_web() {
    assert_eq!(
        body("[b](backup.md#x) [s](#here) [w](https://w.org/)\n")[1],
        "b (\\fBverdictd\\-backup\\fR(7)) s w (https://w.org/)"
    );
}
