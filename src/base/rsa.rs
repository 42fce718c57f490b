//! RSA keys of payment providers: SHA-256 with PKCS #1 v1.5, signatures in base64.

use std::fmt;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::rsa::KeyPair;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, UnparsedPublicKey};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer};

const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
/// The version of a certificate, which the first version leaves out.
const VERSION: u8 = 0xa0;

/// A private key.
#[derive(Clone)]
pub struct SigningKey(Arc<KeyPair>);

/// The public key of a signer, as PKCS #1 has it.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifyingKey(Vec<u8>);

impl SigningKey {
    /// Reads PKCS #8 or PKCS #1, in PEM or as the base64 alone.
    ///
    /// # Errors
    /// The error does not show the key.
    pub fn parse(text: &str) -> anyhow::Result<SigningKey> {
        let der = match PrivateKeyDer::from_pem_slice(text.as_bytes()) {
            Ok(PrivateKeyDer::Pkcs1(key)) => key.secret_pkcs1_der().to_vec(),
            Ok(PrivateKeyDer::Pkcs8(key)) => key.secret_pkcs8_der().to_vec(),
            Ok(_) => return Err(anyhow!("this is not an RSA key")),
            Err(_) => bare(text).context("expected a private key in PEM (-----BEGIN PRIVATE KEY-----)")?,
        };
        let pair = KeyPair::from_pkcs8(&der).or_else(|_| KeyPair::from_der(&der));
        Ok(SigningKey(Arc::new(pair.map_err(|error| anyhow!("not a private RSA key of at least 2048 bits: {error}"))?)))
    }

    pub fn sign(&self, message: &[u8]) -> anyhow::Result<String> {
        let mut signature = vec![0; self.0.public().modulus_len()];
        let signed = self.0.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature);
        signed.map_err(|_| anyhow!("the RSA key cannot sign"))?;
        Ok(STANDARD.encode(signature))
    }
}

impl VerifyingKey {
    /// Reads a public key or a certificate in PEM, or the base64 of a public key alone.
    pub fn parse(text: &str) -> anyhow::Result<VerifyingKey> {
        let bytes = text.as_bytes();
        let key = match (SubjectPublicKeyInfoDer::from_pem_slice(bytes), CertificateDer::from_pem_slice(bytes)) {
            (Ok(info), _) => key_in_info(&info),
            (_, Ok(certificate)) => key_in_certificate(&certificate),
            _ => key_in_info(&bare(text).context("expected a public key in PEM (-----BEGIN PUBLIC KEY-----)")?),
        };
        Ok(VerifyingKey(key.context("not a public RSA key")?))
    }

    /// Whether the signature, in base64, fits the message.
    pub fn verifies(&self, message: &[u8], signature: &str) -> bool {
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.0);
        STANDARD.decode(signature).is_ok_and(|signature| key.verify(message, &signature).is_ok())
    }
}

fn bare(text: &str) -> Option<Vec<u8>> {
    let text: String = text.split_ascii_whitespace().collect();
    STANDARD.decode(text).ok().filter(|bytes| !bytes.is_empty())
}

/// `SubjectPublicKeyInfo`: the algorithm, then the key.
fn key_in_info(info: &[u8]) -> Option<Vec<u8>> {
    let (content, _) = element(SEQUENCE, info)?;
    let (_, rest) = element(SEQUENCE, content)?;
    let (bits, _) = element(BIT_STRING, rest)?;
    // The number of unused bits comes first. What is left has to be a sequence of two numbers.
    let key = bits.strip_prefix(&[0])?;
    element(SEQUENCE, key).filter(|(_, rest)| rest.is_empty()).map(|_| key.to_vec())
}

/// `Certificate`: version, number, signature algorithm, issuer, validity, subject, and then the key.
fn key_in_certificate(certificate: &[u8]) -> Option<Vec<u8>> {
    let (content, _) = element(SEQUENCE, certificate)?;
    let (mut rest, _) = element(SEQUENCE, content)?;
    if rest.first() == Some(&VERSION) {
        rest = element(VERSION, rest)?.1;
    }
    for _ in 0..5 {
        rest = element(*rest.first()?, rest)?.1;
    }
    key_in_info(rest)
}

/// The content of the DER element at the beginning, and what follows it.
fn element(tag: u8, input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&first, rest) = input.strip_prefix(&[tag])?.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81 | 0x82 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VerifyingKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = include_str!("../../tests/providers/keys/merchant.key");
    const SIGNER: &str = include_str!("../../tests/providers/keys/platform_a.key");
    const CERTIFICATE: &str = include_str!("../../tests/providers/keys/platform_a.pem");
    /// The key of the certificate, by itself: `openssl x509 -pubkey`.
    const PUBLIC_KEY: &str = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA0GahBIf/mGeDYG7KhR5QhOlYB54b2+sSGNa3jw/M342TbnYxt/DwbQ2R\
        9Vy8L66Ijw7mTskxmnIDOTMPbMCU3mYVaKAaVKzJEFM9d9nGwcRKxOHci1/MPyJBkRav4gChfUC4bjdbs6+Cm1ytBQ2XBhSgY6Ny\
        wyPabcVF0Vmm/b87zGSeMYUVOgfPnAHTX+4rJsvQguV6Jb/Ox5VHiJzwQuspEXAhbeUqlV58/JwDAafTKdKZ1WdpTZk9zqJ2UDa8\
        98sDE6nJ6oK0Zhev2eNm/3mYgQPmQpJ7xKpbT/HkVtbFO5xQR8DCH3l6CHZPOfWeFdoRVKeLp7gtuVIDZBICEwIDAQAB";

    #[test]
    fn key_is_read_in_every_form_that_providers_give() {
        let bare = |pem: &str| pem.lines().filter(|line| !line.starts_with("--")).collect::<String>();
        let signer = SigningKey::parse(SIGNER).unwrap();
        let signature = signer.sign(b"a text").unwrap();
        assert_eq!(SigningKey::parse(&bare(SIGNER)).unwrap().sign(b"a text").unwrap(), signature);
        // PKCS #1 is what PKCS #8 wraps.
        let pkcs8 = STANDARD.decode(bare(SIGNER)).unwrap();
        let pkcs1 = STANDARD.encode(&pkcs8[26..]);
        let pem = format!("-----BEGIN RSA PRIVATE KEY-----\n{pkcs1}\n-----END RSA PRIVATE KEY-----\n");
        for text in [pkcs1, pem] {
            assert_eq!(SigningKey::parse(&text).unwrap().sign(b"a text").unwrap(), signature);
        }
        let public = format!("-----BEGIN PUBLIC KEY-----\n{PUBLIC_KEY}\n-----END PUBLIC KEY-----\n");
        for text in [CERTIFICATE, PUBLIC_KEY, &public] {
            let key = VerifyingKey::parse(text).unwrap();
            assert!(key.verifies(b"a text", &signature) && !key.verifies(b"a texT", &signature), "{text}");
            assert!(!key.verifies(b"a text", "") && !key.verifies(b"a text", "%"));
            assert!(!key.verifies(b"a text", &SigningKey::parse(KEY).unwrap().sign(b"a text").unwrap()));
        }
        for wrong in ["", "sesame", CERTIFICATE] {
            assert!(SigningKey::parse(wrong).is_err_and(|error| !format!("{error:#}").contains("sesame")), "{wrong}");
        }
        for wrong in ["", "sesame", KEY, "MA=="] {
            assert!(VerifyingKey::parse(wrong).is_err(), "{wrong}");
        }
    }
}

#[cfg(test)]
mod fuzz {
    use super::*;
    use testing::fuzz::inputs;

    #[test]
    fn any_bytes_are_a_key_or_not() {
        let pem = CertificateDer::from_pem_slice(include_bytes!("../../tests/providers/keys/platform_a.pem")).unwrap();
        assert!(key_in_certificate(&pem).is_some());
        inputs(vec![pem.to_vec()], |bytes| drop((key_in_certificate(bytes), key_in_info(bytes))));
    }
}
