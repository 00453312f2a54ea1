//! The disk that a power cut behind an operation leaves.

use super::Rest;
use super::disk::{Disk, SECTOR_BYTES};
use super::trace::{Inode, Names, Operation};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;

/// What no sync has made durable yet, in order.
#[derive(Default)]
struct Pending<'a> {
    data: BTreeMap<Inode, Vec<&'a Operation>>,
    names: Vec<&'a Operation>,
}

/// The disk after the first `cut` operations of `trace` and a power cut.
pub fn after(trace: &[Operation], cut: usize, names: Names, rest: Rest) -> Disk {
    let mut disk = Disk::new();
    let mut pending = Pending::default();
    for operation in trace.iter().take(cut) {
        pending.take(operation, names, &mut disk);
    }
    match rest {
        Rest::Nothing => {}
        Rest::Names => pending.names.iter().for_each(|operation| disk.apply(operation)),
        Rest::All => pending.names.iter().chain(pending.data.values().flatten()).for_each(|o| disk.apply(o)),
        Rest::Some(seed) => {
            let mut random = Pcg64Mcg::seed_from_u64(seed ^ (cut as u64).rotate_left(32));
            pending.leave_some(&mut random, &mut disk);
        }
    }
    disk
}

impl<'a> Pending<'a> {
    fn take(&mut self, operation: &'a Operation, names: Names, disk: &mut Disk) {
        match operation {
            Operation::Write { inode, .. } | Operation::Resize { inode, .. } | Operation::Mode { inode, .. } => {
                self.data.entry(*inode).or_default().push(operation);
            }
            Operation::Sync { inode } => {
                self.settle_data(*inode, disk);
                if names == Names::Journal {
                    self.settle_names(disk, |_| true);
                }
            }
            Operation::SyncFolder { inode } => {
                self.settle_data(*inode, disk);
                self.settle_names(disk, |operation| names == Names::Journal || operation.is_name_in(*inode));
            }
            Operation::LostSync { inode } => {
                self.data.remove(inode);
            }
            Operation::Nothing { .. } => {}
            operation => self.names.push(operation),
        }
    }

    fn settle_data(&mut self, inode: Inode, disk: &mut Disk) {
        for operation in self.data.remove(&inode).unwrap_or_default() {
            disk.apply(operation);
        }
    }

    fn settle_names(&mut self, disk: &mut Disk, durable: impl Fn(&Operation) -> bool) {
        self.names.retain(|operation| {
            let settled = durable(operation);
            if settled {
                disk.apply(operation);
            }
            !settled
        });
    }

    fn leave_some(&self, random: &mut Pcg64Mcg, disk: &mut Disk) {
        // Often all names, so that a file's torn data is seen at all.
        let all = self.names.len();
        let kept = if random.random_ratio(1, 4) { all } else { random.random_range(0..=all) };
        for operation in &self.names[..kept] {
            disk.apply(operation);
        }
        for operations in self.data.values() {
            let in_order = random.random_ratio(2, 3);
            let stop = random.random_range(0..=operations.len());
            for (n, operation) in operations.iter().enumerate() {
                match (in_order, n.cmp(&stop)) {
                    (true, std::cmp::Ordering::Less) => disk.apply(operation),
                    (true, std::cmp::Ordering::Greater) => {}
                    _ => leave_torn(operation, random, disk),
                }
            }
        }
    }
}

/// Leaves of one write nothing, all, its beginning, or any of its sectors.
fn leave_torn(operation: &Operation, random: &mut Pcg64Mcg, disk: &mut Disk) {
    let sectors = match operation {
        Operation::Write { data, .. } => data.len() / SECTOR_BYTES + 2,
        _ => 1,
    };
    match random.random_range(0..4) {
        0 => {}
        1 => disk.apply(operation),
        2 => {
            let stop = random.random_range(0..=sectors);
            disk.apply_sectors(operation, |sector| sector < stop);
        }
        _ => disk.apply_sectors(operation, |_| random.random_ratio(1, 2)),
    }
}
