//! Three kinds of fraud, each a short series on one customer's card.

use super::customer::{Customer, blank, cents, pick, pin_tries, seconds, tenths};
use super::rng::Draws;
use super::transaction::{Category, Entry, Scenario, Transaction, Verified};

/// Chances a day that a customer's card is stolen, tried out, or cloned.
const STOLEN_CHANCE: f64 = 0.0016;
const TESTING_CHANCE: f64 = 0.0012;
const CLONED_CHANCE: f64 = 0.0016;

/// Perhaps begins a fraud today; its transactions may lie past midnight.
pub(super) fn strike(
    number: u32,
    customer: &Customer,
    day: i64,
    midnight: i64,
    terminals: u32,
    draws: &mut Draws,
    out: &mut Vec<Transaction>,
) {
    let (chance, first) = (draws.unit(), out.len());
    if chance < STOLEN_CHANCE {
        stolen(customer, midnight, draws, out);
    } else if chance < STOLEN_CHANCE + TESTING_CHANCE {
        testing(midnight, draws, out);
    } else if chance < STOLEN_CHANCE + TESTING_CHANCE + CLONED_CHANCE {
        cloned(customer, midnight, draws, out);
    }
    for transaction in out.iter_mut().skip(first) {
        transaction.customer = number;
        transaction.terminal = draws.below(terminals);
        transaction.card_age = customer.age(day);
    }
}

fn stolen(customer: &Customer, midnight: i64, draws: &mut Draws, out: &mut Vec<Transaction>) {
    // Some thieves stay near, where nothing but the amounts gives them away.
    let usual = if draws.chance(0.2) { 12.0 } else { 160.0 };
    let away = draws.lognormal(usual, 0.8);
    let home_country = draws.chance(0.65);
    let mut time = midnight + seconds(draws.between(0.0, 24.0));
    for _ in 0..=draws.below(6) {
        let category = pick(
            draws,
            &[
                (Category::Electronics, 0.30),
                (Category::Cash, 0.22),
                (Category::Jewellery, 0.18),
                (Category::Fashion, 0.20),
                (Category::Fuel, 0.10),
            ],
        );
        let (entry, verified) = match draws.unit() {
            u if u < 0.55 => (Entry::Chip, Verified::Pin),
            u if u < 0.75 => (Entry::Chip, Verified::Signature),
            u if u < 0.90 => (Entry::Contactless, Verified::None),
            _ => (Entry::Magstripe, Verified::Signature),
        };
        let pin_tries = if verified == Verified::Pin { pin_tries(0.55, draws) } else { 0 };
        let amount = if entry == Entry::Contactless {
            draws.between(2_500.0, 5_000.0)
        } else {
            draws.lognormal(customer.median * 7.0, 0.7)
        };
        out.push(Transaction {
            time,
            amount: cents(amount),
            entry,
            category,
            verified,
            distance: tenths(away + draws.lognormal(3.0, 0.8)),
            home_country,
            pin_tries,
            scenario: Scenario::Stolen,
            ..blank()
        });
        time += seconds(draws.between(0.1, 5.0));
    }
}

fn testing(midnight: i64, draws: &mut Draws, out: &mut Vec<Transaction>) {
    let hour = if draws.chance(0.75) { draws.between(0.0, 5.5) } else { draws.between(0.0, 24.0) };
    let mut time = midnight + seconds(hour);
    let home_country = draws.chance(0.35);
    for _ in 0..3 + draws.below(6) {
        let category = pick(draws, &[(Category::Digital, 0.75), (Category::Grocery, 0.10), (Category::Fashion, 0.15)]);
        out.push(Transaction {
            time,
            amount: cents(draws.lognormal(130.0, 0.6)),
            entry: Entry::Ecommerce,
            category,
            verified: if draws.chance(0.06) { Verified::Issuer } else { Verified::None },
            home_country,
            scenario: Scenario::Testing,
            ..blank()
        });
        time += seconds(draws.between(0.005, 0.1));
    }
}

fn cloned(customer: &Customer, midnight: i64, draws: &mut Draws, out: &mut Vec<Transaction>) {
    let mut time = midnight + seconds(draws.between(7.0, 23.0));
    let away = draws.lognormal(25.0, 0.9);
    for _ in 0..2 + draws.below(4) {
        let category = pick(
            draws,
            &[
                (Category::Cash, 0.35),
                (Category::Electronics, 0.20),
                (Category::Fuel, 0.20),
                (Category::Fashion, 0.15),
                (Category::Grocery, 0.10),
            ],
        );
        // Where the PIN was filmed it is right at once.
        let verified = if draws.chance(0.3) { Verified::Pin } else { Verified::Signature };
        out.push(Transaction {
            time,
            amount: cents(draws.lognormal(customer.median * 3.2, 0.7)),
            entry: if draws.chance(0.72) { Entry::Fallback } else { Entry::Magstripe },
            category,
            verified,
            distance: tenths(away + draws.lognormal(3.0, 0.8)),
            home_country: draws.chance(0.9),
            pin_tries: if verified == Verified::Pin { pin_tries(0.03, draws) } else { 0 },
            scenario: Scenario::Cloned,
            ..blank()
        });
        time += seconds(draws.between(0.3, 20.0));
    }
}
