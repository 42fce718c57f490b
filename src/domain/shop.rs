//! What makes the shop the merchant's own: its name, looks, languages and habits.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

use crate::staff::ShopPageName;
use crate::text::is_line;
use crate::wire::{wire_enum, wire_text};
use crate::{Bilingual, Currency, Locale, Picture, hex};

/// A name stands in the header of a phone.
const MAX_NAME_CHARS: usize = 40;
/// A mark is a square with one or two signs.
const MAX_MARK_CHARS: usize = 2;
const MAX_SENDER_CHARS: usize = 60;
const MAX_TAX_NUMBER_CHARS: usize = 30;
/// A promise of a later day promises nothing.
const MAX_SHIPPING_DAYS: u8 = 60;

/// The settings of the shop. Until staff save their own, the shop has the name and the looks of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShopSettings {
    pub name: Bilingual,
    /// One or two signs that stand in the square before the name. Empty: the program's flash.
    pub mark: String,
    /// Shown instead of the mark.
    pub logo: Option<Picture>,
    pub colour: Colour,
    /// A name of the tz database.
    pub time_zone: String,
    pub languages: Languages,
    /// The currency that a new sale begins with.
    pub currency: Currency,
    /// The name that messages come from. Empty: the shop's name.
    pub sender: String,
    /// Within how many days of the payment an order is sent; 0 without such a promise. A shop whose settings were saved
    /// before there was one promises nothing.
    #[serde(default)]
    pub ships_within_days: u8,
    /// The merchant's tax number, as receipts say it; may be empty. Its form differs between countries.
    pub tax_number: String,
    /// Whether an owner has put the list of first steps away.
    pub knows_steps: bool,
    /// The pages about the shop that are written, by language. They are stored elsewhere.
    #[serde(skip)]
    pub written: Vec<(ShopPageName, Locale)>,
    /// Time of the last change. It increases with every change.
    #[serde(skip)]
    pub updated_at: Timestamp,
}

impl Default for ShopSettings {
    fn default() -> ShopSettings {
        ShopSettings {
            name: Bilingual::new("秒杀", "Seckill"),
            mark: String::new(),
            logo: None,
            colour: Colour::default(),
            time_zone: "UTC".to_owned(),
            languages: Languages::EnZh,
            currency: Currency::CNY,
            sender: String::new(),
            ships_within_days: 2,
            tax_number: String::new(),
            knows_steps: false,
            written: Vec::new(),
            updated_at: Timestamp::UNIX_EPOCH,
        }
    }
}

impl ShopSettings {
    /// The zone in which the shop's days begin.
    pub fn zone(&self) -> TimeZone {
        TimeZone::get(&self.time_zone).unwrap_or(TimeZone::UTC)
    }

    /// The last day on which an order that was paid then is sent in time. `None` without a promise.
    pub fn ships_by(&self, paid_at: Timestamp) -> Option<Date> {
        let days = i64::from(self.ships_within_days);
        (days > 0).then(|| paid_at.to_zoned(self.zone()).date().saturating_add(days.days()))
    }

    /// Changes with every change.
    pub fn version(&self) -> i64 {
        self.updated_at.as_millisecond()
    }

    pub fn name(&self, locale: Locale) -> &str {
        self.name.get(locale)
    }

    /// The name that messages in this language come from.
    pub fn sender(&self, locale: Locale) -> &str {
        if self.sender.is_empty() { self.name(locale) } else { &self.sender }
    }

    /// Field and code of each mistake. Whether the time zone exists is checked where zones are read.
    pub fn mistakes(&self) -> Vec<(&'static str, &'static str)> {
        let line = |field, text: &str, max: usize, is_required: bool| match text {
            "" => is_required.then_some((field, "required")),
            text if !is_line(text) => Some((field, "bad_text")),
            text => (text.chars().count() > max).then_some((field, "too_long")),
        };
        let is_legible = self.colour.contrast(Colour::WHITE) >= MIN_CONTRAST;
        let found = [
            line("name_zh", &self.name.zh, MAX_NAME_CHARS, true),
            line("name_en", &self.name.en, MAX_NAME_CHARS, true),
            line("mark", &self.mark, MAX_MARK_CHARS, false),
            (!is_legible).then_some(("colour", "low_contrast")),
            line("sender", &self.sender, MAX_SENDER_CHARS, false),
            (self.ships_within_days > MAX_SHIPPING_DAYS).then_some(("ships_within_days", "bad_days")),
            line("tax_number", &self.tax_number, MAX_TAX_NUMBER_CHARS, false),
        ];
        found.into_iter().flatten().collect()
    }
}

wire_enum! {
    /// The languages that shoppers are offered, the default first. Pages of a language that is not offered stay
    /// reachable, because their addresses were shared; nothing leads to them.
    pub enum Languages {
        EnZh = "en_zh",
        ZhEn = "zh_en",
        En = "en",
        Zh = "zh",
    }
}

impl Languages {
    pub fn default_locale(self) -> Locale {
        match self {
            Languages::EnZh | Languages::En => Locale::En,
            Languages::ZhEn | Languages::Zh => Locale::Zh,
        }
    }

    pub fn are_both(self) -> bool {
        matches!(self, Languages::EnZh | Languages::ZhEn)
    }

    /// The languages that are offered.
    pub fn offered(self) -> impl Iterator<Item = Locale> {
        Locale::ALL.into_iter().filter(move |locale| self.are_both() || *locale == self.default_locale())
    }

    /// The offered language that an `Accept-Language` header ranks highest.
    pub fn negotiate(self, accept_language: &str) -> Locale {
        let preferred = Locale::preferred(accept_language).filter(|_| self.are_both());
        preferred.unwrap_or(self.default_locale())
    }
}

/// What WCAG 2 asks of text beside its ground.
pub const MIN_CONTRAST: f64 = 4.5;

/// A colour of sRGB, written `#c9301d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour([u8; 3]);

impl Default for Colour {
    /// The program's red, for which the style sheets are made.
    fn default() -> Colour {
        Colour([0xc9, 0x30, 0x1d])
    }
}

impl Colour {
    pub const WHITE: Colour = Colour([255; 3]);
    pub const BLACK: Colour = Colour([0; 3]);

    pub const fn new(red: u8, green: u8, blue: u8) -> Colour {
        Colour([red, green, blue])
    }

    /// This colour with so much of another one, from 0 to 1.
    pub fn mixed(self, other: Colour, share: f64) -> Colour {
        // In range: a mean of two bytes.
        let mean = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
        let (Colour([r, g, b]), Colour([r2, g2, b2])) = (self, other);
        Colour([mean(r, r2), mean(g, g2), mean(b, b2)])
    }

    /// The relative luminance of WCAG 2, from 0 for black to 1 for white.
    fn luminance(self) -> f64 {
        let linear = |byte: u8| {
            let part = f64::from(byte) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        let Colour([r, g, b]) = self;
        0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    }

    /// The contrast of WCAG 2, from 1 to 21.
    pub fn contrast(self, other: Colour) -> f64 {
        let (a, b) = (self.luminance() + 0.05, other.luminance() + 0.05);
        if a > b { a / b } else { b / a }
    }

    /// The nearest mixture with `towards` that has the contrast of text on each of the grounds.
    pub fn legible(self, towards: Colour, grounds: &[Colour]) -> Colour {
        let mixtures = (0..=100).map(|percent| self.mixed(towards, f64::from(percent) / 100.0));
        let is_legible = |colour: &Colour| grounds.iter().all(|ground| colour.contrast(*ground) >= MIN_CONTRAST);
        mixtures.into_iter().find(is_legible).unwrap_or(towards)
    }

    /// The nearest darker colour on which white text is legible.
    pub fn mended(self) -> Colour {
        self.legible(Colour::BLACK, &[Colour::WHITE])
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", hex::encode(&self.0))
    }
}

impl FromStr for Colour {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Colour, &'static str> {
        let digits = text.strip_prefix('#').map(str::to_ascii_lowercase);
        let bytes = digits.and_then(|digits| hex::decode(&digits));
        bytes.map(Colour).ok_or("expected a colour such as #c9301d")
    }
}

wire_text!(Colour);

#[cfg(test)]
mod tests {
    use super::*;

    fn colour(text: &str) -> Colour {
        text.parse().unwrap()
    }

    #[test]
    fn contrast_is_the_one_of_wcag() {
        for (text, of_white) in [("#000000", 21.0), ("#ffffff", 1.0), ("#767676", 4.54), ("#ff0000", 4.0)] {
            let contrast = colour(text).contrast(Colour::WHITE);
            assert!((contrast - of_white).abs() < 0.01, "{text}: {contrast}");
        }
        for bad in ["", "#12345", "#1234567", "c9301d0", "#+1+1+1", "#c9301g", "#秒1"] {
            assert!(bad.parse::<Colour>().is_err(), "{bad}");
        }
        assert_eq!(colour("#0A5bff").to_string(), "#0a5bff");
    }

    #[test]
    fn mended_colour_is_legible_and_a_legible_one_stays() {
        for text in ["#ff8800", "#ffee00", "#00ffff", "#ffffff", "#f05a28"] {
            let mended = colour(text).mended();
            assert!(mended.contrast(Colour::WHITE) >= MIN_CONTRAST, "{text} became {mended}");
        }
        assert_eq!(Colour::default().mended(), Colour::default());
    }

    #[test]
    fn settings_are_bounded_and_the_ones_of_an_older_program_are_read() {
        let mut settings = ShopSettings::default();
        assert_eq!(settings.mistakes(), []);
        settings.name = Bilingual::new("", "x".repeat(41));
        (settings.mark, settings.sender, settings.ships_within_days) = ("abc".into(), "a\nb".into(), 61);
        settings.colour = colour("#ff8800");
        let mistakes = [
            ("name_zh", "required"),
            ("name_en", "too_long"),
            ("mark", "too_long"),
            ("colour", "low_contrast"),
            ("sender", "bad_text"),
            ("ships_within_days", "bad_days"),
        ];
        assert_eq!(settings.mistakes(), mistakes);
        let older: ShopSettings = serde_json::from_str(r##"{"colour": "#0a5bff", "gone": 1}"##).unwrap();
        assert_eq!((older.colour, older.mark.as_str()), (colour("#0a5bff"), ""));
        assert_eq!(older.ships_within_days, 0, "a shop promises only what its staff have read");
    }

    #[test]
    fn promised_day_is_counted_in_the_zone_of_the_shop() {
        let shop = ShopSettings { time_zone: "Asia/Shanghai".into(), ..ShopSettings::default() };
        // 00:30 on the 1st of December in Shanghai.
        let paid_at = "2026-11-30T16:30:00Z".parse().unwrap();
        assert_eq!(shop.ships_by(paid_at), Some(jiff::civil::date(2026, 12, 3)));
        assert_eq!(ShopSettings { ships_within_days: 0, ..shop }.ships_by(paid_at), None);
    }

    #[test]
    fn browser_chooses_among_the_offered_languages() {
        for (languages, of_zh, of_fr) in [
            (Languages::EnZh, Locale::Zh, Locale::En),
            (Languages::ZhEn, Locale::Zh, Locale::Zh),
            (Languages::En, Locale::En, Locale::En),
            (Languages::Zh, Locale::Zh, Locale::Zh),
        ] {
            assert_eq!((languages.negotiate("zh-CN"), languages.negotiate("fr")), (of_zh, of_fr), "{languages}");
        }
        assert_eq!(Languages::Zh.offered().collect::<Vec<_>>(), [Locale::Zh]);
    }
}
