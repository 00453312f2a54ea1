//! Eight f32 side by side: one AVX register, two of NEON.

/// Numbers in a lane.
pub const LANE: usize = 8;

/// Eight numbers, aligned so that no load crosses a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(32))]
pub struct Lane(pub [f32; LANE]);

impl Lane {
    pub fn from_fn(value: impl FnMut(usize) -> f32) -> Self {
        Self(std::array::from_fn(value))
    }

    /// The lanes' numbers as one slice.
    #[must_use]
    pub fn flat(lanes: &[Self]) -> &[f32] {
        // SAFETY: a Lane is repr(C) of 8 f32, 32 bytes long and 32 aligned: no padding, so n lanes are 8n f32.
        unsafe { std::slice::from_raw_parts(lanes.as_ptr().cast(), lanes.len() * LANE) }
    }

    /// The lanes' numbers as one slice, to write.
    #[must_use]
    pub fn flat_mut(lanes: &mut [Self]) -> &mut [f32] {
        // SAFETY: as in `flat`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(lanes.as_mut_ptr().cast(), lanes.len() * LANE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_is_every_number_in_order() {
        let numbers: Vec<f32> = (0u8..16).map(f32::from).collect();
        let mut lanes = [Lane::from_fn(|n| numbers[n]), Lane::from_fn(|n| numbers[n + 8])];
        assert_eq!(Lane::flat(&lanes), numbers);
        Lane::flat_mut(&mut lanes)[9] = -1.0;
        assert!(lanes[1].0[1] < 0.0);
        assert!(Lane::flat(&[]).is_empty());
    }
}
