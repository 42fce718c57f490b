//! Where a session is: an address, and a browser in a few words.

use std::net::IpAddr;

/// Whoever asks, as far as the request tells.
#[derive(Debug, Clone)]
pub struct Device {
    pub address: IpAddr,
    /// Such as `Firefox · Linux`; empty when nothing is known.
    pub agent: String,
}

impl Device {
    pub fn new(address: IpAddr, user_agent: &str) -> Device {
        Device { address, agent: summary(user_agent) }
    }
}

/// The first mark that is found counts: browsers name those that they resemble as well.
const BROWSERS: [(&str, &str); 8] = [
    ("MicroMessenger/", "WeChat"),
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

fn summary(user_agent: &str) -> String {
    let find = |marks: &[(&str, &'static str)]| marks.iter().find(|(mark, _)| user_agent.contains(mark)).map(|m| m.1);
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} · {system}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => {
            // A program: its name, without whatever else it says.
            let name = user_agent.split(['/', ' ', '(']).next().unwrap_or_default();
            name.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).take(40).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_in_a_few_words() {
        for (agent, words) in [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox · Linux"),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/126.0 Safari/537.36 Edg/126.0",
                "Edge · Windows",
            ),
            ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari/604.1", "Safari · iPhone"),
            ("curl/8.14.1", "curl"),
            ("<script>\u{202e}alert(1)", "scriptalert"),
            ("", ""),
        ] {
            assert_eq!(summary(agent), words);
        }
    }
}
