//! Normalisations: numbers shifted and scaled by means and variances, of training or of their own group.
//!
//! Means and variances of a group are summed in f64. Training mode is refused.

use super::super::op::{Built, Context, Fact, Inputs, Node, Op, OpError, given, need};
use super::super::tensor::{Data, TensorType, View, count};
use super::args;
use super::reduce::Groups;
use super::walk::{Walk, pick};
use std::any::Any;

/// `BatchNormalization` with the means and variances of training: x · scale + shift, one pair a channel.
pub fn build_batch(node: &Node, inputs: &[Option<Fact>], context: &mut Context) -> Result<Built, OpError> {
    let of = need(inputs, 0)?.of.clone();
    if node.flag("training_mode", false)? || (1..5).any(|n| node.wants(n)) {
        return Err("training mode is not supported".into());
    }
    let channels = of.shape.get(1).copied().unwrap_or(1);
    if !of.kind.is_float() || of.rank() < 1 {
        return Err(OpError(format!("BatchNormalization does not take {of}")));
    }
    context.take(channels.saturating_mul(2 * size_of::<f64>()), "a batch norm's table")?;
    let part = |n: usize, what: &str| -> Result<Vec<f64>, OpError> {
        let tensor = args::constant(inputs, n, what)?.ok_or_else(|| OpError(format!("expected {what}")))?;
        if tensor.data.len() != channels {
            return Err(OpError(format!("{what}: expected {channels} numbers, found {}", tensor.data.len())));
        }
        Ok((0..channels).map(|n| tensor.view().number(n)).collect())
    };
    let (scale, shift) = (part(1, "the scale")?, part(2, "the bias")?);
    let (mean, variance) = (part(3, "the mean")?, part(4, "the variance")?);
    let epsilon = f64::from(node.float("epsilon")?.unwrap_or(1e-5));
    let table = scale.iter().zip(&shift).zip(mean.iter().zip(&variance)).map(|((scale, shift), (mean, variance))| {
        let scale = scale / (variance + epsilon).sqrt();
        (scale, shift - mean * scale)
    });
    let behind = of.shape.get(2..).and_then(count).unwrap_or(1);
    Ok(Built::op(Batch { table: table.collect(), behind, of: [of] }))
}

#[derive(Debug)]
struct Batch {
    table: Vec<(f64, f64)>,
    behind: usize,
    of: [TensorType; 1],
}

impl Op for Batch {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn bytes(&self) -> usize {
        self.table.len() * size_of::<(f64, f64)>()
    }

    fn in_place(&self) -> bool {
        true
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], scratch: &mut dyn Any) {
        let Some(out) = outputs.first_mut() else { return };
        super::unary::copy(inputs.get(0), out);
        self.run_in_place(inputs, out, scratch);
    }

    #[allow(clippy::cast_possible_truncation)] // back to the input's kind
    fn run_in_place(&self, _: &Inputs<'_>, data: &mut Data, _: &mut dyn Any) {
        let behind = self.behind.max(1);
        match data {
            Data::F32(v) => {
                for (row, (scale, shift)) in v.chunks_exact_mut(behind).zip(self.table.iter().cycle()) {
                    for x in row {
                        *x = (f64::from(*x) * scale + shift) as f32;
                    }
                }
            }
            Data::F64(v) => {
                for (row, (scale, shift)) in v.chunks_exact_mut(behind).zip(self.table.iter().cycle()) {
                    for x in row {
                        *x = *x * scale + shift;
                    }
                }
            }
            _ => {}
        }
    }

    fn describe(&self) -> String {
        "BatchNormalization".to_owned()
    }
}

/// Groups made to mean 0 and variance 1, then scaled and shifted.
#[derive(Debug)]
struct Own {
    name: &'static str,
    groups: Groups,
    /// Where scale (input 1) and shift (input 2) stand for each element; shift only if `shifted`.
    affine: Option<Walk<2>>,
    shifted: bool,
    /// No mean: the root of the mean square.
    rms: bool,
    /// Added to the variance.
    epsilon: f64,
    /// Added to the deviation.
    floor: f64,
    /// The output, then mean and 1 / deviation of each group if the node wants them.
    of: Vec<TensorType>,
}

/// `LayerNormalization`, `RMSNormalization`: over all dimensions from the axis on.
pub fn build_layer(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = need(inputs, 0)?.of.clone();
    let rms = node.op == "RMSNormalization";
    let axis = args::axis(node.int("axis")?.unwrap_or(-1), of.rank())?;
    let reduced: Vec<usize> = (axis..of.rank()).collect();
    let scale = &need(inputs, 1)?.of;
    let shift = given(inputs, 2).map_or(scale, |fact| &fact.of);
    if !of.kind.is_float() || scale.kind != of.kind || shift.kind != of.kind {
        return Err(OpError(format!("{} does not take {of}, {scale} and {shift}", node.op)));
    }
    let affine = Walk::broadcast(&of.shape, [&scale.shape, &shift.shape])?;
    let mut types = vec![of.clone()];
    let small: Vec<usize> = of.shape.iter().enumerate().map(|(n, dim)| if n < axis { *dim } else { 1 }).collect();
    for _ in 1..node.outputs.len().min(3) {
        types.push(TensorType::new(of.kind, small.clone()));
    }
    Ok(Built::op(Own {
        name: if rms { "RMSNormalization" } else { "LayerNormalization" },
        groups: Groups::new(&of.shape, &reduced)?,
        affine: Some(affine),
        shifted: given(inputs, 2).is_some(),
        rms,
        epsilon: f64::from(node.float("epsilon")?.unwrap_or(1e-5)),
        floor: 0.0,
        of: types,
    }))
}

/// `InstanceNormalization`, `GroupNormalization`: over a row's channels, one by one or in groups.
pub fn build_group(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = need(inputs, 0)?.of.clone();
    let (scale, shift) = (&need(inputs, 1)?.of, &need(inputs, 2)?.of);
    let [rows, channels, ref rest @ ..] = of.shape[..] else {
        return Err(OpError(format!("expected rows and channels, found {of}")));
    };
    let groups = match node.op.as_str() {
        "InstanceNormalization" => channels,
        _ => node.int("num_groups")?.and_then(|n| usize::try_from(n).ok()).ok_or("expected num_groups")?,
    };
    if groups == 0 || channels % groups != 0 || !of.kind.is_float() || scale.kind != of.kind || shift != scale {
        return Err(OpError(format!("{} of {of} in {groups} groups with {scale} and {shift}", node.op)));
    }
    // Rows, groups, channels of a group, the rest.
    let size = channels / groups;
    let behind = count(rest).ok_or("too many elements")?;
    let shape = [rows, groups, size, behind];
    let strides = match scale.shape[..] {
        [n] if n == channels => vec![0, isize::try_from(size).unwrap_or(0), 1, 0],
        // Up to opset 20: one number a group.
        [n] if n == groups => vec![0, 1, 0, 0],
        _ => return Err(OpError(format!("expected {channels} scales, found {scale}"))),
    };
    Ok(Built::op(Own {
        name: "GroupNormalization",
        groups: Groups::new(&shape, &[2, 3])?,
        affine: Some(Walk::new(&shape, &[strides.clone(), strides], [0, 0])?),
        shifted: true,
        rms: false,
        epsilon: f64::from(node.float("epsilon")?.unwrap_or(1e-5)),
        floor: 0.0,
        of: vec![of],
    }))
}

/// `MeanVarianceNormalization`: over given axes, neither scaled nor shifted.
pub fn build_mean_variance(node: &Node, inputs: &[Option<Fact>], _: &mut Context) -> Result<Built, OpError> {
    let of = need(inputs, 0)?.of.clone();
    let axes = args::axes(node.ints("axes")?.unwrap_or(&[0, 2, 3]), of.rank())?;
    if !of.kind.is_float() {
        return Err(OpError(format!("MeanVarianceNormalization does not take {}", of.kind)));
    }
    Ok(Built::op(Own {
        name: "MeanVarianceNormalization",
        groups: Groups::new(&of.shape, &axes)?,
        affine: None,
        shifted: false,
        rms: false,
        epsilon: 0.0,
        floor: 1e-9,
        of: vec![of],
    }))
}

macro_rules! own {
    ($self:expr, $x:expr, $out:expr, $scale:expr, $shift:expr, $stats:expr, $type:ty) => {{
        $self.groups.each(|group, from| {
            let (mut sum, mut squares, mut count) = (0.0f64, 0.0f64, 0.0f64);
            $self.groups.within(from, |n| {
                sum += $x.get(n).copied().map_or(0.0, f64::from);
                count += 1.0;
            });
            let mean = if $self.rms { 0.0 } else { sum / count };
            $self.groups.within(from, |n| {
                let away = $x.get(n).copied().map_or(0.0, f64::from) - mean;
                squares += away * away;
            });
            let inverse = 1.0 / ((squares / count + $self.epsilon).sqrt() + $self.floor);
            $self.groups.within(from, |n| {
                if let (Some(out), Some(x)) = ($out.get_mut(n), $x.get(n)) {
                    *out = ((f64::from(*x) - mean) * inverse) as $type;
                }
            });
            for (place, value) in $stats.iter_mut().zip([mean, inverse]) {
                match place {
                    Data::F32(v) => v[group] = value as f32,
                    Data::F64(v) => v[group] = value,
                    _ => {}
                }
            }
        });
        if let Some(walk) = &$self.affine {
            let [by_scale, by_shift] = walk.inner();
            walk.each(|to, [at_scale, at_shift], len| {
                let Some(row) = $out.get_mut(to..to + len) else { return };
                for (n, out) in row.iter_mut().enumerate() {
                    *out *= pick($scale, at_scale, by_scale, n);
                    if $self.shifted {
                        *out += pick($shift, at_shift, by_shift, n);
                    }
                }
            });
        }
    }};
}

impl Op for Own {
    fn outputs(&self) -> &[TensorType] {
        &self.of
    }

    fn work(&self) -> u64 {
        self.of.first().map_or(0, |of| 4 * of.len() as u64)
    }

    #[allow(clippy::cast_possible_truncation)] // back to the input's kind
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut [Data], _: &mut dyn Any) {
        let Some((out, stats)) = outputs.split_first_mut() else { return };
        match (inputs.get(0), out) {
            (View::F32(x), Data::F32(out)) => {
                own!(self, x, out, inputs.get(1).f32(), inputs.get(2).f32(), stats, f32);
            }
            (View::F64(x), Data::F64(out)) => {
                own!(self, x, out, inputs.get(1).f64(), inputs.get(2).f64(), stats, f64);
            }
            _ => {}
        }
    }

    fn describe(&self) -> String {
        self.name.to_owned()
    }
}
