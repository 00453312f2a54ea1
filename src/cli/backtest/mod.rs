//! `verdictd backtest`: the events of a file through another bundle, beside what was decided of them.
//!
//! ```text
//! FILE, or the events kept in the store ─> Slices ─┬─> Engine of --bundle ──────────────────> is  ─┐
//!                 └─> Engine of --against, or verdicts by (source, id) ─> was ─┴─> Tally ─> report
//! ```
//!
//! Memory grows with the events, about 100 bytes each: a label may come any time after its event.

mod changes;
mod figures;
mod past;
mod report;
mod tally;

#[cfg(test)]
mod tests;

use super::{
    Failure,
    offline::{Answer, Engine, EventArgs, Input, Slice, Slices, kept_time, load_bundle, not_kept, pointer},
    output::{Mark, Output, say},
    store::open_store,
};
use crate::{
    event::{Field, KeyRule, Pointer},
    features::{Plan, union},
    model::Bundle,
    store::inspect::Inspector,
};
use changes::Changes;
use clap::Args;
use past::Past;
use std::path::PathBuf;
use tally::{Side, Tally};

#[derive(Args, Debug)]
pub(super) struct BacktestArgs {
    /// The bundle that is tried
    #[arg(long, value_name = "DIR")]
    bundle: PathBuf,
    /// Beside this bundle, over the same events
    #[arg(long, value_name = "DIR", group = "was")]
    against: Option<PathBuf>,
    /// Beside these verdicts: NDJSON as the file sink writes it
    #[arg(long, value_name = "FILE", group = "was")]
    verdicts: Option<PathBuf>,
    /// Beside the verdicts in the store of this state-dir, with its labels
    #[arg(long, value_name = "DIR", group = "was")]
    dir: Option<PathBuf>,
    /// Beside those in the store of this config's state-dir
    #[arg(long, value_name = "FILE", group = "was")]
    config: Option<PathBuf>,
    #[command(flatten)]
    events: EventArgs,
    /// The source of events that do not say: a text, or a pointer (it begins with /); by default that of the verdicts
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Where an event's label stands, which was known only later: it counts here, in no window
    #[arg(long, value_name = "POINTER", value_parser = pointer)]
    label: Option<Pointer>,
    /// Write a line of JSON for each event whose decision changes
    #[arg(long, value_name = "FILE")]
    changes: Option<PathBuf>,
    /// A minisign public key that must have signed the bundles
    #[arg(long, value_name = "FILE")]
    public_key: Option<PathBuf>,
    /// Print JSON for scripts
    #[arg(long)]
    json: bool,
    /// The events: CSV with a header, or NDJSON; "-" for standard input. Where not given those that the store keeps, or
    /// standard input where there is no store
    file: Option<PathBuf>,
}

impl BacktestArgs {
    /// A copy of the store whose verdicts are compared, if one is named.
    fn store(&self) -> Result<Option<Inspector>, Failure> {
        let dir = match (&self.dir, &self.config) {
            (Some(dir), _) => dir.clone(),
            (None, Some(config)) => crate::config::load(config)?.config.state_dir,
            (None, None) => return Ok(None),
        };
        open_store(&dir).map(Some)
    }
}

pub(super) fn run(args: &BacktestArgs) -> Result<(), Failure> {
    let bundle = scoring(args, &args.bundle)?;
    let against = args.against.as_ref().map(|path| scoring(args, path)).transpose()?;
    let store = args.store()?;
    let past = match (&args.verdicts, &store) {
        (Some(file), _) => Past::from_file(file)?,
        (_, Some(inspector)) => Past::from_store(inspector)?,
        _ if against.is_some() => Past::default(),
        _ => return Err(Failure::usage("expected one of --against, --verdicts, --dir, --config")),
    };
    let source = args.source.as_deref().or(past.only_source()).unwrap_or("backtest");
    let mut rules = args.events.rules(source, "backtest")?;
    let mut notes = Vec::new();
    let input = match (store, &args.file) {
        (Some(inspector), None) => {
            notes = replay_notes(&inspector, &bundle)?;
            // It stands beside the fields.
            rules.key = KeyRule::default();
            Input::replay(inspector)?
        }
        (store, file) => {
            if store.is_some() {
                notes.push("only what is still in the store is compared; the events are those of FILE".to_owned());
            }
            Input::open(file.as_deref(), args.events.format)?
        }
    };
    let mut changes = args.changes.as_deref().map(Changes::create).transpose()?;
    let mut slices = Slices::new(input, &rules.id)?;
    let mut was = against.as_ref().map(|against| Engine::new(against, rules.clone()));
    let mut is = Engine::looking(&bundle, rules, args.label.clone());
    let mut tally = Tally::new(&bundle, against.as_ref());
    tally.labels.extend(&past.labels);
    let mut before = Vec::new();
    while let Some(slice) = slices.next()? {
        let Slice::Events(body) = slice else {
            tally.bad += 1;
            continue;
        };
        before.clear();
        if let Some(engine) = &mut was {
            engine.run(body.clone(), &mut |answer| {
                if let Answer::Scored(scored) = answer {
                    before.push(Side::of(&scored.verdict, &mut tally.names));
                }
                Ok(())
            })?;
        }
        let mut place = 0;
        is.run(body, &mut |answer| {
            match answer {
                Answer::Bad(..) => tally.bad += 1,
                Answer::Label(label) => {
                    tally.labels.insert(label.identity, label.value);
                }
                Answer::Scored(scored) => {
                    let earlier = match before.get(place) {
                        Some(side) => Some(*side),
                        None => past.get(scored.identity, &mut tally.names),
                    };
                    place += 1;
                    match scored.beside {
                        Field::Number(value) => tally.label(scored.identity, value),
                        Field::Bool(value) => tally.label(scored.identity, f64::from(u8::from(value))),
                        Field::Missing | Field::Null => {}
                        Field::Text(_) | Field::Composite => tally.no_labels += 1,
                    }
                    let now = Side::of(&scored.verdict, &mut tally.names);
                    let is_new = tally.add(scored.identity, earlier, now);
                    if let (Some(changes), Some(earlier)) = (&mut changes, earlier)
                        && is_new
                        && earlier.decision != now.decision
                    {
                        let label = tally.labels.get(&scored.identity).copied();
                        changes.write(&scored.verdict, (tally.names.name(earlier.decision), earlier.score()), label)?;
                    }
                }
            }
            Ok(())
        })?;
    }
    tally.unmet = past.len().saturating_sub(tally.met());
    if let Some(changes) = changes {
        changes.finish()?;
    }
    finish(args, &tally, &notes)
}

fn finish(args: &BacktestArgs, tally: &Tally, notes: &[String]) -> Result<(), Failure> {
    let figures = figures::Figures::of(tally);
    let mut out = Output::new();
    if args.json {
        out.json(&report::json(&figures))?;
    } else {
        out.text(&report::text(&figures))?;
    }
    out.finish()?;
    for note in notes {
        say(Mark::Warning, note);
    }
    if figures.compared == 0 {
        let message = "no event has an earlier verdict to stand beside: are --id and --source those of the verdicts?";
        return Err(Failure::does_not_hold(message));
    }
    Ok(())
}

/// What a person should know of a replay out of the store.
fn replay_notes(inspector: &Inspector, bundle: &Bundle) -> Result<Vec<String>, Failure> {
    let Some(first) = inspector.kept().next().transpose()? else {
        let message = "the store keeps no events: set replay.keep in the config, so that those from then on can be \
                       replayed; or give them as FILE";
        return Err(Failure::usage(message));
    };
    let mut notes = Vec::new();
    let wanted = union(bundle.features().pointers(), bundle.rules().pointers());
    let missing = not_kept(inspector, &wanted)?;
    if !missing.is_empty() {
        let fields = missing.join(", ");
        notes.push(format!("the bundle reads what the first events kept do not have: {fields}; see replay.fields"));
    }
    if let Some(plan) = Plan::of(&[bundle.features()]) {
        let days = plan.longest_us() / 86_400_000_000;
        let since = kept_time(&first).unwrap_or_default();
        notes.push(format!(
            "the events kept begin with one of {since}: windows are whole where they reach no further back; the longest \
             of the bundle's is {days} d"
        ));
    }
    Ok(notes)
}

/// A bundle that says which output is its score.
fn scoring(args: &BacktestArgs, path: &std::path::Path) -> Result<Bundle, Failure> {
    let bundle = load_bundle(path, args.public_key.as_ref())?;
    if bundle.scoring().is_decided() {
        return Ok(bundle);
    }
    let message = format!("{}: expected a bundle that says which output is the score", path.display());
    Err(Failure::does_not_hold(message))
}
