//! Records and reports, without a broker.
