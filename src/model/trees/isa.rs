//! Which instructions the tree kernels are compiled for, chosen at run time.
//!
//! The kernels are written once, as plain loops over arrays of fixed length, and compiled for each set of
//! instructions: none of them changes a result, sums included, which have one order and no fused operations.

/// A set of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// What every processor of the target has (NEON on aarch64).
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// A kernel with its arguments. `work` must be `#[inline(always)]`: only so is it compiled for the set of
/// instructions that calls it.
pub trait Work {
    fn work(self);
}

impl Isa {
    /// Those that this processor has, the fastest last.
    #[must_use]
    pub fn available() -> Vec<Self> {
        let mut all = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt")
        {
            all.push(Self::Avx2);
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512vpopcntdq")
            {
                all.push(Self::Avx512);
            }
        }
        all
    }

    #[must_use]
    pub fn best() -> Self {
        Self::available().last().copied().unwrap_or(Self::Portable)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
        }
    }

    /// Only a set out of [`Self::available`] may be used: the plan makes sure of it.
    pub(super) fn run(self, work: impl Work) {
        match self {
            Self::Portable => work.work(),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the plan takes this set only where it was detected.
            Self::Avx2 => unsafe { avx2(work) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the plan takes this set only where it was detected.
            Self::Avx512 => unsafe { avx512(work) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn avx2(work: impl Work) {
    work.work();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vpopcntdq")]
fn avx512(work: impl Work) {
    work.work();
}
