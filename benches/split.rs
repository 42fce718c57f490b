//! Draws the distribution of shares of red packets: `cargo bench --bench split > benches/results/split.svg`. The seed
//! is fixed, so the picture is always the same.

use domain::packet::{Split, SplitPlan};
use rand::SeedableRng;
use rand::rngs::StdRng;

const PACKETS: usize = 20_000;
const SHARES: i64 = 20;
const BINS: usize = 60;
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 170.0;

/// The number of shares per bin between the bounds, and the mean share at each position in the packet.
fn draw(plan: SplitPlan, split: Split) -> (Vec<usize>, Vec<f64>) {
    let mut random = StdRng::seed_from_u64(1);
    let (mut bins, mut means) = (vec![0; BINS], vec![0.0; SHARES as usize]);
    for _ in 0..PACKETS {
        for (place, share) in plan.split(split, &mut random).into_iter().enumerate() {
            let bin = (share - plan.min()) as usize * BINS / (plan.max() - plan.min() + 1) as usize;
            bins[bin] += 1;
            means[place] += share as f64 / PACKETS as f64;
        }
    }
    (bins, means)
}

fn panel(left: f64, name: &str, plan: SplitPlan, split: Split) -> String {
    let (bins, means) = draw(plan, split);
    // Each panel has its own scale, because equal shares are a single column that would flatten the others.
    let top = *bins.iter().max().unwrap_or(&1) as f64;
    let width = WIDTH / BINS as f64;
    let mut svg = format!(r#"<g transform="translate({left} 30)"><text x="0" y="-10">{name}</text>"#);
    for (n, count) in bins.iter().enumerate() {
        let height = HEIGHT * *count as f64 / top;
        let (x, y, width) = (n as f64 * width, HEIGHT - height, width - 1.0);
        svg += &format!(r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}"/>"#);
    }
    let average = plan.total() as f64 / plan.count() as f64;
    let x = WIDTH * (average - plan.min() as f64) / (plan.max() - plan.min()) as f64;
    svg += &format!(r#"<path d="M0 {HEIGHT}H{WIDTH}M{x:.1} 0V{HEIGHT}"/>"#);
    for (x, anchor, text) in [(0.0, "start", plan.min()), (x, "middle", average as i64), (WIDTH, "end", plan.max())] {
        svg += &format!(r#"<text x="{x:.1}" y="{:.1}" text-anchor="{anchor}">{text}</text>"#, HEIGHT + 16.0);
    }
    let (least, most) = means.iter().fold((f64::MAX, 0.0_f64), |(a, b), mean| (a.min(*mean), b.max(*mean)));
    let places = format!("mean by place: {least:.0} to {most:.0}");
    svg + &format!(r#"<text x="0" y="{:.1}" class="note">{places}</text></g>"#, HEIGHT + 36.0)
}

fn main() {
    // `cargo test --benches` and similar commands only check that the benchmark builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let plan = SplitPlan::new(1_000 * SHARES, SHARES, 100, 3_000).expect("the plan is valid");
    println!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1020 250" font-family="sans-serif" font-size="13">
<title>How often each amount comes up in {PACKETS} packets of {SHARES} shares</title>
<style>text{{fill:#333}}.note{{fill:#777}}rect{{fill:#c8102e}}path{{stroke:#888;fill:none}}
@media(prefers-color-scheme:dark){{text{{fill:#ddd}}.note{{fill:#999}}rect{{fill:#ff6b6b}}}}</style>"#
    );
    let panels = [
        ("bounded: most near the average", Split::Bounded),
        ("double average, as messengers do it", Split::DoubleAverage),
        ("equal", Split::Equal),
    ];
    for (n, (name, split)) in panels.into_iter().enumerate() {
        println!("{}", panel(15.0 + n as f64 * (WIDTH + 40.0), name, plan, split));
    }
    println!("</svg>");
}
