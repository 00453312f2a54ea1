#!/usr/bin/env python3
"""What a row costs, beside ONNX Runtime and the library that made the model, one thread each, in the same run.

    bench.py DIR [MODEL…]     trains the models into DIR where they are not there yet, measures, prints one table

Run it with the Python of tests/models/venv and cargo in the path; the program's own side is benches/models.rs. Every
measurement is a process of its own. ONNX Runtime, LightGBM and XGBoost are called through their C interfaces from a
loop in C with arrays made ready (LightGBM's single row by its fast form); scikit-learn and PyTorch have only Python,
which is counted. Each call gets other rows than the one before. `load` and `memory` are what making the model ready
took, and the most memory while doing so above what the process had, in milliseconds and MiB.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

import json
import pickle
import re
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
BATCHES = (1, 64, 1024)
ROWS, RUNS, RUN_SECONDS = 4096, 5, 0.05


def table(seed, width, rows=ROWS):
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, width)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] * x[:, 2] + np.sin(3 * x[:, 3]) + random.normal(0, 0.4, rows) > 0).astype(int)
    return x, y


def write_rows(folder, feeds):
    import csv

    from kinds.onnx_case import columns
    from kit import cell

    named = columns(feeds)
    with (folder / "rows.csv").open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(named)
        writer.writerows([cell(v) for v in row] for row in zip(*named.values()))
    np.save(folder / "feeds.npy", feeds, allow_pickle=True)


def dense(folder, widths):
    import torch

    from kinds.torch_kinds import mlp

    torch.manual_seed(1)
    model = mlp(*widths).eval()
    x, _ = table(1, widths[0])
    warnings.simplefilter("ignore")
    torch.onnx.export(model, (torch.tensor(x[:2]),), str(folder / "model.onnx"), opset_version=17, dynamo=False, input_names=["X"], output_names=["p"], dynamic_axes={"X": {0: "n"}, "p": {0: "n"}})
    torch.save(model, folder / "model.pt")
    write_rows(folder, {"X": x})


def lightgbm_200(folder):
    import lightgbm as lgb
    import onnxmltools
    from onnxmltools.convert.common.data_types import FloatTensorType

    x, y = table(2, 30)
    booster = lgb.train({"objective": "binary", "num_leaves": 31, "verbosity": -1, "num_threads": 1, "seed": 1}, lgb.Dataset(x, y), 200)
    booster.save_model(folder / "model.txt")
    (folder / "model.onnx").write_bytes(onnxmltools.convert_lightgbm(booster, initial_types=[("X", FloatTensorType([None, 30]))], zipmap=False, target_opset=15).SerializeToString())
    write_rows(folder, {"X": x})


def xgboost_200(folder):
    import onnxmltools
    import xgboost as xgb
    from onnxmltools.convert.common.data_types import FloatTensorType

    x, y = table(3, 30)
    booster = xgb.train({"objective": "binary:logistic", "max_depth": 6, "nthread": 1, "seed": 1}, xgb.DMatrix(x, y), 200)
    booster.save_model(folder / "model.ubj")
    (folder / "model.onnx").write_bytes(onnxmltools.convert_xgboost(booster, initial_types=[("X", FloatTensorType([None, 30]))], target_opset=15).SerializeToString())
    write_rows(folder, {"X": x})


def forest_100(folder):
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn.ensemble import RandomForestClassifier

    x, y = table(4, 30)
    model = RandomForestClassifier(100, random_state=1, n_jobs=1).fit(x, y)
    (folder / "model.onnx").write_bytes(convert_sklearn(model, initial_types=[("X", FloatTensorType([None, 30]))], options={"zipmap": False}).SerializeToString())
    (folder / "model.pickle").write_bytes(pickle.dumps(model))
    write_rows(folder, {"X": x})


def one_hot(folder):
    from kinds.sklearn_kinds import SHOPS, ENTRIES, convert_sklearn, onehot
    import pandas as pd
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x, y = table(5, 6)
    random = np.random.default_rng(6)
    frame = pd.DataFrame({f"n{n}": x[:, n] for n in range(6)})
    frame["shop"], frame["entry"] = SHOPS[random.integers(0, 5, ROWS)], ENTRIES[random.integers(0, 3, ROWS)]
    model = make_pipeline(ColumnTransformer([("n", StandardScaler(), list(frame)[:6]), ("c", onehot(), ["shop", "entry"])]), LogisticRegression()).fit(frame, y)
    types = [(name, (FloatTensorType if name[0] == "n" else StringTensorType)([None, 1])) for name in frame]
    (folder / "model.onnx").write_bytes(convert_sklearn(model, initial_types=types, options={id(model.steps[-1][1]): {"zipmap": False}}).SerializeToString())
    (folder / "model.pickle").write_bytes(pickle.dumps((model, frame)))
    feeds = {name: (frame[name].to_numpy(np.float32) if name[0] == "n" else frame[name].to_numpy(str).astype(object)).reshape(-1, 1) for name in frame}
    write_rows(folder, feeds)


# Name -> how it is made, the file that the program reads, the native library.
MODELS = {
    "dense 30-64-32-1": (lambda f: dense(f, (30, 64, 32, 1)), "model.onnx", "PyTorch"),
    "dense 128-256-128-64-1": (lambda f: dense(f, (128, 256, 128, 64, 1)), "model.onnx", "PyTorch"),
    "LightGBM 200 x 31 leaves": (lightgbm_200, "model.txt", "LightGBM"),
    "XGBoost 200 x depth 6": (xgboost_200, "model.ubj", "XGBoost"),
    "random forest 100": (forest_100, "model.onnx", "scikit-learn"),
    "one-hot, logistic": (one_hot, "model.onnx", "scikit-learn"),
}


def memory(field):
    return int(re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024


def opened(library, folder, feeds):
    """The library with its model; what it imports is not counted as loading."""
    from native import LightGbm, OnnxRuntime, Python, XgBoost

    if library == "PyTorch":
        import torch

        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        x = torch.tensor(next(iter(feeds.values())))

        def load():
            model = torch.load(folder / "model.pt", weights_only=False)
            return Python(lambda batch: lambda n: model(x[(n * batch) % ROWS:][:batch]))
    elif library == "scikit-learn":
        import sklearn.ensemble  # noqa: F401
        import sklearn.pipeline  # noqa: F401

        def load():
            model = pickle.loads((folder / "model.pickle").read_bytes())
            model, given = model if isinstance(model, tuple) else (model, next(iter(feeds.values())))
            return Python(lambda batch: lambda n: model.predict_proba(given[(n * batch) % ROWS:][:batch]))
    else:
        import lightgbm  # noqa: F401
        import onnxruntime  # noqa: F401
        import xgboost  # noqa: F401

        def load():
            return {"ONNX Runtime": OnnxRuntime, "LightGBM": LightGbm, "XGBoost": XgBoost}[library](
                next(folder / f for f in ("model.onnx", "model.txt", "model.ubj") if (f != "model.onnx") == (library != "ONNX Runtime") and (folder / f).exists())
            )
    return load


def measure(library, folder):
    """In a process of its own: one line of JSON."""
    warnings.simplefilter("ignore")
    feeds = np.load(folder / "feeds.npy", allow_pickle=True).item()
    output = None
    if library == "ONNX Runtime":
        import onnx

        output = onnx.load(folder / "model.onnx").graph.output[-1].name
    load = opened(library, folder, feeds)
    Path("/proc/self/clear_refs").write_text("5")
    before, begun = memory("VmRSS"), time.perf_counter()
    model = load()
    found = {"load-ms": 1e3 * (time.perf_counter() - begun), "memory-mib": memory("VmHWM") - before}
    for batch in BATCHES:
        call = model.prepare(feeds, output, batch)
        times = 1
        while (took := call.seconds(times)) < RUN_SECONDS / 2:
            times = max(times * 2, int(times * RUN_SECONDS / max(took, 1e-6) / 2))
        found[str(batch)] = statistics.median(call.seconds(times) for _ in range(RUNS)) / times / batch * 1e6
    print(json.dumps(found))


def ours(folder, file):
    """benches/models.rs, which prints the same members."""
    ran = subprocess.run(["cargo", "bench", "--quiet", "--locked", "--bench", "models", "--", str(folder / file), str(folder / "rows.csv")], capture_output=True, text=True)
    return json.loads(ran.stdout.splitlines()[-1]) if ran.returncode == 0 and ran.stdout else {"error": (ran.stderr.strip().splitlines() or ["nothing"])[-1]}


def main():
    if sys.argv[1] == "--measure":
        return measure(sys.argv[2], Path(sys.argv[3]))
    root, wanted = Path(sys.argv[1]), sys.argv[2:]
    print(f"{'model':26} {'by':14} " + "".join(f"{f'{b} rows':>11}" for b in BATCHES) + f"{'load ms':>9}{'MiB':>7}{'reasons':>9}   (µs a row)", flush=True)
    for name, (make, file, library) in MODELS.items():
        if wanted and not any(w in name for w in wanted):
            continue
        folder = root / re.sub(r"\W+", "-", name)
        if not (folder / "rows.csv").exists():
            folder.mkdir(parents=True, exist_ok=True)
            make(folder)
        for by in ("verdictd", "ONNX Runtime", library):
            if by == "verdictd":
                found = ours(folder, file)
            else:
                ran = subprocess.run([sys.executable, "-B", __file__, "--measure", by, str(folder)], capture_output=True, text=True)
                found = json.loads(ran.stdout.splitlines()[-1]) if ran.returncode == 0 else {"error": ran.stderr.strip().splitlines()[-1]}
            if "error" in found:
                print(f"{name:26} {by:14} {found['error'][:120]}", flush=True)
                continue
            reasons = f"{found['reasons']:9.2f}" if "reasons" in found else " " * 9
            print(f"{name:26} {by:14} " + "".join(f"{found[str(b)]:11.3f}" for b in BATCHES) + f"{found['load-ms']:9.2f}{found['memory-mib']:7.1f}{reasons}", flush=True)


if __name__ == "__main__":
    main()
