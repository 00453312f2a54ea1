//! What an XGBoost file means, and what is refused.
