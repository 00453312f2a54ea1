#!/usr/bin/env python3
"""Trains models/card-fraud on the project's own simulator and says how good it is on days it has not seen.

    verdictd simulate --seed 1 --days 90 --labels | python3 models/train.py            # trains and writes
    verdictd simulate --seed 1 --days 90 --labels | python3 models/train.py --evaluate # reads and measures

Needs Python 3.11 or newer and numpy. The same input gives the same files on one machine with one numpy
(another processor may round a matrix product differently).

Days 1 to 50 train, 51 to 60 choose when to stop, 61 onward are only measured.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one thread: sums in one order

import argparse
import hashlib
import json
import struct
import sys
import tomllib
from datetime import datetime
from pathlib import Path

import numpy as np

SEED = 20260101
TRAIN_DAYS, STOP_DAYS = 50, 60
LAYERS = [64, 32, 1]
EPOCHS, BATCH, RATE = 14, 512, 2e-3
BUNDLE = Path(__file__).resolve().parent / "card-fraud"
THRESHOLDS = {"block": 0.8, "review": 0.3}

# One entry a feature: name, field, steps, rule for missing, baseline. "standardise" and a missing value of
# None are filled in from the training days.
FEATURES = [
    ("TX_AMOUNT", "/TX_AMOUNT", ["log1p", "standardise"], "unscorable", 0.0),
    ("TX_HOUR_SIN", "/TX_DATETIME", ["hour", ("sin", 24)], "unscorable", 0.0),
    ("TX_HOUR_COS", "/TX_DATETIME", ["hour", ("cos", 24)], "unscorable", -1.0),
    ("TX_DURING_NIGHT", "/TX_DATETIME", ["night"], "unscorable", 0.0),
    ("TX_DURING_WEEKEND", "/TX_DATETIME", ["weekend"], "unscorable", 0.0),
    ("ENTRY_MODE", "/ENTRY_MODE", [("one-hot", ["chip", "contactless", "magstripe", "fallback", "ecommerce"])], "zeros", 0.0),
    ("CARDHOLDER_VERIFICATION", "/CARDHOLDER_VERIFICATION", [("one-hot", ["pin", "signature", "issuer", "none"])], "zeros", 0.0),
    ("MERCHANT_CATEGORY", "/MERCHANT_CATEGORY", [("one-hot", ["grocery", "fuel", "restaurant", "fashion", "electronics", "jewellery", "travel", "digital", "cash"])], "zeros", 0.0),
    ("HOME_DISTANCE_KM", "/HOME_DISTANCE_KM", ["log1p", "standardise"], None, 0.0),
    ("HOME_COUNTRY", "/HOME_COUNTRY", [], 1.0, 1.0),
    ("PIN_TRIES", "/PIN_TRIES", [("clip", 0, 3)], 0.0, 1.0),
]
OPTIONAL = [f for f in FEATURES if f[3] != "unscorable"]


def read_events(stream):
    """Field -> array, with the day (from 1), label and scenario of each event."""
    fields = {f[1]: [] for f in FEATURES}
    day, label, scenario = [], [], []
    first = None
    for line in stream:
        event = json.loads(line)
        time = datetime.fromisoformat(event["TX_DATETIME"])
        first = first or time.date()
        day.append((time.date() - first).days + 1)
        label.append(event["TX_FRAUD"])
        scenario.append(event["TX_FRAUD_SCENARIO"])
        for pointer, values in fields.items():
            value = event.get(pointer[1:])
            values.append(time if pointer == "/TX_DATETIME" else value)
    times = fields["/TX_DATETIME"]
    seconds = np.array([t.hour * 3600 + t.minute * 60 + t.second for t in times], dtype=np.float64)
    columns = {"seconds": seconds, "weekday": np.array([t.weekday() for t in times])}
    for pointer, values in fields.items():
        if pointer == "/TX_DATETIME":
            continue
        text = isinstance(values[0], str)
        columns[pointer] = np.array(values, dtype=object if text else np.float64)
    return columns, np.array(day), np.array(label), np.array(scenario)


def fit(columns, rows):
    """What the steps need to know of the training rows."""
    fitted = {}
    for name, pointer, steps, missing, _ in FEATURES:
        if "standardise" not in steps:
            continue
        raw = columns[pointer][rows]
        logged = np.log1p(raw)
        fitted[name] = {"mean": round(float(logged.mean()), 6), "std": round(float(logged.std()), 6)}
        if missing is None:
            fitted[name]["missing"] = round(float(np.median(raw)), 1)
    return fitted


def fitted_of(manifest):
    """The same, out of a bundle's manifest."""
    fitted = {}
    for table in tomllib.loads(manifest.read_text())["feature"]:
        for step in table.get("transform", []):
            if "standardise" in step:
                fitted[table["name"]] = {**step["standardise"], "missing": table["missing"]}
    return fitted


def missing_of(feature, fitted):
    return fitted[feature[0]]["missing"] if feature[3] is None else feature[3]


def number_steps(feature, fitted, x):
    for step in feature[2]:
        match step:
            case "log1p":
                x = np.log1p(x)
            case "standardise":
                x = (x - fitted[feature[0]]["mean"]) / fitted[feature[0]]["std"]
            case ("clip", low, high):
                x = np.clip(x, low, high)
            case ("sin", period):
                x = np.sin(x / period * 2 * np.pi)
            case ("cos", period):
                x = np.cos(x / period * 2 * np.pi)
    return x


def make_rows(columns, fitted, rows, absent):
    """The model's inputs in f64, cut to f32. `absent`: feature name -> rows where its field is missing."""
    out = []
    for feature in FEATURES:
        name, pointer, steps, _, _ = feature
        gone = absent.get(name, np.zeros(len(rows), dtype=bool))
        if steps and steps[0] in ("hour", "night", "weekend"):
            seconds, weekday = columns["seconds"][rows], columns["weekday"][rows]
            head = {"hour": seconds / 3600, "night": seconds < 7 * 3600, "weekend": weekday >= 5}[steps[0]]
            out.append(number_steps(feature, fitted, head.astype(np.float64)))
        elif steps and steps[0][0] == "one-hot":
            for value in steps[0][1]:
                out.append(((columns[pointer][rows] == value) & ~gone).astype(np.float64))
        else:
            x = columns[pointer][rows]
            if feature in OPTIONAL:
                x = np.where(gone, missing_of(feature, fitted), x)
            out.append(number_steps(feature, fitted, x))
    return np.stack(out, axis=1).astype(np.float32)


def drop_fields(rng, count):
    """Terminals that send little: some rows lose all optional fields, some lose single ones."""
    all_gone = rng.random(count) < 0.15
    some = rng.random(count) < 0.25
    return {f[0]: all_gone | (some & (rng.random(count) < 0.3)) for f in OPTIONAL}


def forward(layers, x):
    for n, (weight, bias) in enumerate(layers):
        x = x @ weight.T + bias
        if n + 1 < len(layers):
            x = np.maximum(x, 0)
    return x[:, 0]


def sigmoid(z):
    return 1 / (1 + np.exp(-z.astype(np.float64)))


def log_loss(z, y):
    return float(np.mean(np.logaddexp(0, z.astype(np.float64)) - y * z))


def train(x, y, x_stop, y_stop, rng):
    sizes = [x.shape[1], *LAYERS]
    layers = [
        [rng.normal(0, np.sqrt(2 / i), (o, i)).astype(np.float32), np.zeros(o, dtype=np.float32)]
        for i, o in zip(sizes, sizes[1:])
    ]
    base = y.mean()
    layers[-1][1][:] = np.log(base / (1 - base))
    moments = [[np.zeros_like(p) for p in layer] for layer in layers]
    squares = [[np.zeros_like(p) for p in layer] for layer in layers]
    best, kept, step = np.inf, None, 0
    steps = EPOCHS * (len(x) // BATCH)
    for epoch in range(EPOCHS):
        order = rng.permutation(len(x))
        for start in range(0, len(x) - BATCH + 1, BATCH):
            pick = order[start : start + BATCH]
            inputs = [x[pick]]
            for n, (weight, bias) in enumerate(layers):
                z = inputs[-1] @ weight.T + bias
                inputs.append(np.maximum(z, 0) if n + 1 < len(layers) else z)
            grad = ((sigmoid(inputs[-1][:, 0]) - y[pick]) / BATCH).astype(np.float32)[:, None]
            step += 1
            rate = RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
            for n in reversed(range(len(layers))):
                weight, bias = layers[n]
                slopes = [grad.T @ inputs[n] + 1e-5 * weight, grad.sum(axis=0)]
                if n:
                    grad = (grad @ weight) * (inputs[n] > 0)
                for p, slope in enumerate(slopes):
                    moments[n][p] += 0.1 * (slope - moments[n][p])
                    squares[n][p] += 0.001 * (slope * slope - squares[n][p])
                    m = moments[n][p] / (1 - 0.9**step)
                    v = squares[n][p] / (1 - 0.999**step)
                    layers[n][p] -= (rate * m / (np.sqrt(v) + 1e-8)).astype(np.float32)
        loss = log_loss(forward(layers, x_stop), y_stop)
        print(f"epoch {epoch + 1}: log loss {loss:.5f} on days {TRAIN_DAYS + 1}-{STOP_DAYS}", file=sys.stderr)
        if loss < best:
            best, kept = loss, [[p.copy() for p in layer] for layer in layers]
    return kept


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        raw = np.ascontiguousarray(tensor, dtype="<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    tensors = {}
    for name, about in header.items():
        start, end = about["data_offsets"]
        tensors[name] = np.frombuffer(data[start:end], dtype="<f4").reshape(about["shape"])
    return [(tensors[f"net.{2 * n}.weight"], tensors[f"net.{2 * n}.bias"]) for n in range(len(LAYERS))]


def toml_value(value):
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(v) for v in value) + "]"
    return json.dumps(value)


def toml_step(step, fitted):
    match step:
        case "log1p":
            return "{ log1p = true }"
        case "standardise":
            return f"{{ standardise = {{ mean = {fitted['mean']}, std = {fitted['std']} }} }}"
        case "hour":
            return '{ hour-of-day = "UTC" }'
        case "night" | "weekend":
            return f'{{ {step} = "UTC" }}'
        case ("clip", low, high):
            return f"{{ clip = {{ min = {low}, max = {high} }} }}"
        case ("sin" | "cos", period):
            return f"{{ {step[0]} = {{ period = {period} }} }}"
        case ("one-hot", values):
            return f"{{ one-hot = {{ values = {toml_value(values)} }} }}"


def write_manifest(path, fitted, sha256, version):
    lines = [
        "# Written by models/train.py; models/README.md says how good it is.",
        'name = "card-fraud"',
        f'version = "{version}"',
        'format = "safetensors"',
        'file = "model.safetensors"',
        f'sha256 = "{sha256}"',
        "",
        "[decision]",
        *[f"{name} = {threshold}" for name, threshold in THRESHOLDS.items()],
        'otherwise = "allow"',
        'fallback = "review"',
        "reasons = 3",
        "",
        "[network]",
        'output = "logit"',
        "layers = [",
    ]
    for n in range(len(LAYERS)):
        lines.append(f'  {{ linear = "net.{2 * n}" }},')
        if n + 1 < len(LAYERS):
            lines.append('  { activation = "relu" },')
    lines.append("]")
    for feature in FEATURES:
        name, pointer, steps, _, baseline = feature
        lines += ["", "[[feature]]", f'name = "{name}"', f'from = "{pointer}"']
        if steps:
            lines.append("transform = [" + ", ".join(toml_step(s, fitted.get(name)) for s in steps) + "]")
        lines.append(f"missing = {toml_value(missing_of(feature, fitted))}")
        if baseline:
            lines.append(f"baseline = {baseline}")
    path.write_text("\n".join(lines) + "\n")


def write_parity(path, x, scores):
    with path.open("w") as out:
        for row, score in zip(x, scores):
            numbers = ",".join(str(v) for v in row)
            out.write(f'{{"row":[{numbers}],"score":{np.float32(score)}}}\n')


def auc(scores, y):
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    values, inverse, counts = np.unique(scores[order], return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - (counts - 1) / 2
    ranks[order] = middle[inverse]
    positive = y.sum()
    return float((ranks[y == 1].sum() - positive * (positive + 1) / 2) / (positive * (len(y) - positive)))


def average_precision(scores, y):
    hits = y[np.argsort(-scores, kind="stable")]
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float((precision * hits).sum() / hits.sum())


def measure(title, scores, y, scenario):
    print(f"{title}: {len(y)} transactions, {int(y.sum())} of them fraud ({100 * y.mean():.2f} %)")
    print(f"  AUC ROC {auc(scores, y):.4f}, average precision {average_precision(scores, y):.4f}")
    for name, threshold in sorted(THRESHOLDS.items(), key=lambda t: -t[1]):
        hit = scores >= np.float32(threshold)
        by_kind = ", ".join(
            f"{kind} {hit[scenario == n].mean():.3f}" for n, kind in [(1, "stolen"), (2, "testing"), (3, "cloned")]
        )
        print(
            f"  score >= {threshold} ({name}): precision {y[hit].mean():.3f}, recall {hit[y == 1].mean():.3f}"
            f" ({by_kind}), {1000 * hit.mean():.1f} of 1,000 transactions"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluate", action="store_true", help="measure the bundle that is there, write nothing")
    parser.add_argument("--version", default="2026.1", help="version of a new bundle")
    asked = parser.parse_args()
    print(f"python {sys.version.split()[0]}, numpy {np.__version__}", file=sys.stderr)
    columns, day, label, scenario = read_events(sys.stdin)
    train_rows = np.flatnonzero(day <= TRAIN_DAYS)
    fitted = fitted_of(BUNDLE / "model.toml") if asked.evaluate else fit(columns, train_rows)
    rng = np.random.default_rng(SEED)
    split = {
        "train": train_rows,
        "stop": np.flatnonzero((day > TRAIN_DAYS) & (day <= STOP_DAYS)),
        "unseen": np.flatnonzero(day > STOP_DAYS),
    }
    if not all(len(rows) for rows in split.values()):
        sys.exit(f"expected more than {STOP_DAYS} days of events")
    if not asked.evaluate:
        x, y = {}, {}
        for part in ("train", "stop"):
            x[part] = make_rows(columns, fitted, split[part], drop_fields(rng, len(split[part])))
            y[part] = label[split[part]]
        layers = train(x["train"], y["train"], x["stop"], y["stop"], rng)
        BUNDLE.mkdir(exist_ok=True)
        weights = BUNDLE / "model.safetensors"
        write_safetensors(
            weights, {f"net.{2 * n}.{part}": p for n, layer in enumerate(layers) for part, p in zip(("weight", "bias"), layer)}
        )
        write_manifest(BUNDLE / "model.toml", fitted, hashlib.sha256(weights.read_bytes()).hexdigest(), asked.version)
    layers = read_safetensors(BUNDLE / "model.safetensors")
    rows = split["unseen"]
    y, kinds = label[rows], scenario[rows]
    everything = make_rows(columns, fitted, rows, {})
    scores = sigmoid(forward(layers, everything)).astype(np.float32)
    little = make_rows(columns, fitted, rows, {f[0]: np.ones(len(rows), dtype=bool) for f in OPTIONAL})
    scores_little = sigmoid(forward(layers, little)).astype(np.float32)
    if not asked.evaluate:
        frauds = np.flatnonzero(y == 1)[:32]
        others = np.flatnonzero(y == 0)[:24]
        pick = np.concatenate([frauds, others])
        double = [(w.astype(np.float64), b.astype(np.float64)) for w, b in layers]
        vectors = np.concatenate([everything[pick], little[pick[:8]]])
        write_parity(BUNDLE / "parity.ndjson", vectors, sigmoid(forward(double, vectors.astype(np.float64))))
    measure(f"days {STOP_DAYS + 1}-{int(day.max())}, all fields", scores, y, kinds)
    measure(f"days {STOP_DAYS + 1}-{int(day.max())}, TX_AMOUNT and TX_DATETIME only", scores_little, y, kinds)


main()
