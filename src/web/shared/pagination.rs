//! Sizes of pages, in items.

/// Lists of one shopper: orders, wallet entries, packets on pages.
pub const DEFAULT_PAGE_SIZE: usize = 20;

/// Lists of the console, and packets in the API.
pub const LARGE_PAGE_SIZE: usize = 50;

/// The largest size that a client may request with `limit`.
pub const MAX_PAGE_SIZE: usize = 200;
