//! Kinds of messages about the daemon as a whole: its life, its config, its clock, its log.

super::notices! {
    READY: Info "ready" "132067cf27bcdb1fe3c2996afd1e9163" ["model", "from"]
        "The daemon takes events"
        "Store, model, sources and sinks are open, and the daemon has begun to answer."
        "Nothing.";
    STOPPING: Info "stopping" "ef700da06a493b6f42be320ffb14d685" []
        "The daemon stops"
        "It was told to end. It takes nothing new, commits and answers what it has, and lets the sinks drain."
        "Nothing. A second signal ends it at once; what was acknowledged is durable either way.";
    STOPPED_AT_ONCE: Warn "stopped-at-once" "cf0687f6c6ddaa76ba6fa194f71fe392" []
        "A second signal ended the daemon without draining"
        "What was acknowledged is durable. Verdicts that sinks have not confirmed are sent after the next start, some of them a second time."
        "Nothing. Where sinks take long to drain, see their lag in `verdictd status` before stopping.";
    ENGINE_STUCK: Error "engine-stuck" "4034690e510c22ac1db8054cbece5724" ["seconds"]
        "The engine does not get on"
        "A decision or a commit has not come back for half of the watchdog's time. The watchdog is not fed any more, so that the service manager ends the daemon and starts it anew; nothing acknowledged is lost."
        "Look at the disk: a write or a sync that hangs is the usual cause. Senders repeat what was not answered.";
    SOCKET_UNWANTED: Error "socket-unwanted" "28f03127b819ae75b2ecfa7812641604" ["name", "place"]
        "The service manager listens on a socket that no source wants"
        "A socket unit passed a socket whose address no source listens on in the config. Whoever connects to it waits for an answer that never comes."
        "Give the socket unit (ListenStream=) and the source in the config (listen) the same address, or mask the socket unit.";
    RELOADED: Info "reloaded" "2db61d8c3dfcc8032418497928a5c044" ["changes"]
        "Config and model were read anew"
        "What may change while the daemon runs was swapped: sinks, the model with its thresholds, the log's level."
        "Nothing.";
    RELOAD_REFUSED: Error "reload-refused" "8b5fed33132b23af677917a4db3dbff9" ["error"]
        "A reload was refused; what was in force still is"
        "The new config or model is at fault, or does not fit beside what runs. Nothing was changed."
        "Correct the fault, see `verdictd check`, and reload again. A restart now would fail for the same fault.";
    RELOAD_NOTE: Warn "reload-note" "9c54a121ac35d19bd3597b7521d7eca4" ["note"]
        "Something to know of a reload"
        "The reload was done, and has a consequence that may not be meant."
        "Read the note.";
    RESTART_WAITS: Warn "restart-waits" "0c601a0b95821bf19594a31783d6b8f6" ["keys"]
        "Changes of the config wait for a restart"
        "These keys or tables cannot change while the daemon runs. Their old values are in force."
        "Restart the service when it suits; callers on a socket of the service manager wait meanwhile.";
    LIST_TAKEN: Info "list-taken" "ff96249d7de540f28869f69cb6aad88d" ["list", "model", "before", "now"]
        "A list has changed and is in force"
        "The file of a list that rules or features use was written anew; its keys are in force from the next event on."
        "Nothing, if the number of keys is what was meant.";
    LIST_REFUSED: Error "list-refused" "2e61d0551c594b12a37b527a312bf2fb" ["list", "model", "error"]
        "The file of a list cannot be taken"
        "The file is gone, cannot be read or holds what is no key. The keys that were in force stay so."
        "Put the file right; write it beside and rename it into place. It is looked at each second.";
    SHADOW_DROPPED: Warn "shadow-dropped" "7d7e365fb52928d0438e4d939e731205" ["model", "why"]
        "The shadow model was dropped; the model goes on by itself"
        "It took longer than model.shadow-limit a row, had no score for most events, or its code panicked. Its scores so far stay with their verdicts; events from now on have none. No verdict was ever made of them."
        "See why in the message. Mend the bundle, or give it more time, and reload: a reload begins with it anew.";
    SHADOW_LEFT_OUT: Error "shadow-left-out" "e0ee316a1743dcf52286edaf3a510226" ["error"]
        "The daemon starts without its shadow model"
        "The bundle that model.shadow names was refused, or does not fit the budget beside the model. A shadow is never acted on, so the daemon runs without it."
        "Correct the fault, see `verdictd check`, and reload.";
    MEMORY_TIGHT: Warn "memory-tight" "99f093c301683b836d20e6a2f2eb1191" []
        "The service manager allows less memory than the config"
        "limits.memory and a little more do not fit the unit's MemoryMax=. Under load the kernel would end the daemon; it comes back, and loses nothing, and is away for as long as a start takes."
        "Raise MemoryMax= by a drop-in of the unit (an example is installed), or lower limits.memory.";
    DRAIN_CUT: Warn "drain-cut" "a692cdb0aca56b1d83daad7087b912ae" []
        "A sink did not drain in time"
        "The daemon was stopping and a sink could not take all that waits for it. The verdicts stay in the store."
        "Nothing: they are sent after the next start. If the daemon is not to be started again, they are in `verdictd store events`.";
    ENGINE_FAILED: Error "engine-failed" "4ce5871f9be46a64bcd3eb9e37e6b77f" ["error"]
        "The engine failed; the daemon ends"
        "A commit did not succeed, so nothing more is acknowledged. What was acknowledged before is durable."
        "See the error. Exit code 74 is the state directory's disk: check its health, its space and its mount. Exit code 70 is a bug: please report it. The service manager starts the daemon again; senders repeat what was not answered.";
    CONFIG_WARNING: Warn "config-warning" "cfa73ea8230969be10b3c6bb7c41c472" ["key"]
        "A setting is legal but probably not meant"
        "The config is in force as it stands; the message says what is odd about one key of it."
        "Run `verdictd check`, which names file, line and column.";
    EVENT_PANIC: Error "event-panic" "e8031145a6d0c71faeb58821c083293e" ["source"]
        "An event made the code panic and was set aside"
        "A bug in verdictd: one event could not be decoded, scored or rendered. It is in the quarantine, and the others go on."
        "Look at it with `verdictd quarantine list` and `show`, and report the bug with its bytes. After an update have it sent again.";
    CLOCK_UNSET: Warn "clock-unset" "52c181842fdd6eda869a06035731c2b3" ["now"]
        "The wall clock is not set"
        "The time is earlier than this release was made, so the clock has not been set since the box started. Events are taken, answered, deduplicated and delivered all the same: none of these depends on it. What does: `decided` in verdicts, the time of events that carry none (and with it their windows), the validity of certificates, the age at which files are rotated."
        "Set the clock or let time synchronisation reach its server; nothing need be restarted.";
    CLOCK_SET: Info "clock-set" "7c2a1b4bbe3f4c7e8e2893926f3ce7c3" ["now"]
        "The wall clock has been set"
        "The time was earlier than this release and no longer is."
        "Nothing.";
    CLOCK_STEPPED: Warn "clock-stepped" "fa14b924afb397e6642d2652562c4eb9" ["seconds"]
        "The wall clock was stepped"
        "The wall clock moved by more than a minute against the monotonic one. The dedup window does not follow such steps: nothing expires early and nothing is taken twice. Events without a time of their own, taken from now on, stand at the new time in windows."
        "Nothing if the step was meant. If steps repeat, look at the box's time synchronisation and at its clock battery.";
    JOURNAL_UNREACHABLE: Warn "journal-unreachable" "90c919460e2aa4c115df319fa0232f6d" ["error"]
        "The journal does not take messages"
        "Messages go to stderr as JSON lines until the journal takes them again."
        "Check `systemctl status systemd-journald`. In a container, either hand in /run/systemd/journal/socket or set `[log] format = \"json\"`.";
}
