//! What was typed → what it means. Every refusal names the option and says what it takes.

use std::num::{NonZeroU32, NonZeroUsize};

pub(super) use crate::engine::duration::parse as duration;

/// A number of tools that may run at once.
pub(super) fn workers(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(workers) if workers.get() <= MOST_WORKERS => Ok(workers),
        Ok(_) | Err(_) => Err(format!("it is a number from 1 to {MOST_WORKERS}")),
    }
}

/// A size of the page cache, in MiB.
pub(super) fn page_cache(text: &str) -> Result<NonZeroU32, String> {
    match text.parse::<NonZeroU32>() {
        Ok(mib) if mib.get() <= LARGEST_PAGE_CACHE => Ok(mib),
        Ok(_) | Err(_) => Err(format!("it is a number of MiB from 1 to {LARGEST_PAGE_CACHE}")),
    }
}

/// Beyond a tebibyte a page cache is a typing error.
const LARGEST_PAGE_CACHE: u32 = 1 << 20;

/// Beyond this a number of workers is a typing error: each may hold a connection of its tool.
const MOST_WORKERS: usize = 10_000;
