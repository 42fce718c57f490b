//! nginx in front of a shop, with the site of `docker/nginx.conf.template`. Benchmarks use it too.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// One nginx process, stopped on drop.
pub struct Nginx {
    /// The address that clients connect to.
    pub address: SocketAddr,
    process: Child,
}

impl Nginx {
    /// Starts nginx in its own folder `dir` in front of these servers. `pages` is the folder of rendered pages, `more` adds
    /// server blocks.
    pub fn start(dir: &Path, address: SocketAddr, upstreams: &[SocketAddr], pages: &Path, more: &str) -> Nginx {
        Nginx::write(dir, &address.to_string(), upstreams, pages, more);
        Nginx::run(dir, address, Stdio::inherit())
    }

    /// Starts nginx with the configuration in this folder. `errors` gets its log of errors.
    pub fn run(dir: &Path, address: SocketAddr, errors: Stdio) -> Nginx {
        let process = Nginx::command(dir).stdout(Stdio::null()).stderr(errors).spawn();
        Nginx { address, process: process.expect("nginx is needed: scripts/stack installs it") }
    }

    /// Writes the configuration. `listen` is an address, followed by `ssl` if it uses TLS.
    pub fn write(dir: &Path, listen: &str, upstreams: &[SocketAddr], pages: &Path, more: &str) {
        let servers: String = upstreams.iter().map(|address| format!("server {address} max_fails=0;")).collect();
        for folder in ["cache", "temp"] {
            std::fs::create_dir_all(dir.join(folder)).expect("a folder for nginx");
        }
        let at = |name: &str| dir.join(name).display().to_string();
        let site = include_str!("../../../docker/nginx.conf.template")
            .replace("${SECKILL_NGINX_LISTEN}", listen)
            .replace("${SECKILL_NGINX_UPSTREAM}", &servers)
            .replace("${SECKILL_NGINX_TRUSTED}", "set_real_ip_from 127.0.0.1;")
            .replace("${SECKILL_NGINX_PAGES}", &pages.display().to_string())
            .replace("${SECKILL_NGINX_LOG}", "/dev/null")
            .replace("${SECKILL_NGINX_CACHE}", &at("cache"));
        let temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {}/{kind};", at("temp")))
            .join(" ");
        // Workers run as the current user, so that they can read the pages.
        let user = if is_root() { "user root;" } else { "" };
        let main = format!(
            "{user} worker_processes auto; pid nginx.pid; daemon off; events {{ worker_connections 4096; }}\n\
             http {{ include /etc/nginx/mime.types; sendfile on; keepalive_requests 1000000; access_log off;\n\
             {temp}\n{more}\n{site} }}"
        );
        std::fs::write(dir.join("nginx.conf"), main).expect("nginx's configuration");
    }

    /// nginx with the configuration in this folder.
    pub fn command(dir: &Path) -> Command {
        let mut command = Command::new("nginx");
        command.env("PATH", path()).args(["-e", "stderr", "-p"]).arg(dir).args(["-c", "nginx.conf"]);
        command
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // SIGTERM makes the master stop its workers; SIGKILL would leave them running.
        let _ = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

/// Debian installs nginx in /usr/sbin, which is not in every user's PATH.
fn path() -> String {
    format!("{}:/usr/local/sbin:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}
