//! One simulated card transaction and the event it makes.

use std::io::Write;

/// How the card was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    Chip,
    Contactless,
    Magstripe,
    /// The magnetic stripe, after the chip could not be read.
    Fallback,
    Ecommerce,
}

/// How the holder was verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verified {
    Pin,
    Signature,
    /// The issuer's own question, online (3-D Secure).
    Issuer,
    None,
}

/// What the merchant sells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    Grocery,
    Fuel,
    Restaurant,
    Fashion,
    Electronics,
    Jewellery,
    Travel,
    Digital,
    Cash,
}

/// Where a transaction comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    Genuine,
    /// A stolen card: far from home, high amounts, the PIN guessed.
    Stolen,
    /// A stolen card number tried out online: tiny amounts, mostly at night.
    Testing,
    /// A copied magnetic stripe used where the chip "fails".
    Cloned,
}

impl Entry {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chip => "chip",
            Self::Contactless => "contactless",
            Self::Magstripe => "magstripe",
            Self::Fallback => "fallback",
            Self::Ecommerce => "ecommerce",
        }
    }
}

impl Verified {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pin => "pin",
            Self::Signature => "signature",
            Self::Issuer => "issuer",
            Self::None => "none",
        }
    }
}

impl Category {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Grocery => "grocery",
            Self::Fuel => "fuel",
            Self::Restaurant => "restaurant",
            Self::Fashion => "fashion",
            Self::Electronics => "electronics",
            Self::Jewellery => "jewellery",
            Self::Travel => "travel",
            Self::Digital => "digital",
            Self::Cash => "cash",
        }
    }
}

impl Scenario {
    /// 0 genuine, 1 stolen, 2 testing, 3 cloned.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Genuine => 0,
            Self::Stolen => 1,
            Self::Testing => 2,
            Self::Cloned => 3,
        }
    }

    #[must_use]
    pub fn is_fraud(self) -> bool {
        self != Self::Genuine
    }
}

/// A transaction. What a bank would only learn later ([`Self::scenario`]) is not in its event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transaction {
    /// From 0, in the order of time.
    pub number: u64,
    /// Seconds since 1970.
    pub time: i64,
    pub customer: u32,
    pub terminal: u32,
    /// In cents.
    pub amount: u32,
    pub entry: Entry,
    pub category: Category,
    pub verified: Verified,
    /// From the holder's home, in tenths of a kilometre; 0 online.
    pub distance: u32,
    pub home_country: bool,
    /// Tries at the PIN, 0 where none was asked for.
    pub pin_tries: u8,
    /// Days since the card was issued.
    pub card_age: u16,
    pub scenario: Scenario,
}

impl Transaction {
    /// 1 for fraud, else 0.
    #[must_use]
    pub fn label(&self) -> u8 {
        u8::from(self.scenario.is_fraud())
    }

    /// Appends the event as one JSON object, about 300 bytes, without a line end.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"TRANSACTION_ID\":\"");
        write_whole(self.number, out);
        out.extend_from_slice(b"\",\"TX_DATETIME\":\"");
        write_time(self.time, out);
        out.extend_from_slice(b"\",\"CUSTOMER_ID\":\"");
        write_whole(u64::from(self.customer), out);
        out.extend_from_slice(b"\",\"TERMINAL_ID\":\"");
        write_whole(u64::from(self.terminal), out);
        out.extend_from_slice(b"\",\"TX_AMOUNT\":");
        write_whole(u64::from(self.amount / 100), out);
        out.push(b'.');
        write_two(self.amount % 100, out);
        out.extend_from_slice(b",\"CURRENCY\":\"EUR\",\"ENTRY_MODE\":\"");
        out.extend_from_slice(self.entry.name().as_bytes());
        out.extend_from_slice(b"\",\"CARDHOLDER_VERIFICATION\":\"");
        out.extend_from_slice(self.verified.name().as_bytes());
        out.extend_from_slice(b"\",\"PIN_TRIES\":");
        write_whole(u64::from(self.pin_tries), out);
        out.extend_from_slice(b",\"MERCHANT_CATEGORY\":\"");
        out.extend_from_slice(self.category.name().as_bytes());
        out.extend_from_slice(b"\",\"HOME_DISTANCE_KM\":");
        write_whole(u64::from(self.distance / 10), out);
        out.push(b'.');
        write_whole(u64::from(self.distance % 10), out);
        out.extend_from_slice(b",\"HOME_COUNTRY\":");
        out.extend_from_slice(if self.home_country { b"true" } else { b"false" });
        out.extend_from_slice(b",\"CARD_AGE_DAYS\":");
        write_whole(u64::from(self.card_age), out);
        out.push(b'}');
    }

    /// The same with `TX_FRAUD` (0 or 1) and `TX_FRAUD_SCENARIO` (0 to 3) in it, for training.
    pub fn write_json_labelled(&self, out: &mut Vec<u8>) {
        self.write_json(out);
        out.pop();
        let _ = write!(out, ",\"TX_FRAUD\":{},\"TX_FRAUD_SCENARIO\":{}}}", self.label(), self.scenario.number());
    }
}

// Digits by hand: with `write!` the texts cost more than the simulation.
fn write_whole(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10).to_le_bytes()[0];
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

fn write_two(number: u32, out: &mut Vec<u8>) {
    out.push(b'0' + (number / 10 % 10).to_le_bytes()[0]);
    out.push(b'0' + (number % 10).to_le_bytes()[0]);
}

/// RFC 3339 in UTC, for the years 1970 to 9999.
fn write_time(time: i64, out: &mut Vec<u8>) {
    let (days, seconds) = (time.div_euclid(86_400), time.rem_euclid(86_400));
    // The proleptic Gregorian calendar by eras of 400 years, counted from 0000-03-01.
    let day = days + 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, late) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + late;
    let two = |number: i64, out: &mut Vec<u8>| write_two(u32::try_from(number).unwrap_or(0), out);
    two(year / 100, out);
    two(year % 100, out);
    out.push(b'-');
    two(month, out);
    out.push(b'-');
    two(date, out);
    out.push(b'T');
    two(seconds / 3_600, out);
    out.push(b':');
    two(seconds / 60 % 60, out);
    out.push(b':');
    two(seconds % 60, out);
    out.push(b'Z');
}
