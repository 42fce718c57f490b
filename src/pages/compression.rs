//! Compresses each content once, never per request.

use std::io::Write;

use axum::body::Bytes;

/// 64 KiB, about the size of the largest page. A larger window only costs time to set up.
const BROTLI_WINDOW: i32 = 16;

/// How much time compression may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Pages, thousands at once: 0.25 ms each. Level 5 would save 6 % and take 40 times as long.
    Page,
    /// Files that change only with the program.
    Asset,
}

impl Effort {
    /// Of brotli (0 to 11) and gzip (0 to 9). A debug build would take half a second to compress all files well, at each
    /// start of each test's shop.
    fn qualities(self) -> (i32, u32) {
        match self {
            Effort::Page => (4, 6),
            Effort::Asset if cfg!(debug_assertions) => (1, 1),
            Effort::Asset => (9, 6),
        }
    }
}

/// The compressed forms of one content.
#[derive(Debug, Clone)]
pub struct Compressed {
    pub br: Bytes,
    pub gzip: Bytes,
}

impl Compressed {
    pub fn new(content: &[u8], effort: Effort) -> std::io::Result<Compressed> {
        let (quality, gzip_level) = effort.qualities();
        let params = brotli::enc::BrotliEncoderParams {
            quality,
            lgwin: BROTLI_WINDOW,
            size_hint: content.len(),
            ..Default::default()
        };
        let mut br = Vec::with_capacity(content.len() / 3);
        brotli::BrotliCompress(&mut &content[..], &mut br, &params)?;
        let level = flate2::Compression::new(gzip_level);
        let mut gzip = flate2::write::GzEncoder::new(Vec::with_capacity(content.len() / 3), level);
        gzip.write_all(content)?;
        Ok(Compressed { br: br.into(), gzip: gzip.finish()?.into() })
    }
}

/// An entity tag of the content. Weak, because the compressed forms share it.
pub fn etag(content: &[u8]) -> String {
    etag_of(&fingerprint(content, 16))
}

/// The entity tag of content with this fingerprint.
pub fn etag_of(fingerprint: &str) -> String {
    format!("W/\"{fingerprint}\"")
}

/// The first `digits` hexadecimal digits of the content's SHA-256.
pub fn fingerprint(content: &[u8], digits: usize) -> String {
    use sha2::Digest;
    let hash = sha2::Sha256::digest(content);
    let mut text: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    text.truncate(digits);
    text
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn compressed_content_decompresses() {
        let content = "一件商品 ".repeat(1000).into_bytes();
        for effort in [Effort::Page, Effort::Asset] {
            let compressed = Compressed::new(&content, effort).unwrap();
            let (mut br, mut gzip) = (Vec::new(), Vec::new());
            brotli::BrotliDecompress(&mut &compressed.br[..], &mut br).unwrap();
            flate2::read::GzDecoder::new(&compressed.gzip[..]).read_to_end(&mut gzip).unwrap();
            assert_eq!(br, content);
            assert_eq!(gzip, content);
            assert!(compressed.br.len() < content.len() / 10);
        }
    }

    #[test]
    fn entity_tag_changes_with_the_content() {
        assert_eq!(etag(b"a"), "W/\"ca978112ca1bbdca\"");
        assert_ne!(etag(b"a"), etag(b"b"));
    }
}
