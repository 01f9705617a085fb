//! Password hashing: argon2id on blocking threads, with limited concurrency.
//!
//! A hash deliberately costs tens of milliseconds and 19 MiB. So only a few run concurrently and a short queue may
//! wait; further ones get [`PasswordError::Busy`], and the rest of the service stays fast.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use db::Entropy;
use tokio::sync::Semaphore;

const MAX_CONCURRENT: usize = 2;
const MAX_QUEUED: usize = 64;
const SALT_BYTES: usize = 16;

/// The cost of a hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cost {
    /// The OWASP recommendation for argon2id: 19 MiB, two passes, one lane.
    #[default]
    Full,
    /// The minimum, for tests, which would otherwise spend most of their time on hashes.
    Minimal,
}

/// Why a password could not be hashed or verified.
#[derive(Debug)]
pub enum PasswordError {
    /// The queue is full.
    Busy,
    /// The hashing thread panicked or a stored hash is malformed.
    Broken(String),
}

#[derive(Clone)]
pub struct Passwords(Arc<Inner>);

struct Inner {
    cost: Cost,
    running: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

impl Passwords {
    pub fn new(cost: Cost) -> Passwords {
        let running = Arc::new(Semaphore::new(MAX_CONCURRENT));
        Passwords(Arc::new(Inner { cost, running, waiting: Arc::default() }))
    }

    /// The hash to store, in PHC form.
    pub async fn hash(&self, password: &str) -> Result<String, PasswordError> {
        let password = password.to_owned();
        let salt: [u8; SALT_BYTES] = Entropy.bytes();
        let cost = self.0.cost;
        self.run_blocking(move || {
            let hash = cost.hasher()?.hash_password_with_salt(password.as_bytes(), &salt).map_err(broken)?;
            Ok(hash.to_string())
        })
        .await
    }

    /// Whether the password matches the stored hash. Without a hash it takes the same time and returns false.
    pub async fn verify(&self, password: &str, stored: Option<String>) -> Result<bool, PasswordError> {
        let (password, cost) = (password.to_owned(), self.0.cost);
        self.run_blocking(move || match stored {
            Some(stored) => {
                let stored = PasswordHash::new(&stored).map_err(broken)?;
                Ok(cost.hasher()?.verify_password(password.as_bytes(), &stored).is_ok())
            }
            None => {
                cost.hasher()?.hash_password_with_salt(password.as_bytes(), &[0; SALT_BYTES]).map_err(broken)?;
                Ok(false)
            }
        })
        .await
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, PasswordError> + Send + 'static,
    ) -> Result<T, PasswordError> {
        let slot = QueueSlot::take(Arc::clone(&self.0.waiting))?;
        let permit = Arc::clone(&self.0.running).acquire_owned().await.map_err(broken)?;
        // A hash that has begun runs to its end, even if its caller goes away, and counts until then.
        let counted = move || {
            let _held = (slot, permit);
            work()
        };
        tokio::task::spawn_blocking(counted).await.map_err(broken)?
    }
}

/// A slot in the queue, freed when dropped, also by a caller that goes away.
struct QueueSlot(Arc<AtomicUsize>);

impl QueueSlot {
    fn take(waiting: Arc<AtomicUsize>) -> Result<QueueSlot, PasswordError> {
        let slot = QueueSlot(waiting);
        if slot.0.fetch_add(1, Ordering::AcqRel) >= MAX_CONCURRENT + MAX_QUEUED {
            return Err(PasswordError::Busy);
        }
        Ok(slot)
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Cost {
    fn hasher(self) -> Result<Argon2<'static>, PasswordError> {
        let (kibibytes, passes) = match self {
            Cost::Full => (19_456, 2),
            Cost::Minimal => (Params::MIN_M_COST, 1),
        };
        let params = Params::new(kibibytes, passes, 1, None).map_err(broken)?;
        Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
    }
}

fn broken(error: impl std::fmt::Display) -> PasswordError {
    PasswordError::Broken(error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_matches_its_own_hash_only() {
        let passwords = Passwords::new(Cost::Full);
        let hash = passwords.hash("correct horse battery").await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert!(passwords.verify("correct horse battery", Some(hash.clone())).await.unwrap());
        assert!(!passwords.verify("correct horse batterz", Some(hash)).await.unwrap());
        assert!(!passwords.verify("correct horse battery", None).await.unwrap());
    }

    #[tokio::test]
    async fn a_hash_is_refused_if_the_queue_is_full() {
        let passwords = Passwords::new(Cost::Full);
        let held = passwords.0.running.acquire_many(2).await.unwrap();
        let mut queue = tokio::task::JoinSet::new();
        for _ in 0..MAX_CONCURRENT + MAX_QUEUED {
            let passwords = passwords.clone();
            queue.spawn(async move { passwords.verify("x", None).await });
        }
        while passwords.0.waiting.load(Ordering::Acquire) < MAX_CONCURRENT + MAX_QUEUED {
            tokio::task::yield_now().await;
        }
        assert!(matches!(passwords.verify("x", None).await, Err(PasswordError::Busy)));
        queue.abort_all();
        while queue.join_next().await.is_some() {}
        drop(held);
        assert!(passwords.verify("x", None).await.is_ok());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_hash_whose_caller_went_away_counts_until_it_ends() {
        let passwords = Passwords::new(Cost::Minimal);
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (finish, may_finish) = std::sync::mpsc::channel::<()>();
        let hashing = {
            let passwords = passwords.clone();
            tokio::spawn(async move {
                let work = move || {
                    let _ = begun.send(());
                    may_finish.recv().map_err(broken)
                };
                passwords.run_blocking(work).await
            })
        };
        has_begun.await.unwrap();
        hashing.abort();
        assert!(hashing.await.is_err());
        assert_eq!(passwords.0.running.available_permits(), MAX_CONCURRENT - 1);
        finish.send(()).unwrap();
        while passwords.0.running.available_permits() < MAX_CONCURRENT {
            tokio::task::yield_now().await;
        }
        assert_eq!(passwords.0.waiting.load(Ordering::Acquire), 0);
    }
}
