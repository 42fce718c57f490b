//! Pictures as a phone or a program makes them.

use std::io;

use image::codecs::jpeg::JpegEncoder;
use image::{ImageEncoder, ImageFormat, Rgb, RgbImage};

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
