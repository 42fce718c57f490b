//! Delivery addresses. Chinese and western addresses have the same fields; only the order of the printed lines differs.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::text::tidy;

/// Countries and regions that the shop delivers to, as ISO 3166 codes. The most requested ones come first.
pub const COUNTRIES: &[&str] = &[
    "CN", "HK", "MO", "TW", "SG", "MY", "JP", "KR", "TH", "VN", "PH", "ID", "IN", "AE", "SA", "IL", "TR", "AU", "NZ",
    "US", "CA", "MX", "BR", "AR", "CL", "GB", "IE", "DE", "AT", "CH", "FR", "BE", "NL", "LU", "ES", "PT", "IT", "GR",
    "PL", "CZ", "HU", "RO", "SE", "NO", "DK", "FI", "ZA", "EG", "NG", "KE",
];

const MAX_RECIPIENT_CHARS: usize = 60;
const MAX_PLACE_CHARS: usize = 60;
const MAX_LINE_CHARS: usize = 120;
const MAX_POSTAL_CHARS: usize = 12;

/// A delivery address. Fields that do not apply are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Address {
    #[schemars(length(max = 60))]
    pub recipient: String,
    pub phone: String,
    /// Two letters of ISO 3166, one of [`COUNTRIES`].
    pub country: String,
    /// Province or state.
    #[serde(default)]
    #[schemars(length(max = 60))]
    pub region: String,
    #[schemars(length(max = 60))]
    pub city: String,
    /// District, street and house.
    #[schemars(length(max = 120))]
    pub line1: String,
    #[serde(default)]
    #[schemars(length(max = 120))]
    pub line2: String,
    #[serde(default)]
    #[schemars(length(max = 12))]
    pub postal_code: String,
}

/// What the API's document says about an address in a request. Addresses in answers may be masked, so the schema of
/// [`Address`] asks for less.
pub struct GivenAddress;

impl JsonSchema for GivenAddress {
    fn schema_name() -> Cow<'static, str> {
        "GivenAddress".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Address::json_schema(generator);
        let fields = &mut schema.ensure_object()["properties"];
        for field in ["recipient", "city", "line1"] {
            fields[field]["minLength"] = 1.into();
        }
        fields["phone"]["description"] =
            "6 to 15 digits. In mainland China a mobile number, or a landline with its area.".into();
        fields["phone"]["maxLength"] = 24.into();
        fields["phone"]["pattern"] = r"^[-+() ]*([0-9][-+() ]*){6,15}$".into();
        fields["country"]["enum"] = COUNTRIES.into();
        schema
    }
}

/// What stands for what is not shown.
const MASK: &str = "***";

/// The first letter of a person's name.
pub(crate) fn masked_name(name: &str) -> String {
    name.chars().take(1).chain(MASK.chars()).collect()
}

/// An invalid field and the code of its problem.
pub type AddressError = (&'static str, &'static str);

impl Address {
    /// The normalized address, or all of its invalid fields at once.
    pub fn checked(self) -> Result<Address, Vec<AddressError>> {
        let address = Address {
            recipient: tidy(&self.recipient),
            phone: tidy(&self.phone),
            country: tidy(&self.country).to_uppercase(),
            region: tidy(&self.region),
            city: tidy(&self.city),
            line1: tidy(&self.line1),
            line2: tidy(&self.line2),
            postal_code: tidy(&self.postal_code).to_uppercase(),
        };
        let errors = address.errors();
        if errors.is_empty() { Ok(address) } else { Err(errors) }
    }

    fn errors(&self) -> Vec<AddressError> {
        let mut errors = Vec::new();
        let has_regions = matches!(self.country.as_str(), "CN" | "US" | "CA" | "AU");
        for (field, text, max_chars, required) in [
            ("recipient", &self.recipient, MAX_RECIPIENT_CHARS, true),
            ("region", &self.region, MAX_PLACE_CHARS, has_regions),
            ("city", &self.city, MAX_PLACE_CHARS, true),
            ("line1", &self.line1, MAX_LINE_CHARS, true),
            ("line2", &self.line2, MAX_LINE_CHARS, false),
        ] {
            if required && text.is_empty() {
                errors.push((field, "required"));
            } else if text.chars().count() > max_chars {
                errors.push((field, "too_long"));
            }
        }
        if !COUNTRIES.contains(&self.country.as_str()) {
            errors.push(("country", if self.country.is_empty() { "required" } else { "bad_country" }));
        }
        errors.extend(phone_error(&self.country, &self.phone).map(|code| ("phone", code)));
        errors.extend(postal_code_error(&self.country, &self.postal_code).map(|code| ("postal_code", code)));
        errors
    }

    /// The address for readers who need not deliver: country, region and city, the first letter of the name, and the last
    /// four digits of the telephone number.
    pub fn masked(&self) -> Address {
        let digits: Vec<char> = self.phone.chars().filter(char::is_ascii_digit).collect();
        let last_digits: String = digits[digits.len().saturating_sub(4)..].iter().collect();
        Address {
            recipient: masked_name(&self.recipient),
            phone: format!("{MASK}{last_digits}"),
            country: self.country.clone(),
            region: self.region.clone(),
            city: self.city.clone(),
            line1: MASK.to_owned(),
            line2: String::new(),
            postal_code: String::new(),
        }
    }

    /// The printed lines without the country: from the largest unit to the smallest in East Asia, the other way round
    /// elsewhere.
    pub fn lines(&self) -> Vec<String> {
        let lines = if self.is_largest_unit_first() {
            [
                join(&[&self.postal_code, &self.region, &self.city], " "),
                join(&[&self.line1, &self.line2], " "),
                String::new(),
            ]
        } else {
            let place = join(&[&self.city, &join(&[&self.region, &self.postal_code], " ")], ", ");
            [self.line1.clone(), self.line2.clone(), place]
        };
        lines.into_iter().filter(|line| !line.is_empty()).collect()
    }

    /// The delivery address as a text to compare: letters and digits only, in one case and one width, without the
    /// recipient's name and telephone number. In countries where every address has a postal code, the code replaces
    /// region and city.
    pub fn place(&self) -> String {
        let postal_code = self.postal_code.split('-').next().unwrap_or_default();
        let town = if has_postal_code(&self.country) { [postal_code, ""] } else { [&*self.region, &*self.city] };
        let parts = [town[0], town[1], &*self.line1, &*self.line2];
        format!("{} {}", self.country, normalized(&parts, char::is_alphanumeric))
    }

    /// Country, region, city and street as a text to compare: letters only, so without the house number.
    pub fn street(&self) -> String {
        normalized(&[&*self.country, &*self.region, &*self.city, &*self.line1], char::is_alphabetic)
    }

    /// Whether both are in one town, so that shipping to either costs the same.
    pub fn is_in_town_of(&self, other: &Address) -> bool {
        let town = |of: &Address| [of.country.clone(), of.region.clone(), of.city.clone()];
        town(self) == town(other)
    }

    fn is_largest_unit_first(&self) -> bool {
        matches!(self.country.as_str(), "CN" | "HK" | "MO" | "TW" | "JP" | "KR") && self.line1.contains(is_cjk)
    }
}

pub(crate) fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

/// Joins the parts that are not empty.
fn join(parts: &[&str], with: &str) -> String {
    parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(with)
}

/// In mainland China a mobile number has eleven digits and begins with 1, and a landline with the 0 of its area. A number of
/// another country begins with a plus.
fn phone_error(country: &str, phone: &str) -> Option<&'static str> {
    let digits: String = phone.chars().filter(char::is_ascii_digit).collect();
    let plain = phone.chars().all(|c| c.is_ascii_digit() || "+-() ".contains(c));
    let own = digits.strip_prefix("86").unwrap_or(&digits);
    let fits = match country {
        "CN" if !phone.starts_with('+') || phone.starts_with("+86") => match own.as_bytes() {
            [b'1', b'3'..=b'9', ..] => own.len() == 11,
            [b'0', ..] => (10..=12).contains(&own.len()),
            _ => false,
        },
        _ => (6..=15).contains(&digits.len()),
    };
    match phone {
        "" => Some("required"),
        _ if plain && fits && phone.len() <= 24 => None,
        _ => Some("bad_phone"),
    }
}

/// The parts of an address as one text, in one width and case. Keeps the characters for which `counts` is true, and a
/// blank only between two numbers, so that `1-23` differs from `12-3`.
pub(crate) fn normalized(parts: &[&str], counts: impl Fn(char) -> bool) -> String {
    let joined = parts.join(" ");
    let mut text = String::new();
    let mut is_apart = false;
    for c in joined.nfkc().flat_map(char::to_lowercase).nfkc() {
        if !counts(c) {
            is_apart = true;
            continue;
        }
        if is_apart && c.is_numeric() && text.ends_with(char::is_numeric) {
            text.push(' ');
        }
        is_apart = false;
        text.push(c);
    }
    text
}

fn is_digits(text: &str, count: usize) -> bool {
    text.len() == count && text.bytes().all(|b| b.is_ascii_digit())
}

fn has_postal_code(country: &str) -> bool {
    matches!(country, "US" | "CA" | "GB" | "AU" | "DE" | "FR" | "JP")
}

fn postal_code_error(country: &str, code: &str) -> Option<&'static str> {
    let needed = has_postal_code(country);
    let right = match (country, code) {
        (_, "") => return needed.then_some("required"),
        ("CN", code) => is_digits(code, 6),
        ("US", code) => match code.split_once('-') {
            Some((zip, more)) => is_digits(zip, 5) && is_digits(more, 4),
            None => is_digits(code, 5),
        },
        ("DE" | "FR", code) => is_digits(code, 5),
        ("AU", code) => is_digits(code, 4),
        (_, code) => {
            code.chars().count() <= MAX_POSTAL_CHARS
                && code.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ' || c == '-')
        }
    };
    (!right).then_some("bad_postal_code")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chinese() -> Address {
        Address {
            recipient: "王小美".into(),
            phone: "13800138000".into(),
            country: "CN".into(),
            region: "浙江省".into(),
            city: "杭州市".into(),
            line1: "西湖区文三路 1 号".into(),
            line2: String::new(),
            postal_code: "310000".into(),
        }
    }

    fn western() -> Address {
        Address {
            recipient: "Ann O'Hara".into(),
            phone: "+1 (415) 555-0100".into(),
            country: "us".into(),
            region: "CA".into(),
            city: "San Francisco".into(),
            line1: "1 Market Street".into(),
            line2: "Apt 5".into(),
            postal_code: "94105-1234".into(),
        }
    }

    #[test]
    fn chinese_and_western_addresses_print_in_their_own_order() {
        assert_eq!(chinese().checked().unwrap().lines(), ["310000 浙江省 杭州市", "西湖区文三路 1 号"]);
        let western = western().checked().unwrap();
        assert_eq!(western.country, "US");
        assert_eq!(western.lines(), ["1 Market Street", "Apt 5", "San Francisco, CA 94105-1234"]);
        let no_code = Address { postal_code: String::new(), ..chinese() };
        assert!(no_code.checked().is_ok(), "the postal code is optional in China");
        let singapore = Address { country: "SG".into(), region: String::new(), ..western };
        assert!(singapore.checked().is_ok());
    }

    #[test]
    fn place_is_the_same_for_other_people_and_other_spellings() {
        let place = |change: fn(&mut Address), of: Address| {
            let mut address = of;
            change(&mut address);
            address.checked().unwrap().place()
        };
        let same = |change: fn(&mut Address), of: fn() -> Address| assert_eq!(place(change, of()), place(|_| {}, of()));
        same(|a| (a.recipient, a.phone) = ("李雷".into(), "13900139000".into()), chinese);
        same(|a| a.line1 = "西湖区 文三路１号".into(), chinese);
        same(|a| a.postal_code = String::new(), chinese);
        same(|a| (a.line1, a.line2) = ("1 MARKET street, apt. 5".into(), String::new()), western);
        same(|a| (a.postal_code, a.city) = ("94105".into(), "SF".into()), western);
        assert_ne!(place(|a| a.line2 = "Apt 6".into(), western()), place(|_| {}, western()));
        assert_ne!(place(|a| a.postal_code = "94107".into(), western()), place(|_| {}, western()));
        assert_ne!(place(|a| a.city = "宁波市".into(), chinese()), place(|_| {}, chinese()));
    }

    #[test]
    fn masked_address_names_no_person_and_no_house() {
        let masked = chinese().masked();
        assert_eq!((masked.recipient.as_str(), masked.phone.as_str()), ("王***", "***8000"));
        assert_eq!(masked.city, "杭州市");
        let western = western().masked();
        assert_eq!(western.lines(), ["***", "San Francisco, CA"]);
        assert_eq!((western.recipient.as_str(), western.phone.as_str()), ("A***", "***0100"));
    }

    #[test]
    fn all_invalid_fields_are_reported_at_once() {
        let errors = Address::default().checked().unwrap_err();
        let fields: Vec<_> = errors.iter().map(|(field, _)| *field).collect();
        assert_eq!(fields, ["recipient", "city", "line1", "country", "phone"]);
        let wrong = Address {
            recipient: "x".repeat(61),
            phone: "call me".into(),
            country: "ZZ".into(),
            postal_code: "12 34<".into(),
            ..western()
        };
        let expected = [("recipient", "too_long"), ("country", "bad_country"), ("phone", "bad_phone")];
        let found = wrong.checked().unwrap_err();
        assert!(expected.iter().all(|error| found.contains(error)) && found.len() == 4, "{found:?}");
        for (country, code) in [("CN", "31000"), ("US", "9410"), ("GB", "<b>"), ("DE", "1011X")] {
            let wrong = Address { country: country.into(), postal_code: code.into(), ..western() };
            assert_eq!(wrong.checked().unwrap_err(), [("postal_code", "bad_postal_code")]);
        }
        for phone in ["13800138000", "+86 138-0013-8000", "8613800138000", "(021) 6408 3500", "+1 415 555 0123"] {
            assert!(Address { phone: phone.into(), ..chinese() }.checked().is_ok(), "{phone}");
        }
        for phone in ["1380013", "12800138000", "138001380001", "64083500", "+86 1380013"] {
            assert!(Address { phone: phone.into(), ..chinese() }.checked().is_err(), "{phone}");
        }
        for phone in ["12345", "1234567890123456", "+", "٠١٢٣٤٥٦"] {
            let wrong = Address { phone: phone.into(), ..western() };
            assert_eq!(wrong.checked().unwrap_err(), [("phone", "bad_phone")]);
        }
    }

    #[test]
    fn direction_marks_are_removed_and_emoji_stay() {
        let odd = Address { recipient: " \u{202e}مريم 👩‍👩‍👧\u{2069}\r\nX ".into(), ..western() };
        assert_eq!(odd.checked().unwrap().recipient, "مريم 👩‍👩‍👧 X");
    }
}
