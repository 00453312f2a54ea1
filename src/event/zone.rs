//! Time zones by their IANA names, as in `Europe/Berlin`.
//!
//! The system's own database comes first, as it is kept up to date with the system; what it has not (some systems leave
//! the old names out, a bare one has none at all) is looked for in the one that is built in. A zone is read once and then
//! stays as it is until the next start or reload.

use jiff::tz::{TimeZone, TimeZoneDatabase};
use std::sync::LazyLock;

static SYSTEM: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::from_env);
static BUILT_IN: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// The zone of that name; None where neither database knows it.
#[must_use]
pub fn zone(name: &str) -> Option<TimeZone> {
    // Files such as `posixrules` stand beside the zones; a zone's name begins with a capital letter.
    if !name.starts_with(|c: char| c.is_ascii_uppercase()) {
        return None;
    }
    SYSTEM.get(name).or_else(|_| BUILT_IN.get(name)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_found_also_where_the_system_has_none() {
        assert!(zone("Europe/Berlin").is_some());
        assert!(BUILT_IN.get("Europe/Berlin").is_ok() && BUILT_IN.get("US/Pacific").is_ok());
        for name in ["Mars/Olympus", "", "posixrules", "../../etc/passwd", "/etc/localtime"] {
            assert!(zone(name).is_none(), "{name}");
        }
    }
}
