//! Validation of uploads by their bytes alone: names and declared types come from the client and are not trusted.
//! Dimensions are read from the header, so that a picture that is too large is never decoded.

use std::io::Cursor;

use image::{ImageDecoder, ImageFormat, ImageReader, Limits};

use super::{MAX_PICTURE_BYTES, PictureRefusal};

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
