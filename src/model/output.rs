//! From the last layer's numbers to the score.

/// What the last layer gives (`[network] output`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// One logit, or two (the score is class 1's probability after a softmax).
    Logit,
    /// One probability, or two that sum to 1 (the score is class 1's).
    Probability,
    /// One number, which is the score.
    Raw,
}

impl Output {
    /// A value that grows with the score and does not saturate where it can be had: the logit.
    /// NaN unless every number is finite.
    #[must_use]
    pub fn margin(self, last: &[f32]) -> f64 {
        if last.iter().any(|value| !value.is_finite()) {
            return f64::NAN;
        }
        match (self, last) {
            (Self::Logit, [zero, one]) => f64::from(*one) - f64::from(*zero),
            (_, [.., value]) => f64::from(*value),
            (_, []) => f64::NAN,
        }
    }

    /// The score of a margin: f32's precision, as all of the network has, so that it prints short.
    #[must_use]
    pub fn score(self, margin: f64) -> f64 {
        match self {
            Self::Logit => cut(1.0 / (1.0 + (-margin).exp())),
            Self::Probability | Self::Raw => cut(margin),
        }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Logit => "logit",
            Self::Probability => "probability",
            Self::Raw => "raw",
        }
    }
}

/// The nearest f32.
pub(super) fn cut(value: f64) -> f64 {
    #[allow(clippy::cast_possible_truncation)]
    let cut = value as f32;
    f64::from(cut)
}
