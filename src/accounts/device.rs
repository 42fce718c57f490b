//! The device of a session: an IP address and a short description of the browser.

use std::net::IpAddr;

use super::KnownDevice;

/// The client of a request.
#[derive(Debug, Clone)]
pub struct Device {
    pub address: IpAddr,
    /// Browser and system, for example `Firefox · Linux`. Empty if unknown.
    pub agent: String,
    /// What the browser's device cookie says, if it has one.
    pub known: Option<KnownDevice>,
}

impl Device {
    pub fn new(address: IpAddr, user_agent: &str) -> Device {
        Device { address, agent: summary(user_agent), known: None }
    }

    pub fn with_known(self, known: Option<KnownDevice>) -> Device {
        Device { known, ..self }
    }
}

/// Tokens of the user agent and their browsers. The first match counts, because a browser also names the browsers that
/// it imitates.
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

/// The name beside the first token that the user agent contains.
fn name_in(tokens: &[(&str, &'static str)], user_agent: &str) -> Option<&'static str> {
    tokens.iter().find(|(token, _)| user_agent.contains(token)).map(|(_, name)| *name)
}

fn summary(user_agent: &str) -> String {
    match (name_in(&BROWSERS, user_agent), name_in(&SYSTEMS, user_agent)) {
        (Some(browser), Some(system)) => format!("{browser} · {system}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => {
            // The client is not a browser: use the program's name without the rest.
            let name = user_agent.split(['/', ' ', '(']).next().unwrap_or_default();
            name.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).take(40).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_agent_is_summarized() {
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
