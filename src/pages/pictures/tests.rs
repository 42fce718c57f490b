use std::time::Duration;

use image::{ImageDecoder, ImageFormat, ImageReader, RgbImage, Rgba, RgbaImage};

use super::*;
use crate::pictures::UNUSED_PICTURE_RETENTION;
use base::config::sqlite_in;
use store::GoodsDraft;
use testing::samples::{halves, photo, png};

/// A PNG whose header declares a size without the data for it.
fn bomb(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = png(8, 8);
    bytes[16..20].copy_from_slice(&width.to_be_bytes());
    bytes[20..24].copy_from_slice(&height.to_be_bytes());
    let mut checksum = flate2::Crc::new();
    checksum.update(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&checksum.sum().to_be_bytes());
    bytes
}

/// A PNG whose colour profile is tiny, and `size` bytes once it is inflated.
fn with_profile(size: usize) -> Vec<u8> {
    let mut profile = flate2::write::ZlibEncoder::new(b"profile\0\0".to_vec(), flate2::Compression::best());
    profile.write_all(&vec![0; size]).unwrap();
    let mut chunk = b"iCCP".to_vec();
    chunk.extend(profile.finish().unwrap());
    let mut checksum = flate2::Crc::new();
    checksum.update(&chunk);
    let mut bytes = png(8, 8);
    let length = u32::try_from(chunk.len() - 4).unwrap().to_be_bytes();
    // After the header.
    bytes.splice(33..33, [&length[..], &chunk, &checksum.sum().to_be_bytes()].concat());
    bytes
}

struct TestPictures {
    pictures: Pictures,
    store: Store,
    dir: tempfile::TempDir,
}

impl TestPictures {
    async fn open() -> TestPictures {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&sqlite_in(dir.path())).unwrap();
        store.migrate().await.unwrap();
        let pictures = Pictures::new(store.clone(), dir.path().join("uploads"), Clock::system());
        TestPictures { pictures, store, dir }
    }

    /// The same pictures, `time` later.
    fn after(&self, time: Duration) -> Pictures {
        let now = Clock::system().now() + time;
        Pictures { clock: Clock::manual(now), ..self.pictures.clone() }
    }

    fn files(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.dir.path().join("uploads")) else { return Vec::new() };
        let mut files: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        files
    }

    async fn copy(&self, name: &str) -> (Vec<u8>, RgbImage) {
        let (_, bytes) = self.pictures.file(name).await.unwrap().unwrap();
        let decoded = ImageReader::new(io::Cursor::new(&bytes)).with_guessed_format().unwrap().decode().unwrap();
        (bytes, decoded.into_rgb8())
    }
}

fn refusal(bytes: Vec<u8>) -> &'static str {
    match resize::validate(bytes).and_then(resize::encode) {
        Ok(encoded) => panic!("{:?} was accepted", encoded.picture),
        Err(refusal) => refusal.field_code().unwrap(),
    }
}

#[test]
fn other_formats_and_sizes_are_refused() {
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>";
    assert_eq!(refusal(svg.to_vec()), "bad_picture");
    assert_eq!(refusal(b"<!doctype html><script>alert(1)</script>".to_vec()), "bad_picture");
    assert_eq!(refusal(b"GIF89a\x01\0\x01\0\x80\0\0".to_vec()), "bad_picture");
    assert_eq!(refusal(b"RIFF\0\0\0\0WAVEfmt ".to_vec()), "bad_picture");
    assert_eq!(refusal(Vec::new()), "picture_empty");
    assert_eq!(refusal(vec![0; 10_000_000]), "picture_too_large");
    let mut large = png(8, 8);
    large.resize(MAX_PICTURE_BYTES + 1, 0);
    assert_eq!(refusal(large), "picture_too_large");
}

#[test]
fn picture_too_large_to_decode_is_refused_by_its_header() {
    assert_eq!(refusal(bomb(50_000, 50_000)), "picture_too_many_pixels");
    assert_eq!(refusal(bomb(9_000, 9_000)), "picture_too_many_pixels");
    assert_eq!(refusal(bomb(20_000, 1)), "picture_too_many_pixels");
    assert_eq!(refusal(bomb(0, 10)), "picture_broken");
}

#[test]
fn colour_profile_is_never_inflated() {
    let upload = with_profile(100_000_000);
    assert!(upload.len() < 200_000, "{}", upload.len());
    let validated = resize::validate(upload).unwrap();
    assert!(validated.bytes.len() < 1_000, "{}", validated.bytes.len());
    assert_eq!(validated.decoder().unwrap().icc_profile().unwrap(), None);
    assert_eq!(resize::encode(validated).unwrap().picture.width, 8);
}

#[test]
fn damaged_or_truncated_picture_is_refused() {
    let whole = photo(64, 48, 1);
    for end in [3, 20, whole.len() / 2, whole.len() - 2, whole.len() - 1] {
        assert_eq!(refusal(whole[..end].to_vec()), "picture_broken", "{end} of {}", whole.len());
    }
    let mut trailer = whole.clone();
    trailer.extend(b"\0\0what a camera appends");
    assert!(resize::validate(trailer).is_ok());
    let png = png(64, 48);
    assert_eq!(refusal(png[..png.len() / 2].to_vec()), "picture_broken");
    assert_eq!(refusal(png[..20].to_vec()), "picture_broken");
    let html = [b"\x89PNG\r\n\x1a\n".as_slice(), b"<html><script>alert(1)</script></html>"].concat();
    assert_eq!(refusal(html), "picture_broken");
    let webp = webp::Encoder::from_rgb(halves(64, 48).as_raw(), 64, 48).encode(80.0).to_vec();
    assert_eq!(refusal(webp[..webp.len() / 2].to_vec()), "picture_broken");
    assert!(resize::validate(webp).and_then(resize::encode).is_ok());
}

#[tokio::test]
async fn copies_are_upright_and_without_metadata() {
    let fixture = TestPictures::open().await;
    // Orientation 6 rotates by 90°: the left side of the file is the top of the picture.
    let picture = fixture.pictures.add(photo(1500, 1000, 6)).await.unwrap();
    assert_eq!((picture.width, picture.height), (1000, 1500));
    assert!(picture.placeholder.starts_with("data:image/webp;base64,") && picture.placeholder.len() < 500);
    let widths = [320, 480, 640, 1000];
    assert_eq!(fixture.files().len(), 2 * widths.len(), "{:?}", fixture.files());
    for (width, extension) in widths.into_iter().flat_map(|width| [(width, "jpg"), (width, "webp")]) {
        let (bytes, copy) = fixture.copy(&picture.copy(width, extension)).await;
        assert_eq!((copy.width(), copy.height()), (width, width * 3 / 2), "{width} {extension}");
        let (above, below) = (copy.get_pixel(width / 2, width / 4), copy.get_pixel(width / 2, width * 5 / 4));
        assert!(above[0] > 150 && above[2] < 100 && below[2] > 150 && below[0] < 100, "{above:?} {below:?}");
        let contains = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
        assert!(!contains(b"GPS 48") && !contains(b"Exif"), "{width} {extension}");
    }
    let again = fixture.pictures.add(photo(1500, 1000, 6)).await.unwrap();
    assert_eq!((again.name, fixture.files().len()), (picture.name, 8), "an identical upload is the same picture");
}

#[test]
fn copies_that_phones_load_are_light_also_of_a_busy_picture() {
    // Noise, so that nothing can be left out unseen; the last rows are plain.
    let mut state = 1_u32;
    let busy = RgbImage::from_fn(700, 933, |_, y| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [_, colours @ ..] = state.to_le_bytes();
        if y < 900 { image::Rgb(colours) } else { image::Rgb([240, 240, 240]) }
    });
    let mut bytes = io::Cursor::new(Vec::new());
    busy.write_to(&mut bytes, ImageFormat::Png).unwrap();
    let EncodedPicture { picture, files } = resize::validate(bytes.into_inner()).and_then(resize::encode).unwrap();
    let size = |width| files.iter().find(|(name, _)| *name == picture.copy(width, "webp")).unwrap().1.len();
    for (width, max) in resize::MAX_BYTES {
        assert!((max / 2..=max).contains(&size(width)), "{} bytes at {width}", size(width));
    }
    assert!(size(700) > 100_000, "to look closely, it is as it was: {}", size(700));
}

#[tokio::test]
async fn small_picture_is_not_enlarged_and_transparency_becomes_white() {
    let fixture = TestPictures::open().await;
    let glass = RgbaImage::from_pixel(100, 40, Rgba([0, 0, 0, 0]));
    let mut bytes = io::Cursor::new(Vec::new());
    glass.write_to(&mut bytes, ImageFormat::Png).unwrap();
    let picture = fixture.pictures.add(bytes.into_inner()).await.unwrap();
    assert_eq!(fixture.files(), [picture.copy(100, "jpg"), picture.copy(100, "webp")]);
    assert!(fixture.copy(&picture.file()).await.1.pixels().all(|pixel| pixel.0.iter().all(|&c| c > 250)));
    let thin = fixture.pictures.add(png(4000, 1)).await.unwrap();
    assert_eq!((thin.width, thin.height), (1280, 1));
}

#[tokio::test]
async fn unused_picture_is_removed_after_a_day() {
    let fixture = TestPictures::open().await;
    let (kept, dropped) =
        (fixture.pictures.add(png(40, 30)).await.unwrap(), fixture.pictures.add(png(50, 30)).await.unwrap());
    let draft = |pictures: &[&Picture]| GoodsDraft {
        pictures: Some(pictures.iter().copied().cloned().collect()),
        ..GoodsDraft::default()
    };
    let now = Clock::system().now();
    let goods = fixture.store.goods().put(None, draft(&[&kept]), "me", now).await.unwrap().unwrap();
    std::fs::write(fixture.dir.path().join("uploads/notes.txt"), "a foreign file").unwrap();
    std::fs::write(
        fixture.dir.path().join("uploads").join(format!(".{}", Uuid::new_v4())),
        "left by a crashed process",
    )
    .unwrap();

    assert_eq!(fixture.pictures.remove_unused().await.unwrap(), 0);
    assert_eq!(fixture.after(UNUSED_PICTURE_RETENTION / 2).remove_unused().await.unwrap(), 0);
    assert_eq!(
        fixture.after(UNUSED_PICTURE_RETENTION * 2).remove_unused().await.unwrap(),
        3,
        "two copies and a temporary file"
    );
    assert_eq!(fixture.files(), ["notes.txt".to_owned(), kept.copy(40, "jpg"), kept.copy(40, "webp")]);
    assert_eq!(fixture.store.goods().pictures(&[dropped.name]).await.unwrap(), []);

    // A picture removed from a gallery also stays for a day.
    let later = now + UNUSED_PICTURE_RETENTION * 10;
    fixture.store.goods().put(Some(goods.id), draft(&[]), "me", later).await.unwrap();
    assert_eq!(
        fixture.after(UNUSED_PICTURE_RETENTION * 10 + UNUSED_PICTURE_RETENTION / 2).remove_unused().await.unwrap(),
        0
    );
    assert_eq!(fixture.after(UNUSED_PICTURE_RETENTION * 12).remove_unused().await.unwrap(), 2);
}

#[test]
fn only_names_of_uploads_are_files() {
    let (hash, old) = ("0123456789abcdef".repeat(2), "0123456789abcdef".repeat(4));
    assert_eq!(content_type(&format!("u-{hash}-640.webp")), Some("image/webp"));
    assert_eq!(content_type(&format!("u-{hash}-8.jpg")), Some("image/jpeg"));
    assert_eq!(content_type(&format!("u-{old}.png")), Some("image/png"));
    assert_eq!(picture_of(&format!("u-{hash}-640.webp")), Some(format!("u-{hash}").as_str()));
    assert_eq!(picture_of(&format!("u-{old}.png")), Some(format!("u-{old}.png").as_str()));
    let others = [
        format!("u-{hash}-640.svg"),
        format!("u-{hash}-640.png"),
        format!("u-{hash}-064.jpg"),
        format!("u-{hash}-+64.jpg"),
        format!("u-{hash}-99999.jpg"),
        format!("u-{hash}.jpg"),
        format!("u-{}-640.jpg", hash.to_uppercase()),
        "../secret".to_owned(),
        "u-../../secret-640.jpg".to_owned(),
    ];
    for other in others {
        assert_eq!(content_type(&other), None, "{other}");
    }
}

mod fuzz {
    use super::*;
    use testing::fuzz::inputs;

    #[test]
    fn any_upload_is_encoded_or_refused() {
        let valid = vec![photo(16, 12, 6), png(16, 12), bomb(50_000, 50_000)];
        inputs(valid, |bytes| {
            if let Err(refusal) = resize::validate(bytes.to_vec()).and_then(resize::encode) {
                assert!(refusal.field_code().is_some(), "{refusal:?}");
            }
        });
    }
}
