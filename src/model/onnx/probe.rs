//! Whether a program for several rows gives each the numbers that it gets alone.
//!
//! Nothing in a graph says that its first dimension are rows: a mean over it, a Softmax over the wrong axis or a
//! Reshape that lets rows run into each other make them depend on their neighbours. So before such a program is taken
//! it is run on rows that differ from each other, and every result is compared, bit for bit, with the row's alone.

use super::program::{Program, State};
use super::tensor::{Data, View};

/// Rounds, each with other rows.
const ROUNDS: u64 = 3;
/// Work of a program from which one round is enough: it takes a second.
const LONG_WORK: u64 = 1 << 26;

fn rounds(program: &Program) -> u64 {
    if program.work() > LONG_WORK { 1 } else { ROUNDS }
}

/// Numbers that look like features: some small, some integers, some negative, some large or missing.
fn number(seed: u64) -> f64 {
    // SplitMix64 (Steele, Lea and Flood, 2014).
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    let small = f64::from(u32::try_from(z >> 40).unwrap_or_default()) / f64::from(1u32 << 24);
    match z % 16 {
        0..8 => small * 4.0 - 2.0,
        8..13 => (small * 5.0).floor(),
        13 => small * 1e3,
        14 => 0.0,
        _ => f64::NAN,
    }
}

/// Fills row `row` of `rows` in a buffer with the numbers of `seed`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // codes and integers are small here
fn write(buffer: &mut Data, rows: usize, row: usize, seed: u64) {
    let width = buffer.len() / rows.max(1);
    let at = row * width..(row + 1) * width;
    let values = (0..).map(|n| number(seed.wrapping_mul(1_000_003).wrapping_add(n)));
    macro_rules! each {
        ($v:expr, $cut:expr) => {
            for (to, value) in $v.get_mut(at).unwrap_or_default().iter_mut().zip(values) {
                *to = $cut(value);
            }
        };
    }
    match buffer {
        Data::F32(v) => each!(v, |v: f64| v as f32),
        Data::F64(v) => each!(v, |v: f64| v),
        // A gather's indices stay in range more often so.
        Data::I64(v) => each!(v, |v: f64| v.clamp(0.0, 4.0) as i64),
        Data::I32(v) => each!(v, |v: f64| v.clamp(0.0, 4.0) as i32),
        Data::Bool(v) => each!(v, |v: f64| u8::from(v > 0.0)),
        Data::Text(v) => each!(v, |v: f64| v.clamp(0.0, 4.0) as u32),
    }
}

fn prepare(program: &Program, state: &mut State, row: usize, seed: u64) {
    for (n, at) in program.inputs.iter().enumerate() {
        if let Some(buffer) = state.buffers.get_mut(*at) {
            write(buffer, program.rows, row, seed.wrapping_add(n as u64 * 7_919));
        }
    }
}

/// The bits of a row of every result.
fn bits(program: &Program, state: &State, row: usize, into: &mut Vec<u64>) {
    into.clear();
    for result in &program.results {
        let view = state.buffers.get(result.buffer).map_or(View::Bool(&[]), Data::view);
        let width = view.len() / program.rows.max(1);
        for n in row * width..(row + 1) * width {
            into.push(view.number(n).to_bits());
        }
    }
}

/// Whether each row of `many` gives what it gives in `one`.
///
/// # Errors
/// The first difference.
pub fn same(one: &Program, many: &Program) -> Result<(), String> {
    if one.results.len() != many.results.len() {
        return Err("the outputs have other shapes then".to_owned());
    }
    for (a, b) in one.results.iter().zip(&many.results) {
        if a.of.row_len() != b.of.row_len() || a.of.kind != b.of.kind {
            return Err(format!("output '{}' has another shape then", a.name));
        }
    }
    let (mut alone, mut beside) = (one.state(), many.state());
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    for round in 0..rounds(many) {
        let seed = |row: usize| round * 10_007 + row as u64;
        for row in 0..many.rows {
            prepare(many, &mut beside, row, seed(row));
        }
        many.run(&mut beside);
        for row in 0..many.rows {
            prepare(one, &mut alone, 0, seed(row));
            one.run(&mut alone);
            bits(one, &alone, 0, &mut expected);
            bits(many, &beside, row, &mut found);
            if expected != found {
                return Err("a row's result depends on its neighbours".to_owned());
            }
        }
    }
    Ok(())
}

/// Whether a row of a program of fixed size gives the same at another place beside others.
///
/// # Errors
/// It does not.
pub fn apart(program: &Program) -> Result<(), String> {
    let mut state = program.state();
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    for round in 0..rounds(program) {
        let last = program.rows.saturating_sub(1);
        for row in 0..program.rows {
            prepare(program, &mut state, row, if row == 0 { round } else { 100 + row as u64 });
        }
        program.run(&mut state);
        bits(program, &state, 0, &mut expected);
        for row in 0..program.rows {
            prepare(program, &mut state, row, if row == last { round } else { 900 + row as u64 });
        }
        program.run(&mut state);
        bits(program, &state, last, &mut found);
        if expected != found {
            return Err("a row's result depends on its neighbours".to_owned());
        }
    }
    Ok(())
}
