//! Invoices (发票): the title to which one is made out, and the tax number of a company. The tax office's service issues them.

use jiff::Timestamp;

use super::address::masked_name;
use super::text::tidy;

/// Characters of a title.
const MAX_TITLE_CHARS: usize = 100;
/// What a unified social credit code is made of: digits and capital letters without I, O, S, V and Z (GB 32100).
const CODE_SYMBOLS: &[u8; 31] = b"0123456789ABCDEFGHJKLMNPQRTUWXY";
/// The weights of its first 17 symbols: powers of 3 modulo 31.
const CODE_WEIGHTS: [usize; 17] = [1, 3, 9, 27, 19, 26, 16, 17, 20, 29, 25, 13, 8, 24, 10, 30, 28];

/// To whom an invoice is made out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvoiceTitle {
    /// The name of a company or of a person.
    pub title: String,
    /// The unified social credit code of a company; `None` for a person.
    pub tax_number: Option<String>,
}

impl InvoiceTitle {
    /// Reads what was entered. An error lists each field that cannot be used with its code.
    pub fn check(title: &str, tax_number: &str) -> Result<InvoiceTitle, Vec<(&'static str, &'static str)>> {
        let (title, mut errors) = (tidy(title), Vec::new());
        match title.chars().count() {
            0 => errors.push(("title", "required")),
            count if count > MAX_TITLE_CHARS => errors.push(("title", "too_long")),
            _ => {}
        }
        let number: String = tax_number.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_uppercase();
        let checked = if number.is_empty() { Ok(None) } else { check_tax_number(&number).map(|()| Some(number)) };
        match checked {
            Ok(tax_number) if errors.is_empty() => Ok(InvoiceTitle { title, tax_number }),
            checked => {
                errors.extend(checked.err().map(|code| ("tax_number", code)));
                Err(errors)
            }
        }
    }
}

/// Checks a unified social credit code by its check digit. Tax numbers of 15 digits from before 2015 are refused: companies
/// had to exchange them, and a mistyped code of 18 must not pass as one.
fn check_tax_number(number: &str) -> Result<(), &'static str> {
    if number.len() == 15 && number.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err("old_tax_number");
    }
    let values: Option<Vec<usize>> =
        number.bytes().map(|byte| CODE_SYMBOLS.iter().position(|symbol| *symbol == byte)).collect();
    let Some(values) = values.filter(|values| values.len() == 18) else { return Err("bad_tax_number") };
    let sum: usize = values.iter().zip(CODE_WEIGHTS).map(|(value, weight)| value * weight).sum();
    if values[17] == (31 - sum % 31) % 31 { Ok(()) } else { Err("wrong_tax_number") }
}

/// An invoice that the owner of an order asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invoice {
    pub to: InvoiceTitle,
    pub asked_at: Timestamp,
    /// When it was marked as issued, and by whom.
    pub issued: Option<(Timestamp, String)>,
}

impl Invoice {
    /// The invoice for readers who do not issue it. A person's name is masked, a company's is public.
    pub fn masked(mut self) -> Invoice {
        if self.to.tax_number.is_none() {
            self.to.title = masked_name(&self.to.title);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "91350100M000100Y43";

    #[test]
    fn tax_numbers_are_checked_by_their_check_digit() {
        for right in [CODE, "9144030071526726XG", "914403001922038216", " 91350100 m000100y43 "] {
            let read = InvoiceTitle::check("公司", right).unwrap();
            assert_eq!(read.tax_number.unwrap().len(), 18, "{right}");
        }
        let code = |number: &str| InvoiceTitle::check("公司", number).unwrap_err()[0];
        assert_eq!(code("440300715267261"), ("tax_number", "old_tax_number"));
        for wrong in ["91350100M000100Y4", "91350100M000100Y433", "9135010OM000100Y43", "纳税人识别号"] {
            assert_eq!(code(wrong), ("tax_number", "bad_tax_number"), "{wrong}");
        }
    }

    #[test]
    fn one_wrong_or_two_exchanged_symbols_are_noticed() {
        for at in 0..18 {
            for symbol in CODE_SYMBOLS.iter().map(|byte| char::from(*byte)) {
                let typed: String = CODE.chars().enumerate().map(|(i, c)| if i == at { symbol } else { c }).collect();
                assert_eq!(check_tax_number(&typed).is_ok(), typed == CODE, "{typed}");
            }
            let mut symbols: Vec<char> = CODE.chars().collect();
            symbols.swap(at, (at + 1).min(17));
            let typed: String = symbols.into_iter().collect();
            assert_eq!(check_tax_number(&typed).is_ok(), typed == CODE, "{typed}");
        }
    }

    #[test]
    fn title_is_needed_and_a_person_has_no_number() {
        let person = InvoiceTitle::check(" 王  小美 ", "").unwrap();
        assert_eq!((person.title.as_str(), person.tax_number), ("王 小美", None));
        assert_eq!(
            InvoiceTitle::check(" ", "1").unwrap_err(),
            [("title", "required"), ("tax_number", "bad_tax_number")]
        );
        assert_eq!(InvoiceTitle::check(&"字".repeat(101), "").unwrap_err(), [("title", "too_long")]);
    }
}
