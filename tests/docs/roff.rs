//! Writes man pages: the few requests of man(7) that they need, with everything in them escaped.
//!
//! In texts, `` `code` `` becomes bold. Rules: one request a line; no line of text begins with a control character;
//! `-` is written `\-`, so that what is copied from a page is what was meant.

use std::fmt::Write;

/// A page while it is written.
pub struct Page(String);

impl Page {
    /// `name` in capitals, as man pages have it, with the version and the name of the manual.
    pub fn new(name: &str, section: u8) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let name = escape(&name.to_uppercase());
        Self(format!(
            ".\\\" Made of the code: VERDICTD_BLESS=1 cargo test \\-\\-test docs writes it anew.\n.TH {name} {section} \"\" \"verdictd {version}\" \"verdictd manual\"\n"
        ))
    }

    pub fn finish(self) -> String {
        self.0
    }

    pub fn section(&mut self, title: &str) {
        let _ = writeln!(self.0, ".SH {}", quoted(&title.to_uppercase()));
    }

    pub fn subsection(&mut self, title: &str) {
        let _ = writeln!(self.0, ".SS {}", quoted(title));
    }

    /// A line of what is roff already.
    pub fn raw(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// A line of text that goes on in the paragraph before it.
    pub fn text(&mut self, text: &str) {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.raw(&guarded(&inline(line)));
        }
    }

    pub fn paragraph(&mut self, text: &str) {
        self.raw(".PP");
        self.text(text);
    }

    /// Paragraphs parted by empty lines.
    pub fn paragraphs(&mut self, text: &str) {
        for paragraph in text.split("\n\n") {
            self.paragraph(paragraph);
        }
    }

    /// A term, given as roff, and what is said of it.
    pub fn term(&mut self, term: &str, text: &str) {
        self.raw(".TP");
        self.raw(&guarded(term));
        self.text(text);
    }

    /// Lines as they are.
    pub fn example(&mut self, lines: &str) {
        self.raw(".PP");
        self.raw(".RS 4");
        self.raw(".nf");
        for line in lines.lines() {
            let line = escape(line);
            self.raw(&if line.is_empty() { "\\&".to_owned() } else { guarded(&line) });
        }
        self.raw(".fi");
        self.raw(".RE");
    }

    pub fn see_also(&mut self, pages: &[String]) {
        self.section("See also");
        let pages: Vec<String> = pages
            .iter()
            .map(|page| {
                let (name, section) = page.split_once('(').expect("name(section)");
                format!(".BR {} ({section}", escape(name))
            })
            .collect();
        for (n, page) in pages.iter().enumerate() {
            self.raw(&format!("{page}{}", if n + 1 == pages.len() { "" } else { " ," }));
        }
    }
}

/// Text with `` `code` `` in bold.
pub fn inline(text: &str) -> String {
    let mut out = String::new();
    for (n, part) in text.split('`').enumerate() {
        if n % 2 == 1 { out.push_str(&bold(part)) } else { out.push_str(&escape(part)) }
    }
    out
}

pub fn bold(text: &str) -> String {
    format!("\\fB{}\\fR", escape(text))
}

pub fn italic(text: &str) -> String {
    format!("\\fI{}\\fR", escape(text))
}

pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\e"),
            '-' => out.push_str("\\-"),
            '\'' => out.push_str("\\(aq"),
            '"' => out.push_str("\\(dq"),
            '`' => out.push_str("\\(ga"),
            '^' => out.push_str("\\(ha"),
            '~' => out.push_str("\\(ti"),
            letter => out.push(letter),
        }
    }
    out
}

/// A line that begins no request.
fn guarded(line: &str) -> String {
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escape(text))
}

#[test]
fn nothing_in_a_text_is_a_request_or_an_escape() {
    let mut page = Page::new("x", 1);
    page.paragraph(".TH is `a-b` \\fB'~");
    page.example(".x\n\n'y");
    let text = page.finish();
    let lines: Vec<&str> = text.lines().skip(2).collect();
    let expected = [
        ".PP",
        "\\&.TH is \\fBa\\-b\\fR \\efB\\(aq\\(ti",
        ".PP",
        ".RS 4",
        ".nf",
        "\\&.x",
        "\\&",
        "\\(aqy",
        ".fi",
        ".RE",
    ];
    assert_eq!(lines, expected);
}
