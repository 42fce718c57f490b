//! The one place that says what is too much: `figures.toml`.

/// A test fails beyond so much of a figure.
const LEEWAY: f64 = 1.5;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/counts/figures.toml");

/// Prints what was counted, name by name; fails when something is beyond its bound.
#[track_caller]
pub fn check(section: &str, counted: &[(&str, f64)]) {
    let file: toml::Table = std::fs::read_to_string(FILE).unwrap().parse().unwrap();
    let figure = |name: &str| {
        let value = &file[section][name];
        value.as_float().or(value.as_integer().map(|n| n as f64)).unwrap_or_else(|| panic!("{section}.{name}"))
    };
    let mut too_much = Vec::new();
    for (name, found) in counted {
        let seen = figure(name);
        println!("{section}.{name}: {found:.2}, at most {:.2} ({seen:.2} when it was set)", seen * LEEWAY);
        if *found > seen * LEEWAY {
            too_much.push(format!("{section}.{name}: {found:.2}, was {seen:.2}"));
        }
    }
    assert!(
        too_much.is_empty(),
        "too much: {too_much:?}. Find out what has become dearer; if it has to be, write the new figure into \
         tests/counts/figures.toml and say why"
    );
}
