//! What is due from time to time: the group is told, places are searched for, brokers asked, fetching paused.

use super::Failure;
use super::partition::{Partition, State};
use super::reader::Reader;
use crate::ingest::Intake;
use rdkafka::consumer::{CommitMode, Consumer as _};
use rdkafka::{Offset, TopicPartitionList};
use std::time::{Duration, Instant};

/// Least time between two searches for places that could not be found.
const LOCATE_INTERVAL: Duration = Duration::from_secs(1);
/// Least time between two commits to the group.
const TELL_INTERVAL: Duration = Duration::from_secs(1);
/// Nothing is taken for so long: the brokers are asked for no more until it is.
const PAUSE_AFTER: Duration = Duration::from_secs(1);
/// Least time between two questions to brokers that are away.
const ASK_INTERVAL: Duration = Duration::from_secs(5);
const ASK_TIMEOUT: Duration = Duration::from_secs(1);

impl<I: Intake> Reader<'_, I> {
    /// Does what is due. `has_room`: records can be taken.
    pub(super) fn look_round(&mut self, has_room: bool) -> Result<(), Failure> {
        if self.told.elapsed() >= TELL_INTERVAL {
            self.tell_group();
        }
        let is_lost = |partition: &Partition| matches!(partition.state, State::Lost(_));
        if self.partitions.iter().any(is_lost) && self.located.is_none_or(|at| at.elapsed() >= LOCATE_INTERVAL) {
            self.locate_and_assign()?;
            self.located = self.partitions.iter().any(is_lost).then(Instant::now);
        }
        self.pause_or_resume(has_room);
        if !self.status.link.is_up() && self.asked.elapsed() >= ASK_INTERVAL {
            self.ask();
            self.asked = Instant::now();
        }
        Ok(())
    }

    /// Where nothing is taken, as on a full disk, the client must be served all the same, and give no records:
    /// a member that is not served loses its partitions, and holds up the others.
    fn pause_or_resume(&mut self, has_room: bool) {
        let is_blocked = self.gathering.is_full() || !self.gathering.try_pay(0, self.budget);
        if has_room || !is_blocked {
            self.blocked = None;
        }
        if self.is_paused && !is_blocked {
            self.is_paused = false;
            let _ = self.consumer.resume(&self.list(|partition| partition.is_assigned));
        } else if is_blocked && !self.is_paused {
            let since = *self.blocked.get_or_insert_with(Instant::now);
            if since.elapsed() >= PAUSE_AFTER {
                self.is_paused = self.consumer.pause(&self.list(|partition| partition.is_assigned)).is_ok();
            }
        }
    }

    pub(super) fn list(&self, wanted: impl Fn(&Partition) -> bool) -> TopicPartitionList {
        let mut list = TopicPartitionList::new();
        for partition in self.partitions.iter().filter(|partition| wanted(partition)) {
            list.add_partition(&partition.topic, partition.number);
        }
        list
    }

    /// Commits to the group what is durable here: for the tools that show lag, and for members to come.
    pub(super) fn tell_group(&mut self) {
        self.told = Instant::now();
        let mut list = TopicPartitionList::new();
        for partition in &mut self.partitions {
            if let Some(next) = partition.untold.take() {
                let _ = list.add_partition_offset(&partition.topic, partition.number, Offset::Offset(next));
            }
        }
        if list.count() > 0
            && let Err(error) = self.consumer.commit(&list, CommitMode::Async)
        {
            tracing::debug!(source = self.options.name, %error, "a commit to the group failed");
        }
    }

    /// Asks whether brokers and topics are there again, where no record tells it.
    fn ask(&mut self) {
        for topic in &self.options.topics {
            let Ok(metadata) = self.consumer.client().fetch_metadata(Some(topic), ASK_TIMEOUT) else { return };
            if metadata.topics().first().is_none_or(|topic| topic.error().is_some()) {
                return;
            }
        }
        self.locked_out = None;
        self.status.recovered();
    }
}
