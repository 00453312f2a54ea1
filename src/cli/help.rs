//! The longer help of each command: what `--help` says beyond one line, and examples.
//!
//! The man pages are made of the same texts. Layout: a text is paragraphs, parted by an empty line; examples are
//! `# what it does` and the commands below it, each indented by two blanks. Numbers and paths here are those of a
//! packaged install.

pub(super) const RUN: &str = "\
Runs the daemon in the foreground until SIGTERM or SIGINT: then it takes nothing new, answers what it has taken, hands \
on what it can and ends. A second signal ends it at once, which loses nothing that was answered. A supervisor such as \
systemd starts it again after any other exit code than 64 and 78.

Whatever is wrong with the config is said at once, with its place. SIGHUP, or `verdictd reload`, has it read anew.";
pub(super) const RUN_EXAMPLES: &str = "\
Examples:
  # with a config of one's own, as any user who may write its state-dir
  verdictd run --config ./verdictd.toml
  # where systemd runs it
  systemctl start verdictd";

pub(super) const DEMO: &str = "\
Shows the main job, whole, with no broker, no root and no config: starts the daemon on a private folder, sends it \
simulated card transactions (some twice, some malformed, some with a known id and another payload), kills it with \
SIGKILL in mid-stream, starts it again, and holds every answer against the file sink.

Ends with a table of figures, and with exit code 0 only if every event that was answered has exactly one verdict.";
pub(super) const DEMO_EXAMPLES: &str = "\
Examples:
  # is this box fit for it? About ten seconds
  verdictd demo
  # fewer events, and keep the folder to look at
  verdictd demo --events 5000 --dir /tmp/demo";

pub(super) const CHECK: &str = "\
Reads the config as `run` would, looks at every file that it names and loads the model, and says every fault at once, \
each with file, line and column, what was expected and what was found. It starts nothing and changes nothing.

Where all is well it shows how the memory and the disk budget divide, what the model needs, and every value in effect \
with where it comes from.

Run it as the user that the daemon runs as: the files must be readable for that one.";
pub(super) const CHECK_EXAMPLES: &str = "\
Examples:
  # after each edit, before a restart
  verdictd check
  # as the packaged service would see it
  sudo -u verdictd verdictd check
  # for a script: the places of all faults
  verdictd check --json --config ./verdictd.toml | jq '.errors[] | {file, line, column, message}'";

pub(super) const INIT: &str = "\
Prints a complete config for the sources and sinks named: every key of this version with what it does and its default, \
a line of comment each. It is a config that works, as soon as the addresses in it are yours.

Without options: one HTTP source on a Unix socket and one file sink.";
pub(super) const INIT_EXAMPLES: &str = "\
Examples:
  # begin with what you have
  verdictd init --source mqtt --sink kafka > verdictd.toml
  # two sources of one type, and two sinks
  verdictd init --source http --source http --sink file --sink mqtt > verdictd.toml";

pub(super) const SEND: &str = "\
Posts the events of a file to an HTTP source and prints each answer, a verdict or a problem, in the order of the input. \
What has no answer yet, for a lost connection, a restart or a 503, is sent again, for ever or until --timeout: a repeat \
does no harm, because the daemon knows an event by its id.

Exit code 1 if an event was refused for what it is; its problem line is in the output.";
pub(super) const SEND_EXAMPLES: &str = "\
Examples:
  # to the packaged service
  verdictd send --to unix:/run/verdictd/events.sock events.ndjson > answers.ndjson
  # over the network, with a token, from a pipe
  zcat events.ndjson.gz | verdictd send --to https://edge-1.site:8443 --token-file token";

pub(super) const SCORE: &str = "\
Scores a file of events with a bundle, without a daemon and without a store: the decoder, the features and the model \
are the daemon's, so the verdicts are the daemon's too, less `sequence` and `decided`, which only a commit gives. One \
line of output a line of input, in its order; a line that is no event gives a problem in its place.

With --rows the columns of the CSV are the model's inputs themselves, and each row gives its score: for holding \
verdictd against the tool that trained the model.";
pub(super) const SCORE_EXAMPLES: &str = "\
Examples:
  # what would this model say of these events, and of which features
  verdictd score --bundle card-fraud --id /TRANSACTION_ID --features events.ndjson
  # the model alone
  verdictd score --bundle card-fraud --rows rows.csv";

pub(super) const TEST: &str = "\
Runs cases that lie beside a bundle, each a list of events, and of labels, with what must come of them: features by name, \
decision, score, reasons. The events go through what `score` scores with, and each case begins with nothing seen. For \
whoever makes a bundle: before it is handed on, and after each change.

A case that does not hold shows what was expected (-) and what came (+). Exit code 1 if one does not, or if a file of \
cases cannot be read as one.";
pub(super) const TEST_EXAMPLES: &str = "\
Examples:
  # every *.test.toml of a bundle
  verdictd test --bundle card-fraud
  # the same cases, of another bundle
  verdictd test --bundle card-fraud-2 card-fraud/velocity.test.toml";

pub(super) const BACKTEST: &str = "\
Puts the events of a file through a bundle, and beside it what was decided of them before: by a second bundle, in the \
lines of a file sink, or in a store. It says how many decisions are alike, which changed into which, how the scores moved, \
and, where labels are known, precision and recall of each decision, before and now. A label is above 0 or it is not.

Verdicts are matched by source and id. A store keeps verdicts and labels, not what was in the events: they come from the \
file. Labels come from label lines among the events, from the store, and from a field that --label names. Windows see \
the events of the file alone, so it should begin as long before what is of interest as the longest window reaches.

Exit code 1 if no event of the file has an earlier verdict.";
pub(super) const BACKTEST_EXAMPLES: &str = "\
Examples:
  # what would the new model have decided of last week?
  verdictd backtest --bundle card-fraud-2 --verdicts verdicts.ndjson --id /TRANSACTION_ID week.ndjson
  # two models, with the truth, and each event that they see otherwise
  verdictd backtest --bundle card-fraud-2 --against card-fraud --id /TRANSACTION_ID --label /TX_FRAUD --changes changes.ndjson judge.ndjson
  # beside this appliance's own log
  verdictd backtest --bundle card-fraud-2 --config /etc/verdictd/verdictd.toml --id /TRANSACTION_ID --json week.ndjson";

pub(super) const SIMULATE: &str = "\
Writes simulated card transactions as NDJSON on standard output, for trials and for training: customers with habits, \
terminals, and three kinds of fraud. The same seed gives the same events, byte for byte.";
pub(super) const SIMULATE_EXAMPLES: &str = "\
Examples:
  # a day for a trial
  verdictd simulate --days 1 --seed 7 > day.ndjson
  # 90 days to train on, with labels, and the 10 after them to judge by
  verdictd simulate --days 90 --seed 1 --labels > train.ndjson
  verdictd simulate --days 10 --skip-days 90 --seed 1 --labels > judge.ndjson";

pub(super) const STATUS: &str = "\
Asks the running daemon, by its admin listener, what it does: sources and sinks with their last error, how far each \
sink is behind, the dedup window in force, memory and disk against their budgets, the model, the quarantine. Warnings \
come last, on standard error: each says that a promise is shortened or a part is away.

Exit code 1 if no daemon answers.";
pub(super) const STATUS_EXAMPLES: &str = "\
Examples:
  verdictd status
  # which sinks are behind
  verdictd status --json | jq '.sinks[] | {name, state, \"lag-events\"}'
  # of a daemon whose config is not here
  verdictd status --to unix:/run/verdictd/admin.sock";

pub(super) const RELOAD: &str = "\
Has the running daemon read its config and its model anew, and says what changed and what waits for a restart. Sinks, the \
model and the log's level are swapped while events flow; everything else takes effect at the next start. Where anything \
is wrong, all of it is said, with its place, and nothing changes: exit code 78. SIGHUP does the same; what became of it \
is then in the log and in `status`.";
pub(super) const RELOAD_EXAMPLES: &str = "\
Examples:
  # after an edit
  verdictd check && verdictd reload
  # the same by the service manager
  systemctl reload verdictd";

pub(super) const SINK: &str = "\
What a sink needs at its other end. `ddl postgres` prints the table: its columns as the config maps them, the unique key \
on (source, id) by which a repeat changes nothing, comments, and the rights that the sink's user needs. Nothing is \
connected to: look at it, change what you like, and run it with psql.";
pub(super) const SINK_EXAMPLES: &str = "\
Examples:
  # the default table and columns
  verdictd sink ddl postgres
  # as the config has it, made at once
  verdictd sink ddl postgres --config /etc/verdictd/verdictd.toml --sink site | psql site";

pub(super) const STORE: &str = "\
Looks into a store: that of a running daemon, a stopped one, a damaged one, or one on another disk. It works on a copy, \
so it needs as much room in the temporary folder as the store has, and changes not a byte. The one change made by hand \
is `forget-sink`.";
pub(super) const STORE_EXAMPLES: &str = "\
Examples:
  verdictd store info
  # is every verdict whole? Exit code 1 if not
  verdictd store verify --dir /srv/old-disk/verdictd
  # the verdicts from sequence 1000 on, as NDJSON
  verdictd store events --from 1000
  # with what the shadow model said of each
  verdictd store events --shadow
  # verdicts kept for a sink that is gone for good
  systemctl stop verdictd && sudo -u verdictd verdictd store forget-sink bank && systemctl start verdictd";

pub(super) const QUARANTINE: &str = "\
Shows the records that were set aside: what was no event, came under a known id with another payload, was too large, \
could not be scored, or was refused by a sink's broker. Each has its reason and, unless `quarantine.payload` is false, \
its bytes. It works on a copy of the store and changes nothing.";
pub(super) const QUARANTINE_EXAMPLES: &str = "\
Examples:
  # who sends what, the oldest first
  verdictd quarantine list
  # how many of which kind
  verdictd quarantine list --json | jq -r .kind | sort | uniq -c
  # the bytes of one, as they came
  verdictd quarantine show 42";

pub(super) const UNCERTAIN: &str = "\
A guarded sink (type http with `idempotent = false`) makes each call once. Where it was begun and nobody knows what came \
of it (a time-out, a broken connection, an error of the receiver, a crash), it is uncertain and is not made again by \
itself. `list` shows these calls, also those of sinks that are no longer configured. `resolve` settles one: with \
--delivered it counts as made, with --resend it is made again, before any later one. The running daemon is asked on its admin \
socket; where none runs, the store itself is changed.";
pub(super) const UNCERTAIN_EXAMPLES: &str = "\
Examples:
  # what is open, and why
  verdictd uncertain list
  # the receiver has it in its books: nothing more is sent
  verdictd uncertain resolve 4711 --delivered
  # the receiver knows nothing of it
  verdictd uncertain resolve 4711 --resend --sink letters
  # all that one sink has open, after the receiver has said that none was done
  verdictd uncertain list --json | jq -r 'select(.sink == \"letters\" and .state == \"uncertain\") | .sequence' |
    xargs -n 1 verdictd uncertain resolve --resend --sink letters";

pub(super) const MODEL: &str = "\
Looks at a model bundle: a folder with model.toml, the model file and, where it has them, parity vectors and a \
signature. `inspect` prints what goes in and comes out, the plan, its memory and its measured time, also of a bare \
model file; `pack` makes a bundle of one. `verify` exits 1 where the bundle is not whole, and says why; whether it fits \
this appliance, and is not older than what was in use, `use` and `check` say. `use` points `model.bundle`, which must be a symbolic \
link, to another bundle and has the running daemon take it; if that is refused, the link is put back. `history` tells \
which model was in use when, as the store has it, and `rollback` points the link back to the bundle that was in use \
before, also where that is the older one, which with a public key nothing else may do.";
pub(super) const MODEL_EXAMPLES: &str = "\
Examples:
  # what it computes, and what it costs
  verdictd model inspect /var/lib/verdictd/models/card-fraud
  # a bundle of what the library saved (more: man verdictd-models)
  verdictd model pack model.txt --name card-fraud --version 2026.2 --out card-fraud-2
  # is it whole, with this key asked for?
  verdictd model verify --public-key /etc/verdictd/models.pub /srv/models/card-fraud-2
  # from now on; and back again
  verdictd model use /srv/models/card-fraud-2
  verdictd model rollback
  # which was in use when
  verdictd model history";

pub(super) const BENCH: &str = "\
Measures what this box does: the real daemon with a Unix socket in and a file sink out, on a private folder, and beside \
it the floor of the same run, which is the smallest HTTP server that appends each body to a file and answers after an \
fdatasync shared by those who wait. Compare figures of one run only.";
pub(super) const BENCH_EXAMPLES: &str = "\
Examples:
  # on the disk that the state will be on; about half a minute
  verdictd bench --dir /var/lib/verdictd
  verdictd bench --json --rounds 5";
