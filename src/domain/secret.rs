//! A secret that the shop commits to before it matters, and reveals afterwards. The commitment keeps the shop from
//! choosing another secret once it knows which accounts would gain by it.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::hex;
use super::ids::InvalidId;

/// 32 random bytes. They are stored and published as hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CommittedSecret([u8; 32]);

impl CommittedSecret {
    pub fn new(bytes: [u8; 32]) -> CommittedSecret {
        CommittedSecret(bytes)
    }

    /// SHA-256 of the bytes, in hexadecimal digits. It binds the shop to the secret without revealing it.
    pub fn commitment(&self) -> String {
        hex::encode(&Sha256::digest(self.0))
    }

    pub fn to_hex(self) -> String {
        hex::encode(&self.0)
    }

    pub(super) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Hides the secret from logs.
impl fmt::Debug for CommittedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CommittedSecret(…)")
    }
}

impl FromStr for CommittedSecret {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<CommittedSecret, InvalidId> {
        hex::decode(text).map(CommittedSecret).ok_or(InvalidId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_survives_its_text_and_is_hidden_from_logs() {
        let secret = CommittedSecret::new(std::array::from_fn(|n| n as u8 * 8));
        assert_eq!(secret.to_hex().parse(), Ok(secret));
        assert!(!format!("{secret:?}").contains("08"));
        for wrong in ["", "00", &"g".repeat(64), &"0".repeat(63), &"é".repeat(32)] {
            assert!(wrong.parse::<CommittedSecret>().is_err(), "{wrong}");
        }
    }
}
