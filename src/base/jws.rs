//! Signed JSON that other programs verify offline: JSON web signatures (RFC 7515) with Ed25519 (RFC 8037).
//!
//! The keys follow from the shop's secret and the time, so every process has the same ones without reading anything. A key
//! signs for 30 days. The next one is published a day before it signs, and an old one for a day longer, so whoever keeps
//! the published keys for some minutes always knows the right one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::signing::{ShopSecret, key_for};

const DAY_S: i64 = 86_400;
/// How long a key signs.
const PERIOD_S: i64 = 30 * DAY_S;
/// The longest text that is parsed, in bytes.
const MAX_BYTES: usize = 4096;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    alg: String,
    typ: String,
    kid: String,
}

struct Key {
    id: String,
    pair: Ed25519KeyPair,
}

/// Signs and verifies JSON for one purpose.
#[derive(Clone)]
pub struct JsonSigner {
    secret: ShopSecret,
    purpose: &'static str,
}

impl JsonSigner {
    /// `purpose` must differ between kinds of signers.
    pub fn new(secret: &ShopSecret, purpose: &'static str) -> JsonSigner {
        JsonSigner { secret: secret.clone(), purpose }
    }

    fn key(&self, secret: &SecretString, period: i64) -> Key {
        let seed = key_for(secret, &format!("{} {period}", self.purpose));
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("a seed has 32 bytes");
        let id = URL_SAFE_NO_PAD.encode(&digest(&SHA256, pair.public_key().as_ref()).as_ref()[..9]);
        Key { id, pair }
    }

    /// The keys that may have signed what is valid now, or are about to sign. The first one signs.
    fn keys(&self, now: Timestamp) -> Vec<Key> {
        let (period, second) = (now.as_second().div_euclid(PERIOD_S), now.as_second().rem_euclid(PERIOD_S));
        let mut keys = vec![self.key(&self.secret.current, period)];
        if second < DAY_S {
            keys.push(self.key(&self.secret.current, period - 1));
        }
        if second >= PERIOD_S - DAY_S {
            keys.push(self.key(&self.secret.current, period + 1));
        }
        // While the shop's secret is replaced, other processes sign with the other one.
        keys.extend(self.secret.previous.iter().map(|secret| self.key(secret, period)));
        keys
    }

    /// The public keys in the format of `jwks.json` (RFC 7517). The header of a signed text names its key by `kid`.
    pub fn public_keys(&self, now: Timestamp) -> Value {
        let public = |Key { id, pair }| {
            let x = URL_SAFE_NO_PAD.encode(pair.public_key());
            json!({"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": id, "x": x})
        };
        json!({"keys": self.keys(now).into_iter().map(public).collect::<Vec<_>>()})
    }

    /// The claims as a compact signature.
    pub fn sign(&self, claims: &impl Serialize, now: Timestamp) -> String {
        let Key { id, pair } = self.key(&self.secret.current, now.as_second().div_euclid(PERIOD_S));
        let header = Header { alg: "EdDSA".to_owned(), typ: "JWT".to_owned(), kid: id };
        let part = |json: Result<Vec<u8>, _>| URL_SAFE_NO_PAD.encode(json.expect("claims are plain data"));
        let mut text = format!("{}.{}", part(serde_json::to_vec(&header)), part(serde_json::to_vec(claims)));
        let signature = pair.sign(text.as_bytes());
        text.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut text);
        text
    }

    /// The claims of a text that one of the published keys signed. The caller checks until when they are valid.
    pub fn verify<T: DeserializeOwned>(&self, text: &str, now: Timestamp) -> Option<T> {
        let (signed, signature) = text.rsplit_once('.').filter(|_| text.len() <= MAX_BYTES)?;
        let (header, claims) = signed.split_once('.')?;
        let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let header: Header = serde_json::from_slice(&decoded(header)?).ok()?;
        if header.alg != "EdDSA" {
            return None;
        }
        let key = self.keys(now).into_iter().find(|key| key.id == header.kid)?;
        let public = UnparsedPublicKey::new(&ED25519, key.pair.public_key());
        public.verify(signed.as_bytes(), &decoded(signature)?).ok()?;
        serde_json::from_slice(&decoded(claims)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use ring::hmac;

    use super::*;

    fn signer(secret: &str) -> JsonSigner {
        JsonSigner::new(&SecretString::from(secret.repeat(64)).into(), "test")
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn ids(signer: &JsonSigner, second: i64) -> Vec<String> {
        let keys = signer.public_keys(at(second));
        keys["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn only_own_signatures_verify() {
        let (own, now, claims) = (signer("s"), at(PERIOD_S + 2 * DAY_S), json!({"sub": "4711"}));
        let text = own.sign(&claims, now);
        assert_eq!(own.verify::<Value>(&text, now), Some(claims.clone()));
        assert_eq!(signer("t").verify::<Value>(&text, now), None, "another shop's");
        let other = JsonSigner::new(&SecretString::from("s".repeat(64)).into(), "other");
        assert_eq!(other.verify::<Value>(&text, now), None, "another purpose");
        let part = |json: Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let [header, body, signature] = text.split('.').collect::<Vec<_>>().try_into().unwrap();
        let kid = ids(&own, now.as_second())[0].clone();
        // The public key as the secret of an HMAC, which a verifier takes that follows the header.
        let key = own.key(&own.secret.current, 1).pair;
        let hs256 = part(json!({"alg": "HS256", "typ": "JWT", "kid": kid}));
        let mac = hmac::sign(
            &hmac::Key::new(hmac::HMAC_SHA256, key.public_key().as_ref()),
            format!("{hs256}.{body}").as_bytes(),
        );
        let none = part(json!({"alg": "none", "typ": "JWT", "kid": kid}));
        let critical = part(json!({"alg": "EdDSA", "typ": "JWT", "kid": kid, "crit": ["exp"]}));
        let forged = part(json!({"sub": "4712"}));
        for wrong in [
            format!("{none}.{body}."),
            format!("{none}.{body}.{signature}"),
            format!("{hs256}.{body}.{}", URL_SAFE_NO_PAD.encode(mac)),
            format!("{critical}.{body}.{signature}"),
            format!("{header}.{forged}.{signature}"),
            format!("{header}.{body}"),
            format!("{header}.{body}.{signature}="),
            format!("{header}.{body}.{signature}.{signature}"),
            String::new(),
        ] {
            assert_eq!(own.verify::<Value>(&wrong, now), None, "{wrong}");
        }
        testing::fuzz::texts(&[&text], |altered| {
            let verified = own.verify::<Value>(altered, now);
            assert_eq!(verified.is_some(), altered == text, "{altered}");
        });
    }

    #[test]
    fn keys_are_published_before_they_sign_and_after_they_signed() {
        let own = signer("s");
        let (middle, next) = (PERIOD_S + 9 * DAY_S, 2 * PERIOD_S);
        assert_eq!(ids(&own, middle).len(), 1);
        let before = ids(&own, next - 60);
        let after = ids(&own, next);
        assert_eq!((before.len(), after.len()), (2, 2));
        assert_eq!((&before[0], &before[1]), (&after[1], &after[0]));
        let text = own.sign(&json!({}), at(next - 60));
        assert!(own.verify::<Value>(&text, at(next + 3600)).is_some());
        assert!(own.verify::<Value>(&text, at(next + DAY_S)).is_none());
    }

    #[test]
    fn processes_with_the_old_and_the_new_secret_verify_each_other() {
        let [old, new] = ["s", "t"].map(|secret| SecretString::from(secret.repeat(64)));
        let now = at(PERIOD_S + 9 * DAY_S);
        let first = JsonSigner::new(&ShopSecret { current: old.clone(), previous: Some(new.clone()) }, "test");
        let second = JsonSigner::new(&ShopSecret { current: new, previous: Some(old) }, "test");
        assert!(second.verify::<Value>(&first.sign(&json!({}), now), now).is_some());
        assert!(first.verify::<Value>(&second.sign(&json!({}), now), now).is_some());
        assert_eq!(ids(&first, now.as_second()).len(), 2);
    }
}
