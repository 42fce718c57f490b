//! From bytes that passed the check to copies of several widths: upright, on white, without the sender's metadata.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, Rgb, RgbImage};
use sha2::{Digest, Sha256};

use super::PictureRefusal;
use crate::domain::Picture;
use crate::domain::picture::WIDTHS;
use crate::pictures::validate::Checked;

/// Of the hash in a name: 128 bits are more than anybody's pictures can collide in.
pub(super) const HASH_DIGITS: usize = 32;
/// Stands before the content in its hash; to be changed with anything below that changes what files contain, because
/// browsers keep files for ever.
const RECIPE: &[u8] = b"copies 1\0";
const JPEG_QUALITY: u8 = 80;
const WEBP_QUALITY: f32 = 76.0;
/// The longer side of the placeholder.
const PLACEHOLDER_SIDE: u32 = 16;
const PLACEHOLDER_QUALITY: f32 = 20.0;

/// A picture and its files by name.
pub(super) struct Developed {
    pub(super) picture: Picture,
    pub(super) files: Vec<(String, Vec<u8>)>,
}

/// Takes up to seconds and hundreds of megabytes.
pub(super) fn develop(checked: Checked) -> Result<Developed, PictureRefusal> {
    let name = name(&checked.bytes);
    let original = decode(&checked)?;
    drop(checked);
    let mut copy = scaled(&original, original.width().min(WIDTHS[2]));
    drop(original);
    let mut picture = Picture { width: copy.width(), height: copy.height(), ..Picture::drawing(name) };
    let mut files = Vec::new();
    let mut widths: Vec<u32> = picture.widths().collect();
    // From wide to narrow, each from the one before.
    while let Some(width) = widths.pop() {
        copy = scaled(&copy, width);
        files.push((picture.copy(width, "jpg"), jpeg(&copy)?));
        files.push((picture.copy(width, "webp"), webp(&copy.to_rgb8(), WEBP_QUALITY)?));
    }
    picture.placeholder = placeholder(&copy)?;
    Ok(Developed { picture, files })
}

fn name(bytes: &[u8]) -> String {
    let hash = Sha256::new().chain_update(RECIPE).chain_update(bytes).finalize();
    let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).take(HASH_DIGITS / 2).collect();
    format!("u-{digits}")
}

fn decode(checked: &Checked) -> Result<DynamicImage, PictureRefusal> {
    let broken = |_| PictureRefusal::Broken;
    let mut decoder = checked.decoder()?;
    let orientation = decoder.orientation().unwrap_or(image::metadata::Orientation::NoTransforms);
    let mut decoded = DynamicImage::from_decoder(decoder).map_err(broken)?;
    decoded.apply_orientation(orientation);
    let flat = if decoded.color().has_alpha() { on_white(decoded) } else { decoded.into_rgb8() };
    Ok(DynamicImage::ImageRgb8(flat))
}

/// JPEG has no transparency, and the copies shall look alike.
fn on_white(decoded: DynamicImage) -> RgbImage {
    let layers = decoded.into_rgba8();
    let mut flat = RgbImage::new(layers.width(), layers.height());
    for (pixel, layer) in flat.pixels_mut().zip(layers.pixels()) {
        let [colours @ .., alpha] = layer.0;
        let mix = |colour: u8| {
            let sum = u32::from(colour) * u32::from(alpha) + 255 * (255 - u32::from(alpha));
            u8::try_from(sum / 255).unwrap_or(u8::MAX)
        };
        *pixel = Rgb(colours.map(mix));
    }
    flat
}

/// The picture in this width, by methods that are compiled (and optimised) with their crate. What is far larger is averaged first, which costs less than the finer filter.
fn scaled(picture: &DynamicImage, width: u32) -> DynamicImage {
    if width == picture.width() {
        return picture.clone();
    }
    let height_of = |width: u32| {
        let height = u64::from(picture.height()) * u64::from(width) * 2 / u64::from(picture.width());
        u32::try_from(height.div_ceil(2)).unwrap_or(u32::MAX).max(1)
    };
    if width * 4 < picture.width() {
        let halfway = picture.thumbnail_exact(width * 2, height_of(width * 2));
        return halfway.resize_exact(width, height_of(width), FilterType::Lanczos3);
    }
    picture.resize_exact(width, height_of(width), FilterType::Lanczos3)
}

fn jpeg(picture: &DynamicImage) -> Result<Vec<u8>, PictureRefusal> {
    let mut bytes = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY);
    picture.write_with_encoder(encoder).map_err(|_| PictureRefusal::Broken)?;
    Ok(bytes)
}

fn webp(picture: &RgbImage, quality: f32) -> Result<Vec<u8>, PictureRefusal> {
    let encoder = webp::Encoder::from_rgb(picture.as_raw(), picture.width(), picture.height());
    // WebP has no pictures of more than 16383 pixels along a side; ours end before.
    let encoded = encoder.encode_simple(false, quality).map_err(|_| PictureRefusal::Broken)?;
    Ok(encoded.to_vec())
}

fn placeholder(picture: &DynamicImage) -> Result<String, PictureRefusal> {
    let (width, height) = (picture.width(), picture.height());
    let side = |length: u32| (length * PLACEHOLDER_SIDE).div_ceil(width.max(height)).max(1);
    let tiny = picture.thumbnail_exact(side(width), side(height)).into_rgb8();
    Ok(format!("data:image/webp;base64,{}", STANDARD.encode(webp(&tiny, PLACEHOLDER_QUALITY)?)))
}
