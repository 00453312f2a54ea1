"""What the kinds of models share: data, rows that ask the awkward questions, and the folder that a kind becomes.

A kind's folder holds

    model.*           one or more files of the same model, as the library wrote them (model.toml beside: a bundle)
    rows.csv          the inputs by name; an empty cell is missing
    expected.ndjson   a line a row: {"score":…, "outputs":{"NAME":[…]}, "leaves":[…], "margin":[…], "contributions":[…]},
                      each member only where it is known; null is NaN, "inf" and "-inf" are the infinities
    meta.json         what made it, whose answers these are and why, what the columns are
"""

import csv
import json
import math
import zlib
from pathlib import Path

import numpy as np

SEED = 20260601
KINDS = {}

# As close as answers must be: either will do.
ABSOLUTE, RELATIVE = 1e-6, 1e-5


def kind(function):
    """Registers a kind under the function's name; it gets a Case."""
    KINDS[function.__name__] = function
    return function


def close(got, expected):
    """Element-wise; NaN equals NaN, an infinity itself."""
    got, expected = np.asarray(got, float), np.asarray(expected, float)
    with np.errstate(invalid="ignore"):
        difference = np.abs(got - expected)
        near = difference <= np.maximum(ABSOLUTE, RELATIVE * np.abs(expected))
    return near | (got == expected) | (np.isnan(got) & np.isnan(expected))


class Data:
    """A table with structure: interactions, steps, a heavy tail, some missing cells, one column of many zeroes."""

    def __init__(self, name, rows=700, width=8, missing=0.08, categories=()):
        self.random = np.random.default_rng([SEED, zlib.crc32(name.encode())])
        x = self.random.normal(size=(rows, width))
        x[:, 1] = np.exp(x[:, 1])
        if width > 3:
            x[:, 3] *= self.random.random(rows) > 0.6
        for column in categories:
            x[:, column] = self.random.integers(0, 12, rows)
        signal = np.where(x[:, 0] > 0.3, 1.0, -0.6) + 0.7 * x[:, 2 % width] * (x[:, 1] > 1) + 0.3 * x[:, 3 % width]
        for column in categories:
            signal = signal + np.where(np.isin(x[:, column], [1, 4, 5, 9]), 1.0, -0.5)
        self.signal = signal + self.random.normal(0, 0.3, rows)
        if missing:
            x[self.random.random(x.shape) < missing] = np.nan
        self.x = x

    @property
    def binary(self):
        return (self.signal > 0).astype(int)

    @property
    def classes(self):
        return np.digitize(self.signal, [-0.8, 0.0, 0.9])

    @property
    def positive(self):
        return np.exp(0.6 * self.signal)

    @property
    def counts(self):
        return self.random.poisson(self.positive)


def awkward_rows(data, thresholds=(), *, f32=False, nan=True, infinite=True, categories=(), plain=70):
    """Rows as they come, then exactly on thresholds and one step beside them, missing, infinite, tiny, huge.

    `thresholds`: pairs of (column, value). `f32`: steps are those of f32, and nothing overflows it.
    """
    random, width = data.random, data.x.shape[1]
    number = np.float32 if f32 else np.float64
    usable = data.x if nan else np.nan_to_num(data.x, nan=0.5)
    numbers = [column for column in range(width) if column not in categories]

    def some(count):
        return usable[random.integers(0, len(usable), count)].copy()

    rows = [some(plain)]
    thresholds = list(thresholds)
    random.shuffle(thresholds)
    for column, value in thresholds[:40]:
        near = some(4)
        value = number(value)
        beside = [np.nextafter(value, number(np.inf)), np.nextafter(value, number(-np.inf))]
        # The last is the threshold itself once it is cut to f32, and another number before.
        near[:, column] = [value, *beside, float(value) * (1 - 1e-11)]
        rows.append(near)
    zeroes = [0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e-40, 1e-36, 1e-35, float(np.float32(1e-35)), -1e-35, 1.1e-35, 1e-20]
    if numbers:
        for value in zeroes + [3e38, -3e38] + ([] if f32 else [1e300, -1e300]):
            row = some(2)
            row[0, random.choice(numbers)] = value
            row[1, numbers] = value
            rows.append(row)
    if nan:
        row = some(25)
        row[random.random(row.shape) < 0.4] = np.nan
        row[-1] = np.nan
        rows.append(row)
    if infinite and numbers:
        row = some(10)
        for one in row:
            one[random.choice(numbers)] = random.choice([np.inf, -np.inf])
        row[-1, numbers] = np.inf
        rows.append(row)
    for column in categories:
        values = [0, 1, 3, 3.7, 11, 12, 31, 32, 64, 999, 65536] + ([np.nan, -1, -0.5, -0.0] if nan else [])
        row = some(len(values))
        row[:, column] = values
        rows.append(row)
    return np.concatenate(rows)


def number_json(value):
    if isinstance(value, str):
        return value
    value = float(value) if not isinstance(value, (int, np.integer)) else int(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def cell(value):
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, (float, np.floating)) and math.isnan(value)):
        return ""
    return str(int(value)) if isinstance(value, (int, np.integer, bool)) else repr(float(value))


class Case:
    """One kind's folder being written."""

    def __init__(self, name, root):
        self.name, self.folder = name, Path(root) / name
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, file):
        return self.folder / file

    def data(self, **options):
        return Data(self.name, **options)

    def write(self, files, columns, *, library, outputs=None, score=None, leaves=None, margin=None, contributions=None, by=None, native=None, **meta):
        """`columns`: name -> values. `outputs`: name -> rows x width. `by`: for each row who answers; `native`: what
        the library says where it is not the one."""
        names = list(columns)
        count = len(columns[names[0]])
        with self.path("rows.csv").open("w", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(names)
            for n in range(count):
                row = [cell(columns[name][n]) for name in names]
                # A line of one empty cell is no record to a CSV reader.
                out.write('""\n') if row == [""] else writer.writerow(row)
        members = {"score": score, "leaves": leaves, "margin": margin, "contributions": contributions}
        with self.path("expected.ndjson").open("w") as out:
            for n in range(count):
                line = {"score": number_json(score[n])} if score is not None else {}
                if outputs is not None:
                    line["outputs"] = {name: [number_json(v) for v in np.atleast_1d(values[n])] for name, values in outputs.items()}
                for member, values in members.items():
                    if member != "score" and values is not None:
                        line[member] = [number_json(v) for v in np.atleast_1d(values[n]).ravel()]
                if by is not None:
                    line["by"] = by[n]
                if native is not None and native[n] is not None:
                    line["native"] = {name: [number_json(v) for v in values] for name, values in native[n].items()}
                out.write(json.dumps(line) + "\n")
        text = [name for name in names if any(isinstance(v, str) for v in columns[name])]
        meta = {"kind": self.name, "files": files, "library": library, "rows": count, "text-columns": text, **meta}
        self.path("meta.json").write_text(json.dumps(meta, indent=1) + "\n")
