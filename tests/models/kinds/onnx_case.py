"""What kinds that are ONNX files share: ONNX Runtime's answers beside the native library's.

A row's expected answer is the native library's where the file still says the same, and ONNX Runtime's elsewhere: an
exported file is not always the model, and we answer what the file says. Each line of expected.ndjson names who answers
(`by`), and a kind where the library disagrees on rows that it takes must say why (`differs`), or it is not made.
"""

import numpy as np
import onnx
import onnxruntime as ort

from kit import close

ort.set_default_logger_severity(4)
# Of the rows the native library takes, how many the file must answer alike.
AGREEMENT = 0.98


def session(file):
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return ort.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def as_table(output, count):
    """An output as rows x width: a ZipMap's maps by their keys' order, a tensor flattened behind its first dimension."""
    if isinstance(output, list):
        return np.array([[row[key] for key in output[0]] for row in output])
    return np.asarray(output).reshape(count, -1)


def columns(feeds):
    """The columns of rows.csv: an input of one column by its name, of several as NAME[i]."""
    found = {}
    for name, values in feeds.items():
        table = values.reshape(len(values), -1)
        for n in range(table.shape[1]):
            found[name if table.shape[1] == 1 else f"{name}[{n}]"] = table[:, n].tolist()
    return found


def asked_one_by_one(run, feeds, count, size):
    """For a graph of a fixed batch: `size` rows a call, the last call filled up with its first row."""
    answers = []
    for start in range(0, count, size):
        part = {name: values[start:start + size] for name, values in feeds.items()}
        taken = min(size, count - start)
        part = {name: np.concatenate([v, np.repeat(v[:1], size - taken, 0)]) for name, v in part.items()}
        answers.append([as_table(o, size)[:taken] for o in run.run(None, part)])
    return [np.concatenate(parts) for parts in zip(*answers)]


def finish(case, model, feeds, library, native=None, differs=None, score=None, batch=None, files=None, **meta):
    """`feeds`: input -> array of its type. `native`: output -> rows x width with NaN rows (or "") where not taken.

    `score`: (output, column) that is the score where the manifest says nothing.
    """
    path = case.path("model.onnx")
    if model is not None:
        onnx.save(model, path)
    run = session(path)
    count = len(next(iter(feeds.values())))
    answers = asked_one_by_one(run, feeds, count, batch) if batch else [as_table(o, count) for o in run.run(None, feeds)]
    outputs = {o.name: answer for o, answer in zip(run.get_outputs(), answers)}

    taken, same = np.ones(count, bool), np.ones(count, bool)
    for name, values in (native or {}).items():
        values = np.asarray(values).reshape(count, -1)
        if values.dtype.kind in "OUS":
            taken &= values[:, 0] != ""
            same &= (values.astype(str) == outputs[name].astype(str)).all(1)
        else:
            taken &= ~np.isnan(values.astype(float)).all(1)
            same &= close(outputs[name], values).all(1)
    by = ["native" if native and t and s else "onnxruntime" for t, s in zip(taken, same)]
    if native and not differs:
        agreement = same[taken].mean()
        assert taken.any() and agreement >= AGREEMENT, f"the file agrees with its library on {agreement:.1%} of {taken.sum()} rows"
    # Where both agree to what is asked, the library's digits are the expected ones.
    for name, values in (native or {}).items():
        values = np.asarray(values).reshape(count, -1)
        # A label is the same anyway.
        if values.dtype.kind not in "OUS":
            mine = np.array([who == "native" for who in by])
            outputs[name] = np.where(mine[:, None], values, outputs[name]) if outputs[name].dtype.kind == "f" else outputs[name]
    theirs = [
        {name: np.asarray(values).reshape(count, -1)[n] for name, values in native.items()} if native and taken[n] and by[n] != "native" else None
        for n in range(count)
    ]
    graph = onnx.load(path, load_external_data=False)
    opsets = {o.domain or "ai.onnx": o.version for o in graph.opset_import}
    operators = sorted({node.op_type for node in graph.graph.node})
    case.write(
        files or ["model.onnx"], columns(feeds), library=f"{library}, onnxruntime {ort.__version__}", outputs={
            name: values.astype(str).tolist() if values.dtype.kind in "OUS" else values for name, values in outputs.items()
        },
        score=None if score is None else outputs[score[0]][:, score[1]].astype(float), by=by, native=theirs, opsets=opsets, operators=operators,
        **{"native-rows": by.count("native"), "differs": differs}, **meta,
    )
