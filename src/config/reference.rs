//! A page of all keys in Markdown, made from the key definitions.

#[must_use]
pub fn reference() -> String {
    String::new()
}
