//! SCRAM-SHA-256 (RFC 5802, RFC 7677), the client's side: neither a listener nor the server learns the password, and the
//! server proves that it knows it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::hash::MessageDigest;
use openssl::pkcs5::pbkdf2_hmac;
use openssl::pkey::PKey;
use openssl::sha::sha256;
use openssl::sign::Signer;

/// As the server offers it.
pub(super) const MECHANISM: &str = "SCRAM-SHA-256";
/// Rounds that a server may ask for; PostgreSQL asks for 4,096.
const ROUNDS_MAX: usize = 1_000_000;
const NONCE_BYTES: usize = 18;

type Key = [u8; 32];

/// One log-in, from its first message on.
pub(super) struct Scram {
    password: String,
    nonce: String,
    /// The server's last word must be this.
    expected: Option<Key>,
}

/// The server does not do its part, or something else than PostgreSQL answers.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ScramError {
    #[error("the server's part of the log-in is none of {MECHANISM}")]
    Form,
    #[error("the server asks for {0} rounds of hashing, more than {ROUNDS_MAX}")]
    Rounds(usize),
    #[error("the server does not prove that it knows the password")]
    Proof,
    #[error("the server says of the log-in: {0}")]
    Refused(String),
    #[error("OpenSSL: {0}")]
    Library(String),
}

impl From<openssl::error::ErrorStack> for ScramError {
    fn from(error: openssl::error::ErrorStack) -> Self {
        Self::Library(error.to_string())
    }
}

impl Scram {
    pub fn new(password: &str) -> Result<Self, ScramError> {
        let mut nonce = [0; NONCE_BYTES];
        openssl::rand::rand_bytes(&mut nonce)?;
        Ok(Self::with_nonce(password, &STANDARD.encode(nonce)))
    }

    fn with_nonce(password: &str, nonce: &str) -> Self {
        Self { password: password.to_owned(), nonce: nonce.to_owned(), expected: None }
    }

    /// The client's first message. The user is the one of the connection.
    pub fn first(&self) -> String {
        format!("n,,{}", self.bare())
    }

    fn bare(&self) -> String {
        format!("n=,r={}", self.nonce)
    }

    /// The client's last message, to the server's first.
    pub fn last(&mut self, server_first: &str) -> Result<String, ScramError> {
        let mut parts = server_first.split(',');
        let mut part = |name: &str| parts.next().and_then(|part| part.strip_prefix(name)).ok_or(ScramError::Form);
        let (nonce, salt, rounds) = (part("r=")?, part("s=")?, part("i=")?);
        if nonce.len() <= self.nonce.len() || !nonce.starts_with(&self.nonce) {
            return Err(ScramError::Form);
        }
        let salt = STANDARD.decode(salt).map_err(|_| ScramError::Form)?;
        let rounds = rounds.parse().map_err(|_| ScramError::Form)?;
        if !(1..=ROUNDS_MAX).contains(&rounds) {
            return Err(ScramError::Rounds(rounds));
        }
        let mut salted = Key::default();
        pbkdf2_hmac(self.password.as_bytes(), &salt, rounds, MessageDigest::sha256(), &mut salted)?;
        let without_proof = format!("c=biws,r={nonce}");
        let all = format!("{},{server_first},{without_proof}", self.bare());
        let client = hmac(&salted, b"Client Key")?;
        let mut proof = hmac(&sha256(&client), all.as_bytes())?;
        proof.iter_mut().zip(client).for_each(|(byte, key)| *byte ^= key);
        self.expected = Some(hmac(&hmac(&salted, b"Server Key")?, all.as_bytes())?);
        Ok(format!("{without_proof},p={}", STANDARD.encode(proof)))
    }

    /// Whether the server's last message is its proof.
    pub fn finish(&mut self, server_last: &str) -> Result<(), ScramError> {
        if let Some(reason) = server_last.strip_prefix("e=") {
            return Err(ScramError::Refused(reason.to_owned()));
        }
        let proof = server_last.strip_prefix("v=").and_then(|proof| STANDARD.decode(proof).ok()).unwrap_or_default();
        let expected = self.expected.take().ok_or(ScramError::Form)?;
        let is_proof = proof.len() == expected.len() && openssl::memcmp::eq(&proof, &expected);
        if is_proof { Ok(()) } else { Err(ScramError::Proof) }
    }
}

fn hmac(key: &Key, text: &[u8]) -> Result<Key, ScramError> {
    let mut result = Key::default();
    let key = PKey::hmac(key)?;
    Signer::new(MessageDigest::sha256(), &key)?.sign_oneshot(&mut result, text)?;
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER_FIRST: &str = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    /// The example of RFC 7677, but for its user name, which PostgreSQL leaves out: then the proofs are others.
    #[test]
    fn the_example_of_the_standard_comes_out_and_a_wrong_proof_is_seen() {
        let mut scram = Scram::with_nonce("pencil", "rOprNGfwEbeRWgbNEkqO");
        assert_eq!(scram.first(), "n,,n=,r=rOprNGfwEbeRWgbNEkqO");
        let last = scram.last(SERVER_FIRST).unwrap();
        assert!(last.starts_with("c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p="), "{last}");
        let proof = format!("v={}", STANDARD.encode(scram.expected.unwrap()));
        assert_eq!(scram.finish("v=AAAA"), Err(ScramError::Proof));
        scram.last(SERVER_FIRST).unwrap();
        assert_eq!(scram.finish(&proof), Ok(()));
        // Once only.
        assert_eq!(scram.finish(&proof), Err(ScramError::Form));
    }

    #[test]
    fn what_is_no_answer_to_our_first_message_is_refused() {
        let last = |text: &str| Scram::with_nonce("pencil", "rOpr").last(text);
        for text in
            ["", "r=rOpr,s=W22Z,i=1", "r=other1,s=W22Z,i=1", "r=rOpr1,s=*,i=1", "r=rOpr1,s=W22Z", "r=rOpr1,s=W22Z,i=x"]
        {
            assert_eq!(last(text), Err(ScramError::Form), "{text}");
        }
        assert_eq!(last("r=rOpr1,s=W22Z,i=0"), Err(ScramError::Rounds(0)));
        assert_eq!(last("r=rOpr1,s=W22Z,i=2000000"), Err(ScramError::Rounds(2_000_000)));
        assert_eq!(
            Scram::with_nonce("p", "n").finish("e=other-error"),
            Err(ScramError::Refused("other-error".to_owned()))
        );
    }
}
