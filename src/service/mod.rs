//! service (to be written)
