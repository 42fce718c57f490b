//! The address of the database. Defaults that PostgreSQL's client would choose by itself are written out here, so the
//! setting alone decides whether a connection is encrypted.

use std::net::IpAddr;

use anyhow::{Context, bail, ensure};
use url::Url;

use super::service_address::check_path;
use crate::lifecycle::process_name;
use crate::tls::ClientTls;

/// The values of `sslmode`, from no TLS to a fully checked certificate.
const SSL_MODES: [&str; 5] = ["disable", "prefer", "require", "verify-ca", "verify-full"];

/// Checks an address and completes it. `sslmode` defaults to `verify-full` if a CA is given and the server is on
/// another machine, otherwise to `disable`. With a CA, `require` becomes `verify-ca`, as in PostgreSQL's own client.
/// `prefer` is allowed for this machine only, because the server or a machine in between can make it plain.
pub(super) fn database_url(text: &str, tls: &ClientTls) -> anyhow::Result<String> {
    if text.starts_with("sqlite:") {
        return Ok(text.to_owned());
    }
    let known = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
    ensure!(known, "expected sqlite://… or postgres://…");
    let mut url = Url::parse(text).context("not a valid address")?;
    check_path(&url)?;
    let mode = ssl_mode(&url, tls.ca().is_some())?;
    let rest: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| !matches!(&**name, "sslmode" | "ssl-mode"))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    let has = |name: &str| rest.iter().any(|(given, _)| given.replace('-', "") == name);
    let mut add = vec![("sslmode", mode.to_owned())];
    if !has("application_name") {
        add.push(("application_name", process_name().to_owned()));
    }
    if mode != "disable" {
        if let Some(ca) = tls.ca().filter(|_| !has("sslrootcert") && !has("sslca")) {
            add.push(("sslrootcert", ca.path.display().to_string()));
        }
        if let Some(own) = tls.identity().filter(|_| !has("sslcert")) {
            add.push(("sslcert", own.certificate.path.display().to_string()));
            add.push(("sslkey", own.key.path.display().to_string()));
        }
    }
    url.query_pairs_mut().clear().extend_pairs(&rest).extend_pairs(&add);
    Ok(url.into())
}

fn ssl_mode(url: &Url, has_ca: bool) -> anyhow::Result<&'static str> {
    let given = url.query_pairs().filter(|(name, _)| matches!(&**name, "sslmode" | "ssl-mode")).last();
    let is_local = is_on_this_machine(url);
    let Some((_, given)) = given else { return Ok(if has_ca && !is_local { "verify-full" } else { "disable" }) };
    let Some(mode) = SSL_MODES.into_iter().find(|mode| *mode == given) else {
        bail!("sslmode: expected one of {}", SSL_MODES.join(", "))
    };
    ensure!(
        mode != "prefer" || is_local,
        "sslmode=prefer may be plain without notice; on another machine use verify-full, or disable in a private network"
    );
    Ok(if mode == "require" && has_ca { "verify-ca" } else { mode })
}

/// Whether the server is reached by the loopback interface or a socket file.
fn is_on_this_machine(url: &Url) -> bool {
    let given = url.query_pairs().filter(|(name, _)| matches!(&**name, "host" | "hostaddr")).last();
    let host = given.map(|(_, host)| host.into_owned()).or_else(|| url.host_str().map(str::to_owned));
    let Some(host) = host.filter(|host| !host.is_empty()) else { return true };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || host.starts_with('/') || host.starts_with("%2F") || address.is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::{Identity, PemFile};

    fn file(path: &str) -> PemFile {
        PemFile { path: path.into(), text: Vec::new() }
    }

    fn query(text: &str, tls: &ClientTls) -> String {
        let url = database_url(text, tls).unwrap_or_else(|error| format!("refused: {error:#}"));
        let query = url.split_once('?').map_or(url.clone(), |(_, query)| query.to_owned());
        query.replace("&application_name=seckill", "")
    }

    #[test]
    fn mode_follows_from_the_address_and_is_never_a_fall_back() {
        let (none, ca) = (ClientTls::default(), ClientTls::new(Some(file("/ca.pem")), None));
        assert_eq!(query("postgres://db/x", &none), "sslmode=disable");
        assert_eq!(query("postgres://db/x", &ca), "sslmode=verify-full&sslrootcert=%2Fca.pem");
        assert_eq!(query("postgres://127.0.0.1/x", &ca), "sslmode=disable");
        assert_eq!(query("postgres://db/x?sslmode=require", &none), "sslmode=require");
        assert_eq!(query("postgres://db/x?sslmode=require", &ca), "sslmode=verify-ca&sslrootcert=%2Fca.pem");
        for mode in ["disable", "verify-ca", "verify-full"] {
            assert_eq!(query(&format!("postgres://db/x?sslmode={mode}"), &none), format!("sslmode={mode}"));
        }
        assert_eq!(query("postgres://[::1]/x?sslmode=prefer", &none), "sslmode=prefer");
        assert!(query("postgres://db/x?sslmode=prefer", &none).contains("refused"));
        assert!(query("postgres://localhost/x?sslmode=prefer&host=db", &none).contains("refused"));
        assert!(query("postgres://db/x?sslmode=allow", &none).contains("refused"));
    }

    #[test]
    fn other_parameters_and_files_of_the_address_stay() {
        let identity = Identity { certificate: file("/c.pem"), key: file("/k.pem") };
        let tls = ClientTls::new(Some(file("/ca.pem")), Some(identity));
        let given = "postgres://db/x?application_name=a%20b&sslmode=verify-full&sslrootcert=/other.pem";
        let expected =
            "application_name=a+b&sslrootcert=%2Fother.pem&sslmode=verify-full&sslcert=%2Fc.pem&sslkey=%2Fk.pem";
        assert_eq!(query(given, &tls), expected);
        assert_eq!(database_url("sqlite://x?mode=rwc", &tls).unwrap(), "sqlite://x?mode=rwc");
    }
}
