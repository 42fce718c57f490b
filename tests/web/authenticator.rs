//! An authenticator in software, and clients that use it.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use sha2::{Digest, Sha256};

use super::*;

pub const ORIGIN: &str = "https://shop.example";
pub const PASSWORD: &str = "correct horse";

/// A device with one passkey. Tests change its fields.
pub struct Authenticator {
    pub pair: EcdsaKeyPair,
    pub id: Vec<u8>,
    /// The account that the passkey is for, in base64url.
    pub user: String,
    pub origin: &'static str,
    pub rp_id: &'static str,
    /// User present and user verified.
    pub flags: u8,
    pub count: u32,
}

impl Authenticator {
    pub fn new() -> Authenticator {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pair.as_ref(), &random).unwrap();
        let id = rand::random::<[u8; 16]>().to_vec();
        Authenticator { pair, id, user: String::new(), origin: ORIGIN, rp_id: "shop.example", flags: 0x05, count: 1 }
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let data = json!({"type": kind, "challenge": options["public_key"]["challenge"], "origin": self.origin});
        data.to_string().into_bytes()
    }

    fn data(&self, flags: u8, rest: &[u8]) -> Vec<u8> {
        [&Sha256::digest(self.rp_id)[..], &[flags], &self.count.to_be_bytes(), rest].concat()
    }

    pub fn create(&mut self, options: &Value) -> Value {
        self.user = options["public_key"]["user"]["id"].as_str().unwrap().to_owned();
        let point = self.pair.public_key().as_ref();
        let cose = [b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20", &point[1..33], b"\x22\x58\x20", &point[33..]].concat();
        let credential = [&[0; 16][..], &[0, self.id.len() as u8], &self.id, &cose].concat();
        let data = self.data(self.flags | 0x40, &credential);
        let object = [&b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58"[..], &[data.len() as u8], &data].concat();
        json!({
            "id": URL_SAFE_NO_PAD.encode(&self.id), "type": "public-key", "clientExtensionResults": {},
            "response": {
                "clientDataJSON": URL_SAFE_NO_PAD.encode(self.client_data("webauthn.create", options)),
                "attestationObject": URL_SAFE_NO_PAD.encode(object),
            },
        })
    }

    pub fn sign(&self, options: &Value) -> Value {
        let (client, data) = (self.client_data("webauthn.get", options), self.data(self.flags, &[]));
        let message = [&data[..], &Sha256::digest(&client)].concat();
        let signature = self.pair.sign(&SystemRandom::new(), &message).unwrap();
        json!({"credential": {
            "id": URL_SAFE_NO_PAD.encode(&self.id), "type": "public-key",
            "response": {
                "clientDataJSON": URL_SAFE_NO_PAD.encode(client),
                "authenticatorData": URL_SAFE_NO_PAD.encode(data),
                "signature": URL_SAFE_NO_PAD.encode(signature), "userHandle": self.user,
            },
        }})
    }
}

/// A shop at [`ORIGIN`], and its clock.
pub async fn open() -> (TestShop, Clock) {
    open_with(|_| {}).await
}

pub async fn open_with(change: impl FnOnce(&mut Config)) -> (TestShop, Clock) {
    let clock = Clock::manual(jiff::Timestamp::from_second(1_795_000_000).unwrap());
    let shop = TestShop::build(
        |config| {
            config.web.public_url = ORIGIN.into();
            config.staff_step_up = Duration::from_secs(15 * 60);
            change(config);
        },
        clock.clone(),
    )
    .await;
    (shop, clock)
}

impl TestClient<'_> {
    pub async fn challenge(&self, password: &str) -> Value {
        let answer = self.post("/api/account/passkeys/challenge", json!({"password": password})).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    pub async fn add(&self, device: &mut Authenticator, options: &Value) -> TestResponse {
        let body = json!({"name": " My phone ", "credential": device.create(options)});
        self.post("/api/account/passkeys", body).await
    }

    pub async fn add_passkey(&self, password: &str) -> Authenticator {
        let mut device = Authenticator::new();
        let options = self.challenge(password).await;
        let answer = self.add(&mut device, &options).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        device
    }

    pub async fn log_in_challenge(&self) -> Value {
        let answer = self.post("/api/login/passkey/challenge", json!({})).await;
        assert_eq!(answer.status, 200);
        answer.json()
    }

    pub async fn log_in_with(&self, device: &Authenticator) -> TestResponse {
        let options = self.log_in_challenge().await;
        self.post("/api/login/passkey", device.sign(&options)).await
    }

    pub async fn passkeys(&self) -> Value {
        self.get("/api/account/passkeys").await.json()["passkeys"].clone()
    }

    pub async fn remove_passkey(&self, id: &str, password: &str) -> TestResponse {
        self.post(&format!("/api/account/passkeys/{id}/remove"), json!({"password": password})).await
    }
}
