//! A reader of CBOR (RFC 8949), as far as authenticators write it (CTAP2 canonical form): lengths are definite, and
//! there are neither tags nor floats. It borrows from its input, and its depth is bounded.

/// Authenticators nest four levels at most.
const MAX_DEPTH: u8 = 8;
/// The most entries of a map. Keys and attestations have a handful.
const MAX_ENTRIES: u64 = 64;

/// One value. Integers have at most 64 bits, like all registered numbers of COSE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'a> {
    Int(i64),
    Bytes(&'a [u8]),
    Text(&'a str),
    Array(Vec<Value<'a>>),
    /// Entries in the order of the input. No key comes twice.
    Map(Vec<(Value<'a>, Value<'a>)>),
    /// `false`, `true`, `null` or `undefined`.
    Simple(u8),
}

impl<'a> Value<'a> {
    /// The value of a key, if this is a map that has it.
    pub fn get(&self, key: &Value<'_>) -> Option<&Value<'a>> {
        let Value::Map(entries) = self else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub fn int(&self, key: i64) -> Option<i64> {
        match self.get(&Value::Int(key)) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        }
    }

    pub fn bytes(&self, key: &Value<'_>) -> Option<&'a [u8]> {
        match self.get(key) {
            Some(Value::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }
}

/// Reads one value. Returns it and the rest of the input, or `None` when the input is not valid.
pub fn read(input: &[u8]) -> Option<(Value<'_>, &[u8])> {
    let mut reader = Reader { rest: input };
    let value = reader.value(MAX_DEPTH)?;
    Some((value, reader.rest))
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// The major type and the argument of the next value. The argument has the shortest form.
    fn head(&mut self) -> Option<(u8, u64)> {
        let first = *self.take(1)?.first()?;
        let (length, least) = match first & 0x1f {
            small @ 0..24 => return Some((first >> 5, small.into())),
            24 => (1, 24),
            25 => (2, 1 << 8),
            26 => (4, 1 << 16),
            27 => (8, 1 << 32),
            _ => return None,
        };
        let argument = self.take(length)?.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        (argument >= least).then_some((first >> 5, argument))
    }

    fn value(&mut self, depth: u8) -> Option<Value<'a>> {
        let (kind, argument) = self.head()?;
        match kind {
            0 => Some(Value::Int(i64::try_from(argument).ok()?)),
            1 => Some(Value::Int(-1 - i64::try_from(argument).ok()?)),
            2 => Some(Value::Bytes(self.take(usize::try_from(argument).ok()?)?)),
            3 => {
                let text = self.take(usize::try_from(argument).ok()?)?;
                Some(Value::Text(std::str::from_utf8(text).ok()?))
            }
            4 => {
                let depth = depth.checked_sub(1)?;
                let mut items = Vec::new();
                for _ in 0..argument {
                    items.push(self.value(depth)?);
                }
                Some(Value::Array(items))
            }
            5 => self.map(argument, depth.checked_sub(1)?),
            7 if (20..24).contains(&argument) => Some(Value::Simple(argument as u8)),
            _ => None,
        }
    }

    fn map(&mut self, entries: u64, depth: u8) -> Option<Value<'a>> {
        if entries > MAX_ENTRIES {
            return None;
        }
        let mut map: Vec<(Value<'a>, Value<'a>)> = Vec::new();
        for _ in 0..entries {
            let key = self.value(depth)?;
            if !matches!(key, Value::Int(_) | Value::Text(_)) || map.iter().any(|(known, _)| *known == key) {
                return None;
            }
            map.push((key, self.value(depth)?));
        }
        Some(Value::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(input: &[u8]) -> Option<Value<'_>> {
        read(input).filter(|(_, rest)| rest.is_empty()).map(|(value, _)| value)
    }

    #[test]
    fn values_are_read_as_the_standard_writes_them() {
        // Examples of RFC 8949, appendix A.
        for (input, value) in [
            (&b"\x00"[..], Value::Int(0)),
            (b"\x17", Value::Int(23)),
            (b"\x18\x18", Value::Int(24)),
            (b"\x1a\x00\x0f\x42\x40", Value::Int(1_000_000)),
            (b"\x20", Value::Int(-1)),
            (b"\x39\x03\xe7", Value::Int(-1000)),
            (b"\x44\x01\x02\x03\x04", Value::Bytes(&[1, 2, 3, 4])),
            (b"\x62\xc3\xbc", Value::Text("ü")),
            (b"\x82\x01\x02", Value::Array(vec![Value::Int(1), Value::Int(2)])),
            (b"\xa1\x01\x61a", Value::Map(vec![(Value::Int(1), Value::Text("a"))])),
            (b"\xf5", Value::Simple(21)),
        ] {
            assert_eq!(whole(input), Some(value), "{input:02x?}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let deep = [0x81; 9];
        for input in [
            &b""[..],
            b"\x18\x17",               // 23 in two bytes
            b"\x1b\x80\0\0\0\0\0\0\0", // beyond 63 bits
            b"\x5f\x41\x01\xff",       // indefinite length
            b"\x42\x01",               // too short
            b"\x61\xff",               // not UTF-8
            b"\x9b\0\0\0\x02\0\0\0\0", // an array that is not there
            b"\xa2\x01\x01\x01\x02",   // a key twice
            b"\xa1\x41\x01\x01",       // bytes as a key
            b"\xc0\x61a",              // a tag
            b"\xf9\x3c\x00",           // a float
            b"\xf8\x20",               // an unassigned simple value
            &deep,
        ] {
            assert_eq!(whole(input), None, "{input:02x?}");
        }
    }

    proptest! {
        #[test]
        fn no_input_makes_the_reader_panic(input: Vec<u8>) {
            if let Some((_, rest)) = read(&input) {
                prop_assert!(rest.len() < input.len());
            }
        }
    }
}
