//! Encoding of copies in several widths from a validated upload: upright, on white, without metadata.

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, Rgb, RgbImage};
use sha2::{Digest, Sha256};

use crate::pictures::{MAX_PICTURE_BYTES, PictureRefusal};
use domain::Picture;
use domain::goods::{COPY_WIDTHS, DENSE_WIDTH};

/// Hexadecimal digits of a picture's name: eight for the version of its encoding, the others are a hash. At 96 bits
/// collisions do not occur.
pub(super) const NAME_DIGITS: usize = 32;
/// The version of the encoding. It must change with anything below that changes the content of files, because browsers keep
/// files for ever. Names without a version, from before version 2, are a hash throughout.
const ENCODING_VERSION: u32 = 3;
const JPEG_QUALITY: u8 = 80;
const WEBP_QUALITY: f32 = 76.0;
/// WebP quality of the [`DENSE_WIDTH`] copy. On a screen with two or three device pixels per CSS pixel it looks like 76.
const DENSE_QUALITY: f32 = 68.0;
/// Bytes of the WebP copies up to a width, which phones load: a list has six of them at a time, a sale two of 640 pixels and two
/// of 320. With them a page stays within 110 KiB. Wider copies, for larger screens and for looking closely, have no bound.
pub(super) const MAX_BYTES: [(u32, usize); 3] = [(320, 7_168), (DENSE_WIDTH, 10_752), (640, 18_432)];
/// The lowest quality of a busy picture. Blurred before at a higher one, it looks better than below.
const MIN_QUALITY: i32 = 8;
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
    let mut copy = scaled(&original, original.width().min(COPY_WIDTHS[3]));
    drop(original);
    let mut picture = Picture { width: copy.width(), height: copy.height(), ..Picture::drawing(name) };
    let mut files = Vec::new();
    let mut widths: Vec<u32> = picture.widths().collect();
    // Scale from the widest copy to the narrowest, each from the one before.
    while let Some(width) = widths.pop() {
        copy = scaled(&copy, width);
        files.push((picture.copy(width, "jpg"), jpeg(&copy)?));
        let quality = if width == DENSE_WIDTH { DENSE_QUALITY } else { WEBP_QUALITY };
        files.push((picture.copy(width, "webp"), bounded(&copy, quality)?));
    }
    picture.placeholder = placeholder(&copy)?;
    Ok(EncodedPicture { picture, files })
}

fn name(bytes: &[u8]) -> String {
    let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("u-{ENCODING_VERSION:08x}{}", &hash[..NAME_DIGITS - 8])
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

/// A copy that fits the bytes of its width. libwebp finds the quality for a busy picture, such as leaves or a crowd, in one
/// call. Where even [`MIN_QUALITY`] is too large, as for noise, the copy is blurred first, more at each further try.
fn bounded(copy: &DynamicImage, quality: f32) -> Result<Vec<u8>, PictureRefusal> {
    let (width, height) = (copy.width(), copy.height());
    let mut bytes = webp(&copy.to_rgb8(), quality, None)?;
    let Some(&(_, max)) = MAX_BYTES.iter().find(|(bounded, _)| width <= *bounded) else { return Ok(bytes) };
    let mut detail = if bytes.len() > 5 * max { 2 } else { 1 };
    while bytes.len() > max && detail <= 16 {
        let blurred = scaled(copy, (width / detail).max(1)).resize_exact(width, height, FilterType::CatmullRom);
        bytes = webp(&blurred.into_rgb8(), quality, Some(max))?;
        detail *= 2;
    }
    Ok(bytes)
}

/// Encodes with this quality, or with the highest below it that needs about `max` bytes.
fn webp(picture: &RgbImage, quality: f32, max: Option<usize>) -> Result<Vec<u8>, PictureRefusal> {
    let mut config = webp::WebPConfig::new().map_err(|()| PictureRefusal::Broken)?;
    config.quality = quality;
    if let Some(max) = max {
        // libwebp ends within 3 % of its target.
        config.target_size = i32::try_from(max - max / 32).unwrap_or(i32::MAX);
        (config.pass, config.qmin, config.qmax) = (4, MIN_QUALITY, quality as i32);
    }
    let encoder = webp::Encoder::from_rgb(picture.as_raw(), picture.width(), picture.height());
    // WebP allows at most 16383 pixels per side; copies are smaller.
    Ok(encoder.encode_advanced(&config).map_err(|_| PictureRefusal::Broken)?.to_vec())
}

fn placeholder(picture: &DynamicImage) -> Result<String, PictureRefusal> {
    let (width, height) = (picture.width(), picture.height());
    let longer = width.max(height);
    let [width, height] = [width, height].map(|side| (side * PLACEHOLDER_SIDE).div_ceil(longer).max(1));
    let tiny = picture.thumbnail_exact(width, height).into_rgb8();
    Ok(format!("data:image/webp;base64,{}", STANDARD.encode(webp(&tiny, PLACEHOLDER_QUALITY, None)?)))
}

// Validation of uploads by their bytes alone: names and declared types come from the client and are not trusted.
// Dimensions are read from the header, so that a picture that is too large is never decoded.

/// Pixels per side.
const MAX_SIDE: u32 = 10_000;
/// Pixels of the whole picture: more than phones produce by default.
const MAX_PIXELS: u64 = 32_000_000;
/// Bytes that one decoder may allocate.
const MAX_DECODER_BYTES: u64 = 320 * 1024 * 1024;

const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// An upload whose header declares an accepted format and size.
pub(super) struct ValidatedPicture {
    pub(super) bytes: Vec<u8>,
    pub(super) format: ImageFormat,
}

pub(super) fn validate(bytes: Vec<u8>) -> Result<ValidatedPicture, PictureRefusal> {
    match bytes.len() {
        0 => return Err(PictureRefusal::Empty),
        1..=MAX_PICTURE_BYTES => {}
        _ => return Err(PictureRefusal::TooLarge),
    }
    let format = format(&bytes).ok_or(PictureRefusal::OtherKind)?;
    let bytes = if format == ImageFormat::Png { essential_chunks(&bytes) } else { bytes };
    let picture = ValidatedPicture { bytes, format };
    let (width, height) = picture.decoder()?.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if width > MAX_SIDE || height > MAX_SIDE || pixels > MAX_PIXELS {
        return Err(PictureRefusal::TooManyPixels);
    }
    if pixels == 0 || (format == ImageFormat::Jpeg && !is_whole_jpeg(&picture.bytes)) {
        return Err(PictureRefusal::Broken);
    }
    Ok(picture)
}

impl ValidatedPicture {
    /// A decoder that has read the header only.
    pub(super) fn decoder(&self) -> Result<impl ImageDecoder + '_, PictureRefusal> {
        let mut limits = Limits::default();
        limits.max_alloc = Some(MAX_DECODER_BYTES);
        let mut reader = ImageReader::with_format(Cursor::new(self.bytes.as_slice()), self.format);
        reader.limits(limits);
        reader.into_decoder().map_err(|error| match error {
            image::ImageError::Limits(_) => PictureRefusal::TooManyPixels,
            _ => PictureRefusal::Broken,
        })
    }
}

fn format(bytes: &[u8]) -> Option<ImageFormat> {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    match () {
        () if bytes.starts_with(PNG_SIGNATURE) => Some(ImageFormat::Png),
        () if bytes.starts_with(&[0xff, 0xd8, 0xff]) => Some(ImageFormat::Jpeg),
        () if is_webp => Some(ImageFormat::WebP),
        () => None,
    }
}

/// A PNG with the chunks that its pixels need, and its orientation. The others are dropped unread: a colour profile or a
/// text is compressed, and a few hundred kilobytes of it become hundreds of megabytes. What follows a broken chunk is left
/// to the decoder.
fn essential_chunks(png: &[u8]) -> Vec<u8> {
    let mut kept = png[..PNG_SIGNATURE.len()].to_vec();
    let mut rest = &png[PNG_SIGNATURE.len()..];
    while let Some(&[a, b, c, d]) = rest.first_chunk() {
        // Length, kind, data, checksum.
        let Some(chunk) = rest.get(..u32::from_be_bytes([a, b, c, d]) as usize + 12) else { break };
        if matches!(&chunk[4..8], b"IHDR" | b"PLTE" | b"tRNS" | b"eXIf" | b"IDAT" | b"IEND") {
            kept.extend_from_slice(chunk);
        }
        rest = &rest[chunk.len()..];
    }
    kept.extend_from_slice(rest);
    kept
}

/// Whether a JPEG is complete up to its end marker. Decoders fill missing data with grey and report no error.
fn is_whole_jpeg(bytes: &[u8]) -> bool {
    let mut at = 2;
    loop {
        match bytes.get(at..at + 2) {
            Some([0xff, 0xd9]) => return true,
            // Padding, then picture data, to which escaped bytes and restart markers belong.
            Some([0xff, 0xff]) => at += 1,
            Some([0xff, 0x00 | 0x01 | 0xd0..=0xd7]) => at += 2,
            // A segment has a length. The end marker of a preview picture inside it is not the end.
            Some([0xff, _]) => match bytes.get(at + 2..at + 4) {
                Some(&[high, low]) => at += 2 + usize::from(u16::from_be_bytes([high, low])).max(2),
                _ => return false,
            },
            Some(_) => at += 1,
            None => return false,
        }
    }
}
