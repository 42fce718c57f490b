//! Bytes as hexadecimal digits. Each sequence of bytes has one text, in lower case.

pub fn encode(bytes: &[u8]) -> String {
    ::hex::encode(bytes)
}

/// `None` unless the text has exactly the digits of `N` bytes.
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let has_capitals = text.bytes().any(|digit| digit.is_ascii_uppercase());
    (!has_capitals && ::hex::decode_to_slice(text, &mut bytes).is_ok()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_one_text() {
        assert_eq!(encode(&[0, 0x9a, 0xff]), "009aff");
        assert_eq!(decode("009aff"), Some([0, 0x9a, 0xff]));
        for wrong in ["", "009af", "009aff0", "009aFf", "009afg", "é9aff"] {
            assert_eq!(decode::<3>(wrong), None, "{wrong}");
        }
    }
}
