//! Renders the Markdown that staff write as harmless HTML: no raw HTML, no pictures, no styles, and only links with
//! known schemes. Tables are allowed for the specifications of goods.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// Links with other schemes stay text.
const SCHEMES: [&str; 4] = ["https:", "http:", "mailto:", "tel:"];

fn events(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
}

/// The text as HTML. Line breaks are kept, because texts from before Markdown rely on them. Headings start below the
/// page's own headings.
pub fn to_html(text: &str) -> String {
    let mut kept_links = Vec::new();
    let events = events(text).filter_map(|event| match event {
        Event::Html(raw) | Event::InlineHtml(raw) => Some(Event::Text(raw)),
        Event::SoftBreak => Some(Event::HardBreak),
        Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
        Event::Start(Tag::Heading { level, .. }) => {
            Some(Event::Start(Tag::Heading { level: below(level), id: None, classes: Vec::new(), attrs: Vec::new() }))
        }
        Event::End(TagEnd::Heading(level)) => Some(Event::End(TagEnd::Heading(below(level)))),
        // Drop alignments: aligned columns would get style attributes.
        Event::Start(Tag::Table(columns)) => {
            Some(Event::Start(Tag::Table(columns.iter().map(|_| pulldown_cmark::Alignment::None).collect())))
        }
        // Drop the picture and keep the words that describe it.
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        Event::Start(Tag::Link { ref dest_url, .. }) => {
            kept_links.push(is_harmless(dest_url));
            kept_links.last().is_some_and(|kept| *kept).then_some(event)
        }
        Event::End(TagEnd::Link) => kept_links.pop().is_some_and(|kept| kept).then_some(event),
        other => Some(other),
    });
    let mut markup = String::with_capacity(2 * text.len());
    html::push_html(&mut markup, events);
    markup
}

/// The words without markup, for search engines.
pub fn to_plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for event in events(text) {
        match event {
            Event::Text(words) | Event::Code(words) => plain.push_str(&words),
            Event::SoftBreak | Event::HardBreak | Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::TableRow) => {
                plain.push('\n');
            }
            Event::End(TagEnd::TableHead | TagEnd::Heading(_)) => plain.push('\n'),
            Event::End(TagEnd::TableCell) => plain.push(' '),
            _ => {}
        }
    }
    plain.trim_end().to_owned()
}

/// Moves a heading two levels down, because the page itself has headings of the first two.
fn below(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

/// A path of this shop, an anchor, or one of [`SCHEMES`].
fn is_harmless(target: &str) -> bool {
    let target = target.to_ascii_lowercase();
    let is_path =
        (target.starts_with('/') && !target.starts_with("//") && !target.starts_with("/\\")) || target.starts_with('#');
    is_path || SCHEMES.iter().any(|scheme| target.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_paragraphs_lists_and_tables() {
        assert_eq!(to_html("One\ntwo"), "<p>One<br />\ntwo</p>\n");
        assert_eq!(to_html("# Head\n\n- a\n- b"), "<h3>Head</h3>\n<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n");
        let table = to_html("| Weight | Colour |\n|---:|:---:|\n| 168 g | blue |");
        assert!(table.contains("<th>Weight</th>") && table.contains("<td>168 g</td>"), "{table}");
        assert!(!table.contains("style"), "the security policy forbids styles: {table}");
    }

    #[test]
    fn nothing_that_acts_gets_through() {
        for hostile in [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "<div onclick=\"alert(1)\">\nx\n</div>",
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt:alert(1))",
            "[x](java&#115;cript:alert(1))",
            "[x](data:text/html,<script>alert(1)</script>)",
            "[x](//evil.example)",
            "<javascript:alert(1)>",
            "![x](https://evil.example/x.png)",
            "[x](https://a.example \"\\\" onclick=alert(1)\")",
        ] {
            let html = to_html(hostile);
            for part in ["<script", "<img", "<div", "href=\"java", "href=\"data", "href=\"//", "\" onclick"] {
                assert!(!html.to_lowercase().contains(part), "{part} of {hostile}: {html}");
            }
        }
        assert!(
            to_html("[terms](/zh/about) [site](https://shop.example) [us](tel:400)").matches("<a href").count() == 3
        );
    }

    #[test]
    fn plain_text_has_the_words() {
        assert_eq!(
            to_plain("## Size\n**6.4** inches\n\n| a | b |\n|---|---|\n| c | d |"),
            "Size\n6.4 inches\na b \nc d"
        );
    }
}
