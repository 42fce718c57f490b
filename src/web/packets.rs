//! Red packets as they are given, by a shopper or by the shop, and as the API shows them; and the form that gives one.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use boxed::boxed;
use jiff::Timestamp;
use qrcode::QrCode;
use qrcode::render::svg;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::shared::approvals;
use crate::shared::paths::packet_share_url;
use crate::shared::validation::{failed, optional, price, time};
use crate::{Answer, Code, FieldError, Problem, Shop, created};
use domain::ledger::{CURRENCY, money};
use domain::packet::{Giver, PacketPhase, Split};
use domain::{Money, PacketId};
use engine::packets::{GiveRefusal, GiveRequest, PacketView, Purse};
use pages::{Chrome, filters};
use store::RequestId;
use words::{field_error, fill};

/// An amount in minor units, alone or with the currency of wallets.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PacketAmount {
    Units(#[schemars(range(min = 1))] i64),
    Money(Money),
}

impl PacketAmount {
    /// Zero, which is never valid, in another currency.
    fn units(self) -> i64 {
        match self {
            PacketAmount::Units(units) => units,
            PacketAmount::Money(money) if money.currency == CURRENCY => money.amount,
            PacketAmount::Money(_) => 0,
        }
    }
}

/// Where the money comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacketSource {
    Wallet,
    Shop,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPacket {
    /// 1 to 9007199254740991 minor units of CNY.
    total: PacketAmount,
    /// Number of shares; at most 1000 for a user.
    #[schemars(range(min = 1, max = 1000000))]
    count: i64,
    /// The smallest share; 1 minor unit by default.
    min: Option<PacketAmount>,
    /// The largest share; about twice the average by default.
    max: Option<PacketAmount>,
    #[serde(default)]
    split: Split,
    /// Plain text on one line.
    #[serde(default)]
    #[schemars(length(max = 100))]
    greeting: String,
    /// Whether the giver may claim a share.
    #[serde(default = "yes")]
    own: bool,
    /// Immediately by default; at most 30 days from now.
    opens_at: Option<Timestamp>,
    /// Idempotency key: a repeated request creates nothing; another request with it is refused.
    #[schemars(length(min = 8, max = 64))]
    key: Option<String>,
    /// Who pays. The default is the wallet, for owners the shop.
    pub from: Option<PacketSource>,
}

fn yes() -> bool {
    true
}

impl NewPacket {
    /// What is to be given. Attempts of one HTTP request have one key, so that they give one packet.
    pub fn request(self, repeatable: Option<RequestId>) -> GiveRequest {
        GiveRequest {
            total: self.total.units(),
            count: self.count,
            min: self.min.map(PacketAmount::units),
            max: self.max.map(PacketAmount::units),
            split: self.split,
            greeting: self.greeting,
            own: self.own,
            opens_at: self.opens_at,
            key: self.key.or(repeatable.map(|RequestId(id)| id.simple().to_string())),
        }
    }
}

/// A packet as the API shows it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PacketJson {
    id: PacketId,
    /// `null` for the shop.
    giver: Option<String>,
    #[schemars(extend("enum" = ["wallet", "shop"]))]
    from: &'static str,
    greeting: String,
    split: Split,
    total: Money,
    count: i64,
    min: Money,
    max: Money,
    claimed: i64,
    claimed_amount: Money,
    phase: PacketPhase,
    opens_at: Timestamp,
    expires_at: Timestamp,
    created_at: Timestamp,
    settled_at: Option<Timestamp>,
    /// What went back to the giver, once the packet is settled.
    returned: Option<Money>,
    luckiest: Option<Luckiest>,
    share_url: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Luckiest {
    username: Option<String>,
    amount: Money,
}

impl PacketJson {
    pub fn of(view: PacketView, shop: &Shop) -> PacketJson {
        let PacketView { packet, giver, luckiest } = view;
        PacketJson {
            id: packet.id,
            giver,
            from: if packet.giver == Giver::Shop { "shop" } else { "wallet" },
            phase: packet.phase(shop.clock.now()),
            total: money(packet.total),
            min: money(packet.min),
            max: money(packet.max),
            claimed_amount: money(packet.claimed_amount),
            returned: packet.settled_at.map(|_| money(packet.left())),
            luckiest: packet.best.map(|(_, amount)| Luckiest { username: luckiest, amount: money(amount) }),
            share_url: packet_share_url(shop, packet.id),
            greeting: packet.greeting,
            split: packet.split,
            count: packet.count,
            claimed: packet.claimed,
            opens_at: packet.opens_at,
            expires_at: packet.expires_at,
            created_at: packet.created_at,
            settled_at: packet.settled_at,
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct GivenPacketResponse {
    packet: PacketJson,
    share_url: String,
}

#[boxed]
pub async fn give_packet(shop: &Shop, purse: Purse<'_>, request: GiveRequest) -> Answer {
    let packet = match shop.packets.give(purse, &request).await {
        Ok(packet) => packet,
        Err(GiveRefusal::Waits(id)) => return approvals::accepted(shop, id).await,
        Err(refusal) => return Err(refusal.into()),
    };
    let share_url = packet_share_url(shop, packet.id);
    let view = shop.packets.view(packet.id).await?.ok_or(Code::NoSuchPacket)?;
    let given = GivenPacketResponse { packet: PacketJson::of(view, shop), share_url };
    Ok(created(format!("/api/packets/{}", packet.id), given))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub struct PacketList<T> {
    pub packets: Vec<T>,
    /// For `&before=`; `null` on the last page.
    pub next: Option<PacketId>,
}

/// The fields as entered.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct PacketForm {
    pub total: String,
    pub count: String,
    pub min: String,
    pub max: String,
    pub split: String,
    pub greeting: String,
    /// `yes` if the giver may claim too.
    pub own: String,
    pub opens_at: String,
    /// Identifies the rendered form: sent twice, it gives one packet.
    pub key: String,
    /// `preview` shows a possible split and gives nothing.
    pub then: String,
    #[serde(skip)]
    pub errors: Vec<FieldError>,
    #[serde(skip)]
    pub preview: Option<SplitPreview>,
}

/// A possible split of the amount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitPreview {
    /// The shares, up to [`MAX_PREVIEWED_SHARES`].
    pub shares: Vec<Money>,
    /// How many shares are not listed.
    pub more: i64,
    pub least: Money,
    pub greatest: Money,
}

/// Shares listed in a preview. More would only make the page longer.
const MAX_PREVIEWED_SHARES: usize = 60;

impl SplitPreview {
    /// `None` without shares.
    pub fn of(shares: &[i64]) -> Option<SplitPreview> {
        Some(SplitPreview {
            least: money(*shares.iter().min()?),
            greatest: money(*shares.iter().max()?),
            shares: shares.iter().take(MAX_PREVIEWED_SHARES).map(|share| money(*share)).collect(),
            more: shares.len().saturating_sub(MAX_PREVIEWED_SHARES) as i64,
        })
    }
}

/// The result of a submitted form.
pub enum PacketFormOutcome {
    Given(PacketId),
    /// The packet waits for a second person.
    Waits,
    /// The form to show again, with its errors or a preview.
    ShowAgain(StatusCode, Box<PacketForm>),
}

#[boxed]
impl PacketForm {
    /// An empty form with the defaults and a key of its own.
    pub fn blank() -> PacketForm {
        let split = Split::default().as_str().to_owned();
        let key = Uuid::new_v4().simple().to_string();
        PacketForm { key, split, count: "10".into(), own: "yes".into(), ..PacketForm::default() }
    }

    /// Gives the packet or previews its split.
    pub async fn submit(self, shop: &Arc<Shop>, purse: Purse<'_>) -> Result<PacketFormOutcome, Problem> {
        let request = match self.parse() {
            Ok(request) => request,
            Err(errors) => return Ok(self.show_again(StatusCode::UNPROCESSABLE_ENTITY, errors)),
        };
        let refusal = if self.then == "preview" {
            match preview(shop.clone(), purse.giver(), request).await? {
                Ok(shares) => {
                    let form = PacketForm { preview: SplitPreview::of(&shares), ..self };
                    return Ok(form.show_again(StatusCode::OK, Vec::new()));
                }
                Err(refusal) => refusal,
            }
        } else {
            match shop.packets.give(purse, &request).await {
                Ok(packet) => return Ok(PacketFormOutcome::Given(packet.id)),
                Err(refusal) => refusal,
            }
        };
        let (status, code) = match refusal {
            GiveRefusal::Invalid(fields) => {
                let errors = fields.into_iter().map(|(field, code)| FieldError { field, code }).collect();
                return Ok(self.show_again(StatusCode::UNPROCESSABLE_ENTITY, errors));
            }
            GiveRefusal::NotEnough => (StatusCode::CONFLICT, "not_enough"),
            GiveRefusal::OverLimit(_) => (StatusCode::FORBIDDEN, "spending_limit"),
            GiveRefusal::Waits(_) => return Ok(PacketFormOutcome::Waits),
            GiveRefusal::TooMany => (StatusCode::CONFLICT, "too_many_packets"),
            refusal => return Err(refusal.into()),
        };
        Ok(self.show_again(status, vec![FieldError::new("total", code)]))
    }

    fn show_again(self, status: StatusCode, errors: Vec<FieldError>) -> PacketFormOutcome {
        PacketFormOutcome::ShowAgain(status, Box::new(PacketForm { errors, ..self }))
    }

    /// The request that the form makes, or every field that cannot be read.
    fn parse(&self) -> Result<GiveRequest, Vec<FieldError>> {
        let or_required = |text: &str, code| if text.trim().is_empty() { "required" } else { code };
        let (total, count) = (units(&self.total), self.count.trim().parse().ok());
        let [min, max] = [&self.min, &self.max].map(|text| optional(text, units));
        let (split, opens_at) = (self.split.parse().ok(), optional(&self.opens_at, time));
        let errors = failed([
            (total.is_some(), "total", or_required(&self.total, "bad_amount")),
            (count.is_some(), "count", or_required(&self.count, "bad_number")),
            (min.is_some(), "min", "bad_amount"),
            (max.is_some(), "max", "bad_amount"),
            (split.is_some(), "split", "bad_text"),
            (opens_at.is_some(), "opens_at", "bad_time"),
        ]);
        let errors: Vec<FieldError> = errors.collect();
        match (total, count, split) {
            (Some(total), Some(count), Some(split)) if errors.is_empty() => Ok(GiveRequest {
                total,
                count,
                min: min.flatten(),
                max: max.flatten(),
                split,
                greeting: self.greeting.clone(),
                own: self.own == "yes",
                opens_at: opens_at.flatten(),
                key: Some(self.key.clone()).filter(|key| !key.is_empty()),
            }),
            _ => Err(errors),
        }
    }
}

fn units(text: &str) -> Option<i64> {
    price(text, CURRENCY).map(|money| money.amount)
}

/// Splits on a blocking thread: a million shares keep a thread busy for a while.
async fn preview(
    shop: Arc<Shop>,
    giver: Giver,
    request: GiveRequest,
) -> Result<Result<Vec<i64>, GiveRefusal>, Problem> {
    tokio::task::spawn_blocking(move || shop.packets.preview(giver, &request)).await.map_err(Problem::internal)
}

/// The fields of the form, from the wallet or from the shop.
#[derive(Debug, Template)]
#[template(path = "packets/packet_fields.html")]
pub struct PacketFields<'a> {
    pub chrome: &'a Chrome,
    pub form: &'a PacketForm,
    pub is_shop: bool,
}

impl PacketFields<'_> {
    fn error_text(&self, field: &str) -> Option<&'static str> {
        let error = self.form.errors.iter().find(|error| error.field == field)?;
        Some(match error.code {
            "not_enough" => self.chrome.text().packets.not_enough,
            code => field_error(self.chrome.locale, code),
        })
    }

    fn splits(&self) -> [(&'static str, &'static str, &'static str); 3] {
        let t = &self.chrome.text().packets;
        Split::ALL.map(|split| match split {
            Split::Bounded => (split.as_str(), t.split_bounded, t.split_bounded_text),
            Split::Equal => (split.as_str(), t.split_equal, t.split_equal_text),
            Split::DoubleAverage => (split.as_str(), t.split_double_average, t.split_double_average_text),
        })
    }

    fn is_split(&self, split: &str) -> bool {
        self.form.split == split
    }

    fn has_bounds(&self) -> bool {
        !self.form.min.is_empty()
            || !self.form.max.is_empty()
            || self.error_text("min").or(self.error_text("max")).is_some()
    }

    fn range(&self, preview: &SplitPreview) -> String {
        fill(&fill(self.chrome.text().packets.preview_range, preview.least), preview.greatest)
    }

    fn is_greatest(&self, share: &Money, preview: &SplitPreview) -> bool {
        *share == preview.greatest && preview.least != preview.greatest
    }
}

/// A QR code of the text as a `data:` URL.
pub fn qr_code(text: &str) -> Option<String> {
    let code = QrCode::new(text).ok()?;
    let colors = (svg::Color("#000"), svg::Color("#fff"));
    let svg = code.render().min_dimensions(200, 200).dark_color(colors.0).light_color(colors.1).build();
    Some(format!("data:image/svg+xml;base64,{}", STANDARD.encode(svg)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(total: &str, count: &str) -> PacketForm {
        PacketForm { total: total.into(), count: count.into(), ..PacketForm::blank() }
    }

    #[test]
    fn packet_form_is_parsed_as_entered() {
        let form = PacketForm { min: "0.5".into(), opens_at: "2026-11-21T20:00".into(), ..form("88.88", "8") };
        let request = form.parse().unwrap();
        assert_eq!(
            (request.total, request.count, request.min, request.max, request.own),
            (8888, 8, Some(50), None, true)
        );
        assert_eq!(request.opens_at.unwrap().to_string(), "2026-11-21T20:00:00Z");
    }

    #[test]
    fn packet_form_names_every_field_that_cannot_be_read() {
        let form = PacketForm {
            min: "x".into(),
            max: "1.234".into(),
            split: "odd".into(),
            opens_at: "soon".into(),
            ..form("", "many")
        };
        let errors: Vec<_> = form.parse().unwrap_err().iter().map(|error| (error.field, error.code)).collect();
        let expected = [
            ("total", "required"),
            ("count", "bad_number"),
            ("min", "bad_amount"),
            ("max", "bad_amount"),
            ("split", "bad_text"),
            ("opens_at", "bad_time"),
        ];
        assert_eq!(errors, expected);
    }
}

#[cfg(test)]
mod fuzz {
    use super::*;
    use testing::fuzz::texts;

    #[test]
    fn any_form_is_a_request_or_has_errors() {
        let valid = PacketForm {
            total: "88.00".into(),
            count: "10".into(),
            min: "0.01".into(),
            max: "20".into(),
            opens_at: "2026-11-21T20:00:00Z".into(),
            ..PacketForm::blank()
        };
        assert!(valid.parse().is_ok());
        texts(&["88.00", "10", "2026-11-21T20:00:00Z", "2026-11-21T20:00+08:00"], |text| {
            let fields: [fn(&mut PacketForm) -> &mut String; 5] =
                [|f| &mut f.total, |f| &mut f.count, |f| &mut f.min, |f| &mut f.max, |f| &mut f.opens_at];
            for field in fields {
                let mut form = valid.clone();
                *field(&mut form) = text.to_owned();
                assert!(form.parse().is_ok_and(|request| request.total >= 0) || form.parse().is_err());
            }
        });
    }
}
