//! Refusals of changes to goods and their categories.

use crate::problem::{Code, Problem};
use domain::{GalleryRefusal, Locale};
use store::{CategoryRefusal, GoodsRefusal};

impl From<GoodsRefusal> for Problem {
    fn from(refusal: GoodsRefusal) -> Self {
        match refusal {
            GoodsRefusal::NoSuchGoods | GoodsRefusal::Gallery(GalleryRefusal::NoSuchPicture) => Code::NotFound.into(),
            GoodsRefusal::NoSuchCategory => Problem::invalid_field("category_id", "no_such_category"),
            GoodsRefusal::VariantOfVariant => Problem::invalid_field("variant_of", "variant_of_variant"),
            GoodsRefusal::HasVariants => Problem::invalid_field("variant_of", "has_variants"),
            GoodsRefusal::OnSale => Code::GoodsOnSale.into(),
            GoodsRefusal::ChangedMeanwhile => Code::StaleVersion.into(),
            GoodsRefusal::Gallery(GalleryRefusal::Full) => Problem::invalid_field("pictures", "too_many_pictures"),
            GoodsRefusal::Gallery(GalleryRefusal::OtherPictures) => {
                Problem::invalid_field("pictures", "other_pictures")
            }
            GoodsRefusal::Store(error) => error.into(),
        }
    }
}

impl From<CategoryRefusal> for Problem {
    fn from(refusal: CategoryRefusal) -> Self {
        match refusal {
            CategoryRefusal::NoSuchCategory => Code::NotFound.into(),
            CategoryRefusal::ChangedMeanwhile => Code::StaleVersion.into(),
            CategoryRefusal::NameTaken(Locale::Zh) => Problem::invalid_field("name.zh", "name_taken"),
            CategoryRefusal::NameTaken(Locale::En) => Problem::invalid_field("name.en", "name_taken"),
            CategoryRefusal::TooMany => Code::TooManyCategories.into(),
            CategoryRefusal::OtherCategories => Problem::invalid_field("categories", "other_categories"),
            CategoryRefusal::InUse(_) => Problem::invalid_field("confirm", "confirm"),
            CategoryRefusal::Store(error) => error.into(),
        }
    }
}
