//! Comparison with the budgets in `figures.toml`.

/// A test fails above this multiple of a figure.
const MAX_FACTOR: f64 = 1.5;

/// A purchase in a waiting room may cost this many times another purchase.
const MAX_TURN_FACTOR: f64 = 1.15;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/counts/figures.toml");

/// Prints every count. Fails if one exceeds its budget.
#[track_caller]
pub fn check(section: &str, counted: &[(&str, f64)]) {
    let file: toml::Table = std::fs::read_to_string(FILE).unwrap().parse().unwrap();
    let figure = |name: &str| {
        let value = &file[section][name];
        value.as_float().or(value.as_integer().map(|n| n as f64)).unwrap_or_else(|| panic!("{section}.{name}"))
    };
    let mut over_budget = Vec::new();
    for (name, found) in counted {
        let budgeted = figure(name);
        println!("{section}.{name}: {found:.2}, at most {:.2} ({budgeted:.2} when it was set)", budgeted * MAX_FACTOR);
        if *found > budgeted * MAX_FACTOR {
            over_budget.push(format!("{section}.{name}: {found:.2}, was {budgeted:.2}"));
        }
    }
    assert!(
        over_budget.is_empty(),
        "over budget: {over_budget:?}. Find the cause; if the cost is intended, write the new figure into \
         tests/counts/figures.toml and give the reason in the commit"
    );
}

/// Fails if a purchase in a waiting room costs much more than another purchase, counted in the same run.
#[track_caller]
pub fn check_turn(what: &str, in_turn: f64, otherwise: f64) {
    println!("{what} of a purchase in turn: {:.3} times another's, at most {MAX_TURN_FACTOR}", in_turn / otherwise);
    assert!(
        in_turn <= otherwise * MAX_TURN_FACTOR,
        "{what} of a purchase in turn: {in_turn:.2} instead of {otherwise:.2}"
    );
}
