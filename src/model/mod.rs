//! model (to be written)
