//! What a LightGBM file means, and what is refused.
