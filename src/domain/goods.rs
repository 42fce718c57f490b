//! Goods, the catalogue items of the shop, in both of its languages.

use std::borrow::Cow;

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::{CategoryId, GoodsId, Locale};

/// A text in every language of the shop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bilingual {
    pub zh: String,
    pub en: String,
}

/// What the API's document says about [`Bilingual`] texts in a request: the bounds of both, in characters.
pub struct BoundedBilingual<const MIN: u32, const MAX: u32>;

impl<const MIN: u32, const MAX: u32> JsonSchema for BoundedBilingual<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Bilingual{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let text = json_schema!({"type": "string", "minLength": MIN, "maxLength": MAX});
        json_schema!({
            "type": "object",
            "properties": {"zh": text, "en": text},
            "required": ["zh", "en"],
            "additionalProperties": false
        })
    }
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

// Categories, into which the shop sorts its goods.

/// Categories of one shop: they are one line of links on its pages.
pub const MAX_CATEGORIES: usize = 50;

/// A group of goods with a name and a page of its own. Goods are in one category or in none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Category {
    pub id: CategoryId,
    pub name: Bilingual,
    /// Time of the last change of the name. It increases with every change.
    pub updated_at: Timestamp,
}

impl Category {
    /// Changes with every change of the name. Reordering the categories changes no version.
    pub fn version(&self) -> i64 {
        self.updated_at.as_millisecond()
    }
}

/// The category with this id; `None` if `all` does not contain it.
pub fn category_of(all: &[Category], id: Option<CategoryId>) -> Option<&Category> {
    let id = id?;
    all.iter().find(|category| category.id == id)
}

// Pictures of goods, and galleries of them.

/// Widths of the stored copies in pixels: phones, cards on a phone with a dense screen, tablets, screens. No copy is wider than
/// the upload.
pub const COPY_WIDTHS: [u32; 4] = [320, DENSE_WIDTH, 640, 1280];
/// The width for dense screens. Uploads have this copy if their name begins with [`VERSIONED_UPLOAD`].
pub const DENSE_WIDTH: u32 = 480;
/// How names of uploads begin that carry the version of their encoding, in eight hexadecimal digits. Older names are a hash
/// throughout: one in 268 million of them begins like this.
const VERSIONED_UPLOAD: &str = "u-0000000";
/// Minimum width in previews of links. Covers of the demo have a copy in JPEG of exactly this width.
const SHARED_WIDTH: u32 = 800;
/// Pictures in one gallery.
pub const MAX_GALLERY_PICTURES: usize = 12;

/// A picture of goods.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Picture {
    /// The name of an upload (`u-<hash>`), or of a picture of the demo under `static/goods/` (`phone`).
    pub name: String,
    /// Pixels of the widest copy. Zero for pictures that older versions stored without a size.
    pub width: u32,
    pub height: u32,
    /// A tiny preview as a data URI, shown until the picture is loaded. Empty if there is none.
    #[serde(skip)]
    pub placeholder: String,
}

impl Picture {
    /// A picture of unknown size that is a single file.
    pub fn drawing(name: impl Into<String>) -> Picture {
        Picture { name: name.into(), width: 0, height: 0, placeholder: String::new() }
    }

    /// Whether there are copies in several widths and formats.
    pub fn has_copies(&self) -> bool {
        self.width > 0 && self.height > 0
    }

    /// The widths of the copies, narrowest first.
    pub fn widths(&self) -> impl Iterator<Item = u32> + use<> {
        let own = self.width;
        let is_old = self.is_upload() && !self.name.starts_with(VERSIONED_UPLOAD);
        let narrower = COPY_WIDTHS.into_iter().filter(move |&width| width < own && !(is_old && width == DENSE_WIDTH));
        narrower.chain((own > 0).then_some(own))
    }

    /// Whether the picture was uploaded. The others belong to the demo.
    pub fn is_upload(&self) -> bool {
        self.name.starts_with("u-")
    }

    /// The file name of one copy. Pictures of the demo have copies in WebP only.
    pub fn copy(&self, width: u32, extension: &str) -> String {
        let extension = if self.is_upload() { extension } else { "webp" };
        format!("{}-{width}.{extension}", self.name)
    }

    /// The file name for previews of links, which know no WebP and show narrow pictures small.
    pub fn shared(&self) -> String {
        match self.is_upload() {
            true => self.copy(self.widths().find(|width| *width >= SHARED_WIDTH).unwrap_or(self.width), "jpg"),
            false => format!("{}-{SHARED_WIDTH}.jpg", self.name),
        }
    }

    /// The file name for places that can name one file only.
    pub fn file(&self) -> String {
        if self.has_copies() { self.copy(self.width, "jpg") } else { self.name.clone() }
    }
}

/// A change to a gallery.
#[derive(Debug, Clone)]
pub enum GalleryChange {
    /// Replaces the cover.
    Cover(Picture),
    Add(Picture),
    Remove(String),
    /// The names of all pictures of the gallery in their new order.
    Order(Vec<String>),
}

/// Why a change to a gallery is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GalleryRefusal {
    #[error("there is no such picture")]
    NoSuchPicture,
    #[error("the gallery is full")]
    Full,
    #[error("an order names every picture once")]
    OtherPictures,
}

fn position(gallery: &[Picture], name: &str) -> Option<usize> {
    gallery.iter().position(|picture| picture.name == name)
}

impl GalleryChange {
    /// The gallery after the change. A picture that it already contains is moved, not duplicated.
    pub fn apply(self, mut gallery: Vec<Picture>) -> Result<Vec<Picture>, GalleryRefusal> {
        match self {
            GalleryChange::Cover(picture) => {
                // A picture of the gallery moves to the front; a new one replaces the old cover.
                let replaced = position(&gallery, &picture.name).or((!gallery.is_empty()).then_some(0));
                if let Some(at) = replaced {
                    gallery.remove(at);
                }
                gallery.insert(0, picture);
            }
            GalleryChange::Add(picture) => {
                if position(&gallery, &picture.name).is_none() {
                    gallery.push(picture);
                }
            }
            GalleryChange::Remove(name) => {
                let at = position(&gallery, &name).ok_or(GalleryRefusal::NoSuchPicture)?;
                gallery.remove(at);
            }
            GalleryChange::Order(names) => {
                if names.len() != gallery.len() || !gallery.iter().all(|picture| names.contains(&picture.name)) {
                    return Err(GalleryRefusal::OtherPictures);
                }
                gallery.sort_by_key(|picture| names.iter().position(|name| *name == picture.name));
            }
        }
        if gallery.len() > MAX_GALLERY_PICTURES { Err(GalleryRefusal::Full) } else { Ok(gallery) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Vec<Picture> {
        names.iter().copied().map(Picture::drawing).collect()
    }

    fn after(change: GalleryChange, names: &[&str]) -> Result<Vec<String>, GalleryRefusal> {
        change.apply(of(names)).map(|gallery| gallery.into_iter().map(|picture| picture.name).collect())
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn no_copy_is_wider_than_the_upload() {
        let named =
            |name: &str, width| Picture { width, height: 10, ..Picture::drawing(name) }.widths().collect::<Vec<_>>();
        let widths = |width| named("phone", width);
        assert_eq!(widths(1280), [320, 480, 640, 1280]);
        assert_eq!(widths(1000), [320, 480, 640, 1000]);
        assert_eq!(widths(640), [320, 480, 640]);
        assert_eq!(named("u-00000002ff", 640), [320, 480, 640]);
        assert_eq!(named("u-00ff", 640), [320, 640], "stored without the copy for dense screens");
        assert_eq!(widths(8), [8]);
        assert!(widths(0).is_empty());
    }

    #[test]
    fn gallery_changes_lose_and_duplicate_nothing() {
        let picture = |name: &str| Picture::drawing(name);
        assert_eq!(after(GalleryChange::Cover(picture("c")), &["a", "b"]), Ok(names(&["c", "b"])));
        assert_eq!(after(GalleryChange::Cover(picture("b")), &["a", "b"]), Ok(names(&["b", "a"])));
        assert_eq!(after(GalleryChange::Cover(picture("a")), &[]), Ok(names(&["a"])));
        assert_eq!(after(GalleryChange::Add(picture("b")), &["a"]), Ok(names(&["a", "b"])));
        assert_eq!(after(GalleryChange::Add(picture("a")), &["a", "b"]), Ok(names(&["a", "b"])));
        assert_eq!(after(GalleryChange::Remove("a".into()), &["a", "b"]), Ok(names(&["b"])));
        assert_eq!(after(GalleryChange::Order(names(&["c", "a", "b"])), &["a", "b", "c"]), Ok(names(&["c", "a", "b"])));
        assert_eq!(after(GalleryChange::Remove("x".into()), &["a"]), Err(GalleryRefusal::NoSuchPicture));
        for wrong in [&["a"][..], &["a", "a"], &["a", "x"], &["a", "b", "b"]] {
            assert_eq!(after(GalleryChange::Order(names(wrong)), &["a", "b"]), Err(GalleryRefusal::OtherPictures));
        }
        let full: Vec<String> = (0..MAX_GALLERY_PICTURES).map(|n| n.to_string()).collect();
        let full: Vec<&str> = full.iter().map(String::as_str).collect();
        assert_eq!(after(GalleryChange::Add(picture("more")), &full), Err(GalleryRefusal::Full));
        assert_eq!(after(GalleryChange::Cover(picture("more")), &full).unwrap().len(), MAX_GALLERY_PICTURES);
    }
}
