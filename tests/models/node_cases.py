#!/usr/bin/env python3
"""Writes the node tests of the onnx package, for tests/onnx_nodes.rs.

    node_cases.py DIR

A folder a case: `model.onnx`, the operators of the model in `operators`, tolerances in `tolerance` (relative, absolute),
and for each set of data `N/input_M.pb` and `N/output_M.pb` (TensorProto). A case whose inputs or outputs are no tensors
has a file `sequences` instead of data. Run it with the Python of tests/models/venv.
"""

import contextlib
import io
import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")
with contextlib.redirect_stdout(io.StringIO()):
    import numpy as np
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.case.node import collect_testcases


def tensor(value):
    if isinstance(value, onnx.TensorProto):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return numpy_helper.from_array(np.asarray(value))
    return None


def write(folder, case):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    operators = {f"{node.domain}:{node.op_type}" for node in case.model.graph.node}
    (folder / "operators").write_text("\n".join(sorted(operators)) + "\n")
    (folder / "tolerance").write_text(f"{case.rtol} {case.atol}\n")
    for number, (inputs, outputs) in enumerate(case.data_sets or []):
        for what, values in (("input", inputs), ("output", outputs)):
            for place, value in enumerate(values):
                made = tensor(value)
                if made is None:
                    (folder / "sequences").write_text("")
                    return
                data = folder / str(number)
                data.mkdir(exist_ok=True)
                (data / f"{what}_{place}.pb").write_bytes(made.SerializeToString())


def main():
    root = Path(sys.argv[1])
    with contextlib.redirect_stdout(io.StringIO()):
        cases = collect_testcases(None)
    for case in cases:
        write(root / case.name, case)
    print(f"{len(cases)} cases of onnx {onnx.__version__}")


main()
