//! Security events, for owners: for programs, and the console's page.

use std::net::IpAddr;

use crate::prelude::*;
use domain::Network;
use store::{SecurityEventFilter, SecurityEventRow, SecurityTotal};
use web::extract::ViewSecurity;
use web::shared::validation::{period, zone_of_days, zone_or_own};
use words::{security_class, security_detail};

answers! {
    SecurityEventsPage { events: Vec<SecurityEventJson>; next: String }
}

/// Similar events of one minute, counted together.
#[derive(Serialize, JsonSchema)]
struct SecurityEventJson {
    #[schemars(extend("format" = "uuid"))]
    id: String,
    /// The first of these events.
    at: Timestamp,
    /// The same as the label `class` of the metric `security_events`.
    class: String,
    /// The id of the account; `null` where none is known. A typed name that no account has is not kept.
    account: Option<UserId>,
    username: Option<String>,
    /// The client's network: a /24 of IPv4 or a /48 of IPv6.
    network: Option<String>,
    /// For example `password` or `bad_signature`.
    detail: Option<String>,
    #[schemars(range(min = 1))]
    count: i64,
}

impl SecurityEventJson {
    fn of(row: SecurityEventRow, names: &HashMap<UserId, String>) -> SecurityEventJson {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        SecurityEventJson {
            username: row.account.and_then(|id| names.get(&id).cloned()),
            id: row.id,
            at: row.at,
            class: row.class,
            account: row.account,
            network: some(row.network),
            detail: some(row.detail),
            count: row.events,
        }
    }
}

/// One page of events, newest first.
pub async fn list((State(shop), _): StaffCall<ViewSecurity>, Query(query): Query<SecurityQuery>) -> Answer {
    let filter = query.filter(&shop.store).await?.map_err(Problem::invalid)?;
    let (page, names) = security_page(&shop.store, &filter, &query.before).await?;
    let events = page.items.into_iter().map(|row| SecurityEventJson::of(row, &names)).collect();
    Ok(private(SecurityEventsPage { events, next: page.next }))
}

// The query of security events, as their page and the API read it.

/// The filter as typed, and the cursor of the page.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SecurityQuery {
    /// A class, for example `log_in_failed`.
    pub class: String,
    /// A user name or the id of an account.
    pub account: String,
    /// A network, or an address in it.
    pub network: String,
    /// A date or time, UTC.
    pub from: String,
    /// The end of the period, exclusive.
    pub to: String,
    /// The time zone of `from` and `to` when they are days; UTC when it is empty.
    pub zone: String,
    /// The id of the last row on the page before.
    pub before: Cursor,
}

impl SecurityQuery {
    pub fn is_blank(&self) -> bool {
        [&self.class, &self.account, &self.network, &self.from, &self.to].into_iter().all(|text| text.trim().is_empty())
    }

    /// The filter, or an error for each field that cannot be read.
    pub async fn filter(&self, store: &Store) -> StoreResult<Result<SecurityEventFilter, Vec<FieldError>>> {
        let mut errors = Vec::new();
        let class = read_field(&mut errors, ("class", "bad_class"), &self.class, |class| class.parse().ok());
        let account = match self.account.trim() {
            "" => None,
            account => {
                let known = account_of(store, account).await?;
                errors.extend(known.is_none().then_some(FieldError::new("account", "no_such_user")));
                known
            }
        };
        let network = read_field(&mut errors, ("network", "bad_network"), &self.network, network_of);
        let network = network.unwrap_or_default();
        let [from, to] = period(&self.from, &self.to, &self.zone, &mut errors);
        let filter = SecurityEventFilter { class, account, network, from, to };
        Ok(if errors.is_empty() { Ok(filter) } else { Err(errors) })
    }
}

/// The id of the account with this name, or the typed id itself. Events outlive accounts, so the id need not exist.
async fn account_of(store: &Store, typed: &str) -> StoreResult<Option<UserId>> {
    match typed.parse() {
        Ok(id) => Ok(Some(id)),
        Err(_) => Ok(store.accounts().user_named(typed).await?.map(|user| user.id)),
    }
}

/// The recorded form of a network, or of the network of an address.
fn network_of(typed: &str) -> Option<String> {
    let address: IpAddr = typed.split('/').next()?.trim().parse().ok()?;
    let network = Network::of(address).site_text();
    // A mask is accepted only if it is the recorded one.
    typed.split_once('/').is_none_or(|(_, bits)| network.ends_with(&format!("/{bits}"))).then_some(network)
}

/// One page of events, newest first, and the names of their accounts.
async fn security_page(
    store: &Store,
    filter: &SecurityEventFilter,
    before: &Cursor,
) -> Result<(Page<SecurityEventRow, String>, HashMap<UserId, String>), Problem> {
    let before = before.read::<Uuid>("before")?.map(|id| id.to_string());
    let rows = store.security_events().list(filter, before.as_deref(), LARGE_PAGE_SIZE as i64 + 1).await?;
    let page = Page::cut(rows, LARGE_PAGE_SIZE, |row| row.id.clone());
    let mut accounts: Vec<UserId> = page.items.iter().filter_map(|row| row.account).collect();
    accounts.sort_unstable();
    accounts.dedup();
    Ok((page, store.accounts().usernames(&accounts).await?))
}

/// The address of the page with this filter and a later cursor.
fn next_page_path(query: &SecurityQuery, locale: Locale, before: &str) -> String {
    let query = link_query([
        ("lang", locale.as_str()),
        ("class", &query.class),
        ("account", &query.account),
        ("network", &query.network),
        ("from", &query.from),
        ("to", &query.to),
        ("zone", zone_of_days(&query.zone, &query.from, &query.to)),
        ("before", before),
    ]);
    format!("/admin/log?show=security&{query}")
}

/// The first of the 24 hours that end with the current one.
fn first_hour(now: Timestamp) -> Timestamp {
    let this_hour = now.as_millisecond().div_euclid(HOUR_MS) * HOUR_MS;
    Timestamp::from_millisecond(this_hour - 23 * HOUR_MS).unwrap_or(now)
}

pub async fn page(
    (State(shop), _, visitor): StaffVisit<ViewSecurity>,
    Query(mut query): Query<SecurityQuery>,
) -> Answer {
    query.zone = zone_or_own(&query.zone, &visitor.shop).1;
    let from = first_hour(shop.clock.now());
    let plots = SecurityPlot::of(&shop.store.security_events().totals(from).await?, from);
    let (status, errors, page, names) = match query.filter(&shop.store).await? {
        Ok(filter) => {
            let (page, names) = security_page(&shop.store, &filter, &query.before).await?;
            (StatusCode::OK, Vec::new(), Some(page), names)
        }
        Err(errors) => (StatusCode::UNPROCESSABLE_ENTITY, errors, None, Default::default()),
    };
    let (rows, next) = page.map_or_else(Default::default, |page| (page.items, page.next));
    let older = next.map(|id| next_page_path(&query, visitor.locale, &id));
    let filtered = !query.is_blank() || query.before.is_given();
    let chrome = visitor.chrome_at(format!("/admin/log?show=security&lang={}", visitor.locale));
    personal(status, &SecurityPage { chrome, plots, rows, names, older, filtered, query, errors })
}

const HOURS: usize = 24;
const HOUR_MS: i64 = 3_600_000;
/// The plot of a class in its own units: a bar of 8 and a gap of 2 for each hour.
const BAR_STEP: usize = 10;
const PLOT_HEIGHT: f64 = 28.0;
/// The lowest bar that can be seen.
const MIN_BAR: f64 = 2.0;

/// The events of a day, and the events that match a filter, newest first.
#[derive(Debug, Template)]
#[template(path = "security/security.html")]
struct SecurityPage {
    chrome: Chrome,
    plots: Vec<SecurityPlot>,
    rows: Vec<SecurityEventRow>,
    names: HashMap<UserId, String>,
    /// The path of the next page.
    older: Option<String>,
    filtered: bool,
    query: SecurityQuery,
    errors: Vec<FieldError>,
}

impl SecurityPage {
    fn class<'a>(&self, class: &'a str) -> &'a str {
        security_class(self.chrome.locale, class)
    }

    fn detail<'a>(&self, detail: &'a str) -> &'a str {
        security_detail(self.chrome.locale, detail)
    }

    fn name(&self, account: &UserId) -> Option<&str> {
        self.names.get(account).map(String::as_str)
    }
}

/// The events of one class by hour, during 24 hours.
#[derive(Debug, PartialEq, Eq)]
pub struct SecurityPlot {
    pub class: String,
    pub total: i64,
    pub peak: i64,
    hours: [i64; HOURS],
}

/// One hour of a plot, in its units.
struct Bar {
    x: usize,
    y: f64,
    height: f64,
}

impl SecurityPlot {
    /// A plot of each class that has events, in the order of the classes. `from` is the first hour.
    pub fn of(totals: &[SecurityTotal], from: Timestamp) -> Vec<SecurityPlot> {
        let mut plots: BTreeMap<(usize, &str), [i64; HOURS]> = BTreeMap::new();
        for total in totals {
            let hour = (total.hour.as_millisecond() - from.as_millisecond()) / HOUR_MS;
            let order = total.class.parse::<SecurityClass>().map_or(usize::MAX, |class| class as usize);
            let Some(hour) = usize::try_from(hour).ok().filter(|hour| *hour < HOURS) else { continue };
            plots.entry((order, &total.class)).or_default()[hour] += total.events;
        }
        let plot = |((_, class), hours): ((usize, &str), [i64; HOURS])| SecurityPlot {
            class: class.to_owned(),
            total: hours.iter().sum(),
            peak: hours.iter().copied().max().unwrap_or_default(),
            hours,
        };
        plots.into_iter().map(plot).collect()
    }

    fn bars(&self) -> impl Iterator<Item = Bar> {
        self.hours.iter().enumerate().filter(|(_, events)| **events > 0).map(|(hour, events)| {
            let height = (PLOT_HEIGHT * *events as f64 / self.peak as f64).max(MIN_BAR);
            Bar { x: hour * BAR_STEP, y: PLOT_HEIGHT - height, height }
        })
    }
}

web::operations! { "administrators"
    /// Security events, newest first, for owners
    ///
    /// Each entry stands for the events of one minute that are alike. Entries are kept for 90 days.
    GET "/api/admin/security-events" listSecurityEvents = list;
        200 SecurityEventsPage;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_from_addresses_and_in_their_recorded_form() {
        for (typed, network) in [
            ("192.0.2.77", "192.0.2.0/24"),
            ("192.0.2.0/24", "192.0.2.0/24"),
            ("2001:db8:1:2::3", "2001:db8:1::/48"),
            ("2001:db8:1::/48", "2001:db8:1::/48"),
        ] {
            assert_eq!(network_of(typed).as_deref(), Some(network));
        }
        for wrong in ["192.0.2.0/16", "192.0.2", "x", "/24", "192.0.2.0/"] {
            assert_eq!(network_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn plot_has_a_bar_for_each_hour_with_events() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let total = |hour: &str, class: &str, events| SecurityTotal { hour: at(hour), class: class.to_owned(), events };
        let totals = [
            total("2026-11-21T12:00:00Z", "webhook_refused", 1),
            total("2026-11-21T11:00:00Z", "log_in_failed", 400),
            total("2026-11-20T13:00:00Z", "log_in_failed", 1),
            total("2026-11-20T12:00:00Z", "log_in_failed", 7),
        ];
        let plots = SecurityPlot::of(&totals, at("2026-11-20T13:00:00Z"));
        assert_eq!(
            plots.iter().map(|plot| plot.class.as_str()).collect::<Vec<_>>(),
            ["log_in_failed", "webhook_refused"]
        );
        assert_eq!((plots[0].total, plots[0].peak), (401, 400));
        let bars: Vec<_> = plots[0].bars().map(|bar| (bar.x, bar.y, bar.height)).collect();
        assert_eq!(bars, [(0, 26.0, 2.0), (220, 0.0, 28.0)]);
        assert_eq!(plots[1].bars().map(|bar| bar.x).collect::<Vec<_>>(), [230]);
    }
}
