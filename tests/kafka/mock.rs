//! What no real broker can be made to say: fencing and sequence errors, from the client library's mock cluster.

use super::reader::{check, read_all};
use super::rig::{Rig, sink_options};
use super::support::child::{WATCHDOG, poll};
use rdkafka::mocking::MockCluster;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr as Err};

fn deliver_through(errors: &[Err]) {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("verdicts", 2, 1).unwrap();
    let rig = Rig::new();
    rig.take(0..2000);
    let sink = rig.sink(sink_options(&cluster.bootstrap_servers(), "verdicts"));
    rig.await_drained();
    cluster.request_errors(RDKafkaApiKey::Produce, errors);
    rig.take(2000..4000);
    rig.await_drained();
    poll(WATCHDOG, || sink.status.link.is_up().then_some(())).expect("a sink that is up again");
    rig.wait(sink);
    check(&read_all(&cluster.bootstrap_servers(), "verdicts"), 0..4000);
    assert!(rig.quarantine().is_empty());
}

#[test]
fn a_fenced_producer_is_replaced_and_goes_on_in_order() {
    deliver_through(&[Err::RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, Err::RD_KAFKA_RESP_ERR_PRODUCER_FENCED]);
}

#[test]
fn a_producer_whose_sequence_is_broken_is_replaced_and_goes_on_in_order() {
    deliver_through(&[
        Err::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
        Err::RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
        Err::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
    ]);
}

#[test]
fn what_a_cluster_says_while_it_is_busy_is_waited_out() {
    deliver_through(&[
        Err::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
        Err::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Err::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
        Err::RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR,
        Err::RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
        Err::RD_KAFKA_RESP_ERR_UNKNOWN,
    ]);
}
