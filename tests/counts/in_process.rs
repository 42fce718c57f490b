//! A shop in this process, and prepared requests to it.

use std::time::Duration;

use accounts::Session;
use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request};
use base::config::{Config, RedisConfig, ServiceAddress, sqlite_in};
use control::sales_admin::SaleCommand;
use domain::Role;
use domain::{Bilingual, Currency, Money, Phase, SaleId, SaleMode, UserId, WaitingRoomPlan};
use futures::future::join_all;
use seckill::app::Services;
use store::{GoodsDraft, SaleDraft, SaveOptions, User};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tower::Service;
use uuid::Uuid;

use crate::support::{Plan, Proxy, Rung, eventually};

/// Purchases in flight at a time. The first forms a batch of its own, the others follow as one batch.
pub const CONCURRENT_PURCHASES: usize = 64;

const TIMEOUT: Duration = Duration::from_secs(30);

/// The measured kinds of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Signed in, without a handler's work: middleware, routing and session.
    Noop,
    Button,
    /// Sold out, for a user without an order.
    Refusal,
    /// With Redis: gate, batch, script and outbox. Redis itself is another process and is not counted.
    Purchase,
    /// The same in a waiting room, by a shopper who was called.
    PurchaseInTurn,
}

impl RequestKind {
    /// The section for this kind in `figures.toml`.
    pub fn name(self) -> &'static str {
        match self {
            RequestKind::Noop => "noop",
            RequestKind::Button => "button",
            RequestKind::Refusal => "refusal",
            RequestKind::Purchase => "purchase",
            RequestKind::PurchaseInTurn => "purchase_in_turn",
        }
    }

    fn expected(self) -> u16 {
        match self {
            RequestKind::Noop => 204,
            RequestKind::Button => 200,
            RequestKind::Refusal => 409,
            RequestKind::Purchase | RequestKind::PurchaseInTurn => 202,
        }
    }

    fn is_accepted_purchase(self) -> bool {
        self.expected() == 202
    }
}

/// One thread, so that everything happens in the same order each time.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A shop with an open sale. Nothing runs in the background.
pub struct InProcessShop {
    pub services: Services,
    pub sale: SaleId,
    router: Router,
    _dir: TempDir,
    fixture: Option<Plan>,
}

impl InProcessShop {
    /// A shop on the rung that the kind needs, with a sale of `units`.
    pub async fn of(kind: RequestKind, units: i64) -> InProcessShop {
        match kind {
            RequestKind::Noop | RequestKind::Button => InProcessShop::on(None, units).await,
            RequestKind::Refusal => InProcessShop::on(None, 1).await.sold_out().await,
            RequestKind::Purchase => InProcessShop::on(Some(Rung::Redis), units).await,
            RequestKind::PurchaseInTurn => InProcessShop::on(Some(Rung::Redis), 1).await.with_waiting_room(units).await,
        }
    }

    /// A shop on this rung, or on SQLite.
    pub async fn on(rung: Option<Rung>, units: i64) -> InProcessShop {
        let fixture = match rung {
            Some(rung) => Some(Plan::on(rung).await),
            None => None,
        };
        let dir = tempfile::tempdir().unwrap();
        let mut config = Config::defaults();
        config.data_dir = dir.path().to_owned();
        config.database_url = sqlite_in(dir.path());
        if let Some(plan) = &fixture {
            config.database_url = plan.setting("SECKILL_DATABASE_URL").to_owned();
            let address = |name| ServiceAddress::from(plan.setting(name));
            let replicas = vec![address("SECKILL_REDIS_REPLICA_URLS")];
            config.redis = Some(RedisConfig { master: address("SECKILL_REDIS_URL"), replicas });
            config.amqp_url = rung.is_some_and(Rung::has_rabbit).then(|| address("SECKILL_AMQP_URL"));
        }
        let services = Services::build(&config).await.unwrap();
        services.accounts().refresh().await.unwrap();
        let sale = open_sale(&services, units, SaleMode::Rush).await;
        let shop = InProcessShop { router: services.router(), services, sale, _dir: dir, fixture };
        shop.wait_for_phase(Phase::Open).await;
        shop
    }

    /// The same shop with another sale, which is sold out.
    pub async fn sold_out(mut self) -> InProcessShop {
        self.sale = open_sale(&self.services, 1, SaleMode::Rush).await;
        self.wait_for_phase(Phase::Open).await;
        let winner = UserId(Uuid::now_v7());
        let purchases = self.services.purchases();
        purchases.buy(purchases.request_admission(winner, self.sale).unwrap(), 1, None).await.unwrap();
        self.wait_for_phase(Phase::SoldOut).await;
        self
    }

    /// The same shop with another sale, which has a waiting room.
    pub async fn with_waiting_room(mut self, units: i64) -> InProcessShop {
        self.sale = open_sale(&self.services, units, SaleMode::WaitingRoom(WaitingRoomPlan::USUAL)).await;
        self.wait_for_phase(Phase::Open).await;
        self
    }

    /// A setting of its fixture.
    pub fn setting(&self, name: &str) -> &str {
        self.fixture.as_ref().expect("a shop with a fixture").setting(name)
    }

    /// Puts a proxy in front of the service that this setting names.
    pub fn through_proxy(&mut self, name: &str) -> Proxy {
        self.fixture.as_mut().expect("a shop with a fixture").through_proxy(name)
    }

    /// Waits until the gate reports this phase.
    async fn wait_for_phase(&self, phase: Phase) {
        eventually(&format!("the sale is {phase:?}"), TIMEOUT, async || {
            self.services.gate.refresh_winners().await;
            let status = self.services.gate.status(self.sale);
            if status.as_ref().is_some_and(|status| status.phase == phase) {
                Ok(())
            } else {
                Err(format!("{status:?}"))
            }
        })
        .await;
    }

    /// `count` requests, each from a different shopper.
    pub fn requests(&self, kind: RequestKind, count: usize) -> Vec<Request<Body>> {
        let sale = self.sale;
        let (method, path) = match kind {
            RequestKind::Noop => (Method::POST, "/api/ping".to_owned()),
            RequestKind::Button => (Method::GET, format!("/api/sales/{sale}/button")),
            RequestKind::Refusal | RequestKind::Purchase | RequestKind::PurchaseInTurn => {
                (Method::POST, format!("/api/sales/{sale}/orders"))
            }
        };
        // When the seat of a called shopper ends.
        let now = self.services.clock.now();
        let seat = (kind == RequestKind::PurchaseInTurn).then(|| now + Duration::from_secs(180));
        let request = |n| {
            let user = UserId(Uuid::now_v7());
            let mut request = Request::builder().method(method.clone()).uri(&path).header("host", "shop.example");
            if kind == RequestKind::Button {
                return request.body(Body::empty()).unwrap();
            }
            request = request.header("cookie", self.cookie(user, n)).header("content-type", "application/json");
            let token = self.services.gate.issue_token(sale, user, seat).unwrap().token;
            request.body(Body::from(format!(r#"{{"quantity":1,"token":"{token}"}}"#))).unwrap()
        };
        (0..count).map(request).collect()
    }

    fn cookie(&self, user: UserId, n: usize) -> String {
        let now = self.services.clock.now();
        let user = User::new(user, &format!("shopper-{n}"), String::new(), Role::User, now);
        let cookie = self.services.accounts().cookie(&Session::of(&user, now));
        cookie.to_str().unwrap().split(';').next().unwrap().to_owned()
    }

    /// Sends all requests: purchases [`CONCURRENT_PURCHASES`] at a time, other requests one after the other.
    pub async fn send_all(&self, kind: RequestKind, requests: Vec<Request<Body>>) {
        let concurrent = if kind.is_accepted_purchase() { CONCURRENT_PURCHASES } else { 1 };
        let mut requests = requests.into_iter().peekable();
        while requests.peek().is_some() {
            let responses = requests.by_ref().take(concurrent).map(|request| self.router.clone().call(request));
            for answer in join_all(responses).await {
                assert_eq!(answer.unwrap().status(), kind.expected(), "{kind:?}");
            }
        }
    }
}

async fn open_sale(services: &Services, units: i64, mode: SaleMode) -> SaleId {
    let text = Bilingual::new("计数", "Counting");
    let draft = GoodsDraft { name: Some(text.clone()), description: Some(text), ..GoodsDraft::default() };
    let sales_admin = services.sales_admin();
    let goods = sales_admin.put_goods(None, draft, "counts").await.unwrap().unwrap();
    let (goods_id, price) = (goods.id, Money::new(100, Currency::CNY));
    let draft = SaleDraft { goods_id, price, total: units, per_user_limit: 1, mode, ..SaleDraft::blank() };
    let sale = sales_admin.create_sale(draft, &SaveOptions::default(), "counts").await.unwrap();
    if let Some(stock_sync) = &services.stock_sync {
        // Data control does this to load the sale into Redis.
        stock_sync.step().await.unwrap();
    }
    sales_admin.change(sale.id, SaleCommand::Start, "counts").await.unwrap();
    sale.id
}
