//! What the shop sells, in both of its languages.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{GoodsId, Locale};

/// A text in every language of the shop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bilingual {
    pub zh: String,
    pub en: String,
}

impl Bilingual {
    pub fn new(zh: impl Into<String>, en: impl Into<String>) -> Bilingual {
        Bilingual { zh: zh.into(), en: en.into() }
    }

    pub fn get(&self, locale: Locale) -> &str {
        match locale {
            Locale::Zh => &self.zh,
            Locale::En => &self.en,
        }
    }
}

/// A catalogue item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Goods {
    pub id: GoodsId,
    pub name: Bilingual,
    pub description: Bilingual,
    /// Name of the picture: of a demo picture under `static/goods/`, or of an upload; empty for none.
    pub image: String,
    pub updated_at: Timestamp,
}
