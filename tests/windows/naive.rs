//! The features by looking at every known event of the key again.

use super::stream::{DAY, Event, LABEL_DELAY, LONGEST, Line, Stream};
use std::collections::HashMap;

/// The features, as the bundles and `reference.py` name them, in their order.
pub const NAMES: [&str; 15] = [
    "TX_AMOUNT",
    "TX_DURING_WEEKEND",
    "TX_DURING_NIGHT",
    "CUSTOMER_ID_NB_TX_1DAY_WINDOW",
    "CUSTOMER_ID_AVG_AMOUNT_1DAY_WINDOW",
    "CUSTOMER_ID_NB_TX_7DAY_WINDOW",
    "CUSTOMER_ID_AVG_AMOUNT_7DAY_WINDOW",
    "CUSTOMER_ID_NB_TX_30DAY_WINDOW",
    "CUSTOMER_ID_AVG_AMOUNT_30DAY_WINDOW",
    "TERMINAL_ID_NB_TX_1DAY_WINDOW",
    "TERMINAL_ID_RISK_1DAY_WINDOW",
    "TERMINAL_ID_NB_TX_7DAY_WINDOW",
    "TERMINAL_ID_RISK_7DAY_WINDOW",
    "TERMINAL_ID_NB_TX_30DAY_WINDOW",
    "TERMINAL_ID_RISK_30DAY_WINDOW",
];
/// Lengths of the windows, in days.
pub const DAYS: [i64; 3] = [1, 7, 30];

/// What an event is given.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    Row([f64; 15]),
    /// It came when no window reached it any more: it counts nowhere.
    TooLate,
}

/// What each event of the stream is given, by its index.
pub fn expected(stream: &Stream) -> Vec<Expected> {
    let mut known: HashMap<(u8, &str), Vec<usize>> = HashMap::new();
    let mut labels = vec![0.0; stream.events.len()];
    let mut found = vec![Expected::TooLate; stream.events.len()];
    let mut newest = i64::MIN;
    for line in &stream.lines {
        match line {
            Line::Repeat(_) => {}
            Line::Label(n, value) => labels[*n] = *value,
            Line::Event(n) => {
                let event = &stream.events[*n];
                newest = newest.max(event.time);
                if event.time <= newest - LONGEST {
                    continue;
                }
                known.entry((0, &event.customer)).or_default().push(*n);
                known.entry((1, &event.terminal)).or_default().push(*n);
                let customer = &known[&(0, event.customer.as_str())];
                let terminal = &known[&(1, event.terminal.as_str())];
                found[*n] = Expected::Row(row(&stream.events, event, customer, terminal, &labels));
            }
        }
    }
    found
}

fn row(events: &[Event], event: &Event, customer: &[usize], terminal: &[usize], labels: &[f64]) -> [f64; 15] {
    let mut row = [0.0; 15];
    // 1970 began on a Thursday.
    let weekday = (event.time.div_euclid(DAY) + 3).rem_euclid(7);
    row[0] = event.amount;
    row[1] = f64::from(u8::from(weekday >= 5));
    row[2] = f64::from(u8::from(event.time.rem_euclid(DAY) < 7 * 3_600));
    for (n, days) in DAYS.into_iter().enumerate() {
        let within = |index: &&usize, delay: i64| {
            let time = events[**index].time;
            time > event.time - days * DAY - delay && time <= event.time - delay
        };
        let counted = |indices: &[usize], delay: i64, value: &dyn Fn(usize) -> f64| {
            let values = indices.iter().filter(|index| within(index, delay)).map(|index| value(*index));
            values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value))
        };
        let mean = |(count, sum): (f64, f64)| if count > 0.0 { sum / count } else { 0.0 };
        let amounts = counted(customer, 0, &|index| events[index].amount);
        let risks = counted(terminal, LABEL_DELAY, &|index| labels[index]);
        row[3 + 2 * n] = amounts.0;
        row[4 + 2 * n] = mean(amounts);
        row[9 + 2 * n] = risks.0;
        row[10 + 2 * n] = mean(risks);
    }
    row
}
