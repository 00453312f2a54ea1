//! `${NAME}` and `${NAME:-default}` in a text of the config; `$$` stands for one `$` before `{`.
//!
//! Not for secrets: an effective value is shown by `check`. Secrets have a `…-file` key.

/// What is wrong with a variable.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum ExpandError {
    #[error("the environment variable {0} is not set, and no default is given as in ${{{0}:-default}}")]
    Unset(String),
    #[error("expected ${{NAME}} or ${{NAME:-default}} with a name of letters, digits and _, found {0:?}")]
    Form(String),
}

/// Replaces each variable. Values are taken as they are: variables in them are not replaced again. An error comes with
/// the byte in `text` at which the variable begins.
pub(super) fn expand(text: &str, env: &super::node::Env<'_>) -> Result<String, (usize, ExpandError)> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(plain) = before.strip_suffix('$') {
            out.push_str(plain);
            out.push_str("${");
            rest = from.get(2..).unwrap_or_default();
            continue;
        }
        out.push_str(before);
        let begins = text.len() - from.len();
        let form = || (begins, ExpandError::Form(from.chars().take(64).collect()));
        let end = from.find('}').ok_or_else(form)?;
        let inner = from.get(2..end).unwrap_or_default();
        let (name, default) = inner.split_once(":-").map_or((inner, None), |(n, d)| (n, Some(d)));
        let named = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !named || name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(form());
        }
        // As in a shell, an empty variable counts as unset where a default is given.
        match (env(name), default) {
            (Some(value), None) => out.push_str(&value),
            (Some(value), Some(_)) if !value.is_empty() => out.push_str(&value),
            (_, Some(default)) => out.push_str(default),
            (None, None) => return Err((begins, ExpandError::Unset(name.to_owned()))),
        }
        rest = from.get(end + 1..).unwrap_or_default();
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn env(name: &str) -> Option<String> {
        match name {
            "SITE" => Some("north".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    #[test]
    fn variables_and_defaults_are_put_in() {
        for (text, expanded) in [
            ("plain $5", "plain $5"),
            ("edge-${SITE}", "edge-north"),
            ("${SITE}${SITE}", "northnorth"),
            ("${NONE:-x}-${SITE:-y}", "x-north"),
            ("${EMPTY:-z}", "z"),
            ("${EMPTY}", ""),
            ("${NONE:-}", ""),
            ("$${SITE}", "${SITE}"),
        ] {
            assert_eq!(expand(text, &env).as_deref(), Ok(expanded), "{text}");
        }
    }

    #[test]
    fn an_unset_variable_and_a_broken_form_are_errors() {
        assert_eq!(expand("a-${NONE}", &env), Err((2, ExpandError::Unset("NONE".to_owned()))));
        assert_eq!(expand("${SITE}$${x}${NONE}", &env), Err((12, ExpandError::Unset("NONE".to_owned()))));
        for text in ["${", "${}", "${a b}", "${1}", "${SITE"] {
            assert!(matches!(expand(text, &env), Err((0, ExpandError::Form(_)))), "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "[$a-z{}:\\-é]*") {
            let _ = expand(&text, &env);
        }
    }
}
