//! The authenticator data (WebAuthn Level 2, § 6.1), which the authenticator signs: for which site it acted, whether
//! the user was there and identified, a counter, and for a new credential its id and its key.

use super::WebauthnError;
use super::cbor;
use super::public_key::PublicKey;

const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 1 << 2;
const BACKUP_ELIGIBLE: u8 = 1 << 3;
const BACKED_UP: u8 = 1 << 4;
const HAS_CREDENTIAL: u8 = 1 << 6;
const HAS_EXTENSIONS: u8 = 1 << 7;

/// The model of the authenticator, which precedes the length of the credential id. The shop does not look at it.
const AAGUID_BYTES: usize = 16;
/// The longest credential id that the standard allows.
const MAX_CREDENTIAL_ID_BYTES: usize = 1023;

#[derive(Debug, PartialEq, Eq)]
pub struct AuthenticatorData<'a> {
    pub rp_id_hash: &'a [u8; 32],
    flags: u8,
    /// 0 if the authenticator does not count.
    pub sign_count: u32,
    pub credential: Option<Credential<'a>>,
}

/// A credential that was created.
#[derive(Debug, PartialEq, Eq)]
pub struct Credential<'a> {
    pub id: &'a [u8],
    /// The key as the authenticator sent it.
    pub cose_key: &'a [u8],
}

impl<'a> AuthenticatorData<'a> {
    /// `None` when the input is not valid, or something follows it.
    pub fn read(input: &'a [u8]) -> Option<AuthenticatorData<'a>> {
        let (rp_id_hash, rest) = input.split_first_chunk::<32>()?;
        let (&flags, rest) = rest.split_first()?;
        let (count, mut rest) = rest.split_first_chunk::<4>()?;
        let mut credential = None;
        if flags & HAS_CREDENTIAL != 0 {
            let (read, after) = Credential::read(rest)?;
            (credential, rest) = (Some(read), after);
        }
        if flags & HAS_EXTENSIONS != 0 {
            let (extensions, after) = cbor::read(rest)?;
            if !matches!(extensions, cbor::Value::Map(_)) {
                return None;
            }
            rest = after;
        }
        let is_consistent = flags & BACKED_UP == 0 || flags & BACKUP_ELIGIBLE != 0;
        let data = AuthenticatorData { rp_id_hash, flags, sign_count: u32::from_be_bytes(*count), credential };
        (rest.is_empty() && is_consistent).then_some(data)
    }

    /// Refuses data for another site, and authenticators that have not identified their user.
    pub fn check(&self, rp_id_hash: &[u8; 32]) -> Result<(), WebauthnError> {
        if self.rp_id_hash != rp_id_hash {
            return Err(WebauthnError::OtherSite);
        }
        match self.flags & (USER_PRESENT | USER_VERIFIED) == USER_PRESENT | USER_VERIFIED {
            true => Ok(()),
            false => Err(WebauthnError::UserNotVerified),
        }
    }
}

impl<'a> Credential<'a> {
    /// The credential and what follows it.
    fn read(input: &'a [u8]) -> Option<(Credential<'a>, &'a [u8])> {
        let (_, rest) = input.split_at_checked(AAGUID_BYTES)?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let length = usize::from(u16::from_be_bytes(*length));
        if !(1..=MAX_CREDENTIAL_ID_BYTES).contains(&length) {
            return None;
        }
        let (id, rest) = rest.split_at_checked(length)?;
        let (_, after) = cbor::read(rest)?;
        let cose_key = rest.get(..rest.len() - after.len())?;
        PublicKey::from_cose(cose_key)?;
        Some((Credential { id, cose_key }, after))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn data(flags: u8, rest: &[u8]) -> Vec<u8> {
        [&[9; 32][..], &[flags, 0, 0, 1, 2], rest].concat()
    }

    /// A credential with the id 1, 2, 3 and a key of Ed25519.
    fn credential() -> Vec<u8> {
        [&[0; 16][..], &[0, 3, 1, 2, 3], b"\xa4\x01\x01\x03\x27\x20\x06\x21\x58\x20", &[7; 32]].concat()
    }

    #[test]
    fn fields_are_where_the_standard_puts_them() {
        let bytes = data(0x45, &credential());
        let read = AuthenticatorData::read(&bytes).unwrap();
        assert_eq!((read.rp_id_hash, read.sign_count), (&[9; 32], 258));
        assert_eq!(read.credential.as_ref().unwrap().id, [1, 2, 3]);
        assert_eq!(read.credential.as_ref().unwrap().cose_key.len(), 42);
        assert_eq!(read.check(&[9; 32]), Ok(()));
        assert_eq!(read.check(&[8; 32]), Err(WebauthnError::OtherSite));
        for flags in [0x00, 0x01, 0x04] {
            let bytes = data(flags, &[]);
            let read = AuthenticatorData::read(&bytes).unwrap();
            assert_eq!(read.check(&[9; 32]), Err(WebauthnError::UserNotVerified), "{flags}");
        }
        let with_extensions = data(0x85, b"\xa1\x63abc\xf5");
        assert!(AuthenticatorData::read(&with_extensions).is_some());
    }

    #[test]
    fn data_that_is_cut_or_prolonged_is_refused() {
        let whole = data(0x45, &credential());
        for length in 0..whole.len() {
            assert_eq!(AuthenticatorData::read(&whole[..length]), None, "{length}");
        }
        for bytes in [
            [&whole[..], &[0]].concat(),
            data(0x05, &[0]),
            data(0x85, b"\x01"),
            data(0x85, b""),
            data(0x15, b""), // backed up, but not eligible
            data(0x45, &[&[0; 16][..], &[0, 0], &credential()[21..]].concat()),
        ] {
            assert_eq!(AuthenticatorData::read(&bytes), None, "{bytes:02x?}");
        }
    }

    proptest! {
        #[test]
        fn no_input_panics(input: Vec<u8>, flags: u8, rest: Vec<u8>) {
            AuthenticatorData::read(&input);
            AuthenticatorData::read(&data(flags, &rest));
            AuthenticatorData::read(&data(flags | HAS_CREDENTIAL, &[credential(), rest].concat()));
        }
    }
}
