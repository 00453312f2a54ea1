//! Signatures, made here with `OpenSSL`'s Ed25519 and `BLAKE2b` as minisign makes them.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::hash::{MessageDigest, hash};
use openssl::pkey::{Id, PKey, Private};
use openssl::sign::Signer;

const KEY_ID: [u8; 8] = *b"verdictd";

struct Key(PKey<Private>);

impl Key {
    fn new() -> Self {
        Self(PKey::generate_ed25519().unwrap())
    }

    fn public(&self) -> String {
        let raw = self.0.raw_public_key().unwrap();
        assert_eq!(self.0.id(), Id::ED25519);
        format!("untrusted comment: a key\n{}\n", STANDARD.encode([b"Ed", &KEY_ID[..], &raw].concat()))
    }

    fn sign(&self, bytes: &[u8]) -> String {
        let one = |bytes: &[u8]| Signer::new_without_digest(&self.0).unwrap().sign_oneshot_to_vec(bytes).unwrap();
        let digest = hash(MessageDigest::from_name("BLAKE2b512").unwrap(), bytes).unwrap();
        let signature = one(&digest);
        let comment = "timestamp:1";
        let global = one(&[&signature[..], comment.as_bytes()].concat());
        format!(
            "untrusted comment: signature\n{}\ntrusted comment: {comment}\n{}\n",
            STANDARD.encode([b"ED", &KEY_ID[..], &signature].concat()),
            STANDARD.encode(global)
        )
    }
}

#[test]
fn with_a_key_only_its_own_unaltered_bundles_load() {
    let (made, key) = (Made::new(), Key::new());
    made.write();
    let public = made.path("models.pub");
    std::fs::write(&public, key.public()).unwrap();
    let options = LoadOptions { public_key: Some(public.clone()), ..LoadOptions::default() };
    let load = || load(made.dir.path(), &options).map(|bundle| bundle.label).map_err(|error| error.to_string());
    let manifest = std::fs::read(made.path("model.toml")).unwrap();
    let sign = |key: &Key| std::fs::write(made.path(SIGNATURE_FILE), key.sign(&manifest)).unwrap();

    let unsigned = load().unwrap_err();
    assert!(unsigned.contains("model.toml.minisig: expected a minisign signature of model.toml"), "{unsigned}");
    sign(&key);
    assert_eq!(load().unwrap(), "test@1");
    // The thresholds are part of what is signed.
    let altered = String::from_utf8(manifest.clone()).unwrap().replace("block = 0.9", "block = 0.99");
    std::fs::write(made.path("model.toml"), altered).unwrap();
    assert!(load().unwrap_err().contains("expected a signature of this model.toml by the configured public key"));
    std::fs::write(made.path("model.toml"), &manifest).unwrap();
    sign(&Key::new());
    assert!(load().unwrap_err().contains("expected a signature of this model.toml by the configured public key"));
    std::fs::write(made.path(SIGNATURE_FILE), "untrusted").unwrap();
    assert!(load().unwrap_err().contains("expected a minisign signature"));
    sign(&key);
    assert!(load().is_ok());
    std::fs::write(&public, "not a key").unwrap();
    assert!(load().unwrap_err().contains("models.pub: expected a minisign public key"));
    // The base64 line alone is a key too.
    std::fs::write(&public, key.public().lines().nth(1).unwrap()).unwrap();
    assert!(load().is_ok());
}
