//! Public keys of authenticators: a COSE key (RFC 9053) of one of three algorithms, and the signatures that it
//! verifies.

use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};

use super::cbor::{self, Value};

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
