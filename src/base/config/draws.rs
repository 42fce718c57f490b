//! Where the public randomness of draws comes from.

use super::Source;
use domain::draw::Beacon;

/// The beacon of new draws. The sandbox's rounds can be computed beforehand, so a shop behind https gets it only if the
/// setting says so.
pub(super) fn read_beacon(source: &Source, is_https: bool) -> anyhow::Result<Option<Beacon>> {
    let default = if is_https { None } else { Some(Beacon::Sandbox) };
    source.parse("draw-randomness", default, |text| match text {
        "none" => Ok(None),
        text => text.parse().map(Some).map_err(|()| anyhow::anyhow!("expected quicknet, sandbox or none")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn draws_behind_https_have_no_sandbox_unless_it_is_asked_for() {
        let beacon = |file: &str| Config::read_text(file).unwrap().web.draw_beacon;
        assert_eq!(beacon("public_url = 'http://shop.example'"), Some(Beacon::Sandbox));
        assert_eq!(beacon("public_url = 'https://shop.example'"), None);
        assert_eq!(beacon("public_url = 'https://shop.example'\ndraw_randomness = 'quicknet'"), Some(Beacon::Quicknet));
        assert_eq!(beacon("draw_randomness = 'none'"), None);
    }
}
