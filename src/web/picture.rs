//! Uploaded pictures: what they are is read from their first bytes, never from what the sender calls them.

use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};
use tokio::fs;
use uuid::Uuid;

/// The largest picture, in bytes.
pub const MOST_BYTES: usize = 4 * 1024 * 1024;
/// Pixels along one side: more than a screen has, and far from what makes a browser run out of memory.
const SIDES: std::ops::RangeInclusive<u32> = 1..=8000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Png,
    Jpeg,
    Webp,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Png, Kind::Jpeg, Kind::Webp];

    fn extension(self) -> &'static str {
        match self {
            Kind::Png => "png",
            Kind::Jpeg => "jpg",
            Kind::Webp => "webp",
        }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Kind::Png => "image/png",
            Kind::Jpeg => "image/jpeg",
            Kind::Webp => "image/webp",
        }
    }
}

/// Bytes that begin like a picture of sane size.
#[derive(Debug)]
pub struct Picture<'a> {
    kind: Kind,
    bytes: &'a [u8],
}

impl<'a> Picture<'a> {
    /// `None` for anything that is not a picture which the shop takes.
    pub fn read(bytes: &'a [u8]) -> Option<Picture<'a>> {
        let (kind, (width, height)) = png(bytes)
            .map(|size| (Kind::Png, size))
            .or_else(|| jpeg(bytes).map(|size| (Kind::Jpeg, size)))
            .or_else(|| webp(bytes).map(|size| (Kind::Webp, size)))?;
        let sane = bytes.len() <= MOST_BYTES && SIDES.contains(&width) && SIDES.contains(&height);
        sane.then_some(Picture { kind, bytes })
    }

    /// `u-<sha256>.<extension>`: the same picture has one name, another one another.
    fn name(&self) -> String {
        let hash: String = Sha256::digest(self.bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("u-{hash}.{}", self.kind.extension())
    }

    /// What a name that `keep` gave stands for; `None` for any other name.
    pub fn kind_of_name(name: &str) -> Option<Kind> {
        let (hash, extension) = name.strip_prefix("u-")?.split_once('.')?;
        let is_hash = hash.len() == 64 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        Kind::ALL.into_iter().find(|kind| is_hash && kind.extension() == extension)
    }
}

/// Writes a picture, whole or not at all, and gives its name.
pub async fn keep(folder: &Path, picture: &Picture<'_>) -> io::Result<String> {
    let name = picture.name();
    let file = folder.join(&name);
    if fs::try_exists(&file).await? {
        return Ok(name);
    }
    fs::create_dir_all(folder).await?;
    let temporary = folder.join(format!(".{}", Uuid::new_v4()));
    fs::write(&temporary, picture.bytes).await?;
    fs::rename(&temporary, &file).await?;
    Ok(name)
}

type Size = (u32, u32);

fn be16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn le(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + count)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte)))
}

fn png(bytes: &[u8]) -> Option<Size> {
    let header = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR")?;
    let side = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    Some((side(0)?, side(4)?))
}

/// The size stands in the first frame header; segments before it say how long they are.
fn jpeg(bytes: &[u8]) -> Option<Size> {
    let mut at = bytes.starts_with(&[0xff, 0xd8, 0xff]).then_some(2)?;
    loop {
        let marker = *bytes.get(at + 1).filter(|_| bytes[at] == 0xff)?;
        match marker {
            // Padding.
            0xff => at += 1,
            // SOF0 to SOF15, without the tables that share the range.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((be16(bytes, at + 7)?, be16(bytes, at + 5)?));
            }
            // The picture's data, or its end, before any size.
            0xd0..=0xda => return None,
            _ => at += 2 + be16(bytes, at + 2)?.max(2) as usize,
        }
    }
}

fn webp(bytes: &[u8]) -> Option<Size> {
    let riff = bytes.starts_with(b"RIFF") && bytes.get(8..12)? == b"WEBP";
    match riff.then_some(bytes.get(12..16)?)? {
        b"VP8 " if bytes.get(23..26)? == [0x9d, 0x01, 0x2a] => {
            Some((le(bytes, 26, 2)? & 0x3fff, le(bytes, 28, 2)? & 0x3fff))
        }
        b"VP8L" if bytes.get(20)? == &0x2f => {
            let bits = le(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => Some((le(bytes, 24, 3)? + 1, le(bytes, 27, 3)? + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png_of(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes
    }

    fn jpeg_of(width: u16, height: u16) -> Vec<u8> {
        let mut bytes = vec![0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xff, 0xc2, 0, 17, 8];
        bytes.extend(height.to_be_bytes());
        bytes.extend(width.to_be_bytes());
        bytes
    }

    fn webp_of(kind: &[u8; 4], rest: &[u8]) -> Vec<u8> {
        [b"RIFF\0\0\0\0WEBP", kind.as_slice(), &[0; 4], rest].concat()
    }

    #[test]
    fn sizes_are_read_from_headers() {
        assert_eq!(png(&png_of(640, 480)), Some((640, 480)));
        assert_eq!(jpeg(&jpeg_of(640, 480)), Some((640, 480)));
        let lossy = webp_of(b"VP8 ", &[0, 0, 0, 0x9d, 0x01, 0x2a, 0x80, 0x02, 0xe0, 0x01]);
        assert_eq!(webp(&lossy), Some((640, 480)));
        let bits: u32 = 639 | 479 << 14;
        let lossless = webp_of(b"VP8L", &[&[0x2f], bits.to_le_bytes().as_slice()].concat());
        assert_eq!(webp(&lossless), Some((640, 480)));
        let extended = webp_of(b"VP8X", &[0, 0, 0, 0, 0x7f, 0x02, 0, 0xdf, 0x01, 0]);
        assert_eq!(webp(&extended), Some((640, 480)));
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        assert!(Picture::read(&png_of(640, 480)).is_some());
        assert!(Picture::read(&png_of(0, 480)).is_none());
        assert!(Picture::read(&png_of(100_000, 480)).is_none());
        assert!(Picture::read(b"<svg onload=alert(1)>").is_none());
        assert!(Picture::read(b"GIF89a").is_none());
        for whole in [png_of(640, 480), jpeg_of(640, 480), webp_of(b"VP8X", &[0; 10])] {
            for end in 0..whole.len() {
                assert!(Picture::read(&whole[..end]).is_none(), "{end} of {}", whole.len());
            }
            let huge = [whole.as_slice(), &vec![0; MOST_BYTES]].concat();
            assert!(Picture::read(&huge).is_none());
        }
        let mut endless = vec![0xff, 0xd8];
        endless.resize(1000, 0xff);
        assert!(Picture::read(&endless).is_none());
    }

    #[tokio::test]
    async fn a_picture_is_kept_under_the_name_of_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = png_of(1, 1);
        let picture = Picture::read(&bytes).unwrap();
        let name = keep(&folder.path().join("new"), &picture).await.unwrap();
        assert_eq!(keep(&folder.path().join("new"), &picture).await.unwrap(), name);
        assert_eq!(fs::read(folder.path().join("new").join(&name)).await.unwrap(), bytes);
        assert_eq!(Picture::kind_of_name(&name), Some(Kind::Png));
        for other in ["u-00ff.png", "../u-secret.png", &name.replace("png", "svg"), &name.to_uppercase()] {
            assert_eq!(Picture::kind_of_name(other), None);
        }
    }
}
