//! The line from one process to one service: a TCP proxy that can do to a connection what a network or a dying host
//! does.
//!
//! TCP never delivers bytes after a gap. A connection that has lost bytes therefore stays mute, even after the fault:
//! only its client's own deadline ends it. New connections work.

use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::support::free_address;

/// What a line does to the bytes of its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineState {
    Open,
    /// Each chunk waits this long.
    Slow(Duration),
    /// Bytes wait, and go on when the line opens again.
    Held,
    /// Requests arrive, answers are lost.
    SwallowsAnswers,
    /// Everything is lost, even the end of a connection. New connections are accepted and stay mute.
    Silent,
}

/// One line. Dropping it ends its connections.
pub struct Line {
    /// The number of the process.
    pub process: usize,
    pub service: &'static str,
    pub address: SocketAddr,
    carrier: Arc<Carrier>,
    _open: tokio_util::sync::DropGuard,
}

struct Carrier {
    target: Mutex<String>,
    state: watch::Sender<LineState>,
    /// Cancelled to reset the present connections.
    reset: Mutex<CancellationToken>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Request,
    Answer,
}

impl Line {
    /// An open line to `target`, which is `host:port`.
    pub fn open(process: usize, service: &'static str, target: String) -> Line {
        let address = free_address();
        let listener = StdListener::bind(address).expect("the address is reserved");
        listener.set_nonblocking(true).expect("a listener");
        let listener = TcpListener::from_std(listener).expect("inside a runtime");
        let ended = CancellationToken::new();
        let carrier = Arc::new(Carrier {
            target: Mutex::new(target),
            state: watch::Sender::new(LineState::Open),
            reset: Mutex::new(ended.child_token()),
        });
        let (accepts, stop) = (carrier.clone(), ended.clone());
        tokio::spawn(async move { stop.run_until_cancelled(accepts.accept(listener)).await });
        Line { process, service, address, carrier, _open: ended.drop_guard() }
    }

    pub fn set(&self, state: LineState) {
        self.carrier.state.send_replace(state);
    }

    /// Resets all connections, like a host that has restarted. New ones work.
    pub fn reset(&self) {
        let mut reset = lock(&self.carrier.reset);
        let next = CancellationToken::new();
        std::mem::replace(&mut *reset, next).cancel();
    }

    /// Leads new connections to another server. Present ones stay with theirs.
    pub fn retarget(&self, target: &str) {
        *lock(&self.carrier.target) = target.to_owned();
    }
}

impl Carrier {
    async fn accept(self: Arc<Self>, listener: TcpListener) {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(self.clone().carry(client));
        }
    }

    async fn carry(self: Arc<Self>, mut client: TcpStream) {
        let reset = lock(&self.reset).clone();
        let carried = reset.run_until_cancelled(self.forward(&mut client)).await;
        if carried.is_none() {
            // Errors concern a connection that is gone anyway.
            let _ = client.set_zero_linger();
        }
    }

    async fn forward(&self, client: &mut TcpStream) {
        let mut state = self.state.subscribe();
        if *state.borrow() == LineState::Silent {
            let _ = state.wait_for(|state| *state != LineState::Silent).await;
            return;
        }
        let target = lock(&self.target).clone();
        let Ok(mut server) = TcpStream::connect(target).await else { return };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        // Shared by both directions: once bytes are lost, no more are delivered.
        let mute = Mutex::new(false);
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        tokio::select! {
            () = self.copy(from_client, to_server, Direction::Request, &mute) => {}
            () = self.copy(from_server, to_client, Direction::Answer, &mute) => {}
        }
    }

    /// Copies until one end closes.
    async fn copy(
        &self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        direction: Direction,
        mute: &Mutex<bool>,
    ) {
        let mut state = self.state.subscribe();
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let length = from.read(&mut buffer).await.unwrap_or(0);
            if length == 0 {
                // The end of a connection travels like bytes.
                let travels = |state: &LineState| !matches!(state, LineState::Held | LineState::Silent);
                let _ = state.wait_for(travels).await;
                return;
            }
            if self.delivers(&mut state, direction, mute).await && to.write_all(&buffer[..length]).await.is_err() {
                return;
            }
        }
    }

    /// Waits as long as the line holds bytes back. Returns whether they are delivered.
    async fn delivers(&self, state: &mut watch::Receiver<LineState>, direction: Direction, mute: &Mutex<bool>) -> bool {
        loop {
            if *lock(mute) {
                return false;
            }
            let present = *state.borrow_and_update();
            match present {
                LineState::Open => return true,
                LineState::Slow(wait) => {
                    tokio::time::sleep(wait).await;
                    return !*lock(mute);
                }
                LineState::Held => {
                    if state.changed().await.is_err() {
                        return false;
                    }
                }
                LineState::SwallowsAnswers if direction == Direction::Request => return true,
                LineState::SwallowsAnswers => {
                    // Requests still arrive until the fault ends.
                    let _ = state.wait_for(|state| *state != LineState::SwallowsAnswers).await;
                    *lock(mute) = true;
                }
                LineState::Silent => *lock(mute) = true,
            }
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
