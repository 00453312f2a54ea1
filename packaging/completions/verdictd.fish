# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_verdictd_global_optspecs
    string join \n h/help V/version
end

function __fish_verdictd_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_verdictd_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_verdictd_using_subcommand
    set -l cmd (__fish_verdictd_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c verdictd -n "__fish_verdictd_needs_command" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_needs_command" -s V -l version -d 'Print version'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "run" -d 'Run the daemon'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "demo" -d 'The main job, whole, on a private directory: with repeats, bad input and a kill, and the proof'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "check" -d 'Look for every fault of the config; show the memory plan and the effective config'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "init" -d 'Print a complete commented starter config'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "send" -d 'Post events until each is acked; print their verdicts'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "bench" -d 'Measure throughput and latency on this box, beside the floor of the same run'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "score" -d 'Score a file of events offline'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "test" -d 'Run the cases that lie beside a bundle: events in, and what must come of them'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "backtest" -d 'Another bundle over events that were decided before: what would change'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "simulate" -d 'Write simulated card transactions, for trials and for training'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "status" -d 'Show what the running daemon does'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "reload" -d 'Have the running daemon read its config and model anew; what is wrong changes nothing'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "store" -d 'Look into a store, also of a stopped or damaged one, without changing a byte'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "quarantine" -d 'Look at what was set aside, and why'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "uncertain" -d 'Calls of guarded sinks whose outcome is not known: list them, settle them'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "sink" -d 'What a sink needs at its other end'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "model" -d 'Look at a model bundle, or have the daemon use another one'
complete -c verdictd -n "__fish_verdictd_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c verdictd -n "__fish_verdictd_using_subcommand run" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand run" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand demo" -l dir -d 'Keep everything in DIR, which must not exist or be empty; a temporary folder otherwise' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand demo" -l events -d 'How many transactions' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand demo" -l seed -d 'Seed of the simulated transactions and of the moment of the kill' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand demo" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand check" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand check" -l json -d 'Print JSON for scripts'
complete -c verdictd -n "__fish_verdictd_using_subcommand check" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand init" -l source -d 'A source of this type; may be given several times' -r -f -a "http\t''
socket\t''
mqtt\t''
kafka\t''
serial\t''
file\t''
spool\t''"
complete -c verdictd -n "__fish_verdictd_using_subcommand init" -l sink -d 'A sink of this type; may be given several times' -r -f -a "file\t''
mqtt\t''
kafka\t''
postgres\t''
http\t''"
complete -c verdictd -n "__fish_verdictd_using_subcommand init" -l reference -d 'Print a page of all keys in Markdown instead'
complete -c verdictd -n "__fish_verdictd_using_subcommand init" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand send" -l to -d 'The daemon: unix:/path, host:port or https://host:port' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand send" -l format -d 'Where the name of FILE does not say it' -r -f -a "ndjson\t''
csv\t''"
complete -c verdictd -n "__fish_verdictd_using_subcommand send" -l batch -d 'Events a request' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand send" -l connections -d 'Requests in flight at once, each on a connection of its own; more than 1 does not keep the order' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand send" -l timeout -d 'Give up when an event has no answer after so many seconds' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand send" -l token-file -d 'A file with the bearer token' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand send" -l ca-file -d 'The authorities to trust for https, PEM' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand send" -l cert-file -d 'A client certificate, PEM' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand send" -l key-file -d 'Its key, PEM' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand send" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand bench" -l seconds -d 'Seconds of each measurement, after a warm-up of a quarter of it' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand bench" -l rounds -d 'Rounds, each of three measurements of the daemon and three of the floor' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand bench" -l dir -d 'Where the private directories are made; the disk below it is what is measured' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand bench" -l bundle -d 'The model bundle, instead of the shipped one' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand bench" -l json -d 'Print JSON'
complete -c verdictd -n "__fish_verdictd_using_subcommand bench" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand score" -l bundle -d 'The bundle that scores' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand score" -l model -d 'A bare model file instead: ONNX, LightGBM\'s text, XGBoost\'s JSON or UBJSON' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand score" -l format -d 'Where neither the name nor the first byte of FILE says it' -r -f -a "ndjson\t''
csv\t''"
complete -c verdictd -n "__fish_verdictd_using_subcommand score" -l id -d 'Where an event\'s id stands; of a CSV without such a column the number of the record is taken' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand score" -l key -d 'Where its key stands; several times for a key of several' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand score" -l time -d 'Where its time stands' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand score" -l source -d 'The source of events that do not say: a text, or a pointer (it begins with /)' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand score" -l public-key -d 'A minisign public key that must have signed the bundle' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand score" -l rows -d 'The CSV\'s columns are the model\'s inputs themselves'
complete -c verdictd -n "__fish_verdictd_using_subcommand score" -l features -d 'Add the row of features, by name'
complete -c verdictd -n "__fish_verdictd_using_subcommand score" -l leaves -d 'With --rows: add the leaf that the row reaches in each tree, as the model\'s library numbers them'
complete -c verdictd -n "__fish_verdictd_using_subcommand score" -l contributions -d 'With --rows: add what each column adds to the raw sum behind the score, where that is exact'
complete -c verdictd -n "__fish_verdictd_using_subcommand score" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand test" -l bundle -d 'The bundle that is tested; by default the folder that FILE lies in, else the current one' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand test" -l public-key -d 'A minisign public key that must have signed the bundle' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand test" -l json -d 'Print JSON for scripts'
complete -c verdictd -n "__fish_verdictd_using_subcommand test" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand backtest" -l bundle -d 'The bundle that is tried' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand backtest" -l against -d 'Beside this bundle, over the same events' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand backtest" -l verdicts -d 'Beside these verdicts: NDJSON as the file sink writes it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand backtest" -l dir -d 'Beside the verdicts in the store of this state-dir, with its labels' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand backtest" -l config -d 'Beside those in the store of this config\'s state-dir' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand backtest" -l format -d 'Where neither the name nor the first byte of FILE says it' -r -f -a "ndjson\t''
csv\t''"
complete -c verdictd -n "__fish_verdictd_using_subcommand backtest" -l id -d 'Where an event\'s id stands; of a CSV without such a column the number of the record is taken' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand backtest" -l key -d 'Where its key stands; several times for a key of several' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand backtest" -l time -d 'Where its time stands' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand backtest" -l source -d 'The source of events that do not say: a text, or a pointer (it begins with /); by default that of the verdicts' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand backtest" -l label -d 'Where an event\'s label stands, which was known only later: it counts here, in no window' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand backtest" -l changes -d 'Write a line of JSON for each event whose decision changes' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand backtest" -l public-key -d 'A minisign public key that must have signed the bundles' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand backtest" -l json -d 'Print JSON for scripts'
complete -c verdictd -n "__fish_verdictd_using_subcommand backtest" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand simulate" -l days -d 'Whole days to write, about 10,000 events each; with the days skipped at most 3650' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand simulate" -l seed -d 'The same seed gives the same events, byte for byte' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand simulate" -l skip-days -d 'Days to leave out first: what a model was trained on, say' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand simulate" -l labels -d 'Add TX_FRAUD (0 or 1) and TX_FRAUD_SCENARIO (0 to 3) to each event'
complete -c verdictd -n "__fish_verdictd_using_subcommand simulate" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand status" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand status" -l to -d 'The admin listener, instead of the config\'s: unix:PATH or HOST:PORT' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand status" -l json -d 'Print JSON for scripts'
complete -c verdictd -n "__fish_verdictd_using_subcommand status" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand reload" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand reload" -l json -d 'Print JSON for scripts'
complete -c verdictd -n "__fish_verdictd_using_subcommand reload" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and not __fish_seen_subcommand_from info verify events kept forget-sink help" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and not __fish_seen_subcommand_from info verify events kept forget-sink help" -f -a "info" -d 'What is in it'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and not __fish_seen_subcommand_from info verify events kept forget-sink help" -f -a "verify" -d 'Read and check everything; exit code 1 where it is damaged'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and not __fish_seen_subcommand_from info verify events kept forget-sink help" -f -a "events" -d 'Print the verdicts in it as NDJSON, in the order of their sequence'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and not __fish_seen_subcommand_from info verify events kept forget-sink help" -f -a "kept" -d 'Print the events kept for a replay as NDJSON, with the labels between them: what score, test and backtest read'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and not __fish_seen_subcommand_from info verify events kept forget-sink help" -f -a "forget-sink" -d 'Drop the cursor of a sink that is no longer configured; the daemon must be stopped'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and not __fish_seen_subcommand_from info verify events kept forget-sink help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from info" -l dir -d 'The state-dir, instead of the config\'s' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from info" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from info" -l json -d 'Print JSON for scripts'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from info" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from verify" -l dir -d 'The state-dir, instead of the config\'s' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from verify" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from verify" -l json -d 'Print JSON for scripts'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from events" -l dir -d 'The state-dir, instead of the config\'s' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from events" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from events" -l from -d 'The first sequence to print' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from events" -l shadow -d 'With what the shadow model said of each: the member shadow, null where there is nothing'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from events" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from kept" -l dir -d 'The state-dir, instead of the config\'s' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from kept" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from kept" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from forget-sink" -l dir -d 'The state-dir, instead of the config\'s' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from forget-sink" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from forget-sink" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from help" -f -a "info" -d 'What is in it'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Read and check everything; exit code 1 where it is damaged'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from help" -f -a "events" -d 'Print the verdicts in it as NDJSON, in the order of their sequence'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from help" -f -a "kept" -d 'Print the events kept for a replay as NDJSON, with the labels between them: what score, test and backtest read'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from help" -f -a "forget-sink" -d 'Drop the cursor of a sink that is no longer configured; the daemon must be stopped'
complete -c verdictd -n "__fish_verdictd_using_subcommand store; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c verdictd -n "__fish_verdictd_using_subcommand quarantine; and not __fish_seen_subcommand_from list show help" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand quarantine; and not __fish_seen_subcommand_from list show help" -f -a "list" -d 'One line an entry, the oldest first'
complete -c verdictd -n "__fish_verdictd_using_subcommand quarantine; and not __fish_seen_subcommand_from list show help" -f -a "show" -d 'The bytes of one entry as they came, on stdout; what is known of it, on stderr'
complete -c verdictd -n "__fish_verdictd_using_subcommand quarantine; and not __fish_seen_subcommand_from list show help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c verdictd -n "__fish_verdictd_using_subcommand quarantine; and __fish_seen_subcommand_from list" -l dir -d 'The state-dir, instead of the config\'s' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand quarantine; and __fish_seen_subcommand_from list" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand quarantine; and __fish_seen_subcommand_from list" -l json -d 'Print JSON for scripts'
complete -c verdictd -n "__fish_verdictd_using_subcommand quarantine; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand quarantine; and __fish_seen_subcommand_from show" -l dir -d 'The state-dir, instead of the config\'s' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand quarantine; and __fish_seen_subcommand_from show" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand quarantine; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand quarantine; and __fish_seen_subcommand_from help" -f -a "list" -d 'One line an entry, the oldest first'
complete -c verdictd -n "__fish_verdictd_using_subcommand quarantine; and __fish_seen_subcommand_from help" -f -a "show" -d 'The bytes of one entry as they came, on stdout; what is known of it, on stderr'
complete -c verdictd -n "__fish_verdictd_using_subcommand quarantine; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c verdictd -n "__fish_verdictd_using_subcommand uncertain; and not __fish_seen_subcommand_from list resolve help" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand uncertain; and not __fish_seen_subcommand_from list resolve help" -f -a "list" -d 'One line a call, by sink and sequence'
complete -c verdictd -n "__fish_verdictd_using_subcommand uncertain; and not __fish_seen_subcommand_from list resolve help" -f -a "resolve" -d 'Say what came of a call, or have it made again'
complete -c verdictd -n "__fish_verdictd_using_subcommand uncertain; and not __fish_seen_subcommand_from list resolve help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c verdictd -n "__fish_verdictd_using_subcommand uncertain; and __fish_seen_subcommand_from list" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand uncertain; and __fish_seen_subcommand_from list" -l json -d 'Print JSON for scripts, a line each'
complete -c verdictd -n "__fish_verdictd_using_subcommand uncertain; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand uncertain; and __fish_seen_subcommand_from resolve" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand uncertain; and __fish_seen_subcommand_from resolve" -l sink -d 'The sink, where several have a call of this verdict' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand uncertain; and __fish_seen_subcommand_from resolve" -l delivered -d 'It was done: it is not made again'
complete -c verdictd -n "__fish_verdictd_using_subcommand uncertain; and __fish_seen_subcommand_from resolve" -l resend -d 'It was not done: it is made again, before any later one'
complete -c verdictd -n "__fish_verdictd_using_subcommand uncertain; and __fish_seen_subcommand_from resolve" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand uncertain; and __fish_seen_subcommand_from help" -f -a "list" -d 'One line a call, by sink and sequence'
complete -c verdictd -n "__fish_verdictd_using_subcommand uncertain; and __fish_seen_subcommand_from help" -f -a "resolve" -d 'Say what came of a call, or have it made again'
complete -c verdictd -n "__fish_verdictd_using_subcommand uncertain; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c verdictd -n "__fish_verdictd_using_subcommand sink; and not __fish_seen_subcommand_from ddl help" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand sink; and not __fish_seen_subcommand_from ddl help" -f -a "ddl" -d 'Print the SQL that makes the table a sink needs'
complete -c verdictd -n "__fish_verdictd_using_subcommand sink; and not __fish_seen_subcommand_from ddl help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c verdictd -n "__fish_verdictd_using_subcommand sink; and __fish_seen_subcommand_from ddl" -l config -d 'Print it for the sinks of this config, with their table and columns, not for the default ones' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand sink; and __fish_seen_subcommand_from ddl" -l sink -d 'Only for the sink of this name, of the config given or else of the usual one' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand sink; and __fish_seen_subcommand_from ddl" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand sink; and __fish_seen_subcommand_from help" -f -a "ddl" -d 'Print the SQL that makes the table a sink needs'
complete -c verdictd -n "__fish_verdictd_using_subcommand sink; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and not __fish_seen_subcommand_from history inspect pack rollback use verify help" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and not __fish_seen_subcommand_from history inspect pack rollback use verify help" -f -a "history" -d 'Which model was in use when'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and not __fish_seen_subcommand_from history inspect pack rollback use verify help" -f -a "inspect" -d 'What it needs and costs'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and not __fish_seen_subcommand_from history inspect pack rollback use verify help" -f -a "pack" -d 'Make a bundle of a bare model file'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and not __fish_seen_subcommand_from history inspect pack rollback use verify help" -f -a "rollback" -d 'Go back to the bundle that was in use before, also where it is the older one'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and not __fish_seen_subcommand_from history inspect pack rollback use verify help" -f -a "use" -d 'Point model.bundle to another bundle, and have the running daemon take it'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and not __fish_seen_subcommand_from history inspect pack rollback use verify help" -f -a "verify" -d 'Check hash, signature, parity vectors, memory, and the plan against the reference'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and not __fish_seen_subcommand_from history inspect pack rollback use verify help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from history" -l dir -d 'The state-dir, instead of the config\'s' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from history" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from history" -l json -d 'Print JSON for scripts'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from history" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from inspect" -l public-key -d 'A minisign public key that must have signed it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from inspect" -l json -d 'Print JSON for scripts'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from inspect" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from pack" -l name -d 'The model\'s name' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from pack" -l version -d 'Its version' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from pack" -l out -d 'The bundle to make: a new folder, or an empty one' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from pack" -l serial -d 'A whole number that grows with each version of the name: with a signature, an older one is then told from a newer' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from pack" -l manifest -d 'The rest of model.toml: features, thresholds, calibration; for safetensors the network' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from pack" -l output -d 'Which of the model\'s outputs is the score' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from pack" -l class -d 'Which number of it: a label, or a place from 0' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from pack" -l score -d 'What the score is: raw, probability, margin or logit' -r
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from pack" -l parity -d 'Rows with the scores that they must get, as NDJSON of {"row":[…],"score":…}' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from pack" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from rollback" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from rollback" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from use" -l config -d 'The config; conf.d/*.toml beside it is laid over it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from use" -l no-reload -d 'Change the link alone: a running daemon sees that within seconds, and is not waited for'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from use" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from verify" -l public-key -d 'A minisign public key that must have signed it' -r -F
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from verify" -l json -d 'Print JSON for scripts'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from help" -f -a "history" -d 'Which model was in use when'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from help" -f -a "inspect" -d 'What it needs and costs'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from help" -f -a "pack" -d 'Make a bundle of a bare model file'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from help" -f -a "rollback" -d 'Go back to the bundle that was in use before, also where it is the older one'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from help" -f -a "use" -d 'Point model.bundle to another bundle, and have the running daemon take it'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Check hash, signature, parity vectors, memory, and the plan against the reference'
complete -c verdictd -n "__fish_verdictd_using_subcommand model; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "run" -d 'Run the daemon'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "demo" -d 'The main job, whole, on a private directory: with repeats, bad input and a kill, and the proof'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "check" -d 'Look for every fault of the config; show the memory plan and the effective config'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "init" -d 'Print a complete commented starter config'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "send" -d 'Post events until each is acked; print their verdicts'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "bench" -d 'Measure throughput and latency on this box, beside the floor of the same run'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "score" -d 'Score a file of events offline'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "test" -d 'Run the cases that lie beside a bundle: events in, and what must come of them'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "backtest" -d 'Another bundle over events that were decided before: what would change'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "simulate" -d 'Write simulated card transactions, for trials and for training'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "status" -d 'Show what the running daemon does'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "reload" -d 'Have the running daemon read its config and model anew; what is wrong changes nothing'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "store" -d 'Look into a store, also of a stopped or damaged one, without changing a byte'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "quarantine" -d 'Look at what was set aside, and why'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "uncertain" -d 'Calls of guarded sinks whose outcome is not known: list them, settle them'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "sink" -d 'What a sink needs at its other end'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "model" -d 'Look at a model bundle, or have the daemon use another one'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and not __fish_seen_subcommand_from run demo check init send bench score test backtest simulate status reload store quarantine uncertain sink model help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from store" -f -a "info" -d 'What is in it'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from store" -f -a "verify" -d 'Read and check everything; exit code 1 where it is damaged'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from store" -f -a "events" -d 'Print the verdicts in it as NDJSON, in the order of their sequence'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from store" -f -a "kept" -d 'Print the events kept for a replay as NDJSON, with the labels between them: what score, test and backtest read'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from store" -f -a "forget-sink" -d 'Drop the cursor of a sink that is no longer configured; the daemon must be stopped'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from quarantine" -f -a "list" -d 'One line an entry, the oldest first'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from quarantine" -f -a "show" -d 'The bytes of one entry as they came, on stdout; what is known of it, on stderr'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from uncertain" -f -a "list" -d 'One line a call, by sink and sequence'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from uncertain" -f -a "resolve" -d 'Say what came of a call, or have it made again'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from sink" -f -a "ddl" -d 'Print the SQL that makes the table a sink needs'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from model" -f -a "history" -d 'Which model was in use when'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from model" -f -a "inspect" -d 'What it needs and costs'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from model" -f -a "pack" -d 'Make a bundle of a bare model file'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from model" -f -a "rollback" -d 'Go back to the bundle that was in use before, also where it is the older one'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from model" -f -a "use" -d 'Point model.bundle to another bundle, and have the running daemon take it'
complete -c verdictd -n "__fish_verdictd_using_subcommand help; and __fish_seen_subcommand_from model" -f -a "verify" -d 'Check hash, signature, parity vectors, memory, and the plan against the reference'
