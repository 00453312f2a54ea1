//! A value of TOML as the JSON that a source would have sent.

use crate::verdict::{write_json_string, write_number};
use std::io::Write;
use toml::Value;

/// Appends the value as JSON on one line. What JSON has no number for is no number here either.
pub(super) fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::String(text) => write_json_string(text, out),
        Value::Integer(number) => {
            let _ = write!(out, "{number}");
        }
        Value::Float(number) => write_number(*number, out),
        Value::Boolean(value) => {
            let _ = write!(out, "{value}");
        }
        Value::Datetime(time) => write_json_string(&time.to_string(), out),
        Value::Array(values) => {
            out.push(b'[');
            for (n, value) in values.iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                write(value, out);
            }
            out.push(b']');
        }
        Value::Table(table) => {
            out.push(b'{');
            for (n, (key, value)) in table.iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                write_json_string(key, out);
                out.push(b':');
                write(value, out);
            }
            out.push(b'}');
        }
    }
}
