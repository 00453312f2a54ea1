//! What an error says: where, what was expected, what was found.
