//! What bytes are, told by the bytes alone: names and declared types are the sender's claims. Sizes are read from the
//! header, so that nothing is decoded that would not fit.

use std::io::Cursor;

use image::{ImageDecoder, ImageFormat, ImageReader, Limits};

use super::{MOST_BYTES, PictureRefusal};

/// Along one side.
const MOST_ALONG: u32 = 10_000;
/// Of the whole picture: what today's telephones take at most by default, with room.
const MOST_PIXELS: u64 = 32_000_000;
/// What one decoder may allocate.
const MOST_MEMORY: u64 = 320 * 1024 * 1024;

/// Bytes that say they are a picture of sane size, of one of the kinds that the shop takes.
pub(super) struct Checked {
    pub(super) bytes: Vec<u8>,
    pub(super) format: ImageFormat,
}

pub(super) fn check(bytes: Vec<u8>) -> Result<Checked, PictureRefusal> {
    match bytes.len() {
        0 => return Err(PictureRefusal::Empty),
        1..=MOST_BYTES => {}
        _ => return Err(PictureRefusal::TooLarge),
    }
    let format = format(&bytes).ok_or(PictureRefusal::OtherKind)?;
    let checked = Checked { bytes, format };
    let (width, height) = checked.decoder()?.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if width > MOST_ALONG || height > MOST_ALONG || pixels > MOST_PIXELS {
        return Err(PictureRefusal::TooManyPixels);
    }
    if pixels == 0 || (format == ImageFormat::Jpeg && !is_whole_jpeg(&checked.bytes)) {
        return Err(PictureRefusal::Broken);
    }
    Ok(checked)
}

impl Checked {
    /// Has read the header and no more.
    pub(super) fn decoder(&self) -> Result<impl ImageDecoder + '_, PictureRefusal> {
        let mut limits = Limits::default();
        limits.max_alloc = Some(MOST_MEMORY);
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
        () if bytes.starts_with(b"\x89PNG\r\n\x1a\n") => Some(ImageFormat::Png),
        () if bytes.starts_with(&[0xff, 0xd8, 0xff]) => Some(ImageFormat::Jpeg),
        () if is_webp => Some(ImageFormat::WebP),
        () => None,
    }
}

/// Whether a JPEG goes on to its end marker. Decoders fill what is missing with grey and say nothing.
fn is_whole_jpeg(bytes: &[u8]) -> bool {
    let mut at = 2;
    loop {
        match bytes.get(at..at + 2) {
            Some([0xff, 0xd9]) => return true,
            // Padding, and bytes of the picture's data: escaped ones and restart marks belong to it.
            Some([0xff, 0xff]) => at += 1,
            Some([0xff, 0x00 | 0x01 | 0xd0..=0xd7]) => at += 2,
            // A segment says how long it is. The end mark of a preview picture inside it is not the end.
            Some([0xff, _]) => match bytes.get(at + 2..at + 4) {
                Some(&[high, low]) => at += 2 + usize::from(u16::from_be_bytes([high, low])).max(2),
                _ => return false,
            },
            Some(_) => at += 1,
            None => return false,
        }
    }
}
