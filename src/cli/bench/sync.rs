//! What the disk itself takes: one small append and its fdatasync.

use std::{fs::OpenOptions, io, io::Write, path::Path, time::Instant};

const APPENDS: usize = 200;
const APPEND_BYTES: usize = 512;

/// The median of [`APPENDS`] in `dir`, in milliseconds.
pub(super) fn p50_ms(dir: &Path) -> io::Result<f64> {
    let mut file = OpenOptions::new().append(true).create(true).open(dir.join("sync.log"))?;
    let bytes = [b'x'; APPEND_BYTES];
    let mut taken = Vec::with_capacity(APPENDS);
    for _ in 0..APPENDS {
        let start = Instant::now();
        file.write_all(&bytes)?;
        file.sync_data()?;
        taken.push(start.elapsed().as_secs_f64() * 1e3);
    }
    taken.sort_by(f64::total_cmp);
    Ok(taken.get(APPENDS / 2).copied().unwrap_or_default())
}
