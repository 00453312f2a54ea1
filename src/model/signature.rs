//! minisign signatures over a bundle's manifest, which holds the hash of its weights.

use super::ModelError;
use super::load::read_limited;
use minisign_verify::{PublicKey, Signature};
use std::path::Path;

/// Name of the signature in a bundle's directory.
pub const SIGNATURE_FILE: &str = "model.toml.minisig";
/// Largest key or signature file read.
const FILE_BYTES_MAX: u64 = 16 << 10;

/// Reads a public key file as minisign writes it, or its base64 line alone.
///
/// # Errors
/// When it cannot be read or is no such key.
pub fn read_public_key(file: &Path) -> Result<PublicKey, ModelError> {
    let refused = || ModelError::Refused {
        file: file.to_owned(),
        what: "expected a minisign public key (an \"untrusted comment\" line and a base64 line)".to_owned(),
    };
    let text =
        String::from_utf8(read_limited(file, FILE_BYTES_MAX, "cannot read the public key")?).map_err(|_| refused())?;
    let text = text.trim();
    PublicKey::decode(text).or_else(|_| PublicKey::from_base64(text)).map_err(|_| refused())
}

/// What a good signature vouches for, by which a bundle is told from an older one of its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seal {
    /// `serial` of the manifest.
    pub serial: Option<u64>,
    /// `timestamp:` of the trusted comment, which is signed with the rest: seconds since 1970 by the signer's clock.
    pub signed_at: Option<u64>,
}

/// Checks the signature beside `manifest_file` over `manifest`. Only minisign's own pre-hashed form (its
/// default since 2020) is taken. Gives the time that its trusted comment holds, if it holds one.
pub(super) fn verify(key: &PublicKey, manifest_file: &Path, manifest: &[u8]) -> Result<Option<u64>, ModelError> {
    let file = manifest_file.with_file_name(SIGNATURE_FILE);
    if !file.exists() {
        let what = "expected a minisign signature of model.toml, because a public key is configured; found none";
        return Err(ModelError::Refused { file, what: what.to_owned() });
    }
    let bytes = read_limited(&file, FILE_BYTES_MAX, "cannot read the signature")?;
    let signature = String::from_utf8(bytes).ok().and_then(|text| Signature::decode(&text).ok());
    let Some(signature) = signature else {
        return Err(ModelError::Refused { file, what: "expected a minisign signature".to_owned() });
    };
    key.verify(manifest, &signature, false).map_err(|error| ModelError::Refused {
        file,
        what: format!("expected a signature of this model.toml by the configured public key: {error}"),
    })?;
    Ok(signed_at(signature.trusted_comment()))
}

/// minisign writes `timestamp:1633700835<tab>file:test<tab>hashed` unless it is told otherwise.
fn signed_at(trusted_comment: &str) -> Option<u64> {
    trusted_comment.split('\t').find_map(|part| part.strip_prefix("timestamp:"))?.parse().ok()
}
