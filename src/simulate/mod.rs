//! A deterministic simulator of card transactions: customers, terminals, amounts, times, three kinds of fraud.
//!
//! The same seed and options give the same transactions, byte for byte, in every run and on every build
//! (amounts are rounded to cents, so the last bit of a logarithm does not show). They come in order of
//! time, numbered from 0, without an end: take as many as you need.
//!
//! | scenario | what gives it away | what hides it |
//! |---|---|---|
//! | stolen | far from home, high amounts, several tries at the PIN | customers travel, mistype and splurge |
//! | testing | a burst of tiny online amounts, mostly at night, unverified | people buy small things online at night |
//! | cloned | magnetic stripe after a "broken" chip, cash and goods | some chips do break, some amounts stay low |
//!
//! With the default options about 10,000 transactions a day, 9 in 1,000 of them fraud. Every hint is in
//! the single event; no window over a card's past is needed to learn from it.

mod customer;
mod fraud;
mod rng;
mod run;
mod transaction;

#[cfg(test)]
mod tests;

pub use run::{DAYS_MAX, SimulateError, SimulateOptions, simulate};
pub use transaction::{Category, Entry, Scenario, Transaction, Verified};

use customer::Customer;
use rng::Draws;

/// Seconds of a day.
const DAY: i64 = 86_400;
/// Most customers: they take some 60 bytes each, and a day's transactions about twice as much.
pub const CUSTOMERS_MAX: u32 = 1_000_000;
/// 2026-01-01T00:00:00Z.
const START: i64 = 1_767_225_600;

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Options {
    /// 1 to [`CUSTOMERS_MAX`]; others are taken as the nearest.
    pub customers: u32,
    /// At least 1.
    pub terminals: u32,
    /// Midnight of the first day, seconds since 1970.
    pub start: i64,
}

impl Default for Options {
    fn default() -> Self {
        Self { customers: 5_000, terminals: 10_000, start: START }
    }
}

/// An endless iterator of transactions.
#[derive(Clone, Debug)]
pub struct Simulator {
    options: Options,
    draws: Draws,
    customers: Vec<Customer>,
    /// Midnight of the day after `today`.
    midnight: i64,
    /// A day's transactions in order of time, of which `next` are taken.
    today: Vec<Transaction>,
    next: usize,
    /// Frauds that have begun and go on after midnight.
    later: Vec<Transaction>,
    number: u64,
}

impl Simulator {
    #[must_use]
    pub fn new(seed: u64, options: &Options) -> Self {
        let options = Options {
            customers: options.customers.clamp(1, CUSTOMERS_MAX),
            terminals: options.terminals.max(1),
            start: options.start,
        };
        let mut draws = Draws::new(seed);
        let customers = (0..options.customers).map(|_| Customer::new(&mut draws)).collect();
        Self {
            midnight: options.start,
            customers,
            draws,
            today: Vec::new(),
            next: 0,
            later: Vec::new(),
            number: 0,
            options,
        }
    }

    fn make_day(&mut self) {
        let (start, end) = (self.midnight, self.midnight + DAY);
        let day = (start - self.options.start) / DAY;
        self.midnight = end;
        self.next = 0;
        self.today.clear();
        self.today.append(&mut self.later);
        for (number, customer) in (0..).zip(&mut self.customers) {
            customer.live(number, day, start, self.options.terminals, &mut self.draws, &mut self.today);
            fraud::strike(number, customer, day, start, self.options.terminals, &mut self.draws, &mut self.today);
        }
        let (later, today) = (&mut self.later, &mut self.today);
        today.retain(|transaction| {
            let keep = transaction.time < end;
            if !keep {
                later.push(*transaction);
            }
            keep
        });
        today.sort_by_key(|transaction| (transaction.time, transaction.customer));
    }
}

impl Iterator for Simulator {
    type Item = Transaction;

    fn next(&mut self) -> Option<Transaction> {
        while self.next >= self.today.len() {
            self.make_day();
        }
        let mut transaction = *self.today.get(self.next)?;
        self.next += 1;
        transaction.number = self.number;
        self.number += 1;
        Some(transaction)
    }
}
