//! Partitions that come and go, and finding the place in each.

use super::offset::{self, Mark};
use super::partition::{Extent, Gap, Lost, Partition, State, find, known_place};
use super::reader::Reader;
use super::{Failure, OnGap};
use crate::ingest::Intake;
use crate::link::Trouble;
use crate::notice;
use rdkafka::consumer::Consumer as _;
use rdkafka::{Offset, TopicPartitionList};
use std::collections::HashMap;
use std::time::Duration;

/// How long the brokers are asked for offsets before it is tried again later.
const OFFSETS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a partition that is taken away is held for the sake of what was read of it.
const REVOKE_WAIT: Duration = Duration::from_secs(10);

impl<I: Intake> Reader<'_, I> {
    /// Takes up partitions.
    pub(super) fn assigned(&mut self, list: &[(String, i32)]) -> Result<(), Failure> {
        for (topic, number) in list {
            if self.partitions.iter().any(|p| p.number == *number && p.topic == *topic) {
                continue;
            }
            let name = offset::name(&self.options.name, topic, *number);
            let stored = self.intake.offset(&name);
            let stored =
                stored.map_err(|problem| Failure { trouble: Trouble::Transient, text: problem.detail.into_owned() })?;
            let mark = stored.and_then(|bytes| Mark::decode(&bytes));
            self.partitions.push(Partition {
                topic: topic.clone(),
                number: *number,
                name,
                state: State::Lost(Lost::New),
                mark,
                is_assigned: false,
                untold: None,
            });
        }
        let found = self.locate();
        // The group waits for this answer, also where no place could be found yet.
        self.assign(&found)
    }

    /// Gives partitions up, after what was read of them is committed.
    pub(super) async fn revoked(&mut self, list: &[(String, i32)]) -> Result<(), Failure> {
        let is_settled = self.settle(Some(REVOKE_WAIT)).await?;
        if is_settled && !self.gathering.is_empty() {
            self.hand_in();
            self.settle(Some(REVOKE_WAIT)).await?;
        }
        if !self.consumer.assignment_lost() {
            self.tell_group();
        }
        let is_listed = |p: &Partition| list.iter().any(|(topic, number)| p.number == *number && p.topic == *topic);
        let given_up = self.list(|partition| partition.is_assigned && is_listed(partition));
        self.partitions.retain(|partition| !is_listed(partition));
        self.consumer.incremental_unassign(&given_up).map_err(|error| Failure {
            trouble: Trouble::Transient,
            text: format!("partitions cannot be given up: {error}"),
        })
    }

    /// Looks for the places that are not known; reads on from those that it finds.
    pub(super) fn locate_and_assign(&mut self) -> Result<(), Failure> {
        let found = self.locate();
        if found.is_empty() {
            return Ok(());
        }
        let again = self.list(|partition| partition.is_assigned && found.contains_key(&key(partition)));
        if again.count() > 0 {
            self.consumer.incremental_unassign(&again).map_err(|error| Failure {
                trouble: Trouble::Transient,
                text: format!("partitions cannot be read from another place: {error}"),
            })?;
        }
        self.assign(&found)
    }

    fn assign(&mut self, found: &HashMap<(String, i32), i64>) -> Result<(), Failure> {
        let failure = |text: String| Failure { trouble: Trouble::Transient, text };
        let mut list = TopicPartitionList::with_capacity(found.len());
        for partition in &mut self.partitions {
            if let Some(offset) = found.get(&key(partition)) {
                partition.is_assigned = true;
                list.add_partition_offset(&partition.topic, partition.number, Offset::Offset(*offset))
                    .map_err(|error| failure(error.to_string()))?;
            }
        }
        let assigned = self.consumer.incremental_assign(&list);
        assigned.map_err(|error| failure(format!("partitions cannot be read: {error}")))?;
        if list.count() > 0 {
            self.locked_out = None;
            self.status.recovered();
        }
        let is_read = |topic: &String| self.partitions.iter().any(|partition| partition.topic == *topic);
        if self.options.topics.iter().all(is_read) {
            self.status.warn("topic", None);
        }
        Ok(())
    }

    /// Where to read from, of those partitions of which it can be told now.
    fn locate(&mut self) -> HashMap<(String, i32), i64> {
        let mut found = HashMap::new();
        let new = self.list(|partition| partition.state == State::Lost(Lost::New));
        let committed = if new.count() > 0 {
            match self.consumer.committed_offsets(new, OFFSETS_TIMEOUT) {
                Ok(list) => Some(list.to_topic_map()),
                Err(_) => None,
            }
        } else {
            None
        };
        for at in 0..self.partitions.len() {
            let Some(partition) = self.partitions.get_mut(at) else { break };
            let State::Lost(why) = partition.state else { continue };
            if why == Lost::New {
                // Without the group's word nobody knows whether it is the further one.
                let Some(committed) = &committed else { continue };
                let committed = match committed.get(&key(partition)) {
                    Some(Offset::Offset(offset)) => Some(*offset),
                    _ => None,
                };
                partition.mark = known_place(partition.mark, committed);
            }
            match (why, partition.mark) {
                (Lost::New, Some(Mark { next, last: Some(look), .. })) if next > 0 => {
                    partition.state = State::Checking(look);
                    found.insert(key(partition), next - 1);
                }
                (Lost::New, Some(Mark { next, .. })) => {
                    partition.state = State::Reading;
                    found.insert(key(partition), next);
                }
                _ => {
                    if let Some(next) = self.search(at, why) {
                        found.extend(self.partitions.get(at).map(|partition| (key(partition), next)));
                    }
                }
            }
        }
        found
    }

    /// Asks the brokers what they have, and tells of a gap. None where they do not answer, or where to stop.
    fn search(&mut self, at: usize, why: Lost) -> Option<i64> {
        let partition = self.partitions.get_mut(at)?;
        let watermarks = self.consumer.fetch_watermarks(&partition.topic, partition.number, OFFSETS_TIMEOUT);
        let (low, high) = watermarks.ok()?;
        let wanted = partition.mark.map(|mark| mark.next);
        let mut found = find(wanted, Extent { low, high }, self.options.start);
        if why == Lost::Remade {
            found.next = low;
            found.gap = Some(Gap { from: wanted.unwrap_or(0), to: None });
        }
        if let Some(gap) = found.gap {
            let text = partition.describe(gap, self.options.on_gap, found.next);
            let source = &self.options.name;
            self.status.add("gaps", 1);
            self.status.warn("gap", Some(text.clone()));
            if self.options.on_gap == OnGap::Stop {
                self.status.link.note(Trouble::Configuration, &text);
                tracing::error!(kind = notice::SOURCE_STOPPED.kind, source, "{text}");
                partition.state = State::Stopped;
                if partition.is_assigned {
                    partition.is_assigned = false;
                    let mut list = TopicPartitionList::new();
                    list.add_partition(&partition.topic, partition.number);
                    // Where it fails, nothing is fetched either: the client stands still in front of a gap.
                    let _ = self.consumer.incremental_unassign(&list);
                }
                return None;
            }
            tracing::warn!(kind = notice::SOURCE_GAP.kind, source, "{text}");
        }
        partition.state = State::Reading;
        if found.gap.is_some() || wanted.is_none() {
            let made = partition.mark.map_or(0, |mark| mark.made);
            let is_anew = found.gap.is_some_and(|gap| gap.to.is_none());
            let mark = Mark { next: found.next, made: made.saturating_add(is_anew.into()), last: None };
            partition.mark = Some(mark);
            // A place that was chosen is kept, lest what comes now is passed over after a restart.
            self.gathering.reached(&partition.name, mark);
        }
        Some(found.next)
    }
}

fn key(partition: &Partition) -> (String, i32) {
    (partition.topic.clone(), partition.number)
}
