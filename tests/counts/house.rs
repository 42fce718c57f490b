//! A shop in this process, and requests that are ready to be asked.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request};
use futures::future::join_all;
use seckill::accounts::Session;
use seckill::app::Services;
use seckill::config::{Config, RedisConfig, sqlite_in};
use seckill::control::sales_admin::DeskChange;
use seckill::domain::{Bilingual, Currency, Money, Phase, Rush, SaleId, UserId, Window};
use seckill::store::{GoodsDraft, Role, SaleDraft, User};
use secrecy::SecretString;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tower::Service;
use uuid::Uuid;

use crate::support::{Plan, Proxy, Rung, eventually};

/// Purchases that are under way together; the first goes alone, the others follow as one batch.
pub const TOGETHER: usize = 64;

const SOON: Duration = Duration::from_secs(30);

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Signed in, and nothing at its end: what frame, routing and session cost.
    Noop,
    Button,
    /// Sold out, told to somebody who has bought nothing.
    Refusal,
    /// With Redis: gate, batch, script and outbox. Redis itself is another process and is not counted.
    Purchase,
}

impl Kind {
    /// Its section in `figures.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Noop => "noop",
            Kind::Button => "button",
            Kind::Refusal => "refusal",
            Kind::Purchase => "purchase",
        }
    }

    fn expected(self) -> u16 {
        match self {
            Kind::Noop => 204,
            Kind::Button => 200,
            Kind::Refusal => 409,
            Kind::Purchase => 202,
        }
    }
}

/// One thread, so that everything happens in the same order each time.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A shop with an open sale. Nothing runs in the background.
pub struct House {
    pub parts: Services,
    pub sale: SaleId,
    router: Router,
    _dir: TempDir,
    ground: Option<Plan>,
}

impl House {
    /// Of a kind's rung, with so many units.
    pub async fn of(kind: Kind, units: i64) -> House {
        match kind {
            Kind::Noop | Kind::Button => House::on(None, units).await,
            Kind::Refusal => House::on(None, 1).await.sold_out().await,
            Kind::Purchase => House::on(Some(Rung::Redis), units).await,
        }
    }

    /// On this rung, or on nothing.
    pub async fn on(rung: Option<Rung>, units: i64) -> House {
        let ground = match rung {
            Some(rung) => Some(Plan::on(rung).await),
            None => None,
        };
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::defaults();
        config.data_dir = dir.path().to_owned();
        config.database_url = sqlite_in(dir.path());
        if let Some(plan) = &ground {
            config.database_url = plan.setting("SECKILL_DATABASE_URL").to_owned();
            let secret = |name| SecretString::from(plan.setting(name).to_owned());
            let replicas = vec![secret("SECKILL_REDIS_REPLICA_URLS")];
            config.redis = Some(RedisConfig { master: secret("SECKILL_REDIS_URL"), replicas });
            config.amqp_url = rung.is_some_and(Rung::has_rabbit).then(|| secret("SECKILL_AMQP_URL"));
        }
        let parts = Services::build(&config).await.unwrap();
        parts.accounts().refresh().await.unwrap();
        let sale = open_sale(&parts, units).await;
        let house = House { router: parts.router(), parts, sale, _dir: dir, ground };
        house.shows(Phase::Open).await;
        house
    }

    /// With another sale instead, of which nothing is left.
    pub async fn sold_out(mut self) -> House {
        self.sale = open_sale(&self.parts, 1).await;
        self.shows(Phase::Open).await;
        let winner = UserId(Uuid::now_v7());
        let purchases = self.parts.purchases();
        purchases.buy(purchases.request_admission(winner, self.sale).unwrap(), 1, None).await.unwrap();
        self.shows(Phase::SoldOut).await;
        self
    }

    /// A setting of its ground.
    pub fn setting(&self, name: &str) -> &str {
        self.ground.as_ref().expect("a house with a ground").setting(name)
    }

    /// Puts a proxy in front of the service that this setting of its ground names.
    pub fn through_proxy(&mut self, name: &str) -> Proxy {
        self.ground.as_mut().expect("a house with a ground").through_proxy(name)
    }

    /// Waits until the gate sees it so.
    async fn shows(&self, phase: Phase) {
        eventually(&format!("the sale is {phase:?}"), SOON, async || {
            self.parts.gate.refresh_winners().await;
            let status = self.parts.gate.status(self.sale);
            if status.as_ref().is_some_and(|status| status.phase == phase) {
                Ok(())
            } else {
                Err(format!("{status:?}"))
            }
        })
        .await;
    }

    /// So many requests, each of another shopper.
    pub fn requests(&self, kind: Kind, count: usize) -> Vec<Request<Body>> {
        let sale = self.sale;
        let (method, path) = match kind {
            Kind::Noop => (Method::POST, "/api/ping".to_owned()),
            Kind::Button => (Method::GET, format!("/api/sales/{sale}/button")),
            Kind::Refusal | Kind::Purchase => (Method::POST, format!("/api/sales/{sale}/orders")),
        };
        let request = |n| {
            let user = UserId(Uuid::now_v7());
            let mut request = Request::builder().method(method.clone()).uri(&path).header("host", "shop.example");
            if kind == Kind::Button {
                return request.body(Body::empty()).unwrap();
            }
            request = request.header("cookie", self.cookie(user, n)).header("content-type", "application/json");
            let (token, _) = self.parts.gate.issue_token(sale, user).unwrap();
            request.body(Body::from(format!(r#"{{"quantity":1,"token":"{token}"}}"#))).unwrap()
        };
        (0..count).map(request).collect()
    }

    fn cookie(&self, user: UserId, n: usize) -> String {
        let now = self.parts.clock.now();
        let user = User::new(user, &format!("shopper-{n}"), String::new(), Role::User, now);
        let cookie = self.parts.accounts().cookie(&Session::of(&user, now));
        cookie.to_str().unwrap().split(';').next().unwrap().to_owned()
    }

    /// Asks all of them, purchases [`TOGETHER`], others one after the other.
    pub async fn ask(&self, kind: Kind, requests: Vec<Request<Body>>) {
        let together = if kind == Kind::Purchase { TOGETHER } else { 1 };
        let mut requests = requests.into_iter().peekable();
        while requests.peek().is_some() {
            let asked = requests.by_ref().take(together).map(|request| self.router.clone().call(request));
            for answer in join_all(asked).await {
                assert_eq!(answer.unwrap().status(), kind.expected(), "{kind:?}");
            }
        }
    }
}

async fn open_sale(parts: &Services, units: i64) -> SaleId {
    let text = Bilingual::new("计数", "Counting");
    let draft = GoodsDraft { name: Some(text.clone()), description: Some(text), pictures: None };
    let desk = parts.sales_admin();
    let goods = desk.put_goods(None, draft, "counts").await.unwrap().unwrap();
    let draft = SaleDraft {
        goods_id: goods.id,
        price: Money::new(100, Currency::CNY),
        list_price: None,
        total: units,
        per_user_limit: 1,
        window: Window { opens_at: None, closes_at: None },
        rush: Rush::default(),
    };
    let sale = desk.create_sale(draft, "counts").await.unwrap();
    if let Some(stock_sync) = &parts.stock_sync {
        // What data control does, to load the sale into Redis.
        stock_sync.tend().await.unwrap();
    }
    desk.change(sale.id, DeskChange::Start, "counts").await.unwrap();
    sale.id
}
