//! Goods, the catalogue items of the shop, in both of its languages.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CategoryId, GoodsId, Locale, Picture};

/// A text in every language of the shop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Goods {
    pub id: GoodsId,
    pub name: Bilingual,
    pub description: Bilingual,
    /// The category
    pub category_id: Option<CategoryId>,
    /// The goods of which these are a variant, for example in another colour. They are not a variant themselves.
    pub variant_of: Option<GoodsId>,
    /// What distinguishes them from the product's other variants. Empty if staff did not enter it.
    pub variant: Bilingual,
    /// The gallery in display order. The first picture is the cover.
    pub pictures: Vec<Picture>,
    /// Time of the last change. It increases with every change.
    pub updated_at: Timestamp,
    /// Archived goods stay visible in ended sales and cannot be used in new ones.
    pub archived_at: Option<Timestamp>,
}

impl Goods {
    pub fn cover(&self) -> Option<&Picture> {
        self.pictures.first()
    }

    /// The product, which all variants share: the id of the goods that the others are variants of.
    pub fn product(&self) -> GoodsId {
        self.variant_of.unwrap_or(self.id)
    }

    /// The name of the variant, or the name of the goods if the variant has none.
    pub fn variant_name(&self, locale: Locale) -> &str {
        let name = self.variant.get(locale);
        if name.is_empty() { self.name.get(locale) } else { name }
    }

    /// Changes with every change of the goods.
    pub fn version(&self) -> i64 {
        self.updated_at.as_millisecond()
    }

    pub fn is_archived(&self) -> bool {
        self.archived_at.is_some()
    }
}
