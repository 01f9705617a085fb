//! How many requests are in work, in all and for one caller. Whoever keeps many waiting, by bodies that do not come or
//! by asking for much at once, uses up its own share and leaves the others theirs.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::limits::network_of;

/// Nobody has more than this part of all places, though as many as a busy client needs.
const PART: usize = 4;
const AT_LEAST: usize = 64;

pub struct Shares {
    places: Semaphore,
    at_most: usize,
    taken: Mutex<HashMap<IpAddr, usize>>,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// All places are taken.
    All,
    /// This caller has taken its share.
    Share,
}

/// A place, given back when dropped.
pub struct Place<'s> {
    _place: SemaphorePermit<'s>,
    shares: &'s Shares,
    network: IpAddr,
}

impl Shares {
    pub fn of(places: usize) -> Shares {
        Shares { places: Semaphore::new(places), at_most: (places / PART).max(AT_LEAST), taken: Mutex::default() }
    }

    pub fn take(&self, caller: IpAddr) -> Result<Place<'_>, Full> {
        let place = self.places.try_acquire().map_err(|_| Full::All)?;
        let network = network_of(caller);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(network).or_default();
        if *count >= self.at_most {
            return Err(Full::Share);
        }
        *count += 1;
        Ok(Place { _place: place, shares: self, network })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.shares.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.network) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.network);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ONE: &str = "2001:db8:1:2::1";
    const OTHER: &str = "203.0.113.7";

    fn take<'s>(shares: &'s Shares, caller: &str) -> Result<Place<'s>, Full> {
        shares.take(caller.parse().unwrap())
    }

    #[test]
    fn a_network_has_its_share_and_no_more_until_it_gives_some_back() {
        let shares = Shares::of(1024);
        let mut held: Vec<_> = (0..256).map(|_| take(&shares, ONE).unwrap()).collect();
        assert_eq!(take(&shares, "2001:db8:1:2::2").err(), Some(Full::Share));
        take(&shares, OTHER).unwrap();
        held.pop();
        take(&shares, ONE).unwrap();
        drop(held);
        assert!(shares.taken.lock().unwrap().is_empty());
        assert_eq!(shares.places.available_permits(), 1024);
    }

    #[test]
    fn where_there_are_few_places_anybody_may_have_them() {
        let shares = Shares::of(8);
        let held: Vec<_> = (0..8).map(|_| take(&shares, ONE).unwrap()).collect();
        assert_eq!(take(&shares, OTHER).err(), Some(Full::All));
        drop(held);
        take(&shares, OTHER).unwrap();
    }
}
