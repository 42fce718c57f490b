//! Bytes as hexadecimal digits. Each sequence of bytes has one text, in lower case.

pub fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// `None` unless the text has exactly the digits of `N` bytes.
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = (value(pair[0])? << 4) | value(pair[1])?;
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
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
