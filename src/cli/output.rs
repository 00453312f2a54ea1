//! Results on stdout, everything else on stderr.

use super::Failure;
use std::io::{self, BufWriter, IsTerminal, Write};

/// Buffered stdout whose errors are failures of the command.
pub(super) struct Output<'a>(BufWriter<Box<dyn Write + 'a>>);

impl Output<'static> {
    pub fn new() -> Self {
        Self::to_boxed(Box::new(io::stdout().lock()))
    }
}

impl<'a> Output<'a> {
    fn to_boxed(write: Box<dyn Write + 'a>) -> Self {
        Self(BufWriter::with_capacity(64 << 10, write))
    }

    /// Into a buffer; what is written is there when it is dropped.
    #[cfg(test)]
    pub fn to(buffer: &'a mut Vec<u8>) -> Self {
        Self::to_boxed(Box::new(buffer))
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.0.write_all(bytes).map_err(|error| Failure::output(&error))
    }

    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes(text.as_bytes())
    }

    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.text(text)?;
        self.text("\n")
    }

    /// A value as JSON on lines of its own.
    pub fn json(&mut self, value: &impl serde::Serialize) -> Result<(), Failure> {
        serde_json::to_writer_pretty(&mut self.0, value).map_err(|error| Failure::output(&io::Error::from(error)))?;
        self.text("\n")
    }

    /// For what writes by itself; its errors are to be made failures by [`Failure::output`].
    pub fn writer(&mut self) -> &mut impl Write {
        &mut self.0
    }

    /// To be called at the end: what is still buffered would otherwise fail unseen.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.0.flush().map_err(|error| Failure::output(&error))
    }
}

/// Says something that is no result, with a mark before it: `warning: …`.
pub(super) fn say(mark: Mark, text: &str) {
    let (name, colour) = match mark {
        Mark::Error => ("error", "31"),
        Mark::Warning => ("warning", "33"),
    };
    let stderr = io::stderr();
    let coloured = stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mark = if coloured { format!("\x1b[1;{colour}m{name}:\x1b[0m ") } else { format!("{name}: ") };
    let out: String = text.lines().flat_map(|line| [mark.as_str(), line, "\n"]).collect();
    // There is nobody left to tell where stderr itself is closed.
    let _ = stderr.lock().write_all(out.as_bytes());
}

#[derive(Clone, Copy)]
pub(super) enum Mark {
    Error,
    Warning,
}
