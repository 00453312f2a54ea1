#!/usr/bin/env python3
"""Trains one model of each kind with its own library and writes what the library answers, for tests/model_parity.rs.

    make.py DIR [KIND…]      all, or those whose names begin so; the folders are described in kit.py

The same seed gives the same files.
Run it with the Python of tests/models/venv. Two processes, one thread each.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import contextlib
import importlib
import io
import logging
import sys
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
FAMILIES = ("lightgbm_kinds", "xgboost_kinds", "sklearn_kinds", "export_kinds", "torch_kinds")


def family(name, root, wanted):
    """Makes the kinds of one module; returns name -> (seconds, error or None)."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    import kit

    if wanted and not any(kind.startswith(name.split("_")[0]) for kind in wanted):
        return {}
    importlib.import_module(f"kinds.{name}")
    outcome = {}
    for kind, make in kit.KINDS.items():
        if make.__module__ != f"kinds.{name}" or (wanted and not kind.startswith(tuple(wanted))):
            continue
        begun, error, said = time.perf_counter(), None, io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                make(kit.Case(kind, root))
        except Exception:
            error = said.getvalue()[-2000:] + traceback.format_exc()
        outcome[kind] = (time.perf_counter() - begun, error)
    return outcome


def main():
    root, wanted = Path(sys.argv[1]), sys.argv[2:]
    root.mkdir(parents=True, exist_ok=True)
    begun, failed, made = time.perf_counter(), 0, 0
    with ProcessPoolExecutor(2) as pool:
        for outcome in pool.map(family, FAMILIES, [root] * len(FAMILIES), [wanted] * len(FAMILIES)):
            for kind, (seconds, error) in outcome.items():
                made += 1
                if error:
                    failed += 1
                    print(f"*** {kind} ({seconds:.1f} s)\n{error}", file=sys.stderr)
                elif seconds > 3:
                    print(f"    {kind}: {seconds:.1f} s", file=sys.stderr)
    print(f"{made} kinds in {time.perf_counter() - begun:.0f} s, {failed} failed", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
