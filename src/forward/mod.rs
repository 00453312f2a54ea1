//! forward (to be written)
