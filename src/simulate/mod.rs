//! simulate (to be written)
