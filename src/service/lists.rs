//! Looks at the files of the models' lists, and takes those that have changed.

use super::admin::View;
use crate::features::Looked;
use crate::model::Bundle;
use crate::notice;
use std::sync::Arc;
use std::time::Duration;

/// Time between two looks; a change is taken at the second that finds it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Looks until the runtime ends.
pub async fn watch(view: Arc<View>) {
    let mut ticks = tokio::time::interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let lineup = Arc::clone(&view.now().lineup);
        let models = std::iter::once(lineup.bundle()).chain(lineup.shadow().map(|shadow| shadow.bundle()));
        for model in models.filter(|model| !model.rules().lists().is_empty()).cloned().collect::<Vec<_>>() {
            // One that panics is a bug that the next look meets again: the lists stay as they are.
            let _ = tokio::task::spawn_blocking(move || look(&model)).await;
        }
    }
}

fn look(model: &Bundle) {
    for news in model.rules().reload_lists() {
        let (list, model) = (&*news.list, model.label());
        match news.looked {
            Looked::Same => {}
            Looked::Changed { before, now } => {
                tracing::info!(kind = notice::LIST_TAKEN.kind, list, model, before, now, "a list has changed");
            }
            Looked::Refused(error) => {
                tracing::error!(
                    kind = notice::LIST_REFUSED.kind,
                    list,
                    model,
                    error,
                    "a list cannot be taken; its keys stay as they were"
                );
            }
        }
    }
}

/// What of the lists a person should know.
pub fn warnings(model: &Bundle) -> impl Iterator<Item = String> {
    model.rules().lists().iter().filter_map(|list| Some((list, list.fault()?))).map(|(list, fault)| {
        format!("list {}: its file cannot be taken, its {} keys stay in force: {fault}", list.name(), list.len())
    })
}
