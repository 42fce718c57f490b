//! nginx in front of a shop, with the site of `docker/nginx.conf.template`. Benchmarks use it too.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// One nginx; it ends when this goes.
pub struct Nginx {
    /// Where the shop's site is.
    pub address: SocketAddr,
    process: Child,
}

impl Nginx {
    /// Starts it in a folder that is its own. `pages` is where the program renders to, `more` further servers.
    pub fn start(dir: &Path, address: SocketAddr, upstream: SocketAddr, pages: &Path, more: &str) -> Nginx {
        for folder in ["cache", "temp"] {
            std::fs::create_dir_all(dir.join(folder)).expect("a folder for nginx");
        }
        let at = |name: &str| dir.join(name).display().to_string();
        let site = include_str!("../../../docker/nginx.conf.template")
            .replace("${SECKILL_NGINX_LISTEN}", &address.to_string())
            .replace("${SECKILL_NGINX_UPSTREAM}", &format!("server {upstream};"))
            .replace("${SECKILL_NGINX_PAGES}", &pages.display().to_string())
            .replace("${SECKILL_NGINX_CACHE}", &at("cache"));
        let temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {}/{kind};", at("temp")))
            .join(" ");
        // Workers read what the program writes as whoever runs this.
        let user = if is_root() { "user root;" } else { "" };
        let main = format!(
            "{user} worker_processes auto; pid nginx.pid; daemon off; events {{ worker_connections 4096; }}\n\
             http {{ include /etc/nginx/mime.types; sendfile on; keepalive_requests 1000000; access_log off;\n\
             {temp}\n{more}\n{site} }}"
        );
        std::fs::write(dir.join("nginx.conf"), main).expect("nginx's configuration");
        let mut command = Command::new("nginx");
        command.env("PATH", path()).args(["-e", "stderr", "-p"]).arg(dir).args(["-c", "nginx.conf"]);
        let process = command.stdout(Stdio::null()).spawn().expect("nginx is needed: scripts/stack installs it");
        Nginx { address, process }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Its workers end when the master is asked to; a kill would leave them.
        let _ = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

/// Debian keeps nginx where only root looks.
fn path() -> String {
    format!("{}:/usr/local/sbin:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|said| said.stdout == b"0\n")
}
