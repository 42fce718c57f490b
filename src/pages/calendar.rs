//! The calendar files of a sale (RFC 5545): its start, and the result of its draw. They are published beside the page that
//! links to them.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use domain::{Goods, Locale, ModeName, Sale, SaleState};
use words::{fill, text};

/// Length of the calendar entry unless the sale closes earlier. A flash sale is decided within minutes.
const ENTRY_DURATION: SignedDuration = SignedDuration::from_mins(15);
/// Maximum line length in octets, without the line break (RFC 5545, 3.1).
const MAX_LINE_LEN: usize = 75;

/// The calendar file of the start of a sale that has a start time and has not ended; `None` for any other.
pub fn start(locale: Locale, origin: &str, sale: &Sale, goods: &Goods) -> Option<String> {
    let starts = sale.starts_at().filter(|_| sale.state != SaleState::Ended)?;
    let words = &text(locale).shop;
    let (summary, price) = match sale.mode.name() {
        ModeName::Rush => (words.calendar_summary, words.calendar_text),
        ModeName::Draw => (words.calendar_draw, words.calendar_price),
        ModeName::WaitingRoom => (words.calendar_waiting_room, words.calendar_price),
    };
    let ends = sale.window.closes_at.filter(|closes| *closes > starts);
    let entry = Entry { uid: format!("sale-{}", sale.id), starts, ends, summary, text: fill(price, sale.price) };
    entry.file(locale, origin, sale, goods)
}

/// The calendar file of the result of a draw that has not ended; `None` for any other sale.
pub fn result(locale: Locale, origin: &str, sale: &Sale, goods: &Goods) -> Option<String> {
    let plan = sale.mode.draw_plan().filter(|_| sale.state != SaleState::Ended)?;
    let starts = plan.result_at(sale.window.closes_at?);
    let words = &text(locale).draws;
    let (summary, text) = (words.calendar_result, words.calendar_result_text.to_owned());
    let entry = Entry { uid: format!("draw-{}", sale.id), starts, ends: None, summary, text };
    entry.file(locale, origin, sale, goods)
}

struct Entry {
    /// It is the same in both languages and after changes, so that a calendar that reads the file again moves the entry
    /// instead of adding one.
    uid: String,
    starts: Timestamp,
    /// If that is earlier than [`ENTRY_DURATION`] after the start.
    ends: Option<Timestamp>,
    /// With a place for the name of the goods.
    summary: &'static str,
    text: String,
}

impl Entry {
    /// The content does not depend on the time of rendering: `DTSTAMP` is the product's last change.
    fn file(self, locale: Locale, origin: &str, sale: &Sale, goods: &Goods) -> Option<String> {
        let Entry { uid, starts, ends, summary, text } = self;
        let latest = starts.checked_add(ENTRY_DURATION).ok()?;
        let ends = ends.map_or(latest, |ends| ends.min(latest));
        let summary = escape(&fill(summary, goods.name.get(locale)));
        let page = format!("{origin}/{locale}/sales/{}", sale.id);
        let host = origin.split_once("://").map_or(origin, |(_, host)| host);
        let lines = [
            "BEGIN:VCALENDAR".to_owned(),
            "VERSION:2.0".to_owned(),
            format!("PRODID:-//Seckill//Reminder//{}", locale.as_str().to_uppercase()),
            "CALSCALE:GREGORIAN".to_owned(),
            "BEGIN:VEVENT".to_owned(),
            format!("UID:{uid}@{}", escape(host)),
            format!("DTSTAMP:{}", utc(goods.updated_at)),
            format!("DTSTART:{}", utc(starts)),
            format!("DTEND:{}", utc(ends)),
            format!("SUMMARY:{summary}"),
            format!("DESCRIPTION:{}", escape(&format!("{text}\n{page}"))),
            format!("URL:{page}"),
            "BEGIN:VALARM".to_owned(),
            "ACTION:DISPLAY".to_owned(),
            "TRIGGER:-PT5M".to_owned(),
            format!("DESCRIPTION:{summary}"),
            "END:VALARM".to_owned(),
            "END:VEVENT".to_owned(),
            "END:VCALENDAR".to_owned(),
        ];
        Some(lines.iter().map(|line| fold(line)).collect())
    }
}

fn utc(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// Escapes a value of type TEXT. Control characters other than the line break are not allowed and are dropped.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | ';' | ',' => escaped.extend(['\\', character]),
            '\n' => escaped.push_str("\\n"),
            control if control.is_control() => {}
            other => escaped.push(other),
        }
    }
    escaped
}

/// Folds a line into lines of at most 75 octets, never within a character, and ends it.
fn fold(line: &str) -> String {
    let mut folded = String::with_capacity(line.len() + line.len() / 24 + 2);
    let mut room = MAX_LINE_LEN;
    for character in line.chars() {
        if character.len_utf8() > room {
            folded.push_str("\r\n ");
            room = MAX_LINE_LEN - 1;
        }
        room -= character.len_utf8();
        folded.push(character);
    }
    folded.push_str("\r\n");
    folded
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::{DrawPlan, SaleMode, WaitingRoomPlan};
    use testing::samples::{at, sample};

    const ORIGIN: &str = "https://shop.example";

    fn file_of(name: &str) -> String {
        let (sale, goods) = sample(7, name);
        start(Locale::En, ORIGIN, &sale, &goods).unwrap()
    }

    /// The unfolded lines.
    fn read(file: &str) -> Vec<String> {
        file.replace("\r\n ", "").split_terminator("\r\n").map(str::to_owned).collect()
    }

    #[test]
    fn entry_has_time_title_and_address() {
        let lines = read(&file_of("Phone"));
        for line in [
            "VERSION:2.0",
            "UID:sale-7@shop.example",
            "DTSTAMP:20261101T000000Z",
            "DTSTART:20261121T120000Z",
            "DTEND:20261121T121500Z",
            "URL:https://shop.example/en/sales/7",
            "TRIGGER:-PT5M",
        ] {
            assert!(lines.iter().any(|l| l == line), "{line} in {lines:?}");
        }
        assert_eq!((lines[0].as_str(), lines.last().unwrap().as_str()), ("BEGIN:VCALENDAR", "END:VCALENDAR"));
        assert!(lines.iter().any(|l| l.starts_with("SUMMARY:") && l.contains("Phone")));
    }

    #[test]
    fn waiting_room_is_entered_when_it_opens() {
        let (mut sale, goods) = sample(7, "Phone");
        sale.mode = SaleMode::WaitingRoom(WaitingRoomPlan { prequeue_s: 1_800, ..WaitingRoomPlan::USUAL });
        let lines = read(&start(Locale::En, ORIGIN, &sale, &goods).unwrap());
        for line in ["DTSTART:20261121T113000Z", "DTEND:20261121T114500Z", "SUMMARY:Waiting room opens: Phone"] {
            assert!(lines.iter().any(|l| l == line), "{line} in {lines:?}");
        }
    }

    #[test]
    fn result_of_a_draw_comes_with_its_round() {
        let (mut sale, goods) = sample(7, "Phone");
        assert_eq!(result(Locale::En, ORIGIN, &sale, &goods), None);
        sale.window.closes_at = Some(at("2026-11-21T12:30:00Z"));
        sale.mode = SaleMode::Draw(DrawPlan { window_s: 900, review_s: 600, beacon: None });
        let lines = read(&result(Locale::En, ORIGIN, &sale, &goods).unwrap());
        for line in ["DTSTART:20261121T124000Z", "UID:draw-7@shop.example", "SUMMARY:Result of the draw: Phone"] {
            assert!(lines.iter().any(|l| l == line), "{line} in {lines:?}");
        }
        sale.state = SaleState::Ended;
        assert_eq!(result(Locale::En, ORIGIN, &sale, &goods), None);
    }

    #[test]
    fn any_product_name_keeps_the_file_valid() {
        for name in ["a;b,c\\d\r\nX-EVIL:1\nEND:VEVENT", &"手机📱".repeat(400), "\u{202e}\u{7}", ""] {
            let file = file_of(name);
            assert!(file.ends_with("\r\n") && !file.replace("\r\n", "").contains(['\r', '\n']));
            assert!(file.split("\r\n").all(|line| line.len() <= MAX_LINE_LEN), "{name:?}");
            let lines = read(&file);
            assert_eq!(lines.len(), 19, "{name:?}: {lines:?}");
            assert_eq!(lines.iter().filter(|line| *line == "END:VEVENT").count(), 1);
        }
        assert!(read(&file_of("a;b,c\\d")).iter().any(|line| line.contains("a\\;b\\,c\\\\d")));
        assert!(read(&file_of(&"手机📱".repeat(400))).iter().any(|line| line.contains(&"手机📱".repeat(400))));
    }

    #[test]
    fn sale_without_start_time_or_ended_has_no_file() {
        let (mut sale, goods) = sample(7, "Phone");
        sale.window.closes_at = Some(at("2026-11-21T12:05:00Z"));
        assert!(start(Locale::Zh, ORIGIN, &sale, &goods).unwrap().contains("DTEND:20261121T120500Z"));
        sale.state = SaleState::Ended;
        assert_eq!(start(Locale::Zh, ORIGIN, &sale, &goods), None);
        (sale.state, sale.window.opens_at) = (SaleState::Scheduled, None);
        assert_eq!(start(Locale::Zh, ORIGIN, &sale, &goods), None);
    }
}
