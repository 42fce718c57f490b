//! Inputs for everything that parses bytes from outside: valid ones, changed a little, because random bytes rarely get
//! past the first check. The tests that use them stand in modules called `fuzz` beside their parsers.
//!
//! `PROPTEST_CASES` sets how many inputs a test tries, 256 by default; `scripts/fuzz --parsers N` runs them all,
//! optimized.

use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::prop_oneof;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestRunner};

/// Values that parsers often get wrong.
const SPECIAL: [&[u8]; 18] = [
    b"\0",
    b"\xff",
    b"\r\n",
    b"\"",
    b"\\u0000",
    b"-1",
    b"0",
    b"9223372036854775808",
    b"-9223372036854775809",
    b"4294967296",
    b"1e999",
    b"null",
    b"[[[[",
    b"{}",
    b"%00",
    b"\xef\xbc\x90",
    b"\xcc\x81",
    b",",
];

/// At most this many edits change one input.
const MAX_EDITS: usize = 6;

/// At most this many bytes are removed or repeated by one edit.
const MAX_RUN: usize = 40;

#[derive(Debug, Clone)]
enum Edit {
    Set(Index, u8),
    Insert(Index, &'static [u8]),
    Remove(Index, usize),
    Repeat(Index, usize),
    Truncate(Index),
    /// From this place on, the rest comes from another valid input.
    Splice(Index, Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Set(at, byte)),
        3 => (any::<Index>(), select(&SPECIAL[..])).prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        2 => (any::<Index>(), 1..MAX_RUN).prop_map(|(at, length)| Edit::Remove(at, length)),
        1 => (any::<Index>(), 1..MAX_RUN).prop_map(|(at, length)| Edit::Repeat(at, length)),
        1 => any::<Index>().prop_map(Edit::Truncate),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(at, from)| Edit::Splice(at, from)),
    ]
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>, other: &[u8]) {
        let place = |index: &Index| index.index(bytes.len() + 1);
        match self {
            Edit::Set(at, byte) => {
                let at = place(at);
                bytes.splice(at..bytes.len().min(at + 1), [*byte]);
            }
            Edit::Insert(at, new) => {
                let at = place(at);
                bytes.splice(at..at, new.iter().copied());
            }
            Edit::Remove(at, length) => {
                let at = place(at);
                bytes.drain(at..bytes.len().min(at + length));
            }
            Edit::Repeat(at, length) => {
                let at = place(at);
                let run = bytes[at..bytes.len().min(at + length)].to_vec();
                bytes.splice(at..at, run);
            }
            Edit::Truncate(at) => bytes.truncate(place(at)),
            Edit::Splice(at, from) => {
                bytes.truncate(place(at));
                bytes.extend(&other[from.index(other.len() + 1)..]);
            }
        }
    }
}

/// Calls a test with valid and with changed inputs. The test panics on an input that is handled wrongly, and the
/// smallest such input is printed.
pub fn inputs(valid: Vec<Vec<u8>>, test: impl Fn(&[u8])) {
    let input =
        (select(valid.clone()), select(valid), vec(edit(), 0..MAX_EDITS)).prop_map(|(mut bytes, other, edits)| {
            edits.iter().for_each(|edit| edit.apply(&mut bytes, &other));
            bytes
        });
    let config = Config { failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&input, |bytes| {
        test(&bytes);
        Ok(())
    });
    if let Err(wrong) = outcome {
        panic!("{wrong}");
    }
}

/// As [`inputs`], for texts. What is no longer UTF-8 has replacement characters.
pub fn texts<T: AsRef<str>>(valid: &[T], test: impl Fn(&str)) {
    let valid = valid.iter().map(|text| text.as_ref().as_bytes().to_vec()).collect();
    inputs(valid, |bytes| test(&String::from_utf8_lossy(bytes)));
}
