//! Protobuf messages of ONNX, written by hand: what no exporter would write.

pub(crate) type Bytes = Vec<u8>;

pub(crate) fn varint(mut value: u64) -> Bytes {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
    bytes
}

/// A field with a number.
pub(crate) fn number(field: u64, value: u64) -> Bytes {
    [varint(field << 3), varint(value)].concat()
}

/// A field with bytes: a text or a message.
pub(crate) fn bytes(field: u64, content: &[u8]) -> Bytes {
    [varint(field << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

/// An attribute's value.
#[derive(Clone)]
pub(crate) enum Of {
    Int(i64),
    Text(&'static str),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Texts(Vec<&'static str>),
    Tensor(Bytes),
    Graph(Bytes),
}

pub(crate) fn attribute(name: &str, value: Of) -> Bytes {
    let floats = |v: Vec<f32>| bytes(7, &v.into_iter().flat_map(f32::to_le_bytes).collect::<Bytes>());
    let ints = |v: Vec<i64>| bytes(8, &v.into_iter().flat_map(|v| varint(v.cast_unsigned())).collect::<Bytes>());
    let (value, kind) = match value {
        Of::Int(v) => (number(3, v.cast_unsigned()), 2),
        Of::Text(v) => (bytes(4, v.as_bytes()), 3),
        Of::Tensor(v) => (bytes(5, &v), 4),
        Of::Graph(v) => (bytes(6, &v), 5),
        Of::Floats(v) => (floats(v), 6),
        Of::Ints(v) => (ints(v), 7),
        Of::Texts(v) => (v.iter().flat_map(|text| bytes(9, text.as_bytes())).collect(), 8),
    };
    [bytes(1, name.as_bytes()), value, number(20, kind)].concat()
}

pub(crate) fn node(domain: &str, op: &str, inputs: &[&str], outputs: &[&str], attributes: &[Bytes]) -> Bytes {
    let mut made = Vec::new();
    for input in inputs {
        made.extend(bytes(1, input.as_bytes()));
    }
    for output in outputs {
        made.extend(bytes(2, output.as_bytes()));
    }
    made.extend(bytes(3, format!("the_{op}").as_bytes()));
    made.extend(bytes(4, op.as_bytes()));
    for attribute in attributes {
        made.extend(bytes(5, attribute));
    }
    made.extend(bytes(7, domain.as_bytes()));
    made
}

/// A tensor: its kind by ONNX's number (1 float, 7 int64), and its raw bytes.
pub(crate) fn tensor(name: &str, kind: u64, dims: &[i64], raw: &[u8]) -> Bytes {
    let dims = dims.iter().flat_map(|dim| number(1, dim.cast_unsigned())).collect();
    [dims, number(2, kind), bytes(8, name.as_bytes()), bytes(9, raw)].concat()
}

/// A tensor in another file.
pub(crate) fn external(name: &str, dims: &[i64], entries: &[(&str, &str)]) -> Bytes {
    let entry =
        |(key, value): &(&str, &str)| bytes(13, &[bytes(1, key.as_bytes()), bytes(2, value.as_bytes())].concat());
    let dims = dims.iter().flat_map(|dim| number(1, dim.cast_unsigned())).collect();
    let entries = entries.iter().flat_map(entry).collect();
    [dims, number(2, 1), bytes(8, name.as_bytes()), entries, number(14, 1)].concat()
}

/// int64 numbers as raw bytes.
pub(crate) fn longs(values: &[i64]) -> Bytes {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// An input or output of floats with an open first dimension and `width` columns.
pub(crate) fn value(name: &str, width: i64) -> Bytes {
    let dims = [bytes(2, b"N"), number(1, width.cast_unsigned())];
    let shape: Bytes = dims.iter().flat_map(|dim| bytes(1, dim)).collect();
    let tensor = [number(1, 1), bytes(2, &shape)].concat();
    [bytes(1, name.as_bytes()), bytes(2, &bytes(1, &tensor))].concat()
}

pub(crate) fn graph(nodes: &[Bytes], constants: &[Bytes], inputs: &[Bytes], outputs: &[Bytes]) -> Bytes {
    let mut made = Vec::new();
    for (field, list) in [(1, nodes), (5, constants), (11, inputs), (12, outputs)] {
        for one in list {
            made.extend(bytes(field, one));
        }
    }
    made
}

/// A model of this graph, opset 17 and ai.onnx.ml 3.
pub(crate) fn model(graph: &[u8]) -> Bytes {
    let opset = |domain: &str, version| bytes(8, &[bytes(1, domain.as_bytes()), number(2, version)].concat());
    [number(1, 8), opset("", 17), opset("ai.onnx.ml", 3), bytes(7, graph)].concat()
}

/// A model of one node between the input `x` of `width` columns and the output `y`.
pub(crate) fn single(node: Bytes, width: i64) -> Bytes {
    model(&graph(&[node], &[], &[value("x", width)], &[value("y", 1)]))
}
