//! ingest (to be written)
