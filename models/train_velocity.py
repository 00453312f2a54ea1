#!/usr/bin/env python3
"""Trains three models on window features of the project's own simulator and holds verdictd's scores against the library's.

    models/train_velocity.py --verdictd target/release/verdictd --out /tmp/velocity

The features are those of production by construction: verdictd computes them (`score --features`), this script only reads
them. Logistic regression and random forest (scikit-learn) are packed as ONNX, gradient boosting (LightGBM) as its own
text. Each bundle then scores the same events again, offline and through a running daemon, and every score must be the
library's own for that row.

Needs the environment of tests/models/venv, and 2 GB of memory. The simulator's fraud labels are told seven days later, as
a bank would learn of them. Days 1 to 37 fill the windows, 38 to 60 train, 61 to 67 are too young for labels, 68 to 74
judge.
"""

import argparse
import hashlib
import heapq
import json
import shutil
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import lightgbm
import numpy as np
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SEED = 1
DAYS, TRAIN, JUDGE = 74, (38, 60), (68, 74)
DELAY = timedelta(days=7)
THRESHOLDS = {"block": 0.8, "review": 0.3}
# The largest distance of a score from the library's: f32 all the way through an ONNX graph, f64 in LightGBM.
NEAR = {"logistic-regression": 1e-6, "random-forest": 1e-6, "gradient-boosting": 1e-12}
IDENTITY = ["--id", "/TRANSACTION_ID", "--key", "/CUSTOMER_ID", "--time", "/TX_DATETIME", "--source", "pos"]


def window(name, what, key, over, **more):
    rest = "".join(f', {option} = "{value}"' for option, value in more.items())
    return name, f'window = {{ {what}, key = "/{key}", over = "{over}"{rest} }}'


FEATURES = [
    ("AMOUNT", 'from = "/TX_AMOUNT"\ntransform = [{ log1p = true }]'),
    ("NIGHT", 'from = "/TX_DATETIME"\ntransform = [{ night = "UTC" }]'),
    ("WEEKEND", 'from = "/TX_DATETIME"\ntransform = [{ weekend = "UTC" }]'),
    ("DISTANCE", 'from = "/HOME_DISTANCE_KM"\ntransform = [{ log1p = true }]\nmissing = 0'),
    ("PIN_TRIES", 'from = "/PIN_TRIES"\nmissing = 0'),
    *[
        window(f"CUSTOMER_{what}_{over.replace(' ', '').upper()}", aggregate, "CUSTOMER_ID", over)
        for over in ("1 h", "1 d", "7 d", "30 d")
        for what, aggregate in (("COUNT", "count = true"), ("MEAN", 'mean = "/TX_AMOUNT"'))
    ],
    window("CUSTOMER_RATIO_30D", 'ratio = "/TX_AMOUNT"', "CUSTOMER_ID", "30 d"),
    window("CUSTOMER_SINCE_LAST", "since-last = true", "CUSTOMER_ID", "30 d"),
    window("CUSTOMER_TERMINALS_1D", 'distinct = "/TERMINAL_ID"', "CUSTOMER_ID", "1 d"),
    *[
        window(f"TERMINAL_{what}_{over.replace(' ', '').upper()}", aggregate, "TERMINAL_ID", over, delay="7 d")
        for over in ("1 d", "7 d", "30 d")
        for what, aggregate in (("COUNT", "count = true"), ("RISK", "label-mean = true"))
    ],
]
NAMES = [name for name, _ in FEATURES]
WINDOWS = np.array(["window" in source for _, source in FEATURES])

# What stands in for a model as long as there is none: a LightGBM file of one split, whose score nobody looks at.
STAND_IN = f"""tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx={len(NAMES) - 1}
objective=binary sigmoid:1
feature_names={" ".join(NAMES)}
feature_infos={" ".join(["[0:1]"] * len(NAMES))}
tree_sizes=1

Tree=0
num_leaves=2
num_cat=0
split_feature=0
threshold=0
decision_type=2
left_child=-1
right_child=-2
leaf_value=-1 1
leaf_count=1 1
internal_count=2
is_linear=0
shrinkage=1


end of trees

parameters:
[objective: binary]
end of parameters

pandas_categorical:null
"""


def write_stream(program, path):
    """Events and, seven days after each fraud, its label. Returns day and label of each event."""
    simulate = [program, "simulate", "--labels", "--seed", str(SEED), "--days", str(DAYS)]
    days, labels, due = [], [], []
    first = None
    with subprocess.Popen(simulate, stdout=subprocess.PIPE, text=True) as events, path.open("w") as out:
        for line in events.stdout:
            event = json.loads(line)
            time = datetime.fromisoformat(event["TX_DATETIME"])
            first = first or time.date()
            while due and due[0][0] <= time:
                out.write(heapq.heappop(due)[1])
            label, _ = event.pop("TX_FRAUD"), event.pop("TX_FRAUD_SCENARIO")
            out.write(json.dumps(event) + "\n")
            days.append((time.date() - first).days + 1)
            labels.append(label)
            if label:
                told = {"type": "verdictd.label.v1", "id": event["TRANSACTION_ID"], "label": 1}
                heapq.heappush(due, (time + DELAY, json.dumps(told) + "\n"))
    return np.array(days), np.array(labels)


def write_bundle(folder, name, form, file, model):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / file).write_bytes(model)
    lines = [
        f'name = "{name}"\nversion = "1"\nformat = "{form}"\nfile = "{file}"',
        f'sha256 = "{hashlib.sha256(model).hexdigest()}"\n',
        "[decision]",
        *[f"{decision} = {threshold}" for decision, threshold in THRESHOLDS.items()],
        'otherwise = "allow"\nfallback = "review"',
        *[f'\n[[feature]]\nname = "{feature}"\n{source}' for feature, source in FEATURES],
    ]
    (folder / "model.toml").write_text("\n".join(lines) + "\n")
    return folder


def answers(program, bundle, stream, *options):
    """The verdicts of all events, one after the other."""
    command = [program, "score", "--bundle", bundle, *IDENTITY, *options, stream]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as score:
        for line in score.stdout:
            yield json.loads(line)
    if score.returncode:
        sys.exit(f"score ended with {score.returncode}")


def rows_of(program, bundle, stream):
    rows = (list(answer["features"].values()) for answer in answers(program, bundle, stream, "--features"))
    return np.fromiter(rows, dtype=np.dtype((np.float64, len(NAMES))))


def daemon_scores(program, folder, bundle, stream):
    """What a running daemon said, event for event: HTTP in, file sink out."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    config = folder / "verdictd.toml"
    config.write_text(
        f'state-dir = "{folder}/state"\nmodel.bundle = "{bundle}"\nadmin.listen = "unix:{folder}/admin.sock"\n'
        "[limits]\nmemory = \"512 MiB\"\n"
        f'[sources.pos]\ntype = "http"\nlisten = "unix:{folder}/events.sock"\n'
        'event = { id = "/TRANSACTION_ID", key = "/CUSTOMER_ID", time = "/TX_DATETIME" }\n'
        f'[sinks.audit]\ntype = "file"\npath = "{folder}/verdicts.ndjson"\nrotate-size = "4 GiB"\n'
    )
    with (folder / "log").open("w") as log:
        daemon = subprocess.Popen([program, "run", "--config", config], stdout=log, stderr=log)
        try:
            # It tries again until the daemon is there.
            send = [program, "send", "--to", f"unix:{folder}/events.sock", stream]
            subprocess.run(send, check=True, stdout=subprocess.DEVNULL)
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()
    with (folder / "verdicts.ndjson").open() as verdicts:
        return np.fromiter((json.loads(line)["score"] for line in verdicts), float)


def models(x, y, names):
    """Name, format, file, the file's bytes, and the library's own scores of rows."""
    narrow = x.astype(np.float32)
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    forest = RandomForestClassifier(60, max_depth=12, min_samples_leaf=5, n_jobs=-1, random_state=SEED)
    for name, model in (("logistic-regression", logistic), ("random-forest", forest)):
        model.fit(narrow, y)
        onnx = to_onnx(model, narrow[:1], options={id(model): {"zipmap": False}}).SerializeToString()
        yield name, "onnx", "model.onnx", onnx, lambda rows, model=model: model.predict_proba(rows.astype(np.float32))[:, 1]
    settings = {"objective": "binary", "num_leaves": 31, "learning_rate": 0.05, "seed": SEED, "verbose": -1}
    booster = lightgbm.train(settings, lightgbm.Dataset(x, y, feature_name=names), 200)
    yield "gradient-boosting", "lightgbm", "model.txt", booster.model_to_string().encode(), booster.predict


def measure(title, y, scores):
    found = [f"AUC ROC {roc_auc_score(y, scores):.4f}", f"average precision {average_precision_score(y, scores):.3f}"]
    for name, threshold in THRESHOLDS.items():
        hit = scores >= threshold
        found.append(f"{name} {y[hit].mean():.3f} / {hit[y == 1].mean():.3f}")
    print(f"{title}: {', '.join(found)} (precision / recall)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verdictd", default="verdictd", help="the program")
    parser.add_argument("--out", type=Path, required=True, help="a folder for the bundles and what is needed on the way")
    asked = parser.parse_args()
    program, out = asked.verdictd, asked.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    stream = out / "events.ndjson"
    days, labels = write_stream(program, stream)
    stand_in = write_bundle(out / "stand-in", "stand-in", "lightgbm", "model.txt", STAND_IN.encode())
    rows = rows_of(program, stand_in, stream)
    train, judge = ((days >= first) & (days <= last) for first, last in (TRAIN, JUDGE))
    print(f"{len(rows)} events; {train.sum()} train, {judge.sum()} judge, {labels[judge].sum()} of these fraud")
    far = []
    for name, form, file, model, predict in models(rows[train], labels[train], NAMES):
        expected = predict(rows)
        bundle = write_bundle(out / name, name, form, file, model)
        measure(name, labels[judge], expected[judge])
        offline = np.fromiter((answer["score"] for answer in answers(program, bundle, stream)), float)
        online = daemon_scores(program, out / "daemon", bundle, stream)
        for way, scores in (("score", offline), ("the daemon", online)):
            worst = np.abs(scores - expected).max() if len(scores) == len(expected) else np.inf
            print(f"  {way} against the library, {len(scores)} events: at most {worst:.1e} apart")
            # Not so of a NaN either.
            if not worst <= NEAR[name]:
                far.append(f"{name}, {way}")
    plain = np.flatnonzero(~WINDOWS)
    for name, *_, predict in models(rows[train][:, plain], labels[train], [NAMES[n] for n in plain]):
        measure(f"{name}, without windows", labels[judge], predict(rows[judge][:, plain]))
    if far:
        sys.exit(f"not the library's scores: {'; '.join(far)}")


main()
