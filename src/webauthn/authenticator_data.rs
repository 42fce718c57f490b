//! The authenticator data (WebAuthn Level 2, § 6.1), which the authenticator signs: for which site it acted, whether
//! the user was there and identified, a counter, and for a new credential its id and its public key.

use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};

use super::WebauthnError;
use super::cbor::{self, Value};

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

// Public keys of authenticators: a COSE key (RFC 9053) of one of three algorithms, and the signatures that it
// verifies.

/// The algorithms that a new passkey may have, by their numbers in COSE, the best first: EdDSA, ES256, and RS256, the
/// only one that older versions of Windows know.
pub const ALGORITHMS: [i64; 3] = [-8, -7, -257];

/// Labels of COSE keys.
const KEY_TYPE: i64 = 1;
const ALGORITHM: i64 = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublicKey {
    Ed25519([u8; 32]),
    /// The uncompressed point.
    P256([u8; 65]),
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
}

impl PublicKey {
    /// Reads a COSE key that has nothing behind it. Whether the point lies on its curve is only checked with the first
    /// signature.
    pub fn from_cose(input: &[u8]) -> Option<PublicKey> {
        let (map, rest) = cbor::read(input)?;
        rest.is_empty().then(|| PublicKey::of_map(&map))?
    }

    fn of_map(map: &Value<'_>) -> Option<PublicKey> {
        let parameter = |label: i64| map.bytes(&Value::Int(label));
        match (map.int(KEY_TYPE)?, map.int(ALGORITHM)?) {
            // Octet key pair; curve 6 is Ed25519.
            (1, -8) if map.int(-1)? == 6 => Some(PublicKey::Ed25519(parameter(-2)?.try_into().ok()?)),
            // Elliptic curve with both coordinates; curve 1 is P-256.
            (2, -7) if map.int(-1)? == 1 => {
                let (x, y): (&[u8; 32], &[u8; 32]) = (parameter(-2)?.try_into().ok()?, parameter(-3)?.try_into().ok()?);
                let mut point = [4; 65];
                point[1..33].copy_from_slice(x);
                point[33..].copy_from_slice(y);
                Some(PublicKey::P256(point))
            }
            (3, -257) => {
                let (modulus, exponent) = (parameter(-1)?, parameter(-2)?);
                let is_usual = (256..=1024).contains(&modulus.len()) && (1..=4).contains(&exponent.len());
                is_usual.then(|| PublicKey::Rsa { modulus: modulus.to_vec(), exponent: exponent.to_vec() })
            }
            _ => None,
        }
    }

    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            PublicKey::Ed25519(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature),
            PublicKey::P256(key) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key).verify(message, signature),
            PublicKey::Rsa { modulus, exponent } => {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
        }
        .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};

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

    fn ed25519(key: &[u8]) -> Vec<u8> {
        [b"\xa4\x01\x01\x03\x27\x20\x06\x21\x58\x20", key].concat()
    }

    fn p256(x: &[u8], y: &[u8]) -> Vec<u8> {
        [b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20", x, b"\x22\x58\x20", y].concat()
    }

    #[test]
    fn signatures_verify_with_their_own_key_and_message_only() {
        let random = SystemRandom::new();
        let pair = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(pair.as_ref()).unwrap();
        let key = PublicKey::from_cose(&ed25519(pair.public_key().as_ref())).unwrap();
        let signature = pair.sign(b"message");
        assert!(key.verifies(b"message", signature.as_ref()));
        assert!(!key.verifies(b"massage", signature.as_ref()));

        let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pair.as_ref(), &random).unwrap();
        let point = pair.public_key().as_ref();
        let key = PublicKey::from_cose(&p256(&point[1..33], &point[33..])).unwrap();
        let signature = pair.sign(&random, b"message").unwrap();
        assert!(key.verifies(b"message", signature.as_ref()));
        assert!(!key.verifies(b"massage", signature.as_ref()));
        assert!(!key.verifies(b"message", &signature.as_ref()[1..]));
        // These bytes are not a point of the curve.
        let broken = PublicKey::from_cose(&p256(&[1; 32], &[1; 32])).unwrap();
        assert!(!broken.verifies(b"message", signature.as_ref()));
    }

    #[test]
    fn keys_of_other_algorithms_and_sizes_are_refused() {
        let key = ed25519(&[7; 32]);
        assert!(PublicKey::from_cose(&key).is_some());
        assert_eq!(PublicKey::from_cose(&[key.clone(), vec![0]].concat()), None, "something follows");
        assert_eq!(PublicKey::from_cose(&key[..key.len() - 1]), None);
        // ES384 says P-256, Ed448 says EdDSA, ES256 has the type of EdDSA.
        for (at, byte) in [(4, 0x38), (6, 0x07), (2, 0x02)] {
            let mut altered = key.clone();
            altered[at] = byte;
            assert_eq!(PublicKey::from_cose(&altered), None, "{at}");
        }
        let rsa = |bytes: u16| {
            let length = bytes.to_be_bytes();
            let modulus = vec![0xc1; bytes.into()];
            [&b"\xa4\x01\x03\x03\x39\x01\x00\x20\x59"[..], &length, &modulus, b"\x21\x43\x01\x00\x01"].concat()
        };
        assert!(PublicKey::from_cose(&rsa(256)).is_some());
        assert_eq!(PublicKey::from_cose(&rsa(255)), None, "below 2,048 bits");
    }

    proptest! {
        #[test]
        fn no_key_and_no_signature_panics(input: Vec<u8>, key: [u8; 64], signature: Vec<u8>) {
            PublicKey::from_cose(&input);
            for cose in [ed25519(&key[..32]), p256(&key[..32], &key[32..])] {
                prop_assert!(!PublicKey::from_cose(&cose).unwrap().verifies(&input, &signature));
            }
        }
    }
}
