//! Rate limits: how many requests a caller may make in a time window.
//!
//! With SQLite, on a single node, the counts are in memory. With PostgreSQL they are in the database, so that a limit
//! holds across nodes; a node leases a small block of a quota at a time instead of counting each request there.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Mutex;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use uuid::Uuid;

use db::{Conn, Db, DbError, params, sql};
use values::{AccountId, Email, Time, UserId};

/// Maximum length of a window.
pub const MAX_WINDOW: Duration = Duration::from_secs(3600);

/// A rate limit. Settings may change its default quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Sign-in, second factor, forgotten password and link redemption, per address.
    SignIn,
    /// The same four, per email and network.
    SignInEmail,
    /// The same four, per email over all networks.
    SignInEmailAll,
    /// Mails that anyone can make the service send to an email address.
    Mails,
    /// Signup, per address.
    Signup,
    /// Token refresh, per address.
    Refresh,
    /// Reads, per signed-in user.
    Reads,
    /// Writes, per signed-in user.
    Writes,
    /// Provider webhooks, per address.
    Webhooks,
    /// CDR exports, per account.
    Exports,
    /// Invitations of users, per account.
    Invitations,
    /// Not limited.
    None,
}

/// Maximum number of requests in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    pub requests: u32,
    pub window: Duration,
}

impl Limit {
    pub const ALL: [Limit; 11] = [
        Limit::SignIn,
        Limit::SignInEmail,
        Limit::SignInEmailAll,
        Limit::Mails,
        Limit::Signup,
        Limit::Refresh,
        Limit::Reads,
        Limit::Writes,
        Limit::Webhooks,
        Limit::Exports,
        Limit::Invitations,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Limit::SignIn => "sign-in",
            Limit::SignInEmail => "sign-in-email",
            Limit::SignInEmailAll => "sign-in-email-all",
            Limit::Mails => "mails",
            Limit::Signup => "signup",
            Limit::Refresh => "refresh",
            Limit::Reads => "reads",
            Limit::Writes => "writes",
            Limit::Webhooks => "callbacks",
            Limit::Exports => "exports",
            Limit::Invitations => "invitations",
            Limit::None => "none",
        }
    }

    pub const fn default_quota(self) -> Quota {
        let (requests, seconds) = match self {
            Limit::SignIn => (10, 60),
            Limit::SignInEmail => (5, 60),
            Limit::SignInEmailAll => (30, 60),
            Limit::Mails => (5, 3600),
            Limit::Signup => (5, 3600),
            Limit::Refresh => (600, 60),
            Limit::Reads => (600, 60),
            Limit::Writes => (120, 60),
            Limit::Webhooks => (1200, 60),
            Limit::Exports => (10, 3600),
            Limit::Invitations => (20, 3600),
            Limit::None => (u32::MAX, 60),
        };
        Quota { requests, window: Duration::from_secs(seconds) }
    }
}

/// Whose requests are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subject(u128);

/// The network that counts as one address: an IPv6 customer has a whole /64.
pub fn network_of(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
        v4 => v4,
    }
}

impl Subject {
    pub fn ip(ip: IpAddr) -> Subject {
        match network_of(ip) {
            IpAddr::V4(v4) => Subject(u128::from(v4.to_bits())),
            IpAddr::V6(v6) => Subject(v6.to_bits()),
        }
    }

    pub fn user(user: UserId) -> Subject {
        Subject(user.uuid().as_u128())
    }

    pub fn api_key(key: Uuid) -> Subject {
        Subject(key.as_u128())
    }

    pub fn account(account: AccountId) -> Subject {
        Subject(account.uuid().as_u128())
    }

    /// Folds the halves, since the low bits of an IPv6 /64 are zero.
    fn shard(self) -> usize {
        (self.0 ^ (self.0 >> 64)) as usize % SHARDS
    }

    pub fn email(email: &Email) -> Subject {
        Subject::hash_of(email.as_str())
    }

    /// An email address as named from one network.
    pub fn email_from(email: &Email, ip: IpAddr) -> Subject {
        Subject::hash_of(&format!("{email} {}", network_of(ip)))
    }

    /// The mails of one kind to an email address.
    pub fn mails(email: &Email, kind: &str) -> Subject {
        Subject::hash_of(&format!("{email} {kind}"))
    }

    fn hash_of(text: &str) -> Subject {
        let hash = digest(&SHA256, text.as_bytes());
        let mut first = [0; 16];
        first.copy_from_slice(&hash.as_ref()[..16]);
        Subject(u128::from_be_bytes(first))
    }
}

/// The state of a rate limit after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitStatus {
    pub allowed: bool,
    pub limit: Limit,
    pub quota: Quota,
    pub remaining: u32,
    /// Seconds until the window ends.
    pub reset_seconds: u64,
}

pub struct Limits {
    quotas: HashMap<Limit, Quota>,
    counts: Counts,
}

enum Counts {
    Off,
    InMemory(Shards),
    Shared { db: Db, leases: Shards, leasing: Box<[tokio::sync::Mutex<()>; SHARDS]> },
}

impl Limits {
    /// `quotas` replaces defaults; `is_enabled` is false only for load tests.
    pub fn new(db: &Db, is_enabled: bool, quotas: &[(Limit, Quota)]) -> Limits {
        let counts = match (is_enabled, db.is_shared()) {
            (false, _) => Counts::Off,
            (true, false) => Counts::InMemory(Shards::default()),
            (true, true) => Counts::Shared { db: db.clone(), leases: Shards::default(), leasing: Box::default() },
        };
        let mut all: HashMap<Limit, Quota> = Limit::ALL.iter().map(|limit| (*limit, limit.default_quota())).collect();
        all.extend(quotas.iter().copied());
        Limits { quotas: all, counts }
    }

    pub fn is_enabled(&self) -> bool {
        !matches!(self.counts, Counts::Off)
    }

    /// Counts one request. `None` if it is not limited.
    pub async fn take(&self, limit: Limit, subject: Subject, now: Time) -> Result<Option<RateLimitStatus>, DbError> {
        let Some(quota) = self.quotas.get(&limit).copied() else { return Ok(None) };
        let window = Window::of(quota, now);
        let used = match &self.counts {
            Counts::Off => return Ok(None),
            Counts::InMemory(counts) => counts.add(limit, subject, window, quota.requests),
            Counts::Shared { db, leases, leasing } => match leases.spend(limit, subject, window.start) {
                Some(used) => Some(used),
                None => {
                    // One at a time: otherwise a burst would lease a block for each of its requests.
                    let _turn = leasing[subject.shard()].lock().await;
                    match leases.spend(limit, subject, window.start) {
                        Some(used) => Some(used),
                        None => lease(db, leases, limit, subject, window, quota).await?,
                    }
                }
            },
        };
        Ok(Some(RateLimitStatus {
            allowed: used.is_some(),
            limit,
            quota,
            remaining: quota.requests.saturating_sub(used.unwrap_or(quota.requests)),
            reset_seconds: whole_seconds_until(window.end, now),
        }))
    }
}

/// Rounded up, so that a client that waits this long does not retry too early.
fn whole_seconds_until(end: Time, now: Time) -> u64 {
    u64::try_from(end.since(now).as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

#[derive(Clone, Copy)]
struct Window {
    start: Time,
    end: Time,
}

impl Window {
    fn of(quota: Quota, now: Time) -> Window {
        let length = i64::try_from(quota.window.as_millis()).unwrap_or(i64::MAX).max(1);
        let start = Time::from_millis(now.millis() - now.millis().rem_euclid(length));
        Window { start, end: start.plus(quota.window) }
    }
}

/// Leases a block of the shared quota: a twentieth, so that little is lost on nodes that do not use theirs.
async fn lease(
    db: &Db,
    leases: &Shards,
    limit: Limit,
    subject: Subject,
    window: Window,
    quota: Quota,
) -> Result<Option<u32>, DbError> {
    let block = (quota.requests / 20).max(1);
    let request = (limit, subject, window.start, block, quota.requests);
    let used = db
        .tx(request, |conn, request| {
            Box::pin(async move {
                let (limit, subject, start, block, requests) = *request;
                count(conn, limit, subject, start, block, requests).await
            })
        })
        .await?;
    let Some(used) = used else { return Ok(None) };
    // The last block may exceed the quota; only the part within it may be used.
    let granted = block.min(quota.requests.saturating_sub(used - block));
    leases.grant(limit, subject, window, used - block + 1, granted - 1);
    Ok(Some(used - block + 1))
}

async fn count(
    conn: &mut Conn,
    limit: Limit,
    subject: Subject,
    start: Time,
    block: u32,
    requests: u32,
) -> Result<Option<u32>, DbError> {
    let used: Option<(i64,)> = conn
        .opt(
            sql!(
                "INSERT INTO rate_windows (limit_name, subject, started_at, used) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (limit_name, subject, started_at)
                 DO UPDATE SET used = rate_windows.used + $4 WHERE rate_windows.used < $5
                 RETURNING used"
            ),
            params![limit.name(), Uuid::from_u128(subject.0), start, i64::from(block), i64::from(requests)],
        )
        .await?;
    Ok(used.map(|(used,)| u32::try_from(used).unwrap_or(u32::MAX)))
}

/// Deletes at most `batch` windows that began before `cutoff`, oldest first.
pub async fn purge_windows(conn: &mut Conn, cutoff: Time, batch: i64) -> Result<u64, DbError> {
    conn.exec(
        sql!(
            "DELETE FROM rate_windows WHERE (limit_name, subject, started_at) IN
                 (SELECT limit_name, subject, started_at FROM rate_windows WHERE started_at < $1
                  ORDER BY started_at LIMIT $2)"
        ),
        params![cutoff, batch],
    )
    .await
}

const SHARDS: usize = 16;
const MAX_SUBJECTS_PER_SHARD: usize = 16_384;

/// Counts in memory, in several maps to reduce lock contention.
#[derive(Default)]
struct Shards([Mutex<HashMap<(Limit, Subject), Count>>; SHARDS]);

struct Count {
    window: Window,
    used: u32,
    /// The unused rest of a lease.
    left: u32,
}

type Shard = HashMap<(Limit, Subject), Count>;

impl Shards {
    fn with<T>(&self, subject: Subject, work: impl FnOnce(&mut Shard) -> T) -> T {
        let mut shard = match self.0[subject.shard()].lock() {
            Ok(shard) => shard,
            Err(poisoned) => poisoned.into_inner(),
        };
        work(&mut shard)
    }

    /// Adds one to a count unless the quota is used up.
    fn add(&self, limit: Limit, subject: Subject, window: Window, requests: u32) -> Option<u32> {
        self.with(subject, |shard| {
            make_room(shard, window.start);
            let count = shard.entry((limit, subject)).or_insert(Count { window, used: 0, left: 0 });
            if count.window.start != window.start {
                *count = Count { window, used: 0, left: 0 };
            }
            (count.used < requests).then(|| {
                count.used += 1;
                count.used
            })
        })
    }

    /// Uses one request of a lease of this window, if any is left.
    fn spend(&self, limit: Limit, subject: Subject, start: Time) -> Option<u32> {
        self.with(subject, |shard| {
            let count =
                shard.get_mut(&(limit, subject)).filter(|count| count.window.start == start && count.left > 0)?;
            count.left -= 1;
            count.used += 1;
            Some(count.used)
        })
    }

    fn grant(&self, limit: Limit, subject: Subject, window: Window, used: u32, left: u32) {
        self.with(subject, |shard| {
            make_room(shard, window.start);
            shard.insert((limit, subject), Count { window, used, left });
        });
    }
}

/// Bounds a map: removes ended windows first and, under a flood of addresses, the quarter that was used least. Whoever
/// is near a limit stays counted.
fn make_room(shard: &mut Shard, now: Time) {
    if shard.len() < MAX_SUBJECTS_PER_SHARD {
        return;
    }
    shard.retain(|_, count| count.window.end > now);
    if shard.len() < MAX_SUBJECTS_PER_SHARD {
        return;
    }
    let mut uses: Vec<u32> = shard.values().map(|count| count.used).collect();
    let (_, &mut least, _) = uses.select_nth_unstable(MAX_SUBJECTS_PER_SHARD / 4);
    let mut to_remove = MAX_SUBJECTS_PER_SHARD / 4;
    shard.retain(|_, count| {
        let stays = count.used > least || to_remove == 0;
        to_remove -= usize::from(!stays);
        stays
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the first shard.
    fn subject(number: u128) -> Subject {
        Subject(number << 4)
    }

    #[test]
    fn a_flood_of_addresses_does_not_reset_those_at_their_limit() {
        let (shards, now) = (Shards::default(), Time::from_millis(1_800_000_000_000));
        let window = Window::of(Limit::SignIn.default_quota(), now);
        let attacker = subject(1);
        assert_eq!((0..20).filter_map(|_| shards.add(Limit::SignIn, attacker, window, 10)).count(), 10);
        for other in 2..100_000 {
            assert_eq!(shards.add(Limit::SignIn, subject(other), window, 10), Some(1));
        }
        assert_eq!(shards.add(Limit::SignIn, attacker, window, 10), None);
        assert!(shards.with(attacker, |shard| shard.len()) <= MAX_SUBJECTS_PER_SHARD);
    }

    #[test]
    fn ended_windows_make_room_first() {
        let (shards, quota) = (Shards::default(), Limit::SignIn.default_quota());
        let first = Window::of(quota, Time::from_millis(1_800_000_000_000));
        let next = Window::of(quota, first.end);
        for number in 0..MAX_SUBJECTS_PER_SHARD as u128 {
            shards.add(Limit::SignIn, subject(number), first, 10);
        }
        shards.add(Limit::SignIn, subject(1 << 50), next, 10);
        assert_eq!(shards.with(subject(0), |shard| shard.len()), 1);
    }
}
