//! Encryption of a message for one browser (RFC 8291: `aes128gcm` of RFC 8188 in one record).

use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::SystemRandom;

use domain::push::{PUBLIC_KEY_BYTES, PushKeys};

const SALT_BYTES: usize = 16;
const KEY_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;
/// The record size that the header of the message names. Its one record is shorter.
const RECORD_BYTES: u32 = 4096;
/// What follows the text in the last record (RFC 8188).
const LAST_RECORD: u8 = 2;

/// The message as the browser decrypts it, with a key and a salt of its own. `None` when the browser's key is not a
/// point of the curve.
pub fn encrypt(to: &PushKeys, text: &[u8]) -> Option<Vec<u8>> {
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).ok()?;
    let own_public: [u8; PUBLIC_KEY_BYTES] = own.compute_public_key().ok()?.as_ref().try_into().ok()?;
    let browser = UnparsedPublicKey::new(&ECDH_P256, to.p256dh);
    let seal = |shared: &[u8]| seal(to, &own_public, shared, &rand::random(), text);
    agree_ephemeral(own, &browser, seal).ok()?
}

/// The message for a shared secret, a public key and a salt.
fn seal(
    to: &PushKeys,
    own_public: &[u8; PUBLIC_KEY_BYTES],
    shared: &[u8],
    salt: &[u8; SALT_BYTES],
    text: &[u8],
) -> Option<Vec<u8>> {
    let info = [b"WebPush: info\0", to.p256dh.as_slice(), own_public].concat();
    let secret: [u8; 32] = derive(&to.auth, shared, &info)?;
    let key: [u8; KEY_BYTES] = derive(salt, &secret, b"Content-Encoding: aes128gcm\0")?;
    let nonce: [u8; NONCE_BYTES] = derive(salt, &secret, b"Content-Encoding: nonce\0")?;
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).ok()?);
    let mut record = [text, &[LAST_RECORD]].concat();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record).ok()?;
    let mut message = salt.to_vec();
    message.extend(RECORD_BYTES.to_be_bytes());
    message.push(PUBLIC_KEY_BYTES as u8);
    message.extend(own_public);
    message.extend(record);
    Some(message)
}

/// The length in bytes of a derived key.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF of SHA-256, both steps.
fn derive<const N: usize>(salt: &[u8], secret: &[u8], info: &[u8]) -> Option<[u8; N]> {
    let mut derived = [0; N];
    let extracted = Salt::new(HKDF_SHA256, salt).extract(secret);
    extracted.expand(&[info], Length(N)).ok()?.fill(&mut derived).ok()?;
    Some(derived)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    fn bytes<const N: usize>(text: &str) -> [u8; N] {
        URL_SAFE_NO_PAD.decode(text).unwrap().try_into().unwrap()
    }

    /// Section 5 and appendix A of RFC 8291.
    #[test]
    fn example_of_the_standard_is_reproduced() {
        let keys = PushKeys::parse(
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            "BTBZMqHH6r4Tts7J_aSIgg",
        );
        let own = bytes("BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8");
        let shared: [u8; 32] = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let salt = bytes("DGv6ra1nlYgDCS1FRnbzlw");
        let message = seal(&keys.unwrap(), &own, &shared, &salt, b"When I grow up, I want to be a watermelon").unwrap();
        assert_eq!(
            URL_SAFE_NO_PAD.encode(message),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
    }

    #[test]
    fn key_that_is_no_point_of_the_curve_is_refused() {
        let keys = PushKeys { p256dh: [4; PUBLIC_KEY_BYTES], auth: [0; 16] };
        assert_eq!(encrypt(&keys, b"text"), None);
    }
}
