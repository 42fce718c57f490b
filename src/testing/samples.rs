//! A sale and its goods, and pictures.

use std::io;

use image::codecs::jpeg::JpegEncoder;
use image::{ImageEncoder, ImageFormat, Rgb, RgbImage};
use jiff::Timestamp;

use domain::sale::SaleState;
use domain::{Bilingual, Currency, Goods, GoodsId, Money, Picture, Rush, Sale, SaleId, SaleMode, Window};

/// The instant of a text in RFC 3339.
pub fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A scheduled sale of 100 units of goods with this name in both languages.
pub fn sample(id: i64, name: &str) -> (Sale, Goods) {
    let goods = Goods {
        id: GoodsId(id),
        name: Bilingual::new(name, name),
        description: Bilingual::new("介绍", "About it"),
        category_id: None,
        variant_of: None,
        variant: Bilingual::new("", ""),
        pictures: vec![Picture::drawing("phone-640.webp")],
        updated_at: at("2026-11-01T00:00:00Z"),
        archived_at: None,
    };
    let sale = Sale {
        id: SaleId(id),
        goods_id: goods.id,
        price: Money::new(199_900, Currency::CNY),
        list_price: Some(Money::new(299_900, Currency::CNY)),
        total: 100,
        sold: 0,
        granted: 0,
        per_user_limit: 2,
        window: Window { opens_at: Some(at("2026-11-21T12:00:00Z")), closes_at: None },
        rush: Rush::default(),
        mode: SaleMode::Rush,
        state: SaleState::Scheduled,
        version: 1,
        epoch: 1,
        shadow: false,
        eligibility: Default::default(),
        spread_seed: None,
    };
    (sale, goods)
}

// Pictures as a phone or a program makes them.

/// A picture that is red on the left and blue on the right.
pub fn halves(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, _| if x < width / 2 { Rgb([220, 20, 20]) } else { Rgb([20, 20, 220]) })
}

/// A JPEG with an EXIF block that contains a location and this orientation.
pub fn photo(width: u32, height: u32, orientation: u8) -> Vec<u8> {
    let mut tiff = b"II*\0\x08\0\0\0\x02\0".to_vec();
    tiff.extend([0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0]);
    // ImageDescription, in place of the GPS directory that a phone writes.
    let place = b"GPS 48.8584 N 2.2945 E\0";
    tiff.extend([0x0e, 0x01, 2, 0, u8::try_from(place.len()).unwrap(), 0, 0, 0, 38, 0, 0, 0]);
    tiff.extend([0; 4]);
    tiff.extend(place);
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, 90);
    encoder.set_exif_metadata(tiff).unwrap();
    halves(width, height).write_with_encoder(encoder).unwrap();
    bytes
}

pub fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = io::Cursor::new(Vec::new());
    halves(width, height).write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}
