//! The strength of the shop's secret. Sessions are signed with it.

use anyhow::ensure;
use secrecy::{ExposeSecret, SecretString};

use super::WebConfig;

const MIN_BYTES: usize = 64;
/// Minimum entropy of the whole secret, estimated from how often each byte occurs. 64 random hexadecimal digits have
/// about 245.
const MIN_BITS: f64 = 192.0;

/// Checks the length. If other machines can reach the shop, also checks that the secret is set and looks random.
pub(super) fn check(
    web: &WebConfig,
    secret: Option<&SecretString>,
    previous: Option<&SecretString>,
) -> anyhow::Result<()> {
    let is_local = web.listen.ip().is_loopback();
    for (variable, secret) in [("SECKILL_SECRET", secret), ("SECKILL_SECRET_PREVIOUS", previous)] {
        let Some(secret) = secret.map(SecretString::expose_secret) else { continue };
        ensure!(secret.len() >= MIN_BYTES, "{variable} has a wrong value: it needs at least {MIN_BYTES} bytes");
        ensure!(
            !web.is_reachable() || looks_random(secret.as_bytes()),
            "{variable} has a wrong value: it repeats itself and could be guessed; make one with: openssl rand -hex 64"
        );
    }
    ensure!(
        is_local || secret.is_some(),
        "SECKILL_SECRET is required when SECKILL_LISTEN ({}) can be reached from other machines; \
         make one with: openssl rand -hex 64",
        web.listen
    );
    Ok(())
}

fn looks_random(secret: &[u8]) -> bool {
    estimated_bits(secret) >= MIN_BITS && period(secret) > MIN_BYTES / 2
}

/// Shannon's entropy of the bytes, times their number.
fn estimated_bits(secret: &[u8]) -> f64 {
    let mut counts = [0.0_f64; 256];
    for &byte in secret {
        counts[usize::from(byte)] += 1.0;
    }
    let length = secret.len() as f64;
    counts.iter().filter(|&&count| count > 0.0).map(|count| count * (length / count).log2()).sum()
}

/// The length of the piece whose repetition makes up the whole.
fn period(secret: &[u8]) -> usize {
    (1..secret.len()).find(|&length| secret[length..] == secret[..secret.len() - length]).unwrap_or(secret.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_that_can_be_guessed_are_told_from_random_ones() {
        for weak in
            ["s".repeat(64), "password".repeat(8), "abcdefghijklmnopqrstuvwxyz012345".repeat(2), "01".repeat(99)]
        {
            assert!(!looks_random(weak.as_bytes()), "{weak}");
        }
        for _ in 0..1_000 {
            let hex: String = (0..32).map(|_| format!("{:02x}", rand::random::<u8>())).collect();
            assert!(looks_random(hex.as_bytes()), "{hex}");
        }
    }
}
