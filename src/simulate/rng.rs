//! Random draws that stay the same with every version of every library: made from PCG's own bits here.

use rand::RngCore;
use rand_pcg::Pcg64Mcg;

/// A stream of draws, fixed by its seed.
#[derive(Clone, Debug)]
pub struct Draws(Pcg64Mcg);

impl Draws {
    pub fn new(seed: u64) -> Self {
        // Seeds that lie close together must not give streams that do: spread by two odd constants.
        let high = u128::from(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xd1b5_4a32_d192_ed03);
        let mut draws = Self(Pcg64Mcg::new((high << 64) | u128::from(seed)));
        draws.0.next_u64();
        draws
    }

    /// Even in [0, 1).
    pub fn unit(&mut self) -> f64 {
        // 53 bits: exact in f64.
        #[allow(clippy::cast_precision_loss)]
        let bits = (self.0.next_u64() >> 11) as f64;
        bits / 9_007_199_254_740_992.0
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Even in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Even in 0 to below `count`; 0 where `count` is 0.
    pub fn below(&mut self, count: u32) -> u32 {
        // The high half of a 64-bit product: below `count` by construction.
        let wide = (self.0.next_u64() >> 32) * u64::from(count);
        u32::try_from(wide >> 32).unwrap_or(0)
    }

    /// Standard normal (Box and Muller's polar form).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (self.between(-1.0, 1.0), self.between(-1.0, 1.0));
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * square.ln() / square).sqrt();
            }
        }
    }

    /// `median` times e to a normal of standard deviation `sigma`.
    pub fn lognormal(&mut self, median: f64, sigma: f64) -> f64 {
        median * (sigma * self.normal()).exp()
    }

    /// How many of events that come at `mean` in a time come in one (mean below some 30).
    pub fn poisson(&mut self, mean: f64) -> u32 {
        let floor = (-mean).exp();
        let (mut count, mut product) = (0, self.unit());
        while product > floor && count < 1_000 {
            count += 1;
            product *= self.unit();
        }
        count
    }
}
