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
pub(super) trait Work {
    fn work<I: Instructions>(self);
}

/// Bytes of a row of masks.
pub(super) const ROW: usize = 256;

/// What is written by hand for a set of instructions, because compilers do not see it.
pub(super) trait Instructions {
    /// The AND of those of `rows` that are picked. R has [`ROW`] bytes, aligned to 64, and is any bits; a pick that
    /// is not there counts for nothing.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn and<R: Copy>(rows: &[R], picks: &[u32], all: R) -> R;
}

struct Plain;

impl Instructions for Plain {
    #[inline(always)]
    unsafe fn and<R: Copy>(rows: &[R], picks: &[u32], all: R) -> R {
        const { assert!(size_of::<R>() == ROW && align_of::<R>() >= 8) };
        let mut sum = all;
        // SAFETY: R has the size of 32 words and is aligned as these are.
        let words = unsafe { &mut *(&raw mut sum).cast::<[u64; ROW / 8]>() };
        for row in picks.iter().filter_map(|pick| rows.get(*pick as usize)) {
            // SAFETY: as above.
            let row = unsafe { &*(&raw const *row).cast::<[u64; ROW / 8]>() };
            for (word, and) in words.iter_mut().zip(row) {
                *word &= *and;
            }
        }
        sum
    }
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
            Self::Portable => work.work::<Plain>(),
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
    work.work::<x86::Avx2>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vpopcntdq")]
fn avx512(work: impl Work) {
    work.work::<x86::Avx512>();
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Instructions, ROW};
    use std::arch::x86_64::{
        __m256i, __m512i, _mm256_and_si256, _mm256_load_si256, _mm256_store_si256, _mm512_and_si512, _mm512_load_si512,
        _mm512_store_si512,
    };

    pub struct Avx2;
    pub struct Avx512;

    impl Instructions for Avx2 {
        #[inline]
        #[target_feature(enable = "avx2")]
        unsafe fn and<R: Copy>(rows: &[R], picks: &[u32], all: R) -> R {
            const REGISTERS: usize = ROW / size_of::<__m256i>();
            const { assert!(size_of::<R>() == ROW && align_of::<R>() >= align_of::<__m256i>()) };
            let mut sum = all;
            // SAFETY: R has the bytes and the alignment of eight registers, and any bits are one.
            unsafe {
                let out: *mut __m256i = (&raw mut sum).cast();
                let mut sums: [__m256i; REGISTERS] = std::array::from_fn(|n| _mm256_load_si256(out.add(n)));
                for row in picks.iter().filter_map(|pick| rows.get(*pick as usize)) {
                    let row: *const __m256i = (&raw const *row).cast();
                    for (n, sum) in sums.iter_mut().enumerate() {
                        *sum = _mm256_and_si256(*sum, _mm256_load_si256(row.add(n)));
                    }
                }
                for (n, sum) in sums.iter().enumerate() {
                    _mm256_store_si256(out.add(n), *sum);
                }
            }
            sum
        }
    }

    impl Instructions for Avx512 {
        #[inline]
        #[target_feature(enable = "avx512f")]
        unsafe fn and<R: Copy>(rows: &[R], picks: &[u32], all: R) -> R {
            const REGISTERS: usize = ROW / size_of::<__m512i>();
            const { assert!(size_of::<R>() == ROW && align_of::<R>() >= align_of::<__m512i>()) };
            let mut sum = all;
            // SAFETY: R has the bytes and the alignment of four registers, and any bits are one.
            unsafe {
                let out: *mut __m512i = (&raw mut sum).cast();
                let mut sums: [__m512i; REGISTERS] = std::array::from_fn(|n| _mm512_load_si512(out.add(n)));
                for row in picks.iter().filter_map(|pick| rows.get(*pick as usize)) {
                    let row: *const __m512i = (&raw const *row).cast();
                    for (n, sum) in sums.iter_mut().enumerate() {
                        *sum = _mm512_and_si512(*sum, _mm512_load_si512(row.add(n)));
                    }
                }
                for (n, sum) in sums.iter().enumerate() {
                    _mm512_store_si512(out.add(n), *sum);
                }
            }
            sum
        }
    }
}
