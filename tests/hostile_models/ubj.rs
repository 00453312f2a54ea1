//! XGBoost's UBJ models: counts without bytes behind them, types that are none.

use super::xgboost::{MOST, TREE, file, load, refused_file};
use super::{measured, places};
use serde_json::Value;

/// Writes JSON as UBJ: integers as `L`, others as `D`, containers closed by their brackets.
fn ubj(value: &Value, out: &mut Vec<u8>) {
    let text = |text: &str, out: &mut Vec<u8>| {
        out.push(b'L');
        out.extend((text.len() as u64).to_be_bytes());
        out.extend(text.as_bytes());
    };
    match value {
        Value::Null => out.push(b'Z'),
        Value::Bool(is) => out.push(if *is { b'T' } else { b'F' }),
        Value::Number(number) => {
            if let Some(whole) = number.as_i64() {
                out.push(b'L');
                out.extend(whole.to_be_bytes());
            } else {
                out.push(b'D');
                out.extend(number.as_f64().unwrap().to_be_bytes());
            }
        }
        Value::String(string) => {
            out.push(b'S');
            text(string, out);
        }
        Value::Array(list) => {
            out.push(b'[');
            for one in list {
                ubj(one, out);
            }
            out.push(b']');
        }
        Value::Object(map) => {
            out.push(b'{');
            for (key, one) in map {
                text(key, out);
                ubj(one, out);
            }
            out.push(b'}');
        }
    }
}

fn sound() -> Vec<u8> {
    let mut bytes = Vec::new();
    ubj(&serde_json::from_str(&file(&[TREE])).unwrap(), &mut bytes);
    bytes
}

/// The sound file with the list `split_conditions` written otherwise.
fn with_list(list: &[u8]) -> Vec<u8> {
    let whole = sound();
    let key = b"split_conditions";
    let at = whole.windows(key.len()).position(|part| part == key).unwrap() + key.len();
    let end = at + whole[at..].iter().position(|byte| *byte == b']').unwrap() + 1;
    [&whole[..at], list, &whole[end..]].concat()
}

#[test]
fn the_sound_model_loads_also_with_typed_lists() {
    load(&sound()).unwrap();
    let numbers = [0.5f32, -0.25, 0.75].iter().flat_map(|v| v.to_be_bytes());
    let typed: Vec<u8> = b"[$d#L".iter().copied().chain(3u64.to_be_bytes()).chain(numbers).collect();
    load(&with_list(&typed)).unwrap();
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let whole = sound();
    for length in 0..whole.len() {
        refused_file(&whole[..length]);
    }
}

#[test]
fn a_flipped_bit_is_refused_or_harmless() {
    let whole = sound();
    for at in places(whole.len()) {
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            let (_, most) = measured(|| load(&changed));
            assert!(most <= MOST + 80 * whole.len() + (12 << 20), "byte {at} bit {bit}: {most} bytes");
        }
    }
}

#[test]
fn counts_without_bytes_behind_them_cost_nothing() {
    for kind in *b"ZTFNidDULlCSHB[{$#x" {
        for count in [1 << 63, u64::MAX, 1 << 62, 1 << 40, 1_000_000_000] {
            let list = [&b"[$"[..], &[kind], b"#L", &u64::to_be_bytes(count)].concat();
            refused_file(&with_list(&list));
            let map = [&b"{$"[..], &[kind], b"#L", &u64::to_be_bytes(count)].concat();
            refused_file(&with_list(&map));
            refused_file(&[&b"{L\0\0\0\0\0\0\0\x01a"[..], &list].concat());
        }
    }
    for count in [1u64 << 63, u64::MAX, 1 << 40] {
        refused_file(&with_list(&[&b"[#L"[..], &count.to_be_bytes()].concat()));
        refused_file(&with_list(&[&b"SL"[..], &count.to_be_bytes()].concat()));
        refused_file(&with_list(&[&b"HL"[..], &count.to_be_bytes()].concat()));
        refused_file(&[&b"{L"[..], &count.to_be_bytes()].concat());
    }
    // A negative count in each kind of integer.
    for count in [&b"i\xff"[..], b"I\xff\xff", b"l\xff\xff\xff\xff", b"L\xff\xff\xff\xff\xff\xff\xff\xff"] {
        refused_file(&with_list(&[b"[#", count].concat()));
        refused_file(&with_list(&[b"S", count].concat()));
    }
}

#[test]
fn nesting_is_refused_before_the_stack_ends() {
    for open in [&b"["[..], b"{i\x01a", b"[#i\x01", b"[$[#i\x01", b"[$[#i\x01$[#i\x01"] {
        refused_file(&with_list(&open.repeat(100_000)));
        refused_file(&[&b"{i\x01a"[..], &open.repeat(100_000)].concat());
    }
}

#[test]
fn a_key_that_comes_twice_is_refused() {
    let mut twice = sound();
    twice.pop();
    twice.extend(b"L\0\0\0\0\0\0\0\x07version[]}");
    let error = refused_file(&twice);
    assert!(error.contains("duplicate") && error.contains("version"), "{error}");
}
