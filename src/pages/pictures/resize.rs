//! Encoding of copies in several widths from a validated upload: upright, on white, without metadata.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, Rgb, RgbImage};
use sha2::{Digest, Sha256};

use super::PictureRefusal;
use crate::pictures::validate::ValidatedPicture;
use domain::Picture;
use domain::picture::COPY_WIDTHS;

/// Hexadecimal digits of the hash in a file name. At 128 bits collisions do not occur.
pub(super) const HASH_DIGITS: usize = 32;
/// The version of the encoding, which is hashed before the content. It must change with anything below that changes the
/// content of files, because browsers keep files for ever.
const ENCODING_VERSION: &[u8] = b"copies 1\0";
const JPEG_QUALITY: u8 = 80;
const WEBP_QUALITY: f32 = 76.0;
/// The longer side of the placeholder, in pixels.
const PLACEHOLDER_SIDE: u32 = 16;
const PLACEHOLDER_QUALITY: f32 = 20.0;

/// A picture, and its files by name.
pub(super) struct EncodedPicture {
    pub(super) picture: Picture,
    pub(super) files: Vec<(String, Vec<u8>)>,
}

/// Decodes an upload and encodes its copies. Takes up to seconds and hundreds of megabytes.
pub(super) fn encode(validated: ValidatedPicture) -> Result<EncodedPicture, PictureRefusal> {
    let name = name(&validated.bytes);
    let original = decode(&validated)?;
    drop(validated);
    let mut copy = scaled(&original, original.width().min(COPY_WIDTHS[2]));
    drop(original);
    let mut picture = Picture { width: copy.width(), height: copy.height(), ..Picture::drawing(name) };
    let mut files = Vec::new();
    let mut widths: Vec<u32> = picture.widths().collect();
    // Scale from the widest copy to the narrowest, each from the one before.
    while let Some(width) = widths.pop() {
        copy = scaled(&copy, width);
        files.push((picture.copy(width, "jpg"), jpeg(&copy)?));
        files.push((picture.copy(width, "webp"), webp(&copy.to_rgb8(), WEBP_QUALITY)?));
    }
    picture.placeholder = placeholder(&copy)?;
    Ok(EncodedPicture { picture, files })
}

fn name(bytes: &[u8]) -> String {
    let hash = Sha256::new().chain_update(ENCODING_VERSION).chain_update(bytes).finalize();
    let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).take(HASH_DIGITS / 2).collect();
    format!("u-{digits}")
}

fn decode(validated: &ValidatedPicture) -> Result<DynamicImage, PictureRefusal> {
    let mut decoder = validated.decoder()?;
    let orientation = decoder.orientation().unwrap_or(image::metadata::Orientation::NoTransforms);
    let mut decoded = DynamicImage::from_decoder(decoder).map_err(|_| PictureRefusal::Broken)?;
    decoded.apply_orientation(orientation);
    let flat = if decoded.color().has_alpha() { on_white(decoded) } else { decoded.into_rgb8() };
    Ok(DynamicImage::ImageRgb8(flat))
}

/// Blends transparent pixels with white: JPEG has no transparency, and all copies should look the same.
fn on_white(decoded: DynamicImage) -> RgbImage {
    let layers = decoded.into_rgba8();
    let mut flat = RgbImage::new(layers.width(), layers.height());
    for (pixel, layer) in flat.pixels_mut().zip(layers.pixels()) {
        let [colours @ .., alpha] = layer.0;
        *pixel = Rgb(colours.map(|colour| {
            let sum = u32::from(colour) * u32::from(alpha) + 255 * (255 - u32::from(alpha));
            u8::try_from(sum / 255).unwrap_or(u8::MAX)
        }));
    }
    flat
}

/// Scales a picture to a width with methods of `DynamicImage`, which are compiled (and optimized) in their own crate. A
/// far larger picture is averaged first, which costs less than the finer filter.
fn scaled(picture: &DynamicImage, width: u32) -> DynamicImage {
    if width == picture.width() {
        return picture.clone();
    }
    if width * 4 < picture.width() {
        let halfway = picture.thumbnail_exact(width * 2, height_at(picture, width * 2));
        return halfway.resize_exact(width, height_at(picture, width), FilterType::Lanczos3);
    }
    picture.resize_exact(width, height_at(picture, width), FilterType::Lanczos3)
}

/// The height of a picture that is scaled to a width.
fn height_at(picture: &DynamicImage, width: u32) -> u32 {
    let height = u64::from(picture.height()) * u64::from(width) * 2 / u64::from(picture.width());
    u32::try_from(height.div_ceil(2)).unwrap_or(u32::MAX).max(1)
}

fn jpeg(picture: &DynamicImage) -> Result<Vec<u8>, PictureRefusal> {
    let mut bytes = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY);
    picture.write_with_encoder(encoder).map_err(|_| PictureRefusal::Broken)?;
    Ok(bytes)
}

fn webp(picture: &RgbImage, quality: f32) -> Result<Vec<u8>, PictureRefusal> {
    let encoder = webp::Encoder::from_rgb(picture.as_raw(), picture.width(), picture.height());
    // WebP allows at most 16383 pixels per side; copies are smaller.
    let encoded = encoder.encode_simple(false, quality).map_err(|_| PictureRefusal::Broken)?;
    Ok(encoded.to_vec())
}

fn placeholder(picture: &DynamicImage) -> Result<String, PictureRefusal> {
    let (width, height) = (picture.width(), picture.height());
    let longer = width.max(height);
    let [width, height] = [width, height].map(|side| (side * PLACEHOLDER_SIDE).div_ceil(longer).max(1));
    let tiny = picture.thumbnail_exact(width, height).into_rgb8();
    Ok(format!("data:image/webp;base64,{}", STANDARD.encode(webp(&tiny, PLACEHOLDER_QUALITY)?)))
}
