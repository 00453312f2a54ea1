//! "Did you mean": the known name that is nearest to an unknown one.

/// `; did you mean "window"?`, or nothing where no name is near.
pub(super) fn suggest(found: &str, names: &[&str]) -> String {
    let wanted = found.to_lowercase().replace('_', "-");
    // A third of the letters may differ, so that short names are not matched by chance.
    let limit = (wanted.chars().count() / 3).max(1);
    names
        .iter()
        .map(|name| (distance(&wanted, name, limit), name))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, name)| format!("; did you mean \"{name}\"?"))
        .unwrap_or_default()
}

/// Letters to add, drop, change or swap with their neighbour. `limit + 1` where lengths alone differ by more.
fn distance(a: &str, b: &str, limit: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, other) in b.iter().enumerate() {
            let change = last[j] + usize::from(letter != other);
            let mut best = change.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == b[j - 1] && a[i - 1] == *other {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let names = ["memory", "disk", "event", "when-full"];
        for (found, meant) in [
            ("memmory", "memory"),
            ("Memory", "memory"),
            ("dsik", "disk"),
            ("events", "event"),
            ("when_full", "when-full"),
        ] {
            assert_eq!(suggest(found, &names), format!("; did you mean \"{meant}\"?"));
        }
        for stranger in ["", "x", "broker", "mem"] {
            assert_eq!(suggest(stranger, &names), "", "{stranger}");
        }
    }
}
