//! The rates as bars on a logarithmic scale, for light and dark pages.

use std::fmt::Write;

use crate::report::{Report, grouped};
use crate::{BUYERS, STOCKS};

const WIDTH: f64 = 900.0;
const LEFT: f64 = 330.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 96.0;
const BAR: f64 = 10.0;
/// Bars of one strategy, and the space to the next.
const GROUP: f64 = 44.0;
/// Decades of the scale.
const DECADES: std::ops::RangeInclusive<i32> = 1..=6;

const STYLE: &str = "
    text { font: 13px system-ui, sans-serif; fill: #1f2328 }
    .title { font-size: 17px; font-weight: 600 }
    .small { font-size: 11px; fill: #59636e }
    .paper { fill: #ffffff }
    .grid { stroke: #d1d9e0 }
    .bar0 { fill: #8fbdf0 } .bar1 { fill: #3b82d6 } .bar2 { fill: #174f94 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .small { fill: #9198a1 }
      .paper { fill: #0d1117 }
      .grid { stroke: #30363d }
      .bar0 { fill: #2a5c99 } .bar1 { fill: #4a94e8 } .bar2 { fill: #b3d6ff }
    }";

pub fn draw(report: &Report) -> String {
    let stock = STOCKS[STOCKS.len() - 1];
    let bottom = TOP + GROUP * report.rows.len() as f64;
    let height = bottom + 56.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-labelledby=\"title description\">\n\
         <title id=\"title\">Units granted a second, by strategy and number of buyers</title>\n\
         <desc id=\"description\">{}. The figures are in strategies.md.</desc>\n<style>{STYLE}\n</style>\n\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n",
        escaped(&report.place())
    );
    text(&mut svg, "title", 20.0, 32.0, "start", "Units granted a second (logarithmic scale)");
    let subtitle = format!("stock of {}, buyers who ask as fast as they are answered", grouped(stock as f64));
    text(&mut svg, "small", 20.0, 52.0, "start", &subtitle);
    legend(&mut svg);
    scale(&mut svg, bottom);
    for (n, row) in report.rows.iter().enumerate() {
        let top = TOP + GROUP * n as f64;
        text(&mut svg, "", LEFT - 10.0, top + 1.5 * BAR + 9.0, "end", row.name);
        for (shade, buyers) in BUYERS.into_iter().enumerate() {
            let Some(cell) = row.cell(stock, buyers) else { continue };
            let (y, end) = (top + 5.0 + (BAR + 1.0) * shade as f64, x(cell.grants_per_second));
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                svg,
                "<rect class=\"bar{shade}\" x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"{BAR}\" rx=\"1.5\"/>",
                (end - LEFT).max(1.0)
            );
            text(&mut svg, "small", end + 5.0, y + BAR - 1.0, "start", &grouped(cell.grants_per_second));
        }
    }
    text(&mut svg, "small", 20.0, height - 14.0, "start", &report.place());
    svg + "</svg>\n"
}

/// The position of a rate on the scale.
fn x(rate: f64) -> f64 {
    let (first, last) = (f64::from(*DECADES.start()), f64::from(*DECADES.end()));
    let part = (rate.max(1.0).log10().clamp(first, last) - first) / (last - first);
    LEFT + part * (WIDTH - LEFT - RIGHT)
}

fn legend(svg: &mut String) {
    for (shade, buyers) in BUYERS.into_iter().enumerate() {
        let left = LEFT + 110.0 * shade as f64;
        let _ = writeln!(svg, "<rect class=\"bar{shade}\" x=\"{left}\" y=\"62\" width=\"12\" height=\"12\" rx=\"2\"/>");
        text(svg, "small", left + 18.0, 72.0, "start", &format!("{} buyers", grouped(buyers as f64)));
    }
}

fn scale(svg: &mut String, bottom: f64) {
    for decade in DECADES {
        let rate = 10_f64.powi(decade);
        let x = x(rate);
        let _ =
            writeln!(svg, "<line class=\"grid\" x1=\"{x:.1}\" y1=\"{}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>", TOP - 8.0);
        text(svg, "small", x, bottom + 16.0, "middle", &grouped(rate));
    }
}

fn text(svg: &mut String, class: &str, x: f64, y: f64, anchor: &str, words: &str) {
    let words = escaped(words);
    let _ = writeln!(svg, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;")
}
