//! The form that gives a red packet, and the QR code that shares one.

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::Money;
use domain::packet::Split;
use pages::{Chrome, filters};
use qrcode::QrCode;
use qrcode::render::svg;
use words::{field_error, fill};

use crate::packets::form::{PacketForm, SplitPreview};

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
