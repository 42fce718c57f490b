//! What the shop says of itself: the form of its name, looks and habits, and its logo; and the form of its own pages.

use crate::goods::upload::GoodsForm;
use crate::prelude::*;
use domain::staff::{ShopPage, ShopPageName};
use domain::{Colour, Languages, ShopSettings};
use web::shared::validation::{check_description, failed, time_zone};

/// Zones that the field proposes. It takes every zone of the tz database.
const PROPOSED_ZONES: [&str; 12] = [
    "Asia/Shanghai",
    "Asia/Hong_Kong",
    "Asia/Taipei",
    "Asia/Singapore",
    "Asia/Tokyo",
    "Australia/Sydney",
    "Europe/London",
    "Europe/Berlin",
    "America/New_York",
    "America/Chicago",
    "America/Los_Angeles",
    "UTC",
];

inputs! {
    /// The values as entered.
    ShopForm {
        version: i64, name_zh, name_en, mark, colour,
        /// The legible colour that the page offered in place of `colour`, if staff took it.
        mended,
        time_zone, languages, currency, sender, ships_within_days, tax_number,
    }
    ShopPageForm { version: i64, text_zh, text_en }
}

impl ShopForm {
    fn of(settings: &ShopSettings) -> ShopForm {
        ShopForm {
            version: settings.version(),
            name_zh: settings.name.zh.clone(),
            name_en: settings.name.en.clone(),
            mark: settings.mark.clone(),
            colour: settings.colour.to_string(),
            mended: String::new(),
            time_zone: settings.time_zone.clone(),
            languages: settings.languages.to_string(),
            currency: settings.currency.as_str().to_owned(),
            sender: settings.sender.clone(),
            ships_within_days: settings.ships_within_days.to_string(),
            tax_number: settings.tax_number.clone(),
        }
    }

    /// The settings with these values, of the version that the form was filled with, and what is wrong with them.
    fn read(&self, before: &ShopSettings) -> (ShopSettings, Vec<FieldError>) {
        let zone = time_zone(&self.time_zone).map(|(_, name)| name);
        let (currency, languages) = (Currency::known(&self.currency), self.languages.parse().ok());
        let colour = if self.mended.is_empty() { &self.colour } else { &self.mended };
        let colour = colour.trim().parse::<Colour>();
        let days = match self.ships_within_days.trim() {
            "" => Some(0),
            days => days.parse().ok(),
        };
        let mut errors = Vec::from_iter(failed([
            (zone.is_some(), "time_zone", "unknown"),
            (languages.is_some(), "languages", "unknown"),
            (currency.is_some(), "currency", "bad_currency"),
            (colour.is_ok(), "colour", "bad_colour"),
            (days.is_some(), "ships_within_days", "bad_days"),
        ]));
        let settings = ShopSettings {
            name: Bilingual::new(self.name_zh.trim(), self.name_en.trim()),
            mark: self.mark.trim().to_owned(),
            colour: colour.unwrap_or_default(),
            time_zone: zone.unwrap_or_default(),
            languages: languages.unwrap_or(before.languages),
            currency: currency.unwrap_or(before.currency),
            sender: self.sender.trim().to_owned(),
            ships_within_days: days.unwrap_or_default(),
            tax_number: self.tax_number.trim().to_owned(),
            ..before.clone()
        };
        errors.extend(settings.mistakes().into_iter().map(|(field, code)| FieldError::new(field, code)));
        (settings, errors)
    }
}

pub async fn settings(
    (State(shop), _, visitor): StaffVisit<ViewConsole>,
    Query(NoticeQuery { done }): Query<NoticeQuery>,
) -> Answer {
    let settings = shop.store.shop_settings().get().await?;
    let notice = (!done.is_empty()).then_some(SaveNotice::Saved);
    settings_page(&visitor, settings.clone(), ShopForm::of(&settings), notice, Vec::new())
}

pub async fn save_settings(
    (State(shop), staff, visitor): StaffVisit<ManageSales>,
    Form(form): Form<ShopForm>,
) -> Answer {
    let before = shop.store.shop_settings().get().await?;
    let (settings, errors) = form.read(&before);
    if !errors.is_empty() {
        return settings_page(&visitor, before, form, Some(SaveNotice::Wrong), errors);
    }
    let is_current = before.version() == form.version;
    if is_current && put(&shop, settings, staff.actor()).await? {
        return Ok(saved(&visitor));
    }
    let before = shop.store.shop_settings().get().await?;
    let form = ShopForm { version: before.version(), ..form };
    settings_page(&visitor, before, form, Some(SaveNotice::ChangedMeanwhile), Vec::new())
}

/// Takes an uploaded logo (`set`), or the logo away (`remove`).
pub async fn change_logo(
    (State(shop), staff, visitor, PathIds(verb)): StaffVisitTo<ManageSales, String>,
    form: GoodsForm,
) -> Answer {
    let before = shop.store.shop_settings().get().await?;
    let again = |notice, errors| settings_page(&visitor, before.clone(), ShopForm::of(&before), Some(notice), errors);
    let refused = |code| again(SaveNotice::Wrong, vec![FieldError::new("logo", code)]);
    let logo = match (verb.as_str(), form.uploads.into_iter().next().map(|upload| upload.bytes)) {
        ("remove", _) => None,
        ("set", None) => return refused("required"),
        ("set", Some(None)) => return refused("picture_too_large"),
        ("set", Some(Some(bytes))) => match shop.pictures.add(bytes).await {
            Ok(picture) => Some(picture),
            Err(refusal) => return refused(refusal.field_code().ok_or(refusal)?),
        },
        _ => return Err(Code::NotFound.into()),
    };
    match put(&shop, ShopSettings { logo, ..before.clone() }, staff.actor()).await? {
        true => Ok(saved(&visitor)),
        false => again(SaveNotice::ChangedMeanwhile, Vec::new()),
    }
}

/// Saves the settings unless they were changed since. This process shows them at once, the others within a second.
async fn put(shop: &Shop, settings: ShopSettings, actor: &str) -> Result<bool, Problem> {
    let saved = shop.store.shop_settings().put(settings, actor, shop.clock.now()).await?;
    shop.catalogue.refresh().await?;
    Ok(saved.is_some())
}

fn saved(visitor: &Visitor) -> Response {
    see_other(&format!("/admin/shop?lang={}&done=saved", visitor.locale))
}

#[derive(Debug, Template)]
#[template(path = "site/console_shop.html")]
struct ShopSettingsPage {
    chrome: Chrome,
    settings: ShopSettings,
    form: ShopForm,
    notice: Option<SaveNotice>,
    errors: Vec<FieldError>,
}

fn settings_page(
    visitor: &Visitor,
    settings: ShopSettings,
    form: ShopForm,
    notice: Option<SaveNotice>,
    errors: Vec<FieldError>,
) -> Answer {
    let chrome = visitor.chrome_at(format!("/admin/shop?lang={}", visitor.locale));
    personal(SaveNotice::status(notice), &ShopSettingsPage { chrome, settings, form, notice, errors })
}

impl ShopSettingsPage {
    fn notice(&self) -> Option<(&'static str, bool)> {
        let t = &self.chrome.text().brand;
        self.notice.map(|notice| notice.words([t.saved, t.wrong, t.changed]))
    }

    /// The colour as entered, its contrast with white, and the nearest one that is legible. `None` if it is legible.
    fn pale_colour(&self) -> Option<(String, Colour)> {
        let colour: Colour = self.form.colour.trim().parse().ok()?;
        let is_pale = self.errors.contains(&FieldError::new("colour", "low_contrast"));
        let contrast = format!("{:.1}", colour.contrast(Colour::WHITE));
        is_pale.then(|| (fill(self.chrome.text().brand.low_contrast, contrast), colour.mended()))
    }

    fn languages(&self) -> [(Languages, &'static str); 4] {
        let t = &self.chrome.text().brand;
        [(Languages::ZhEn, t.zh_en), (Languages::EnZh, t.en_zh), (Languages::Zh, t.only_zh), (Languages::En, t.only_en)]
    }
}

pub async fn own_pages((State(shop), _, visitor): StaffVisit<ViewConsole>, Query(query): Query<SavedQuery>) -> Answer {
    let notice = query.saved.parse().ok().map(|name| (name, SaveNotice::Saved));
    let pages = all_pages(&shop).await?;
    personal(StatusCode::OK, &ShopPagesPage { chrome: chrome(&visitor), pages, notice })
}

pub async fn save_own_page(
    (State(shop), staff, visitor, PathIds(name)): StaffVisitTo<ManageSales, ShopPageName>,
    LongForm(form): LongForm<ShopPageForm>,
) -> Answer {
    let text = Bilingual::new(form.text_zh.trim(), form.text_en.trim());
    if !check_description(&text).is_empty() {
        return refused(&shop, &visitor, (name, SaveNotice::Wrong), text).await;
    }
    let before = shop.store.shop_pages().get(name).await?.unwrap_or_else(|| ShopPage::unwritten(name));
    let is_current = before.version() == form.version;
    if is_current && shop.store.shop_pages().put(&before, text.clone(), staff.actor(), shop.clock.now()).await? {
        shop.catalogue.refresh().await?;
        return Ok(see_other(&format!("/admin/pages?lang={}&saved={name}#{name}", visitor.locale)));
    }
    refused(&shop, &visitor, (name, SaveNotice::ChangedMeanwhile), text).await
}

/// The forms again, with what was entered. The form has the current version, so sending it again replaces that.
async fn refused(shop: &Shop, visitor: &Visitor, notice: (ShopPageName, SaveNotice), text: Bilingual) -> Answer {
    let mut pages = all_pages(shop).await?;
    if let Some(page) = pages.iter_mut().find(|page| page.name == notice.0) {
        page.text = text;
    }
    personal(
        SaveNotice::status(Some(notice.1)),
        &ShopPagesPage { chrome: chrome(visitor), pages, notice: Some(notice) },
    )
}

fn chrome(visitor: &Visitor) -> pages::Chrome {
    visitor.chrome_at(format!("/admin/pages?lang={}", visitor.locale))
}

async fn all_pages(shop: &Shop) -> Result<Vec<ShopPage>, Problem> {
    let written = shop.store.shop_pages().list().await?;
    let of = |name| written.iter().find(|page| page.name == name).cloned().unwrap_or_else(|| ShopPage::unwritten(name));
    Ok(ShopPageName::ALL.into_iter().map(of).collect())
}

/// The forms of all pages.
#[derive(Debug, Template)]
#[template(path = "site/console_shop_pages.html")]
struct ShopPagesPage {
    chrome: Chrome,
    /// In the order of [`ShopPageName::ALL`], written or not.
    pages: Vec<ShopPage>,
    notice: Option<(ShopPageName, SaveNotice)>,
}

impl ShopPagesPage {
    fn title(&self, page: &ShopPage) -> &'static str {
        self.chrome.text().about.title_of(page.name)
    }

    fn notice_of(&self, page: &ShopPage) -> Option<(&'static str, bool)> {
        let t = &self.chrome.text().about;
        let notice = self.notice.filter(|(name, _)| *name == page.name);
        notice.map(|(_, notice)| notice.words([t.saved, t.too_long, t.changed]))
    }
}
