//! Three nodes of RabbitMQ on this machine, of which the one that the shop uses dies under purchases.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::assert_nothing_is_lost;
use crate::support::{Load, NewSale, Plan, Rung, eventually, free_address, pause};

/// The server's own script, as in `scripts/lib/services/rabbitmq.sh`.
const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
const UNITS: u64 = 200;
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// A process that is killed on drop.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Node {
    number: usize,
    port: u16,
    server: Option<Killed>,
}

/// Nodes with a name service of their own, like the stack's.
struct Cluster {
    dir: TempDir,
    epmd_port: u16,
    nodes: Vec<Node>,
    _epmd: Killed,
}

impl Cluster {
    async fn start() -> Cluster {
        let (dir, epmd_port) = (tempfile::tempdir().unwrap(), free_address().port());
        let mut epmd = Command::new("epmd");
        epmd.args(["-address", "127.0.0.1", "-port", &epmd_port.to_string()]);
        let epmd = Killed(epmd.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let nodes = (0..3).map(|number| Node { number, port: free_address().port(), server: None }).collect();
        let mut cluster = Cluster { dir, epmd_port, nodes, _epmd: epmd };
        eventually("epmd answers", START_TIMEOUT, async || connects(epmd_port)).await;
        // The others join the first one.
        cluster.start_node(0);
        cluster.wait_for(0).await;
        for number in [1, 2] {
            cluster.start_node(number);
            cluster.wait_for(number).await;
        }
        cluster
    }

    fn start_node(&mut self, number: usize) {
        let home = self.dir.path().join(number.to_string());
        std::fs::create_dir_all(&home).unwrap();
        let shared = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docker/rabbitmq.conf")).unwrap();
        let port = self.nodes[number].port;
        let settings = format!(
            "{shared}\ndefault_pass = sesame\nlisteners.tcp.1 = 127.0.0.1:{port}\n\
             cluster_formation.peer_discovery_backend = classic_config\n\
             cluster_formation.classic_config.nodes.1 = node0@localhost\n"
        );
        std::fs::write(home.join("rabbitmq.conf"), settings).unwrap();
        std::fs::write(home.join("plugins"), "[].").unwrap();
        let path = |name: &str| home.join(name).display().to_string();
        let arguments = "-setcookie seckill -kernel inet_dist_use_interface {127,0,0,1}";
        let log = std::fs::File::create(home.join("log")).unwrap();
        let mut command = Command::new(SERVER);
        command.env_clear().envs([
            ("PATH", std::env::var("PATH").unwrap()),
            ("LC_ALL", "C.UTF-8".to_owned()),
            ("HOME", home.display().to_string()),
            ("RUNNING_UNDER_SYSTEMD", "true".to_owned()),
            ("RABBITMQ_NODENAME", format!("node{number}@localhost")),
            ("RABBITMQ_CONF_ENV_FILE", path("none")),
            ("RABBITMQ_CONFIG_FILE", path("rabbitmq.conf")),
            ("RABBITMQ_CONFIG_FILES", path("none")),
            ("RABBITMQ_ADVANCED_CONFIG_FILE", path("none.config")),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", path("plugins")),
            ("RABBITMQ_MNESIA_BASE", path("mnesia")),
            ("RABBITMQ_LOG_BASE", path("")),
            ("RABBITMQ_PID_FILE", path("pid")),
            ("RABBITMQ_DIST_PORT", free_address().port().to_string()),
            ("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", arguments.to_owned()),
            ("ERL_EPMD_PORT", self.epmd_port.to_string()),
            ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
        ]);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.nodes[number].server = Some(Killed(command.spawn().unwrap()));
    }

    async fn wait_for(&self, number: usize) {
        let log = self.dir.path().join(number.to_string()).join("log");
        eventually(&format!("node {number} has started"), START_TIMEOUT, async || {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            if text.contains("Server startup complete") { connects(self.nodes[number].port) } else { Err(tail(&text)) }
        })
        .await;
    }

    fn urls(&self) -> String {
        let url = |node: &Node| format!("amqp://seckill:sesame@127.0.0.1:{}/seckill", node.port);
        self.nodes.iter().map(url).collect::<Vec<_>>().join(",")
    }

    /// The node with the most connections.
    fn in_use(&self) -> usize {
        let open = |node: &&Node| established(node.port);
        self.nodes.iter().filter(|node| node.server.is_some()).max_by_key(open).unwrap().number
    }
}

fn tail(text: &str) -> String {
    text.lines().last().unwrap_or_default().to_owned()
}

fn connects(port: u16) -> Result<(), String> {
    TcpStream::connect(("127.0.0.1", port)).map(drop).map_err(|error| error.to_string())
}

/// Connections that are open at a local port, as the kernel lists them.
fn established(port: u16) -> usize {
    let table = std::fs::read_to_string(Path::new("/proc/net/tcp")).unwrap();
    let local = format!(":{port:04X}");
    let rows = table.lines().map(|row| row.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.len() > 3 && row[1].ends_with(&local) && row[3] == "01").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn purchases_go_on_after_the_node_of_rabbitmq_in_use_has_died() {
    let mut cluster = Cluster::start().await;
    let roles = ["serve", "relay", "consume", "control"];
    let plan = Plan::on(Rung::Rabbit).await.roles(&roles).set("SECKILL_AMQP_URL", &cluster.urls());
    let (shop, sale) = plan.open(NewSale::of(UNITS as i64)).await;
    pause(super::crash::QUEUE_SETTLE_MS).await;
    let mut load = Load::new(&sale);
    load.arrive(&shop, UNITS / 2, Duration::from_secs(3));
    pause(1_000).await;
    let victim = cluster.in_use();
    cluster.nodes[victim].server = None;
    load.finish().await;
    load.serve(&shop, 2 * UNITS, Duration::from_secs(3)).await;
    // Each process that needs RabbitMQ has found another node.
    for process in 0..roles.len() {
        shop.ops(process).wait_for("/healthz", 200, START_TIMEOUT).await;
    }
    assert_nothing_is_lost(&shop, &sale, &load, UNITS as i64).await;
    cluster.start_node(victim);
    cluster.wait_for(victim).await;
}
