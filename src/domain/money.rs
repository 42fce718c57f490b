//! Money in whole minor units, such as cents or fen.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An ISO 4217 code: three capital letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency([u8; 3]);

/// The currencies of ISO 4217 by the number of decimal digits of their minor unit. Funds, metals and test codes are left
/// out. Source: the published list one (active codes), as of 2026.
const CURRENCIES: [(u32, &str); 4] = [
    (0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"),
    (
        2,
        "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC \
         CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR \
         JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD \
         NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN \
         SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD XCG YER ZAR ZMW ZWG",
    ),
    (3, "BHD IQD JOD KWD LYD OMR TND"),
    (4, "CLF UYW"),
];

impl Currency {
    pub const CNY: Currency = Currency(*b"CNY");

    /// Checks the form of a code only. Stored codes were checked with [`Currency::known`] when they came in.
    pub fn parse(text: &str) -> Option<Currency> {
        let code: [u8; 3] = text.as_bytes().try_into().ok()?;
        code.iter().all(u8::is_ascii_uppercase).then_some(Currency(code))
    }

    /// Reads the code of a currency that exists.
    pub fn known(text: &str) -> Option<Currency> {
        Currency::parse(text).filter(|currency| currency.listed_digits().is_some())
    }

    /// Every currency that exists.
    pub fn all() -> impl Iterator<Item = Currency> {
        CURRENCIES.iter().flat_map(|(_, codes)| codes.split(' ')).filter_map(Currency::parse)
    }

    fn listed_digits(&self) -> Option<u32> {
        let is_listed = |codes: &str| codes.split(' ').any(|code| code == self.as_str());
        CURRENCIES.iter().find(|(_, codes)| is_listed(codes)).map(|(digits, _)| *digits)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("???")
    }

    /// Decimal digits between the major unit (yuan) and the minor unit (fen).
    pub fn digits(&self) -> u32 {
        match &self.0 {
            b"CNY" | b"USD" | b"EUR" => 2,
            _ => self.listed_digits().unwrap_or(2),
        }
    }

    fn symbol(&self) -> Option<&'static str> {
        match &self.0 {
            b"CNY" => Some("¥"),
            // The bare sign means yuan here.
            b"JPY" => Some("JP¥"),
            b"USD" => Some("$"),
            b"EUR" => Some("€"),
            b"GBP" => Some("£"),
            _ => None,
        }
    }
}

impl JsonSchema for Currency {
    fn schema_name() -> Cow<'static, str> {
        "Currency".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let codes: Vec<&str> = CURRENCIES.iter().flat_map(|(_, codes)| codes.split(' ')).collect();
        let pattern = format!("^({})$", codes.join("|"));
        json_schema!({"type": "string", "pattern": pattern, "description": "A currency of ISO 4217."})
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Currency::known(&text).ok_or_else(|| serde::de::Error::custom("a currency is a code of ISO 4217, such as CNY"))
    }
}

/// An amount in minor units of one currency, such as `{"amount": 1999, "currency": "CNY"}` for ¥19.99.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Money {
    /// In minor units.
    pub amount: i64,
    pub currency: Currency,
}

impl Money {
    pub fn new(amount: i64, currency: Currency) -> Money {
        Money { amount, currency }
    }

    /// Whole major units, such as yuan.
    pub fn whole(units: i64, currency: Currency) -> Money {
        Money { amount: units.saturating_mul(10_i64.pow(currency.digits())), currency }
    }

    /// The price of `quantity` units; `None` on overflow.
    pub fn times(self, quantity: u32) -> Option<Money> {
        Some(Money { amount: self.amount.checked_mul(quantity.into())?, ..self })
    }

    /// Reads an amount in the major unit: `1999`, `1999.5`, `1999.00`. `None` for digits beyond the minor unit.
    pub fn from_decimal(text: &str, currency: Currency) -> Option<Money> {
        let digits = currency.digits() as usize;
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_numeric = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_numeric || fraction.len() > digits {
            return None;
        }
        format!("{whole}{fraction:0<digits$}").parse().ok().map(|amount| Money::new(amount, currency))
    }

    /// The amount in the major unit, for spreadsheets and providers: `1999.00`.
    pub fn decimal(self) -> String {
        let digits = self.currency.digits();
        let unit = 10_u64.pow(digits);
        let (sign, absolute) = (if self.amount < 0 { "-" } else { "" }, self.amount.unsigned_abs());
        match digits {
            0 => format!("{sign}{absolute}"),
            _ => format!("{sign}{}.{:0width$}", absolute / unit, absolute % unit, width = digits as usize),
        }
    }
}

/// Writes prices as a shop does: `¥1,999`, `¥19.90`, or `15 CHF` for a currency without a sign here. A round price has
/// no decimals. The twin for scripts is `money` in `static/lib.js`.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.currency.digits();
        let unit = 10_u64.pow(digits);
        let absolute = self.amount.unsigned_abs();
        let whole = (absolute / unit).to_string();
        let mut text = String::with_capacity(whole.len() * 2);
        for (i, digit) in whole.chars().enumerate() {
            if i > 0 && (whole.len() - i).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        let sign = if self.amount < 0 { "-" } else { "" };
        let symbol = self.currency.symbol().unwrap_or_default();
        write!(f, "{sign}{symbol}{text}")?;
        if !absolute.is_multiple_of(unit) {
            write!(f, ".{:0width$}", absolute % unit, width = digits as usize)?;
        }
        if symbol.is_empty() {
            write!(f, " {}", self.currency.as_str())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_have_decimals_unless_they_are_round() {
        let show = |amount, code| Money::new(amount, Currency::parse(code).unwrap()).to_string();
        assert_eq!(show(199_900, "CNY"), "¥1,999");
        assert_eq!(show(1_990, "CNY"), "¥19.90");
        assert_eq!(show(0, "CNY"), "¥0");
        assert_eq!(show(5, "USD"), "$0.05");
        assert_eq!(show(-1_234_567, "EUR"), "-€12,345.67");
        assert_eq!(show(1_500, "JPY"), "JP¥1,500");
        assert_eq!(show(1_500, "CLP"), "1,500 CLP");
        assert_eq!(show(1_500, "KWD"), "1.500 KWD");
        assert_eq!(show(1_500, "CHF"), "15 CHF");
        assert_eq!(show(1_550, "CHF"), "15.50 CHF");
        assert_eq!(show(i64::MIN, "CNY"), "-¥92,233,720,368,547,758.08");
    }

    #[test]
    fn decimal_is_a_plain_number() {
        let show = |amount, code| Money::new(amount, Currency::parse(code).unwrap()).decimal();
        assert_eq!(
            (show(199_900, "CNY"), show(5, "USD"), show(1_500, "JPY")),
            ("1999.00".into(), "0.05".into(), "1500".into())
        );
        assert_eq!(show(-5, "CNY"), "-0.05");
    }

    /// Each currency, with amounts of every size.
    #[test]
    fn decimal_is_read_as_the_same_amount_in_every_currency() {
        for currency in Currency::all() {
            let sizes = (0..=18).map(|digits| 10_i64.pow(digits));
            for amount in sizes.flat_map(|size| [size - 1, size, size + 1, size * 7 / 3]).chain([i64::MAX]) {
                let money = Money::new(amount, currency);
                let (text, digits) = (money.decimal(), currency.digits() as usize);
                assert_eq!(Money::from_decimal(&text, currency), Some(money), "{text}");
                assert_eq!(text.split_once('.').map_or(0, |(_, fraction)| fraction.len()), digits, "{text}");
                let finer = if digits == 0 { format!("{text}.0") } else { format!("{text}0") };
                assert_eq!(Money::from_decimal(&finer, currency), None, "{finer}");
            }
        }
        let read = |text| Money::from_decimal(text, Currency::CNY).map(|money| money.amount);
        assert_eq!([read("1999"), read("1999."), read("0.5")], [Some(199_900), Some(199_900), Some(50)]);
        for wrong in ["", ".", ".5", "-1", "+1", " 1", "1,999", "1.999", "1e3", "¥5", "一", "99999999999999999999"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn currencies_of_iso_4217_are_known_and_no_others() {
        for code in ["CNY", "JPY", "CLP", "KWD", "CHF"] {
            assert_eq!(Currency::known(code).unwrap().as_str(), code);
            assert!(serde_json::from_str::<Currency>(&format!("\"{code}\"")).is_ok());
        }
        for code in ["ZZZ", "XAU", "XXX", "cny", "CN", ""] {
            assert_eq!(Currency::known(code), None, "{code}");
            assert!(serde_json::from_str::<Currency>(&format!("\"{code}\"")).is_err(), "{code}");
        }
        let digits = |code| Currency::known(code).unwrap().digits();
        assert_eq!(["CNY", "JPY", "CLP", "KWD", "CLF"].map(digits), [2, 0, 0, 3, 4]);
        let codes: Vec<&str> = CURRENCIES.iter().flat_map(|(_, codes)| codes.split(' ')).collect();
        assert!(codes.iter().all(|code| Currency::parse(code).is_some()), "{codes:?}");
        assert_eq!(codes.iter().collect::<std::collections::HashSet<_>>().len(), codes.len(), "each once");
    }

    #[test]
    fn overflowing_price_is_none() {
        assert_eq!(Money::new(i64::MAX, Currency::CNY).times(2), None);
        assert_eq!(Currency::parse("cny"), None);
    }
}
