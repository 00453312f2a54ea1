"""The other libraries through their C interfaces, for bench.py: arrays ready, one thread, the loop in C (repeat.c)."""

import ctypes
import json
import subprocess
import tempfile
from ctypes import POINTER, byref, c_char_p, c_double, c_float, c_int, c_int64, c_long, c_size_t, c_void_p
from pathlib import Path

import numpy as np

F32, STRING, INT64, DOUBLE = 1, 8, 7, 11  # ONNX's numbers of element types


def repeater():
    """The function of repeat.c."""
    folder = tempfile.mkdtemp()
    library = Path(folder) / "repeat.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, Path(__file__).with_name("repeat.c")], check=True)
    function = ctypes.CDLL(str(library)).repeat
    function.restype = c_double
    function.argtypes = [c_void_p, POINTER(c_long), c_long, c_void_p, c_void_p, c_size_t, c_long]
    return function


class Call:
    """A prepared call; `seconds(n)` repeats it over the rows."""

    def __init__(self, function, arguments, buffer=None, rows=None, kept=()):
        self.function, self.kept = function, (arguments, buffer, rows, kept)
        padded = [int(a) for a in arguments] + [0] * (12 - len(arguments))
        self.arguments = (c_long * 12)(*padded)
        self.buffer = buffer.ctypes.data if buffer is not None else None
        self.rows = rows.ctypes.data if rows is not None else None
        self.bytes = buffer.nbytes if buffer is not None else 0
        self.count = rows.nbytes // self.bytes if buffer is not None else 1
        self.repeat = repeater()

    def seconds(self, times):
        return self.repeat(self.function, self.arguments, times, self.buffer, self.rows, self.bytes, self.count)


def address(thing):
    return ctypes.cast(thing, c_void_p).value or 0


class OnnxRuntime:
    """The C interface by position in its table of functions, which never changes (only grows)."""

    CREATE_ENV, CREATE_SESSION, RUN, CREATE_OPTIONS, INTRA, INTER = 3, 7, 9, 10, 24, 25
    TENSOR, TENSOR_WITH_DATA, DATA, FILL_STRINGS, CPU_MEMORY, ALLOCATOR = 48, 49, 51, 52, 69, 78
    ERROR_MESSAGE = 2

    def __init__(self, path):
        import onnxruntime

        library = next((Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so*"))
        base = ctypes.CDLL(str(library)).OrtGetApiBase
        base.restype = POINTER(c_void_p)
        get = ctypes.CFUNCTYPE(POINTER(c_void_p), c_int)(base()[0])
        self.table = get(16)
        environment, options, self.session = c_void_p(), c_void_p(), c_void_p()
        self.call(self.CREATE_ENV, c_int(3), c_char_p(b"bench"), byref(environment))
        self.call(self.CREATE_OPTIONS, byref(options))
        self.call(self.INTRA, options, c_int(1))
        self.call(self.INTER, options, c_int(1))
        self.call(self.CREATE_SESSION, environment, c_char_p(str(path).encode()), options, byref(self.session))

    def call(self, number, *arguments):
        function = ctypes.CFUNCTYPE(c_void_p)(self.table[number])
        function.argtypes = None
        status = function(*arguments)
        if status:
            message = ctypes.CFUNCTYPE(c_char_p, c_void_p)(self.table[self.ERROR_MESSAGE])(status)
            raise RuntimeError(message.decode())

    def tensor(self, values):
        """An OrtValue over the array's own memory; texts are copied."""
        memory, value = c_void_p(), c_void_p()
        shape = (c_int64 * values.ndim)(*values.shape)
        if values.dtype == object:
            allocator = c_void_p()
            self.call(self.ALLOCATOR, byref(allocator))
            self.call(self.TENSOR, allocator, shape, c_size_t(values.ndim), c_int(STRING), byref(value))
            texts = (c_char_p * values.size)(*[v.encode() for v in values.ravel()])
            self.call(self.FILL_STRINGS, value, texts, c_size_t(values.size))
            return value
        kind = {np.dtype("f4"): F32, np.dtype("f8"): DOUBLE, np.dtype("i8"): INT64}[values.dtype]
        self.call(self.CPU_MEMORY, c_int(0), c_int(0), byref(memory))
        self.call(self.TENSOR_WITH_DATA, memory, c_void_p(values.ctypes.data), c_size_t(values.nbytes), shape, c_size_t(values.ndim), c_int(kind), byref(value))
        return value

    def prepare(self, feeds, output, batch):
        buffers = {name: np.ascontiguousarray(values[:batch].copy()) for name, values in feeds.items()}
        values = [self.tensor(buffer) for buffer in buffers.values()]
        names = (c_char_p * len(feeds))(*[name.encode() for name in feeds])
        inputs = (c_void_p * len(feeds))(*values)
        outputs, output_names = (c_void_p * 1)(), (c_char_p * 1)(output.encode())
        # The first call makes the output's memory, the others fill it again.
        self.call(self.RUN, self.session, None, names, inputs, c_size_t(len(feeds)), output_names, c_size_t(1), outputs)
        arguments = [self.session.value, 0, address(names), address(inputs), len(feeds), address(output_names), 1, address(outputs)]
        first = next(iter(buffers))
        one = len(feeds) == 1
        call = Call(self.table[self.RUN], arguments, buffers[first] if one else None, feeds[first] if one else None, (names, inputs, outputs, output_names, buffers, values))
        data = c_void_p()
        self.call(self.DATA, c_void_p(outputs[0]), byref(data))
        call.answer = lambda: ctypes.cast(data, POINTER(c_float))[0]
        return call


class LightGbm:
    def __init__(self, path):
        import lightgbm

        self.shared = ctypes.CDLL(str(next(Path(lightgbm.__file__).parent.rglob("lib_lightgbm.so"))))
        self.handle, iterations = c_void_p(), c_int()
        self.check(self.shared.LGBM_BoosterCreateFromModelfile(c_char_p(str(path).encode()), byref(iterations), byref(self.handle)))

    def check(self, code):
        if code:
            self.shared.LGBM_GetLastError.restype = c_char_p
            raise RuntimeError(self.shared.LGBM_GetLastError().decode())

    def prepare(self, feeds, _, batch):
        rows = np.ascontiguousarray(next(iter(feeds.values())), np.float64)
        width = rows.shape[1]
        buffer, length, out = rows[:batch].copy(), c_int64(), np.zeros(batch)
        parameters = ctypes.create_string_buffer(b"num_threads=1")
        if batch == 1:
            fast = c_void_p()
            self.check(self.shared.LGBM_BoosterPredictForMatSingleRowFastInit(self.handle, 0, 0, -1, 1, width, parameters, byref(fast)))
            function, arguments = self.shared.LGBM_BoosterPredictForMatSingleRowFast, [fast.value, buffer.ctypes.data, ctypes.addressof(length), out.ctypes.data]
        else:
            function = self.shared.LGBM_BoosterPredictForMat
            arguments = [self.handle.value, buffer.ctypes.data, 1, batch, width, 1, 0, 0, -1, ctypes.addressof(parameters), ctypes.addressof(length), out.ctypes.data]
        call = Call(address(function), arguments, buffer, rows, (parameters, length, out))
        call.answer = lambda: out[0]
        return call


class XgBoost:
    def __init__(self, path):
        import xgboost

        self.shared = ctypes.CDLL(str(next(Path(xgboost.__file__).parent.rglob("libxgboost.so"))))
        self.handle = c_void_p()
        self.check(self.shared.XGBoosterCreate(None, 0, byref(self.handle)))
        self.check(self.shared.XGBoosterLoadModel(self.handle, c_char_p(str(path).encode())))
        self.check(self.shared.XGBoosterSetParam(self.handle, c_char_p(b"nthread"), c_char_p(b"1")))

    def check(self, code):
        if code:
            self.shared.XGBGetLastError.restype = c_char_p
            raise RuntimeError(self.shared.XGBGetLastError().decode())

    def prepare(self, feeds, _, batch):
        rows = np.ascontiguousarray(next(iter(feeds.values())), np.float32)
        buffer = rows[:batch].copy()
        array = {"data": [buffer.ctypes.data, False], "shape": list(buffer.shape), "typestr": "<f4", "version": 3}
        config = {"type": 0, "training": False, "iteration_begin": 0, "iteration_end": 0, "strict_shape": False, "missing": float("nan"), "cache_id": 0}
        texts = [ctypes.create_string_buffer(json.dumps(value).encode()) for value in (array, config)]
        shape, dimensions, result = c_void_p(), c_int64(), POINTER(c_float)()
        arguments = [self.handle.value, *map(ctypes.addressof, texts), 0, *map(ctypes.addressof, (shape, dimensions, result))]
        call = Call(address(self.shared.XGBoosterPredictFromDense), arguments, buffer, rows, (texts, shape, dimensions, result))
        call.answer = lambda: result[0]
        return call


class Python:
    """A library that has no other interface: a call of Python, which is part of what it costs."""

    def __init__(self, function):
        self.function = function

    def prepare(self, feeds, _, batch):
        prepared = self.function(batch)

        class Timed:
            @staticmethod
            def seconds(times):
                import time

                begun = time.perf_counter()
                for n in range(times):
                    prepared(n)
                return time.perf_counter() - begun

            answer = staticmethod(lambda: float("nan"))

        return Timed
