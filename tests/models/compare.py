#!/usr/bin/env python3
"""Scores the rows of every kind that make.py wrote with the program, and holds the answers against the expected ones.

    compare.py DIR PROGRAM [KIND…]      all, or those whose names begin so; a line a file, exit 1 if one does not hold

What holds: every number within 1e-6, or 1e-5 of its size; every leaf the same; what is not finite is null; what cannot
be supported is refused by the name in meta.json. Where ONNX Runtime answers for a row and the library says a little
less or more, an answer no further from the library's than ONNX Runtime's is as good. Of rows with numbers beyond 1e15 a
graph of sums in f32 overflows in whatever order it adds up: what differs there is counted and shown, no more. Uses
Python's own library only.
"""

import json
import math
import subprocess
import sys
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


def difference(got, expected):
    """0 where equal, infinity where not comparable, otherwise how far apart in units of what is allowed."""
    got, expected = number(got), number(expected)
    if isinstance(got, str) or isinstance(expected, str):
        return 0.0 if str(got) == str(expected) else math.inf
    if got is None or expected is None:
        return 0.0 if got is expected else math.inf
    apart = abs(got - expected)
    return apart / max(ABSOLUTE, RELATIVE * abs(expected))


def apart(got, expected, native):
    """The same; `native` is what the library said where the expected answer is not its own, or None."""
    found = difference(got, expected)
    if found <= 1 or native is None or not all(isinstance(v, (int, float)) for v in (got, expected, native)):
        return found
    rounding = abs(expected - native)
    if rounding <= ROUNDING * max(1.0, abs(native)):
        found = min(found, abs(got - native) / max(ABSOLUTE, RELATIVE * abs(native), rounding))
    return found


class Outcome:
    def __init__(self):
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
            wrong |= outcome.note(difference_of_score(got, expected), f"row {row} score: {got['score']}, not {expected['score']}", extreme)
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
            wrong |= outcome.note(apart(a, b, native), f"row {row} {name}[{n}]: {a}, not {b}", extreme)
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


def difference_of_score(got, expected):
    native = [values for name, values in expected.get("native", {}).items() if len(values) and isinstance(values[-1], float)]
    return apart(got["score"], expected["score"], native[-1][-1] if native and len(native[-1]) <= 2 else None)


def is_extreme(cells):
    def big(cell):
        try:
            return EXTREME < abs(float(cell)) < math.inf
        except ValueError:
            return False

    return any(big(cell) for cell in cells)


def check(folder, meta, file, program):
    """(holds, what to show) of one file."""
    where = ["--bundle", str(folder)] if file == "model.toml" else ["--model", str(folder / file)]
    with (folder / "expected.ndjson").open() as lines:
        expected = [json.loads(line) for line in lines]
    leaves = ["--leaves"] if expected and "leaves" in expected[0] else []
    ran = subprocess.run([program, "score", "--rows", *where, *leaves, str(folder / "rows.csv")], capture_output=True, text=True, timeout=120)
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
    outcome = Outcome()
    for n, (mine, theirs) in enumerate(zip(got, expected)):
        compare_row(n, mine, theirs, outcome, (graph or file == "model.toml") and is_extreme(rows[n].split(",")))
    notes = [f"worst {outcome.worst * ABSOLUTE:.1e}"] if math.isfinite(outcome.worst) else []
    notes += ["same leaves"] if outcome.leaves else []
    notes += [f"{outcome.extreme} beyond 1e15"] if outcome.extreme else []
    notes += [f"by library {meta['native-rows']} of {meta['rows']}"] if "native-rows" in meta else []
    if outcome.missing:
        return False, f"not there: {', '.join(sorted(outcome.missing))}"
    if outcome.bad:
        return False, f"{outcome.bad} of {len(got)} rows; {outcome.where}"
    return True, ", ".join(notes)


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
