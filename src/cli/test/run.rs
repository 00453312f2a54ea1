//! Cases through the offline engine, each with nothing seen before.

use super::{
    compare::{self, Difference},
    file::{Case, Cases},
};
use crate::{
    cli::{
        Failure,
        offline::{Answer, EVENT_BYTES_MAX, Engine},
    },
    model::Bundle,
};
use bytes::Bytes;

/// What became of a case.
pub(super) struct Outcome {
    pub name: String,
    pub steps: usize,
    /// The step's number from 1 on, and what is not as expected there.
    pub differences: Vec<(usize, Difference)>,
}

pub(super) fn run(bundle: &Bundle, file: &Cases) -> Result<Vec<Outcome>, Failure> {
    file.cases.iter().map(|case| run_case(bundle, file, case)).collect()
}

fn run_case(bundle: &Bundle, file: &Cases, case: &Case) -> Result<Outcome, Failure> {
    let mut engine = Engine::new(bundle, file.rules.clone());
    let mut differences = Vec::new();
    for (n, step) in case.steps.iter().enumerate() {
        let mut found = Vec::new();
        let mut answers = 0;
        let mut body = step.line.clone();
        body.truncate(EVENT_BYTES_MAX + 1);
        engine.run(Bytes::from(body), &mut |answer| {
            answers += 1;
            match answer {
                Answer::Scored(scored) => found = compare::scored(&step.expect, &scored, bundle.features()),
                Answer::Bad(_, bad) => found = compare::refused(&step.expect, &bad.reason),
                Answer::Label(_) => {}
            }
            Ok(())
        })?;
        if answers == 0 {
            found.push(Difference::new("event", "a record", "nothing"));
        }
        differences.extend(found.into_iter().map(|difference| (n + 1, difference)));
    }
    Ok(Outcome { name: case.name.clone(), steps: case.steps.len(), differences })
}
