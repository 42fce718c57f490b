//! The server of another shop, whose program reserves with a token.

use axum::http::Method;
use serde_json::Value;

use super::client::{Answer, Client};
use super::shop::Shop;

/// Clones share the token and the connections.
#[derive(Clone)]
pub struct OtherShop {
    client: Client,
    authorization: String,
}

impl OtherShop {
    /// With a token that the command line makes.
    pub async fn of(shop: &Shop) -> OtherShop {
        let made = shop.run(&["token", "create", "other shop", "reserve", "shoppers"]).await;
        assert!(made.status.success(), "{made:?}");
        let token = String::from_utf8(made.stdout).unwrap();
        OtherShop { client: shop.client(), authorization: format!("Bearer {}", token.trim()) }
    }

    /// Sends one request, and returns the answer or why there is none.
    pub async fn ask(&self, method: Method, path: &str, body: &Value) -> Result<Answer, String> {
        self.client.request(method, path).header("authorization", &self.authorization).json(body).try_send().await
    }
}
