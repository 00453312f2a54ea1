#!/usr/bin/env python3
"""Scores the rows of every kind that make.py wrote with the program, and holds the answers against the expected ones.

    compare.py DIR PROGRAM [KIND…]      all, or those whose names begin so; a line a file, exit 1 if one does not hold

What holds: every number within 1e-6, or 1e-5 of its size; every leaf the same; what is not finite is null; what cannot
be supported is refused by the name in meta.json. Where ONNX Runtime answers for a row and the library says a little
less or more, an answer no further from the library's than ONNX Runtime's is as good. Of rows with numbers beyond 1e15 a
graph of sums in f32 overflows in whatever order it adds up: what differs there is counted and shown, no more.

A file of several numbers, of which none is known to be the score, is asked in a bundle that chooses one; a file of
LightGBM or XGBoost is asked for its margins in a bundle too, and for what each column adds to them, which is held
against the library's pred_contrib. Uses Python's own library only.
"""

import hashlib
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ABSOLUTE, RELATIVE = 1e-6, 1e-5
# How far ONNX Runtime may be from the library for its distance to count as rounding.
ROUNDING = 1e-4
EXTREME = 1e15


def number(value):
    """None for what is not finite."""
    if isinstance(value, bool) or value is None or value in ("inf", "-inf"):
        return None
    return value


def difference(got, expected, absolute=ABSOLUTE):
    """0 where equal, infinity where not comparable, otherwise how far apart in units of what is allowed."""
    got, expected = number(got), number(expected)
    if isinstance(got, str) or isinstance(expected, str):
        return 0.0 if str(got) == str(expected) else math.inf
    if got is None or expected is None:
        return 0.0 if got is expected else math.inf
    return abs(got - expected) / max(absolute, RELATIVE * abs(expected))


def apart(got, expected, native, absolute):
    """The same; `native` is what the library said where the expected answer is not its own, or None."""
    found = difference(got, expected, absolute)
    if found <= 1 or native is None or not all(isinstance(v, (int, float)) for v in (got, expected, native)):
        return found
    rounding = abs(expected - native)
    if rounding <= ROUNDING * max(1.0, abs(native)):
        found = min(found, abs(got - native) / max(absolute, RELATIVE * abs(native), rounding))
    return found


class Outcome:
    def __init__(self, absolute):
        self.absolute = absolute
        self.worst, self.where, self.bad, self.extreme, self.missing = 0.0, "", 0, 0, set()
        self.leaves = None

    def note(self, found, where, extreme):
        if found > 1 and extreme:
            self.extreme += 1
        elif found > self.worst:
            self.worst, self.where = found, where
        return found > 1 and not extreme


def output_named(got, name, width):
    """The output of that name; of a library that names none, the one of that width, or the score alone."""
    outputs = got.get("outputs", {})
    if name or not outputs:
        found = outputs.get(name)
        return [got.get("score")] if found is None and width == 1 else found
    return next((values for values in outputs.values() if len(values) == width), None)


def compare_row(row, got, expected, outcome, extreme):
    wrong = False
    if "score" in expected:
        if "score" in got:
            wrong |= outcome.note(difference_of_score(got, expected, outcome.absolute), f"row {row} score: {got['score']}, not {expected['score']}", extreme)
        else:
            wrong |= outcome.note(math.inf, f"row {row}: {json.dumps(got)[:160]}", extreme)
    numbers = [v for values in expected.get("outputs", {}).values() for v in values]
    undecided = any(v is None for v in numbers)
    for name, values in expected.get("outputs", {}).items():
        mine = output_named(got, name, len(values))
        if mine is None or len(mine) != len(values):
            outcome.missing.add(f"output {name!r} of {len(values)}")
            continue
        theirs = expected.get("native", {}).get(name, [None] * len(values))
        for n, (a, b, native) in enumerate(zip(mine, values, theirs)):
            # The label of what is not a number is anybody's guess.
            if undecided and (isinstance(b, (str, int)) and b not in ("inf", "-inf")):
                continue
            wrong |= outcome.note(apart(a, b, native, outcome.absolute), f"row {row} {name}[{n}]: {a}, not {b}", extreme)
    if "leaves" in expected:
        mine = got.get("leaves")
        if mine is None:
            outcome.missing.add("leaves")
        else:
            outcome.leaves = outcome.leaves is not False and mine == expected["leaves"]
            if mine != expected["leaves"]:
                tree = next((n for n, (a, b) in enumerate(zip(mine, expected["leaves"])) if a != b), len(mine))
                wrong |= outcome.note(math.inf, f"row {row} tree {tree}: leaf {mine[tree:tree + 1]}, not {expected['leaves'][tree:tree + 1]}", False)
    outcome.bad += wrong


def difference_of_score(got, expected, absolute):
    native = [values for name, values in expected.get("native", {}).items() if len(values) and isinstance(values[-1], float)]
    return apart(got["score"], expected["score"], native[-1][-1] if native and len(native[-1]) <= 2 else None, absolute)


def is_extreme(cells):
    def big(cell):
        try:
            return EXTREME < abs(float(cell)) < math.inf
        except ValueError:
            return False

    return any(big(cell) for cell in cells)


def bundle(folder, meta, file, into, choice):
    """A bundle of the file in the folder `into`: a feature a column, and what `choice` says of the score."""
    names = (folder / "rows.csv").read_text().splitlines()[0].split(",")
    beside = [path for path in folder.iterdir() if path.name.startswith(file + ".")]
    digest = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in [folder / file, *beside]}
    for path in digest:
        shutil.copy(path, into)
    format = {"onnx": "onnx", "txt": "lightgbm"}.get(file.rsplit(".")[-1], "xgboost")
    lines = [f'name = "{meta["kind"]}"', 'version = "1"', f'format = "{format}"', f'file = "{file}"', f'sha256 = "{digest[folder / file]}"']
    lines += [f"{key} = {json.dumps(value)}" for key, value in choice.items() if not isinstance(value, dict)]
    tables = [(name, table) for name, table in choice.items() if isinstance(table, dict)]
    for name, table in tables:
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    lines += ["[decision]", "block = 0.9", 'otherwise = "allow"', 'fallback = "review"']
    if beside:
        lines += ["[files]", *(f'"{path.name}" = "{digest[path]}"' for path in beside)]
    for name in names:
        lines += ["[[feature]]", f"name = {json.dumps(name, ensure_ascii=False)}", f"from = {json.dumps('/' + name, ensure_ascii=False)}", 'missing = "nan"']
    (Path(into) / "model.toml").write_text("\n".join(lines) + "\n")
    return ["--bundle", str(into)]


def scored(program, where, folder, *options):
    return subprocess.run([program, "score", "--rows", *where, *options, str(folder / "rows.csv")], capture_output=True, text=True, timeout=120)


def scored_by_choice(program, folder, meta, file, expected, refusal, *options):
    """Asked for the first number of an output, since the file alone does not say which is the score."""
    named = re.search(r'output "([^"]*)" has', refusal)
    outputs = [name for name, values in expected.get("outputs", {}).items() if name and not isinstance(values[0], str)]
    choice = {"output": named[1] if named else outputs[-1]}
    if len(expected["outputs"].get(choice["output"], [0, 0])) > 1:
        choice["class"] = 0
    with tempfile.TemporaryDirectory() as into:
        return scored(program, bundle(folder, meta, file, into, choice), folder, *options)


def margins(program, folder, meta, file, expected):
    """What is wrong with the margins of a library's own file, or None."""
    if "margin" not in expected[0] or len(expected[0]["margin"]) != 1 or file == "model.toml":
        return None
    with tempfile.TemporaryDirectory() as into:
        ran = scored(program, bundle(folder, meta, file, into, {"score": "margin"}), folder)
    if ran.returncode:
        return f"margins: {(ran.stderr.strip().splitlines() or [''])[-1]}"
    for n, (line, row) in enumerate(zip(ran.stdout.splitlines(), expected)):
        got = json.loads(line).get("score")
        if difference(got, row["margin"][0]) > 1:
            return f"row {n} margin: {got}, not {row['margin'][0]}"
    return None


# XGBoost's contributions are sums in f32.
CONTRIBUTIONS = {"lightgbm": 1e-9, "xgboost": 2e-5}


def contributions(program, folder, meta, file, expected):
    """What is wrong with what each column adds, by a library's own file and one raw sum; or None, and how many rows."""
    library = meta["library"].split()[0]
    if library not in CONTRIBUTIONS or file.endswith(".onnx") or "contributions" not in expected[0]:
        return None, 0
    width = len((folder / "rows.csv").read_text().splitlines()[0].split(","))
    # Several classes have a list each; the program tells of one.
    if len(expected[0]["contributions"]) != width + 1:
        return None, 0
    # Of a forest the library adds up what it averages for its answer, and our margin is the average.
    text = (folder / file).read_text() if file.endswith(".txt") else ""
    times = text.count("\nTree=") if "\naverage_output\n" in text else 1
    choice = {"score": "margin", "reasons": {"limit-us": 1_000_000}}
    with tempfile.TemporaryDirectory() as into:
        ran = scored(program, bundle(folder, meta, file, into, choice), folder, "--contributions")
    if ran.returncode:
        return f"contributions: {(ran.stderr.strip().splitlines() or [''])[-1]}", 0
    for n, (line, row) in enumerate(zip(ran.stdout.splitlines(), expected)):
        got, want = list(json.loads(line)["contributions"].values()), row["contributions"][:-1]
        if any(number(value) is None for value in want):
            continue
        want = [value / times for value in want]
        allowed = CONTRIBUTIONS[library] * max(1.0, *(abs(value) for value in want))
        apart = [abs(a - b) for a, b in zip(got, want)] if None not in got else [math.inf]
        if len(got) != width or max(apart) > allowed:
            at = apart.index(max(apart))
            return f"row {n} column {at} adds {got[at]}, not {want[at]}", n
    return None, len(expected)


def check(folder, meta, file, program):
    """(holds, what to show) of one file."""
    where = ["--bundle", str(folder)] if file == "model.toml" else ["--model", str(folder / file)]
    with (folder / "expected.ndjson").open() as lines:
        expected = [json.loads(line) for line in lines]
    leaves = ["--leaves"] if expected and "leaves" in expected[0] else []
    ran = scored(program, where, folder, *leaves)
    chosen = ran.returncode == 1 and re.search(r": (class|output): ", ran.stderr)
    if chosen:
        ran = scored_by_choice(program, folder, meta, file, expected[0], ran.stderr, *leaves)
    said = (ran.stderr.strip().splitlines() or [""])[-1][:300]
    must, may = meta.get("must-refuse"), meta.get("may-refuse")
    if ran.returncode < 0 or ran.returncode == 70:
        return False, f"it crashed ({ran.returncode}): {said}"
    if ran.returncode:
        refusal = must or may
        if refusal and refusal.lower() in ran.stderr.lower():
            return True, f"refused: {said}"
        return False, f"exit {ran.returncode}: {said}"
    if must:
        return False, f"taken, where {must!r} was to be refused"
    if set(expected[0]) <= {"by"}:
        return not may, "no answer is known"
    try:
        got = [json.loads(line) for line in ran.stdout.splitlines()]
    except json.JSONDecodeError as error:
        return False, f"a line that is no JSON: {error.doc[:120]}"
    if len(got) != len(expected):
        return False, f"{len(got)} answers to {len(expected)} rows"
    graph = file.endswith(".onnx") and not any("TreeEnsemble" in operator for operator in meta.get("operators", []))
    rows = (folder / "rows.csv").read_text().splitlines()[1:]
    outcome = Outcome(meta.get("absolute", ABSOLUTE))
    for n, (mine, theirs) in enumerate(zip(got, expected)):
        compare_row(n, mine, theirs, outcome, (graph or file == "model.toml") and is_extreme(rows[n].split(",")))
    notes = [f"worst {outcome.worst * outcome.absolute:.1e}"] if math.isfinite(outcome.worst) else []
    notes += ["same leaves"] if outcome.leaves else []
    notes += ["in a bundle that chooses"] if chosen else []
    notes += [f"{outcome.extreme} beyond 1e15"] if outcome.extreme else []
    notes += [f"by library {meta['native-rows']} of {meta['rows']}"] if "native-rows" in meta else []
    if outcome.missing:
        return False, f"not there: {', '.join(sorted(outcome.missing))}"
    if outcome.bad:
        return False, f"{outcome.bad} of {len(got)} rows; {outcome.where}"
    wrong = margins(program, folder, meta, file, expected)
    if wrong is None:
        wrong, added = contributions(program, folder, meta, file, expected)
        notes += [f"contributions of {added}"] if added else []
    return wrong is None, wrong or ", ".join(notes)


def main():
    root, program, wanted = Path(sys.argv[1]), sys.argv[2], tuple(sys.argv[3:])
    work = []
    for path in sorted(root.glob("*/meta.json")):
        if not wanted or path.parent.name.startswith(wanted):
            meta = json.loads(path.read_text())
            work += [(path.parent, meta, file, program) for file in meta["files"]]
    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda one: check(*one), work))
    failed = 0
    for (folder, meta, file, _), (holds, shown) in zip(work, outcomes):
        failed += not holds
        print(f"{'ok ' if holds else '***'} {folder.name:42} {file.removeprefix('model.'):12} {shown}")
    print(f"{len({folder for folder, *_ in work})} kinds, {len(work)} files, {failed} do not hold")
    sys.exit(1 if failed or not work else 0)


if __name__ == "__main__":
    main()
