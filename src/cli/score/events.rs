//! Events through the offline engine, one verdict line each.

use super::{
    Failure, Input, Output,
    offline::{Answer, Engine, Scored, Slice, Slices, Value, values},
};
use crate::{
    event::{BadKind, IdentityRules},
    features::FeatureSet,
    ingest::{Problem, ProblemKind},
    model::Bundle,
    verdict::{write_json, write_json_string},
};
use std::io::Write;

pub(super) fn score(
    bundle: &Bundle,
    input: Input,
    rules: IdentityRules,
    with_features: bool,
    out: &mut Output<'_>,
) -> Result<(), Failure> {
    let mut slices = Slices::new(input, &rules.id)?;
    let mut engine = Engine::new(bundle, rules);
    let mut line = Vec::new();
    while let Some(slice) = slices.next()? {
        match slice {
            Slice::Events(body) => engine.run(body, &mut |answer| {
                line.clear();
                match answer {
                    Answer::Scored(scored) => {
                        write_scored(&scored, with_features.then(|| bundle.features()), &mut line);
                    }
                    Answer::Bad(batch, bad) => {
                        let kind = match bad.kind {
                            BadKind::Malformed => ProblemKind::Malformed,
                            BadKind::Oversized => ProblemKind::Oversized,
                        };
                        let mut problem = Problem::new(kind, bad.reason.as_str());
                        let source = Some(batch.str(bad.source)).filter(|source| !source.is_empty());
                        problem.source = source.map(Into::into);
                        problem.id = bad.id.map(|id| batch.str(id).into());
                        problem.write_json(&mut line);
                    }
                    // A label is no event: it changes what later events are given.
                    Answer::Label(_) => return Ok(()),
                }
                line.push(b'\n');
                out.bytes(&line)
            })?,
            Slice::Bad(reason) => {
                line.clear();
                Problem::new(ProblemKind::Malformed, reason.as_str()).write_json(&mut line);
                line.push(b'\n');
                out.bytes(&line)?;
            }
        }
    }
    Ok(())
}

/// The first member that only a commit gives.
const SEQUENCE: &[u8] = b",\"sequence\":";

/// The verdict as one JSON object, with the row by name where `features` are given.
fn write_scored(scored: &Scored<'_>, features: Option<&FeatureSet>, line: &mut Vec<u8>) {
    write_json(&scored.verdict, line);
    // What only a commit gives stands at the end, and holds no text of the event.
    if let Some(end) = line.windows(SEQUENCE.len()).rposition(|window| window == SEQUENCE) {
        line.truncate(end);
    }
    if let Some(features) = features {
        write_features(features, scored.row, line);
    }
    line.push(b'}');
}

/// Appends `,"features":{…}`: null for NaN, and for all where there is no row.
pub(super) fn write_features(features: &FeatureSet, row: Option<&[f64]>, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"features\":");
    let Some(row) = row else {
        out.extend_from_slice(b"null");
        return;
    };
    out.push(b'{');
    for (n, (name, value)) in values(features, row).enumerate() {
        if n > 0 {
            out.push(b',');
        }
        write_json_string(name, out);
        out.push(b':');
        match value {
            Value::Text(Some(text)) => write_json_string(&text, out),
            Value::Text(None) => out.extend_from_slice(b"null"),
            Value::Number(number) => write_double(number, out),
        }
    }
    out.push(b'}');
}

/// Appends a number so that it reads back as the same f64, also where it happens to be an f32, whose own text is shorter
/// and another f64.
fn write_double(number: f64, out: &mut Vec<u8>) {
    if !number.is_finite() {
        return out.extend_from_slice(b"null");
    }
    let _ = write!(out, "{number:?}");
    if out.ends_with(b".0") {
        out.truncate(out.len() - 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_double_reads_back_as_itself_also_where_it_is_an_f32() {
        for (number, text) in
            [(53.382_812_5, "53.3828125"), (3.0, "3"), (0.1, "0.1"), (1e300, "1e300"), (f64::NAN, "null")]
        {
            let mut out = Vec::new();
            write_double(number, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
