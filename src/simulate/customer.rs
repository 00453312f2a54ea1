//! A customer's habits and the genuine transactions they make.

use super::rng::Draws;
use super::transaction::{Category, Entry, Scenario, Transaction, Verified};

/// Chance a day that a customer at home leaves on a trip.
const TRIP_CHANCE: f64 = 0.012;
/// Above this many cents a contactless payment asks for the card to be inserted.
const CONTACTLESS_MAX: u32 = 5_000;

#[derive(Clone, Debug)]
pub(super) struct Customer {
    /// Transactions a day.
    rate: f64,
    /// What they usually spend, in cents.
    pub median: f64,
    /// Share of what they buy online.
    online: f64,
    /// Age of the card on the first day.
    card_age: u16,
    /// On a trip until this day.
    away_until: i64,
    /// From home on that trip, in km.
    away: f64,
    abroad: bool,
}

impl Customer {
    pub fn new(draws: &mut Draws) -> Self {
        Self {
            rate: draws.between(0.3, 3.7),
            median: draws.lognormal(2_600.0, 0.45),
            online: draws.between(0.05, 0.5),
            card_age: u16::try_from(draws.below(1_000)).unwrap_or(0),
            away_until: 0,
            away: 0.0,
            abroad: false,
        }
    }

    /// The card's age on a day; a card lasts 1,000 days and is then issued anew.
    pub fn age(&self, day: i64) -> u16 {
        u16::try_from((i64::from(self.card_age) + day).rem_euclid(1_000)).unwrap_or(0)
    }

    /// Adds a day's transactions, in no order.
    pub fn live(
        &mut self,
        number: u32,
        day: i64,
        midnight: i64,
        terminals: u32,
        draws: &mut Draws,
        out: &mut Vec<Transaction>,
    ) {
        if day >= self.away_until && draws.chance(TRIP_CHANCE) {
            self.away_until = day + 1 + i64::from(draws.below(8));
            self.away = draws.lognormal(220.0, 0.9);
            self.abroad = draws.chance(0.3);
        }
        for _ in 0..draws.poisson(self.rate) {
            let mut transaction = if draws.chance(self.online) { online(draws) } else { self.in_person(day, draws) };
            let factor = factor(transaction.category);
            // Now and then something big: a sofa, a wedding.
            let splurge = if draws.chance(0.015) { 5.0 } else { 1.0 };
            transaction.amount = cents(draws.lognormal(self.median * factor * splurge, 0.65));
            if transaction.entry == Entry::Contactless && transaction.amount > CONTACTLESS_MAX {
                transaction.entry = Entry::Chip;
                transaction.verified = Verified::Pin;
            }
            if transaction.verified == Verified::Pin {
                transaction.pin_tries = pin_tries(0.035, draws);
            }
            transaction.time = midnight + time_of_day(transaction.entry == Entry::Ecommerce, draws);
            transaction.customer = number;
            transaction.terminal = draws.below(terminals);
            transaction.card_age = self.age(day);
            out.push(transaction);
        }
    }

    fn in_person(&self, day: i64, draws: &mut Draws) -> Transaction {
        let away = day < self.away_until;
        let around = draws.lognormal(4.0, 0.9);
        let (entry, verified) = match draws.unit() {
            u if u < 0.50 => (Entry::Contactless, Verified::None),
            u if u < 0.94 => (Entry::Chip, Verified::Pin),
            u if u < 0.96 => (Entry::Chip, Verified::Signature),
            // Old terminals abroad and at home read the stripe; a few chips are worn out.
            u if u < 0.988 => (Entry::Magstripe, Verified::Signature),
            u if u < 0.994 => (Entry::Fallback, Verified::Signature),
            _ => (Entry::Fallback, Verified::Pin),
        };
        let category = pick(
            draws,
            &[
                (Category::Grocery, 0.40),
                (Category::Restaurant, 0.22),
                (Category::Fuel, 0.12),
                (Category::Fashion, 0.10),
                (Category::Cash, 0.08),
                (Category::Electronics, 0.04),
                (Category::Travel, 0.03),
                (Category::Jewellery, 0.01),
            ],
        );
        Transaction {
            entry,
            verified,
            category,
            distance: tenths(if away { self.away + around } else { around }),
            home_country: !(away && self.abroad),
            ..blank()
        }
    }
}

fn online(draws: &mut Draws) -> Transaction {
    let category = pick(
        draws,
        &[
            (Category::Digital, 0.42),
            (Category::Fashion, 0.22),
            (Category::Electronics, 0.12),
            (Category::Travel, 0.12),
            (Category::Grocery, 0.12),
        ],
    );
    let verified = if draws.chance(0.55) { Verified::Issuer } else { Verified::None };
    Transaction { entry: Entry::Ecommerce, verified, category, home_country: draws.chance(0.78), ..blank() }
}

/// How much more or less than the usual amount a category takes.
fn factor(category: Category) -> f64 {
    match category {
        Category::Grocery => 1.0,
        Category::Fuel => 1.6,
        Category::Restaurant => 0.8,
        Category::Fashion => 1.8,
        Category::Electronics => 4.0,
        Category::Jewellery => 6.0,
        Category::Travel => 5.0,
        Category::Digital => 0.22,
        Category::Cash => 3.0,
    }
}

pub(super) fn blank() -> Transaction {
    Transaction {
        number: 0,
        time: 0,
        customer: 0,
        terminal: 0,
        amount: 0,
        entry: Entry::Chip,
        category: Category::Grocery,
        verified: Verified::None,
        distance: 0,
        home_country: true,
        pin_tries: 0,
        card_age: 0,
        scenario: Scenario::Genuine,
    }
}

pub(super) fn pin_tries(wrong: f64, draws: &mut Draws) -> u8 {
    1 + u8::from(draws.chance(wrong)) + u8::from(draws.chance(wrong * 0.4))
}

/// Seconds since midnight: around noon and the evening in person, later online.
fn time_of_day(online: bool, draws: &mut Draws) -> i64 {
    let (hour, spread) = match (online, draws.chance(0.5)) {
        (false, true) => (12.0, 2.6),
        (false, false) => (18.0, 2.4),
        (true, true) => (20.5, 3.0),
        (true, false) => (14.0, 6.0),
    };
    seconds(hour + spread * draws.normal())
}

/// An hour of any day, before or after, as seconds of this one.
pub(super) fn seconds(hour: f64) -> i64 {
    // Within 0 to 86,400.
    #[allow(clippy::cast_possible_truncation)]
    let seconds = (hour.rem_euclid(24.0) * 3_600.0) as i64;
    seconds.min(super::DAY - 1)
}

/// A positive amount in whole cents, up to 99,999.99.
pub(super) fn cents(amount: f64) -> u32 {
    // Clamped: in range.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let cents = amount.round().clamp(1.0, 9_999_999.0) as u32;
    cents
}

/// Kilometres to tenths, up to 20,000 km.
pub(super) fn tenths(km: f64) -> u32 {
    // Clamped: in range.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let tenths = (km * 10.0).round().clamp(0.0, 200_000.0) as u32;
    tenths
}

/// One of several by weight; the weights sum to 1.
pub(super) fn pick<T: Copy>(draws: &mut Draws, choices: &[(T, f64)]) -> T {
    let mut left = draws.unit();
    let mut last = choices[0].0;
    for (choice, weight) in choices {
        last = *choice;
        left -= weight;
        if left < 0.0 {
            break;
        }
    }
    last
}
