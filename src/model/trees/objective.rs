//! From raw sums to the library's own output.

/// What is done to a row's raw sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    /// Nothing.
    Identity,
    /// 1 / (1 + exp(-slope · x)) of each.
    Sigmoid {
        slope: f64,
    },
    Exp,
    /// sign(x) · x²: of a model trained on square roots.
    SignedSquare,
    /// ln(1 + exp(x))
    Softplus,
    /// 1 above 0, else 0.
    Step,
    /// exp(x) over the sum of all.
    Softmax,
    /// The place of the greatest, the first of equals.
    ArgMax,
}

impl Objective {
    /// Numbers given for `targets` raw sums.
    #[must_use]
    pub fn outputs(self, targets: usize) -> usize {
        if self == Self::ArgMax { 1 } else { targets }
    }

    /// True if the numbers given are probabilities.
    #[must_use]
    pub fn is_probability(self) -> bool {
        matches!(self, Self::Sigmoid { .. } | Self::Softmax)
    }

    /// The output for one row's raw sums. A NaN stays one.
    pub fn apply(self, raw: &[f64], out: &mut [f64]) {
        match self {
            Self::Identity => each(raw, out, |x| x),
            Self::Sigmoid { slope } => each(raw, out, |x| 1.0 / (1.0 + (-slope * x).exp())),
            Self::Exp => each(raw, out, f64::exp),
            Self::SignedSquare => each(raw, out, |x| x * x.abs()),
            Self::Softplus => each(raw, out, |x| x.exp().ln_1p()),
            Self::Step => each(raw, out, |x| if x.is_nan() { x } else { f64::from(u8::from(x > 0.0)) }),
            Self::Softmax => {
                let most = raw.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                each(raw, out, |x| (x - most).exp());
                let sum: f64 = out.iter().sum();
                for x in out {
                    *x /= sum;
                }
            }
            Self::ArgMax => {
                let mut best = (0_u32, f64::NEG_INFINITY);
                for (at, x) in (0..).zip(raw) {
                    if *x > best.1 {
                        best = (at, *x);
                    }
                }
                let broken = raw.iter().any(|x| x.is_nan());
                out.fill(if broken { f64::NAN } else { f64::from(best.0) });
            }
        }
    }
}

fn each(raw: &[f64], out: &mut [f64], of: impl Fn(f64) -> f64) {
    for (out, x) in out.iter_mut().zip(raw) {
        *out = of(*x);
    }
}
