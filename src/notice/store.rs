//! Kinds of messages about the store and the disk it is on.

super::notices! {
    STORE_MADE: Info "store-made" "3d838a502368fa7149f595f03f3c9e47" []
        "A new store was made"
        "The state directory held no store. Nothing is known of earlier events: each one counts as new."
        "Nothing at the first start. If there should have been a store, stop the daemon and look at `state-dir` in the config and whether its file system is mounted.";
    STORE_OPENED: Info "store-opened" "048942046296bb792f1c89be39956d9d" ["records", "since_s"]
        "The store was opened"
        "The log, the dedup index and the windows stand as they did. The time since the last record counts towards the dedup window: a clock set ahead while the daemon was down cannot be told from time that passed."
        "Nothing.";
    WINDOWS_FOLDED: Info "windows-folded" "8ac5507ab7e24cdbbc00f85b0ce8e6cf" ["events", "labels", "milliseconds"]
        "Window features were folded out of the log"
        "Counts, sums and the rest stand as they did before the restart, for as far as the log reaches."
        "Nothing.";
    WINDOWS_TIGHT: Warn "windows-tight" "1f571d67c50e413ebbf22e6279dae564" ["step", "keys", "bytes"]
        "The past that window features need does not fit its memory"
        "The field `step` says what gives way now: `late` (events that come late no longer see all of the past beyond the windows), `coarse` (the keys with the most events are held in coarser steps of time, so their windows begin up to a step too early or late), `cold` (the keys that were quiet longest are forgotten: their windows begin anew). Each step holds until the daemon is restarted."
        "Raise `windows.memory` (and `limits.memory`), lower `windows.lateness`, give features a `resolution`, or shorten their windows. `verdictd status` shows how many keys are concerned.";
    STORE_DAMAGED: Error "store-damaged" "ebac72bb10eba1c8d435f775a6e1e770" []
        "The store's file is damaged"
        "Something was found that was not written so: the medium lost or changed bytes. What is whole is in use; a copy of the damaged file is kept in the state directory."
        "Check the disk (SMART data, the kernel's log, the power supply). `verdictd store verify` says what is damaged, `verdictd status` how many verdicts are lost. Events whose verdicts were lost count as new when they are sent again.";
    STORE_REBUILT: Error "store-rebuilt" "ca9c4af5cedef12ff54e4cf4fcb751cd" []
        "The store was rebuilt from what still stands in its file"
        "The store could not be opened with all that had been made durable. It was made anew from every record that is whole; the damaged files are kept beside it."
        "As for store-damaged. Delete the kept files once the cause is known; they count towards the disk budget.";
    EVIDENCE_NOT_KEPT: Warn "evidence-not-kept" "bfd45d517193e0b2d61cb6eb6e6205c9" ["error"]
        "The damaged file could not be copied before it was opened"
        "There was no room or no right to keep a copy. The recovery goes on without it."
        "Nothing for the recovery itself; make room before the next start.";
    CHUNK_DAMAGED: Error "chunk-damaged" "fc1faceb3c4e57edb41229555e1d2648" ["sequence"]
        "A part of the log is damaged and passed over"
        "A chunk of verdicts, from the sequence named, failed its checksum while it was read. Sinks go on behind it; its verdicts are not delivered."
        "Check the disk. Restart the daemon: it looks at the whole store when it opens it. `verdictd store verify` tells the extent.";
    STORE_STUCK: Error "store-stuck" "2b21ff44e162b2fb69bd4125961674d1" []
        "A write to the store hangs; the daemon ends"
        "The disk has not answered for minutes. Nothing was acknowledged meanwhile."
        "Check the disk and the kernel's log. The service manager starts the daemon again.";
    INTAKE_STOPPED: Error "intake-stopped" "ae7d1730fe256074ce5325bbcc41fc7a" ["reason"]
        "No new events are taken"
        "The disk, or the share of it that `limits.disk` grants, is full. Repeats are still answered and sinks still drain; senders are told to come back later, and nothing acknowledged is lost."
        "Make room on the disk, raise `limits.disk`, or bring back the sink that the store waits for (`verdictd status` shows each sink's lag). New events are taken again by themselves.";
    INTAKE_RESUMED: Info "intake-resumed" "15ea022a7677dafa936952cd6865aed3" []
        "New events are taken again"
        "There is room again."
        "Nothing.";
    BALLAST_GIVEN_UP: Error "ballast-given-up" "eb9624127f51f4b81468b59b36e9dfaa" []
        "The disk is full: the reserve of the store is in use"
        "A file kept for this case was shortened or deleted, so that the store can be opened and sinks can drain."
        "Make room on the disk now: there is no second reserve. It is made anew by itself once there is room.";
    BALLAST_STUCK: Error "ballast-stuck" "b6bf0e11fa6e2bd77781377baa8cc40b" ["error"]
        "The disk is full and the reserve of the store cannot be used"
        "The file kept for this case could not be shortened."
        "Make room on the disk now; otherwise the next commit may fail and end the daemon.";
    WINDOW_CUT: Warn "window-cut" "927057d39f5986f1ec869e461e27d826" ["by", "seconds"]
        "The dedup window is shorter than configured"
        "The budget named does not hold the events of the whole window. A repeat older than the time in force is taken for a new event and gets a verdict of its own."
        "Raise the budget (`limits.memory` or `limits.disk`), or configure the shorter `dedup.window`. With `dedup.when-full = \"refuse\"` new events are refused instead when the disk budget is reached.";
    QUARANTINE_EVICTED: Warn "quarantine-evicted" "d2e510a17e906491906927c6180c7b04" ["evicted"]
        "The quarantine is over its budget: its oldest entries were removed"
        "More was set aside than `quarantine.limit` holds. What was removed cannot be looked at any more."
        "Look at why so much is set aside (`verdictd quarantine list`) and mend the sender, or raise `quarantine.limit`.";
    LABELS_SHED: Warn "labels-shed" "522e032a2eb6452a87bbc1a2b064387d" ["shed", "most"]
        "Too many labels wait for their event: the oldest are gone"
        "Labels whose event is not known are kept for the event that may still come, up to the number named. Those that went will not count when their event comes after all."
        "Look at whether the labels' source and id are those of the events: `verdictd metrics` tells how many are unknown.";
    OBSERVATIONS_CUT: Warn "observations-cut" "3b1f0f8be7d84d63a5d2b9d1c0a4e7f6" ["cut"]
        "The disk budget does not hold what windows need"
        "What windows need of past events fills the share of the disk that `limits.disk` grants, so its oldest part goes early. The windows are right for as long as the daemon runs; after a start they miss those events. Said once a start."
        "Raise `limits.disk`, or make the longest window shorter.";
    OBSERVATIONS_LOST: Error "observations-lost" "a0d2ab6a58b84f5a9b7ef4c6ab0f93d1" ["lost"]
        "Observations that windows are folded from are missing"
        "They were durable and are not to be found whole in the store's file. Until their events have left the windows, counts, sums and the like are too small by them."
        "As for store-damaged.";
    SINK_GAP: Error "sink-gap" "1b0544c4999b78ce4b6eef4b1614f6ac" ["sink", "missing"]
        "A sink comes back, and misses verdicts"
        "It was not configured for longer than the dedup window. Verdicts that it had not confirmed have left the store meanwhile; it goes on with the oldest that is there."
        "If it must have them, take them from another sink, such as the file sink's files.";
    ORPHAN_CURSOR: Warn "orphan-cursor" "5f5df1cf57e60a900f8a1815737c7305" ["sink", "next"]
        "A sink that was configured before no longer is"
        "Its place in the log is kept, but no verdict is kept for it: what it has not confirmed goes when it leaves the dedup window."
        "Configure the sink again, or run `verdictd store forget-sink NAME` while the daemon is stopped.";
}
