//! What the last layer of a network gives, and so how its score is made.

/// `[network] output`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// One logit, or several: the score is the chosen class's probability after a softmax.
    Logit,
    /// One probability, or several that sum to 1.
    Probability,
    /// Numbers, one of which is the score.
    Raw,
}

impl Output {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Logit => "logit",
            Self::Probability => "probability",
            Self::Raw => "raw",
        }
    }
}
