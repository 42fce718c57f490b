//! Free ports, below the kernel's range for outgoing connections and below the ports of `scripts/stack`. A port stays
//! reserved for the test process, even while the process that listens on it restarts.

use std::net::{SocketAddr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, PoisonError};

const FIRST: u16 = 10_000;
const PORTS: u16 = 9_000;

/// Reservations, held until this process ends. They are visible to other test processes.
static RESERVED: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());
static NEXT: AtomicU16 = AtomicU16::new(0);

/// An address on this machine where nothing listens.
pub fn free_address() -> SocketAddr {
    // Test processes start at different ports.
    let start = (std::process::id().wrapping_mul(37) % u32::from(PORTS)) as u16;
    for _ in 0..PORTS {
        let port = FIRST + (start + NEXT.fetch_add(1, Ordering::Relaxed)) % PORTS;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        if let Some(reservation) = reserve(port)
            && TcpListener::bind(address).is_ok()
        {
            RESERVED.lock().unwrap_or_else(PoisonError::into_inner).push(reservation);
            return address;
        }
    }
    panic!("no free port between {FIRST} and {}", FIRST + PORTS);
}

/// Binds an abstract socket name, which only one process of this machine can hold at a time.
fn reserve(port: u16) -> Option<UnixListener> {
    let name = UnixAddress::from_abstract_name(format!("seckill-test-port-{port}")).ok()?;
    UnixListener::bind_addr(&name).ok()
}
