//! Certificates for connections to Redis, in the form that the Redis client takes.

use redis::{Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, RedisResult, TlsCertificates};

use base::tls::ClientTls;

/// Adds the certificates to an address with TLS. Addresses without TLS stay as they are.
pub(super) fn with_certificates(info: ConnectionInfo, tls: &ClientTls) -> RedisResult<ConnectionInfo> {
    match info.addr() {
        ConnectionAddr::TcpTls { .. } => {
            Ok(Client::build_with_tls(info, certificates(tls)?)?.get_connection_info().clone())
        }
        _ => Ok(info),
    }
}

/// Without a configured CA the client trusts the system's CAs. With one it trusts only this CA.
pub(super) fn certificates(tls: &ClientTls) -> RedisResult<TlsCertificates> {
    let roots = tls.ca().map(|_| tls.roots_pem()).transpose();
    let roots = roots.map_err(|error| std::io::Error::other(format!("{error:#}")))?;
    let client_tls = tls
        .identity()
        .map(|own| ClientTlsConfig { client_cert: own.certificate.text.clone(), client_key: own.key.text.clone() });
    Ok(TlsCertificates { client_tls, root_cert: roots })
}

/// The address of a server that a Sentinel named, or of a Sentinel.
pub(super) fn address(host: String, port: u16, tls: Option<&ClientTls>) -> RedisResult<ConnectionInfo> {
    use redis::IntoConnectionInfo;
    match tls {
        None => (host, port).into_connection_info(),
        Some(tls) => {
            let addr = ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None };
            with_certificates(addr.into_connection_info()?, tls)
        }
    }
}
