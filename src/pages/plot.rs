//! Plots as SVG text, for pages that need no script. Colors come from the CSS classes of the surrounding page, so plots
//! follow its light or dark scheme.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 30.0;

/// One line of a plot.
pub struct Series<'a> {
    /// CSS class that sets the color.
    pub class: &'static str,
    /// Shown in the tooltip.
    pub name: &'a str,
    pub values: Vec<Option<f64>>,
    /// Whether the area below is filled.
    pub filled: bool,
}

/// How values map to lengths.
#[derive(Clone, Copy, PartialEq)]
pub enum Scale {
    Linear,
    Log,
}

/// Lines over time.
pub struct LinePlot<'a> {
    pub title: &'a str,
    /// The time between two values, in `unit`.
    pub step: f64,
    pub unit: &'a str,
    pub scale: Scale,
    pub series: Vec<Series<'a>>,
    /// Vertical marks: the index of a value, and a label.
    pub marks: Vec<(f64, &'a str)>,
    /// A horizontal mark: value and label.
    pub limit: Option<(f64, &'a str)>,
}

/// A row of dots: a name and one value for each quantile.
pub struct DotRow<'a> {
    pub name: &'a str,
    pub values: [f64; 4],
}

/// Maps values to positions between two edges.
struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// An axis over these values whose ends are ticks.
    fn new(scale: Scale, values: impl Iterator<Item = f64>, (from, to): (f64, f64)) -> Axis {
        let (mut min, mut max) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| *value > 0.0) {
            (min, max) = (min.min(value), max.max(value));
        }
        let (low, high) = match scale {
            Scale::Linear => (0.0, (max / step(max)).ceil().max(1.0) * step(max)),
            Scale::Log if max == 0.0 => (0.1, 10.0),
            Scale::Log => {
                let (low, high) = (min.log10().floor(), max.log10().ceil());
                (10f64.powf(low), 10f64.powf(high.max(low + 1.0)))
            }
        };
        Axis { scale, low, high, from, to }
    }

    fn position(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + (self.to - self.from) * share.clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let step = step(self.high);
                (0..=(self.high / step).round() as usize).map(|n| n as f64 * step).collect()
            }
            Scale::Log => {
                let (low, high) = (self.low.log10().round() as i32, self.high.log10().round() as i32);
                (low..=high).map(|power| 10f64.powi(power)).collect()
            }
        }
    }
}

/// A round distance between ticks that gives about five of them.
fn step(max: f64) -> f64 {
    let rough = (max / 5.0).max(1e-9);
    let power = 10f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0].into_iter().find(|round| round * power >= rough * 0.999);
    round.unwrap_or(10.0) * power
}

/// A number as a short label.
fn number(value: f64) -> String {
    match value {
        v if v >= 10_000.0 => format!("{:.0}k", v / 1000.0),
        v if v >= 10.0 || v.fract() == 0.0 => format!("{v:.0}"),
        v if v >= 1.0 => format!("{v:.1}"),
        v => format!("{}", (v * 1000.0).round() / 1000.0),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn open(title: &str, height: f64) -> String {
    format!(r#"<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{}">"#, escape(title))
}

fn text(svg: &mut String, class: &str, x: f64, y: f64, content: &str) {
    let _ = write!(svg, r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{content}</text>"#);
}

impl LinePlot<'_> {
    pub fn draw(&self) -> String {
        const HEIGHT: f64 = 250.0;
        let seconds = self.series.iter().map(|series| series.values.len()).max().unwrap_or(0).max(2);
        let values = self.series.iter().flat_map(|series| series.values.iter().flatten().copied());
        let y = Axis::new(self.scale, values.chain(self.limit.map(|limit| limit.0)), (HEIGHT - BOTTOM, TOP));
        let x = |second: f64| LEFT + (WIDTH - LEFT - RIGHT) * second / (seconds - 1) as f64;
        let mut svg = open(self.title, HEIGHT);
        for tick in y.ticks() {
            let at = y.position(tick);
            let _ = write!(svg, r#"<path class="grid" d="M{LEFT} {at:.1}H{:.1}"/>"#, WIDTH - RIGHT);
            text(&mut svg, "tick end", LEFT - 8.0, at + 4.0, &number(tick));
        }
        let last = (seconds - 1) as f64 * self.step;
        let every = step(last / 1.6).max(self.step);
        for n in 0..=(last / every) as usize {
            let at = n as f64 * every;
            let label = if n == 0 { format!("0 {}", escape(self.unit)) } else { number(at) };
            text(&mut svg, "tick mid", x(at / self.step), HEIGHT - 9.0, &label);
        }
        for (second, label) in &self.marks {
            let at = x(second.min((seconds - 1) as f64));
            let (class, dx) = if at > WIDTH * 0.75 { ("note end", -6.0) } else { ("note start", 6.0) };
            let _ = write!(svg, r#"<path class="mark" d="M{at:.1} {TOP}V{:.1}"/>"#, HEIGHT - BOTTOM);
            text(&mut svg, class, at + dx, TOP + 9.0, &escape(label));
        }
        if let Some((value, label)) = &self.limit {
            let at = y.position(*value);
            let _ = write!(svg, r#"<path class="limit" d="M{LEFT} {at:.1}H{:.1}"/>"#, WIDTH - RIGHT);
            text(&mut svg, "note end", WIDTH - RIGHT - 4.0, at - 5.0, &escape(label));
        }
        for series in &self.series {
            series.draw(&mut svg, x, &y);
        }
        self.draw_hints(&mut svg, seconds, x);
        svg + "</svg>"
    }

    /// Draws an invisible column per second, whose tooltip shows the values of that second.
    fn draw_hints(&self, svg: &mut String, seconds: usize, x: impl Fn(f64) -> f64) {
        let width = x(1.0) - x(0.0);
        for second in 0..seconds {
            let values = self.series.iter().filter_map(|series| {
                let value = series.values.get(second).copied().flatten()?;
                Some(format!("\n{} {}", series.name, number(value)))
            });
            let at = number(second as f64 * self.step);
            let tooltip = format!("{at} {}{}", self.unit, values.collect::<String>());
            let _ = write!(
                svg,
                r#"<rect class="hint" x="{:.1}" y="{TOP}" width="{width:.1}" height="206"><title>{}</title></rect>"#,
                x(second as f64) - width / 2.0,
                escape(&tooltip)
            );
        }
    }
}

impl Series<'_> {
    /// Draws one line per run of values, so gaps stay visible.
    fn draw(&self, svg: &mut String, x: impl Fn(f64) -> f64, y: &Axis) {
        let mut runs: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
        for (second, value) in self.values.iter().enumerate() {
            match (value, runs.last_mut()) {
                (Some(value), Some(run)) => run.push((x(second as f64), y.position(*value))),
                _ => runs.push(Vec::new()),
            }
        }
        for run in runs.iter().filter(|run| !run.is_empty()) {
            let points: Vec<String> = run.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            let line = points.join("L");
            if self.filled {
                let first = run[0].0;
                let _ = write!(
                    svg,
                    r#"<path class="area {}" d="M{first:.1} {:.1}L{line}V{:.1}Z"/>"#,
                    self.class, y.from, y.from
                );
            }
            let _ = write!(svg, r#"<path class="line {}" d="M{line}"/>"#, self.class);
            if run.len() == 1 {
                let _ = write!(
                    svg,
                    r#"<circle class="dot {}" cx="{:.1}" cy="{:.1}" r="3"/>"#,
                    self.class, run[0].0, run[0].1
                );
            }
        }
    }
}

/// Four quantiles per row on a logarithmic scale of milliseconds.
pub fn dots(title: &str, rows: &[DotRow], limit: Option<f64>) -> String {
    const ROW: f64 = 34.0;
    const NAMES: f64 = 104.0;
    let height = TOP + ROW * rows.len() as f64 + BOTTOM;
    let values = rows.iter().flat_map(|row| row.values).chain(limit);
    let x = Axis::new(Scale::Log, values, (NAMES, WIDTH - RIGHT - 10.0));
    let mut svg = open(title, height);
    for tick in x.ticks() {
        let at = x.position(tick);
        let _ = write!(svg, r#"<path class="grid" d="M{at:.1} {TOP}V{:.1}"/>"#, height - BOTTOM);
        text(&mut svg, "tick mid", at, height - 9.0, &format!("{} ms", number(tick)));
    }
    if let Some(limit) = limit {
        let _ = write!(svg, r#"<path class="limit" d="M{:.1} {TOP}V{:.1}"/>"#, x.position(limit), height - BOTTOM);
    }
    for (n, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (n as f64 + 0.5);
        let _ = write!(svg, r#"<text class="name" x="0" y="{:.1}">{}</text>"#, y + 4.0, escape(row.name));
        let positions = row.values.map(|value| x.position(value));
        let _ = write!(svg, r#"<path class="span" d="M{:.1} {y:.1}H{:.1}"/>"#, positions[0], positions[3]);
        for ((position, value), (class, name)) in positions.iter().zip(row.values).zip(QUANTILES) {
            let _ = write!(
                svg,
                r#"<circle class="dot {class}" cx="{position:.1}" cy="{y:.1}" r="5.5"><title>{}: {name} {} ms</title></circle>"#,
                escape(row.name),
                number(value)
            );
        }
    }
    svg + "</svg>"
}

/// Class and name of each quantile of a row of dots.
pub const QUANTILES: [(&str, &str); 4] = [("q50", "p50"), ("q90", "p90"), ("q99", "p99"), ("q999", "p99.9")];

/// Horizontal bars with their numbers and their share of the largest.
pub fn bars(title: &str, rows: &[(&str, u64)]) -> String {
    const ROW: f64 = 32.0;
    const NAMES: f64 = 150.0;
    const NUMBERS: f64 = 110.0;
    let whole = rows.iter().map(|row| row.1).max().unwrap_or(0).max(1) as f64;
    let mut svg = open(title, ROW * rows.len() as f64 + 4.0);
    for (n, (name, count)) in rows.iter().enumerate() {
        let y = ROW * n as f64 + 4.0;
        let width = (*count as f64 / whole * (WIDTH - NAMES - NUMBERS)).max(if *count > 0 { 2.0 } else { 0.0 });
        let share = *count as f64 / whole * 100.0;
        let _ = write!(svg, r#"<text class="name" x="0" y="{:.1}">{}</text>"#, y + 17.0, escape(name));
        let _ = write!(svg, r#"<rect class="bar" x="{NAMES}" y="{y:.1}" width="{width:.1}" height="24" rx="4"/>"#);
        let value = format!(r#"{count} <tspan class="share">{share:.1} %</tspan>"#);
        text(&mut svg, "value", NAMES + width + 9.0, y + 17.0, &value);
    }
    svg + "</svg>"
}

/// A column of a plot: its name below, and its value.
pub struct Column<'a> {
    pub name: &'a str,
    pub value: f64,
    /// Shown above the column.
    pub label: String,
}

/// Columns from zero, with a horizontal mark whose label stands beside them.
pub fn columns(title: &str, columns: &[Column], mark: Option<(f64, &str)>) -> String {
    const HEIGHT: f64 = 220.0;
    const MARK: f64 = 84.0;
    let right = if mark.is_some() { WIDTH - MARK } else { WIDTH - RIGHT };
    let values = columns.iter().map(|column| column.value);
    let y = Axis::new(Scale::Linear, values.chain(mark.map(|mark| mark.0)), (HEIGHT - BOTTOM, TOP + 12.0));
    let width = right / columns.len().max(1) as f64;
    let mut svg = open(title, HEIGHT);
    let _ = write!(svg, r#"<path class="grid" d="M0 {:.1}H{right:.1}"/>"#, HEIGHT - BOTTOM);
    for (n, Column { name, value, label }) in columns.iter().enumerate() {
        let (x, top) = (width * n as f64, y.position(*value));
        let height = HEIGHT - BOTTOM - top;
        let _ = write!(
            svg,
            r#"<rect class="bar" x="{:.1}" y="{top:.1}" width="{:.1}" height="{height:.1}" rx="3"/>"#,
            x + width * 0.15,
            width * 0.7
        );
        text(&mut svg, "tick mid", x + width / 2.0, HEIGHT - 9.0, &escape(name));
        text(&mut svg, "value mid", x + width / 2.0, top - 5.0, &escape(label));
    }
    if let Some((value, label)) = mark {
        let at = y.position(value);
        let _ = write!(svg, r#"<path class="limit" d="M0 {at:.1}H{right:.1}"/>"#);
        text(&mut svg, "note", right + 6.0, at + 4.0, &escape(label));
    }
    svg + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_values() {
        let axis = |scale, max| Axis::new(scale, [1.5, max].into_iter(), (0.0, 100.0));
        assert_eq!(axis(Scale::Linear, 430.0).ticks(), [0.0, 100.0, 200.0, 300.0, 400.0, 500.0]);
        assert_eq!(axis(Scale::Linear, 7.0).ticks(), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(axis(Scale::Log, 430.0).ticks(), [1.0, 10.0, 100.0, 1000.0]);
        let log = axis(Scale::Log, 430.0);
        assert_eq!([1.0, 1000.0].map(|value| log.position(value).round()), [0.0, 100.0]);
        assert!((log.position(31.6) - 50.0).abs() < 0.1);
        assert_eq!(Axis::new(Scale::Linear, std::iter::empty(), (0.0, 1.0)).ticks().first(), Some(&0.0));
    }

    #[test]
    fn labels_are_short() {
        assert_eq!([12_345.0, 430.0, 2.0, 2.34, 0.1, 0.0].map(number), ["12k", "430", "2", "2.3", "0.1", "0"]);
    }

    #[test]
    fn gaps_break_a_line_and_names_are_escaped() {
        let values = vec![Some(1.0), Some(2.0), None, Some(3.0)];
        let series = vec![Series { class: "good", name: "<b>", values, filled: false }];
        let plot = LinePlot {
            title: "\"x\"",
            step: 1.0,
            unit: "s",
            scale: Scale::Linear,
            series,
            marks: vec![(9.0, "late")],
            limit: Some((2.0, "limit")),
        };
        let svg = plot.draw();
        assert_eq!(svg.matches(r#"class="line good""#).count(), 2);
        assert!(!svg.contains("<b>") && svg.contains("&quot;x&quot;") && !svg.contains("NaN"));
        assert!(!LinePlot { series: vec![], ..plot }.draw().contains("NaN"));
        assert!(!dots("", &[], None).contains("NaN") && !bars("", &[("none", 0)]).contains("NaN"));
        let column = Column { name: "<1 h", value: 0.0, label: "0 %".to_owned() };
        let svg = columns("", &[column], Some((0.0, "mean")));
        assert!(!svg.contains("NaN") && svg.contains("&lt;1 h") && !columns("", &[], None).contains("NaN"));
    }
}
