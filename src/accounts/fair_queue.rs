//! A bounded queue that shares out a few slots fairly: the slots in which passwords are hashed.
//!
//! - **Lanes.** Log-ins, registrations and the staff's own confirmations wait apart, and free slots go to the lanes in
//!   the order of [`TURNS`]. A flood in one lane costs the others at most that lane's share.
//! - **Networks.** Within a lane, sites take turns (/24 of IPv4, /48 of IPv6), and within a site its hosts (an address,
//!   a /64). A site that sends a thousand requests gets as many slots as one that sends a single request.
//! - **Bounds.** The requests of a host and of a site that wait in a lane are limited. Beyond the limit only this
//!   network is refused ([`QueueRefusal::ShareFull`]). If the lane is full, the site with the most requests loses its
//!   latest one to the newcomer, unless it is the newcomer's own site.
//!
//! A log-in of staff waits in the lane of all log-ins. In a lane of its own its answer would come sooner while the shop
//! is flooded, which would reveal the names of the staff.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use boxed::boxed;
use tokio::sync::oneshot;

use super::network::Network;
use base::locked;

/// What a request wants a slot for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    LogIn,
    Registration,
    /// Confirmations by staff who are signed in, and the start of the process.
    Staff,
}

/// The lanes' turns at free slots. Half of them belong to log-ins, because most of their users have been here before.
const TURNS: [Lane; 4] = [Lane::LogIn, Lane::Registration, Lane::LogIn, Lane::Staff];
const LANES: usize = 3;

/// Requests that may wait in one lane.
#[derive(Debug, Clone, Copy)]
pub struct QueueBounds {
    pub per_host: usize,
    pub per_site: usize,
    pub per_lane: usize,
}

/// Why a request gets no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueRefusal {
    /// The network already has its share of waiting requests.
    ShareFull,
    /// The lane is full of requests of other networks.
    LaneFull,
}

/// The queue and its slots.
#[derive(Debug)]
pub struct FairQueue {
    bounds: QueueBounds,
    state: Mutex<WaitingRoomState>,
}

#[derive(Debug)]
struct WaitingRoomState {
    free: usize,
    /// The index into [`TURNS`] of the next free slot.
    turn: usize,
    lanes: [LaneQueue; LANES],
}

/// The waiting requests of one lane. A site without any has no entry.
#[derive(Debug, Default)]
struct LaneQueue {
    sites: HashMap<IpAddr, SiteQueue>,
    /// The sites in the order of their turns.
    order: VecDeque<IpAddr>,
    waiting: usize,
}

/// The waiting requests of one site.
#[derive(Debug, Default)]
struct SiteQueue {
    hosts: HashMap<IpAddr, VecDeque<Ticket>>,
    order: VecDeque<IpAddr>,
    waiting: usize,
}

/// Receives a slot, or is dropped, which refuses the request.
type Ticket = oneshot::Sender<Slot>;

/// A slot in use. Dropping it passes it on.
#[derive(Debug)]
pub struct Slot(Option<Arc<FairQueue>>);

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(queue) = self.0.take() {
            locked(&queue.state).free += 1;
            queue.pass_on();
        }
    }
}

#[boxed]
impl FairQueue {
    pub fn new(slots: usize, bounds: QueueBounds) -> Arc<FairQueue> {
        let state = WaitingRoomState { free: slots, turn: 0, lanes: Default::default() };
        Arc::new(FairQueue { bounds, state: Mutex::new(state) })
    }

    /// Waits for a slot. A caller that stops waiting gives up its place.
    pub async fn enter(self: &Arc<Self>, lane: Lane, network: Network) -> Result<Slot, QueueRefusal> {
        let (ticket, slot) = oneshot::channel();
        locked(&self.state).lanes[lane as usize].push(network, ticket, self.bounds)?;
        self.pass_on();
        slot.await.map_err(|_| QueueRefusal::LaneFull)
    }

    /// Gives free slots to the requests whose turn it is.
    fn pass_on(self: &Arc<Self>) {
        let mut state = locked(&self.state);
        while state.free > 0 {
            let Some(ticket) = state.next() else { return };
            match ticket.send(Slot(Some(self.clone()))) {
                Ok(()) => state.free -= 1,
                // The request was given up. Its slot must not be passed on a second time.
                Err(mut unused) => unused.0 = None,
            }
        }
    }
}

impl WaitingRoomState {
    /// The next request. Turns of empty lanes are skipped.
    fn next(&mut self) -> Option<Ticket> {
        for _ in TURNS {
            let lane = TURNS[self.turn];
            self.turn = (self.turn + 1) % TURNS.len();
            if let Some(ticket) = self.lanes[lane as usize].pop() {
                return Some(ticket);
            }
        }
        None
    }
}

impl LaneQueue {
    fn push(&mut self, network: Network, ticket: Ticket, bounds: QueueBounds) -> Result<(), QueueRefusal> {
        if self.has_full_share(network, bounds) || self.waiting >= bounds.per_lane {
            self.remove_abandoned();
        }
        if self.has_full_share(network, bounds) {
            return Err(QueueRefusal::ShareFull);
        }
        if self.waiting >= bounds.per_lane {
            self.make_room(network.site)?;
        }
        let site = self.sites.entry(network.site).or_insert_with(|| {
            self.order.push_back(network.site);
            SiteQueue::default()
        });
        let tickets = site.hosts.entry(network.host).or_insert_with(|| {
            site.order.push_back(network.host);
            VecDeque::new()
        });
        tickets.push_back(ticket);
        site.waiting += 1;
        self.waiting += 1;
        Ok(())
    }

    fn has_full_share(&self, network: Network, bounds: QueueBounds) -> bool {
        self.sites.get(&network.site).is_some_and(|site| {
            let host = site.hosts.get(&network.host).map_or(0, VecDeque::len);
            site.waiting >= bounds.per_site || host >= bounds.per_host
        })
    }

    /// Refuses the latest request of the site with the most requests, if the newcomer's site has fewer.
    fn make_room(&mut self, newcomer: IpAddr) -> Result<(), QueueRefusal> {
        let own = self.sites.get(&newcomer).map_or(0, |site| site.waiting);
        let largest = self.sites.iter().max_by_key(|(_, site)| site.waiting);
        let Some((&address, site)) = largest.filter(|(_, site)| site.waiting > own + 1) else {
            return Err(QueueRefusal::LaneFull);
        };
        let host = site.hosts.iter().max_by_key(|(_, tickets)| tickets.len()).map(|(&host, _)| host);
        if let Some(site) = self.sites.get_mut(&address)
            && let Some(tickets) = host.and_then(|host| site.hosts.get_mut(&host))
        {
            // The site still has other requests, so it keeps its turn.
            tickets.pop_back();
            site.waiting -= 1;
            self.waiting -= 1;
        }
        Ok(())
    }

    /// The next request: sites take turns, and within a site its hosts do.
    fn pop(&mut self) -> Option<Ticket> {
        while let Some(address) = self.order.pop_front() {
            let Some(site) = self.sites.get_mut(&address) else { continue };
            let popped = site.pop();
            let is_empty = site.waiting == 0;
            if is_empty {
                self.sites.remove(&address);
            } else {
                self.order.push_back(address);
            }
            if popped.is_some() {
                self.waiting -= 1;
                return popped;
            }
        }
        None
    }

    /// Removes requests whose callers no longer wait. Only a full lane is searched.
    fn remove_abandoned(&mut self) {
        for site in self.sites.values_mut() {
            site.hosts.values_mut().for_each(|tickets| tickets.retain(|ticket| !ticket.is_closed()));
            site.waiting = site.hosts.values().map(VecDeque::len).sum();
        }
        self.waiting = self.sites.values().map(|site| site.waiting).sum();
    }
}

impl SiteQueue {
    fn pop(&mut self) -> Option<Ticket> {
        while let Some(host) = self.order.pop_front() {
            let Some(tickets) = self.hosts.get_mut(&host) else { continue };
            let popped = tickets.pop_front();
            if tickets.is_empty() {
                self.hosts.remove(&host);
            } else {
                self.order.push_back(host);
            }
            if popped.is_some() {
                self.waiting -= 1;
                return popped;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::BoxFuture;

    use super::*;

    const BOUNDS: QueueBounds = QueueBounds { per_host: 50, per_site: 100, per_lane: 200 };

    fn network(text: &str) -> Network {
        Network::of(text.parse().unwrap())
    }

    type Entry = BoxFuture<'static, Result<Slot, QueueRefusal>>;

    /// Enters the queue. Returns the result if there is one at once, otherwise the waiting entry.
    fn enter(queue: &Arc<FairQueue>, lane: Lane, from: &str) -> Result<Result<Slot, QueueRefusal>, Entry> {
        let (queue, network) = (queue.clone(), network(from));
        let mut entry: Entry = async move { queue.enter(lane, network).await }.boxed();
        entry.as_mut().now_or_never().ok_or(entry)
    }

    /// Sends `requests` requests and returns the ones that have to wait.
    fn wait(queue: &Arc<FairQueue>, lane: Lane, from: &str, requests: usize) -> Vec<Entry> {
        (0..requests).filter_map(|_| enter(queue, lane, from).err()).collect()
    }

    #[test]
    fn flood_of_registrations_from_one_address_refuses_no_log_in() {
        let queue = FairQueue::new(1, BOUNDS);
        let first = enter(&queue, Lane::Registration, "192.0.2.1").ok().unwrap().unwrap();
        let flood = wait(&queue, Lane::Registration, "192.0.2.1", 229);
        assert_eq!(flood.len(), BOUNDS.per_host, "the others are refused at once");
        let log_ins: Vec<Entry> =
            (0..25).flat_map(|n| wait(&queue, Lane::LogIn, &format!("198.51.{n}.1"), 1)).collect();
        assert_eq!(log_ins.len(), 25, "none is refused");
        // Log-ins have two of three turns, so all 25 are answered within 40 slots.
        let mut waiting: Vec<(&'static str, Entry)> = Vec::new();
        waiting.extend(flood.into_iter().map(|entry| ("register", entry)));
        waiting.extend(log_ins.into_iter().map(|entry| ("log in", entry)));
        let served = drain(first, waiting);
        assert_eq!(served[..40].iter().filter(|name| **name == "log in").count(), 25, "{served:?}");
    }

    /// Passes one slot on until the queue is empty, and returns who got it.
    fn drain(first: Slot, mut waiting: Vec<(&'static str, Entry)>) -> Vec<&'static str> {
        let mut served = Vec::new();
        let mut slot = Some(first);
        while slot.take().is_some() {
            for n in 0..waiting.len() {
                if let Some(Ok(next)) = waiting[n].1.as_mut().now_or_never() {
                    served.push(waiting.remove(n).0);
                    slot = Some(next);
                    break;
                }
            }
        }
        served
    }

    #[test]
    fn sites_take_turns_and_so_do_the_hosts_of_a_site() {
        let queue = FairQueue::new(1, BOUNDS);
        let first = enter(&queue, Lane::LogIn, "203.0.113.1").ok().unwrap().unwrap();
        let mut waiting = Vec::new();
        for (from, requests) in [("192.0.2.1", 4), ("192.0.2.2", 1), ("198.51.100.1", 2)] {
            waiting.extend(wait(&queue, Lane::LogIn, from, requests).into_iter().map(|entry| (from, entry)));
        }
        let served = drain(first, waiting);
        let expected =
            ["192.0.2.1", "198.51.100.1", "192.0.2.2", "198.51.100.1", "192.0.2.1", "192.0.2.1", "192.0.2.1"];
        assert_eq!(served, expected);
    }

    #[test]
    fn log_ins_get_two_slots_for_each_one_of_registrations() {
        let queue = FairQueue::new(1, BOUNDS);
        let first = enter(&queue, Lane::Registration, "203.0.113.1").ok().unwrap().unwrap();
        let mut waiting: Vec<(&'static str, Entry)> = Vec::new();
        for (name, lane) in [("register", Lane::Registration), ("log in", Lane::LogIn)] {
            waiting.extend(wait(&queue, lane, "192.0.2.1", 6).into_iter().map(|entry| (name, entry)));
        }
        let served = drain(first, waiting);
        assert_eq!(served[..9].iter().filter(|name| **name == "log in").count(), 6, "{served:?}");
        assert_eq!(served.len(), 12);
    }

    #[test]
    fn full_lane_gives_a_new_site_the_place_of_the_largest_one() {
        let bounds = QueueBounds { per_host: 50, per_site: 50, per_lane: 100 };
        let queue = FairQueue::new(1, bounds);
        let first = enter(&queue, Lane::LogIn, "203.0.113.1").ok().unwrap().unwrap();
        let mut others = wait(&queue, Lane::LogIn, "192.0.2.1", 50);
        others.extend(wait(&queue, Lane::LogIn, "192.0.3.1", 50));
        assert!(matches!(enter(&queue, Lane::LogIn, "192.0.2.1"), Ok(Err(QueueRefusal::ShareFull))));
        let newcomer = wait(&queue, Lane::LogIn, "198.51.100.1", 1);
        assert_eq!(newcomer.len(), 1);
        let refused = others.iter_mut().filter_map(|entry| entry.as_mut().now_or_never()).count();
        assert_eq!(refused, 1, "one request of the flood made room");
        drop(first);
    }

    #[test]
    fn request_that_is_given_up_frees_its_place_and_takes_no_slot() {
        let queue = FairQueue::new(1, BOUNDS);
        let first = enter(&queue, Lane::LogIn, "203.0.113.1").ok().unwrap().unwrap();
        drop(wait(&queue, Lane::LogIn, "192.0.2.1", BOUNDS.per_host));
        let mut next = wait(&queue, Lane::LogIn, "192.0.2.1", BOUNDS.per_host);
        assert_eq!(next.len(), BOUNDS.per_host, "places that were given up are free again");
        // A slot that was sent to a request which is given up before it is polled goes on to the next one.
        drop(first);
        drop(next.remove(0));
        let slot = next[0].as_mut().now_or_never().expect("the slot was passed on").unwrap();
        drop(next);
        drop(slot);
        assert_eq!(locked(&queue.state).free, 1);
    }
}
