//! The budgets divide without a rest, and what does not fit is refused with the numbers.

use super::*;
use proptest::prelude::*;

fn config(limits: &str) -> Config {
    parse_one(&format!("{SOURCE}[sinks.a]\ntype = \"file\"\npath = \"/v\"\n[limits]\n{limits}")).unwrap().config
}

#[test]
fn the_default_budget_holds_a_window_of_a_million_events() {
    let plan = MemoryPlan::divide(
        &config(""),
        ModelCost { weights_bytes: 1 << 20, scratch_bytes: 1 << 20, shadow_bytes: 0, windows: false },
    )
    .unwrap();
    assert!(plan.index_events() >= 1_000_000, "{plan}");
}

#[test]
fn a_model_that_does_not_fit_is_refused_with_the_numbers() {
    let cost = ModelCost { weights_bytes: 60 << 20, scratch_bytes: 1 << 20, shadow_bytes: 0, windows: false };
    let error = MemoryPlan::divide(&config(""), cost).unwrap_err();
    assert!(error.to_string().contains("model 61 MiB"), "{error}");
    // What it asks for is enough.
    let config = Config { limits: Limits { memory: error.needed, ..config("").limits }, ..config("") };
    let again = MemoryPlan::divide(&config, cost);
    assert!(again.is_ok() || again.unwrap_err().needed > error.needed);
}

#[test]
fn the_default_budget_holds_a_source_and_a_sink_of_kafka() {
    let text = starter(&["kafka"], &["kafka"]).unwrap();
    let config = parse_one(&text).unwrap().config;
    let plan = MemoryPlan::divide(
        &config,
        ModelCost { weights_bytes: 1 << 20, scratch_bytes: 1 << 20, shadow_bytes: 0, windows: false },
    )
    .unwrap();
    assert!(plan.clients > 16 << 20 && plan.index_events() >= 300_000, "{plan}");
    // Each one more costs, and what does not fit is refused with the numbers.
    let many = config.sinks.iter().cycle().take(9).cloned().collect();
    let error = MemoryPlan::divide(&Config { sinks: many, ..config }, ModelCost::default()).unwrap_err();
    assert!(error.to_string().contains("clients "), "{error}");
}

#[test]
fn http_beside_a_source_and_a_sink_of_kafka_fits_the_default_budget() {
    let config = parse_one(&starter(&["http", "kafka"], &["kafka"]).unwrap()).unwrap().config;
    assert_eq!(config.limits.memory, Size::mib(64));
    let plan = MemoryPlan::divide(
        &config,
        ModelCost { weights_bytes: 64 << 10, scratch_bytes: 64 << 10, shadow_bytes: 0, windows: false },
    )
    .unwrap();
    assert!(plan.admitted > config.limits.request.bytes(), "{plan}");
}

#[test]
fn a_sink_in_the_state_dir_counts_and_one_elsewhere_does_not() {
    let with = |path: &str| {
        let text = format!("{SOURCE}[sinks.a]\ntype = \"file\"\nrotate-size = \"10 MiB\"\nkeep = 4\npath = \"{path}\"");
        DiskPlan::divide(&parse_one(&text).unwrap().config).unwrap()
    };
    assert_eq!(with("/var/lib/verdictd/v.ndjson").sinks, 50 << 20);
    assert_eq!(with("/srv/v.ndjson").sinks, 0);
}

#[test]
fn files_kept_without_end_in_the_state_dir_are_warned_of() {
    let text =
        |keep: u32| format!("{SOURCE}[sinks.a]\ntype = \"file\"\npath = \"/var/lib/verdictd/v.ndjson\"\nkeep = {keep}");
    assert!(parse_one(&text(0)).unwrap().warnings.iter().any(|w| w.key == "sinks.a.keep"));
    assert!(parse_one(&text(1)).unwrap().warnings.is_empty());
}

proptest! {
    #[test]
    fn the_parts_of_memory_add_up_to_the_budget(
        memory in 16u64 << 20..1 << 36, request in 1u64 << 10..1 << 28, connections in 1usize..65_536,
        weights: u32,
    ) {
        let mut config = config("");
        config.limits = Limits { memory: Size(memory), request: Size(request), connections, ..config.limits };
        let cost = ModelCost { weights_bytes: u64::from(weights), scratch_bytes: 0, shadow_bytes: 0, windows: false };
        match MemoryPlan::divide(&config, cost) {
            Ok(plan) => {
                prop_assert_eq!(plan.parts().iter().map(|(_, bytes, _)| bytes).sum::<u64>(), memory);
                prop_assert!(plan.admitted > request);
            }
            Err(error) => prop_assert!(error.needed.bytes() > memory),
        }
    }

    #[test]
    fn the_parts_of_disk_add_up_to_the_budget(disk in 64u64 << 20..1 << 44, quarantine in 1u64 << 20..1 << 40) {
        let mut config = config("");
        config.limits.disk = Size(disk);
        config.quarantine.limit = Size(quarantine);
        match DiskPlan::divide(&config) {
            Ok(plan) => prop_assert_eq!(plan.parts().iter().map(|(_, bytes, _)| bytes).sum::<u64>(), disk),
            Err(error) => prop_assert!(error.needed.bytes() > disk),
        }
    }
}

#[test]
fn what_the_index_holds_may_take_the_room_of_a_models_successor_and_no_more() {
    let cost = ModelCost { weights_bytes: 1 << 20, scratch_bytes: 1 << 20, shadow_bytes: 0, windows: false };
    let mut plan = MemoryPlan::divide(&config(""), cost).unwrap();
    assert_eq!(plan.model, 4 << 20, "a successor has room");
    let budget = plan.budget;
    let events = |index: u64| crate::store::Index::new(index).capacity();
    // An index that is full to its budget needs no more.
    assert!(plan.hold_events(events(plan.index), cost) && plan.model == 4 << 20);
    let most = events(plan.index + (2 << 20));
    assert!(plan.hold_events(most, cost) && events(plan.index) == most);
    assert!(!plan.hold_events(most + 10_000, cost));
    assert_eq!(plan.parts().iter().map(|(_, bytes, _)| bytes).sum::<u64>(), budget);
}

#[test]
fn window_features_have_a_quarter_of_the_budget_or_what_the_config_says() {
    let cost = ModelCost { weights_bytes: 1 << 20, scratch_bytes: 1 << 20, shadow_bytes: 0, windows: true };
    let share = |text: &str| MemoryPlan::divide(&config(text), cost).map(|plan| plan.windows);
    assert_eq!(share("").unwrap(), 16 << 20);
    assert_eq!(share("[windows]\nmemory = \"3 MiB\"").unwrap(), 3 << 20);
    assert!(share("[windows]\nmemory = \"63 MiB\"").unwrap_err().to_string().contains("windows 63 MiB"));
    let none = MemoryPlan::divide(&config(""), ModelCost { windows: false, ..cost }).unwrap();
    assert_eq!(none.windows, 0, "a model without them has no use for it");
}
