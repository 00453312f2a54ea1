//! Kinds of messages about sources and sinks.

super::notices! {
    SOURCE_DOWN: Warn "source-down" "c5d92dbb57f29fc64bd755dc8e811cb4" ["source", "error"]
        "A source fails; it is tried again"
        "Its device, file or broker cannot be reached just now. It is tried again for ever, with growing pauses. Nothing acknowledged is lost; the others go on."
        "Nothing if it comes back (source-up). Otherwise check the cable, the link or the broker.";
    SOURCE_BLOCKED: Error "source-blocked" "d1e8a360c1e6c5a20a352c6941925f03" ["source", "error"]
        "A source needs a person"
        "What is wrong does not pass by itself: a right, a name, a password or a certificate. It is tried again slowly."
        "Mend what the error names, here or at the broker. A changed source in the config takes effect with `systemctl restart verdictd`.";
    SOURCE_UP: Info "source-up" "02bf131ad001588e4a4543edce46a351" ["source"]
        "A source gives events again"
        "It had failed and works."
        "Nothing.";
    SOURCE_GAP: Warn "source-gap" "c4b968b090a1869f86fe7a57febe064f" ["source"]
        "Events of a source were gone before they were read"
        "A file was cut or replaced, or the broker no longer has the offset: what lay between was not seen. Reading goes on behind the gap."
        "If the events matter, have them sent again: those already seen are recognised. Give the file's rotation or the topic's retention more time than the daemon may be away.";
    SOURCE_STOPPED: Error "source-stopped" "18b0d7629b4488d74a901603fd3153e2" ["source"]
        "A source stopped in front of a gap"
        "Records are gone from the broker, and the source is configured with `on-gap = \"stop\"`. The partition named is not read any further."
        "Find out what was lost. To go on behind the gap set `on-gap` otherwise and restart.";
    SOURCE_LOSSY: Warn "source-lossy" "2241bde7f4c86b7fa8f275916b35bdeb" ["source"]
        "What a device sends while the daemon is down is lost"
        "The source is configured with `reply = \"none\"`: the device does not hear what was taken and repeats nothing."
        "Where the device can wait for an answer, set `reply = \"ack\"`. Otherwise this is the agreed loss.";
    SESSION_LOST: Warn "session-lost" "e7662adfab8f4c98f928949faae074e6" ["source"]
        "The MQTT broker has not kept the session"
        "Messages published while the daemon was away are lost, if there were any: the broker restarted without persistence, or the session expired."
        "Give the broker persistence and a session expiry longer than the daemon may be away.";
    RETAINED_MESSAGES: Info "retained-messages" "365298bd983b284b9e4a92996a410c03" ["source", "retained"]
        "Retained MQTT messages came"
        "The broker hands them out at each new subscription. They are events like others; those already seen are recognised as repeats."
        "Nothing. If they are no events, narrow `topics`.";
    SPOOL_FILE_FAILED: Error "spool-file-failed" "b0edbb704c4324013c45f36e95350c1e" ["source", "file", "error"]
        "A file of a spool folder cannot be taken and was set aside"
        "It could not be read to its end. What came before the fault has been taken; the file stands in the folder for failed files."
        "Mend the file and move it back: events already taken are recognised as repeats.";
    TOPIC_UNREADABLE: Error "topic-unreadable" "8ad4e13b5066042394aa547a4292e70e" ["source", "error"]
        "A Kafka topic cannot be read"
        "It does not exist, or reading it is not allowed. The source's other topics are read."
        "Create the topic, grant the right, or correct `topics`.";
    ACCEPT_FAILED: Warn "accept-failed" "e7637f968a5a6e1413d6eb37d825b5f6" ["error"]
        "Connections cannot be accepted"
        "The system lacks file descriptors or memory for them. It is tried on; clients wait in the kernel's queue."
        "Raise the limit of open files (LimitNOFILE= of the unit) or lower `limits.connections`.";
    CONNECTIONS_CUT: Warn "connections-cut" "0dad73600266e9a3527f55c8416afd90" ["connections"]
        "Connections still busy were cut off at the stop"
        "Their clients were too slow with a request. What was not answered was not promised: they repeat it."
        "Nothing.";
    KAFKA_CLIENT: Warn "kafka-client" "592a957d27bd7bc02b0dff002280ff2d" ["owner", "facility", "text"]
        "A message of the Kafka client library"
        "A detail of what a source's or sink's state tells; one of a kind is written once a minute."
        "Read it together with source-down, source-blocked, sink-down or sink-blocked. Alone it needs no action.";
    SINK_DOWN: Warn "sink-down" "49725efcd6c307e36187df1ebbfb9ab9" ["sink", "error"]
        "A sink fails; its verdicts wait in the store"
        "Its link, broker or disk fails just now. It is tried again for ever, with growing pauses. No verdict is lost, and the other sinks and all sources go on."
        "Nothing if it comes back (sink-up). Watch `verdictd_sink_lag_events`: when the disk budget is reached, the dedup window is cut or new events are refused.";
    SINK_BLOCKED: Error "sink-blocked" "c6c05c25b526afee565ad11d8cd17ed3" ["sink", "error"]
        "A sink needs a person; its verdicts wait in the store"
        "What is wrong does not pass by itself: a right, a name, a password or a certificate. It is tried again slowly."
        "Mend what the error names, here or at the broker. A changed config takes effect with `systemctl reload verdictd` or a restart.";
    SINK_UP: Info "sink-up" "c02d0b654391da6550bb47f1543ec8e1" ["sink"]
        "A sink takes verdicts again"
        "It had failed and works; what waited is being sent."
        "Nothing.";
    SINK_POISON: Error "sink-poison" "8ea3a936127726ee00f6d15b7a49e05d" ["sink", "sequence", "error"]
        "A sink refuses a verdict for what it is: set aside"
        "The verdict is too large for the sink, or it is rejected each time. It stands in the quarantine and the sink goes on with the next."
        "Look at it with `verdictd quarantine show`. Raise the broker's limit if that is the reason.";
    CALL_UNCERTAIN: Error "call-uncertain" "9398217a5fc82cce65cb138840b63338" ["sink", "sequence", "error"]
        "A call was begun and its outcome is not known"
        "A guarded sink (`idempotent = false`) sent a verdict, and the answer was lost: a time-out, a broken connection, an error of the receiver, or a stop of the daemon. Whether the call was done is not known, so it is not made again."
        "Find out at the receiver, and settle it: `verdictd uncertain list`, then `verdictd uncertain resolve SEQ --delivered` or `--resend`. With `probe-url` the receiver is asked.";
    CALL_SETTLED: Info "call-settled" "8554dc8f7b322863cc56e2e2f96138d4" ["sink", "sequence", "outcome", "by"]
        "An uncertain call is settled"
        "Someone who knows has said what came of it: it was done, or it is made again."
        "Nothing.";
    CALLS_USED_UP: Warn "calls-used-up" "959b283241d09eb16f543ddfd2d14d77" ["sink", "calls"]
        "A guarded sink has made its calls of the day"
        "`calls-per-day` is reached. The verdicts that are left wait in the store, and go on with the next day in UTC."
        "Nothing, if that is the agreed budget. Otherwise raise `calls-per-day`.";
    FILE_PUT_ASIDE: Warn "file-put-aside" "4098858f8fd83ef63c6c116998108a0d" ["sink", "file"]
        "A file sink's file was put aside"
        "It ends with verdicts that the store does not hold as they are there: the file is another store's, or the store was restored from an older copy. A new file is begun."
        "Decide which is the true one. Consumers recognise repeats by source and id.";
    TORN_LINES: Warn "torn-lines" "ca6f95ae9f3c898e950fba73e8e19470" ["sink", "bytes"]
        "Lines that were not whole were cut off a file sink's file"
        "The daemon or the box stopped in the middle of a write. The same verdicts are written again."
        "Nothing.";
    VERDICT_UNWRITABLE: Error "verdict-unwritable" "a1e24036d6f09e075426e4507ae9a1c2" ["sink", "sequence"]
        "A verdict cannot be written"
        "A bug in verdictd: it has no form as a line. The sink goes on behind it; `verdictd store events` has it."
        "Please report it.";
    FILE_REMOVED: Info "file-removed" "f223bf1ea6152270f8eb37d2f11af686" ["sink", "file"]
        "The oldest rotated file of a file sink was removed"
        "There are more than `keep` of them."
        "Nothing. Raise `keep` to keep more.";
}
