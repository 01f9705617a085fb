//! Callers that this node looked up within the last second, for requests that read: a client sends the same token or
//! key many times a second.
//!
//! What this node commits counts at once: a transaction that changes what a caller may do calls
//! [`Conn::forget_callers`](db::Conn::forget_callers), which raises the epoch. What another node commits counts when the
//! caller is looked up again, after [`MAX_AGE`] at most. Requests that change something never rely on it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use super::api_keys;
use super::auth::{Principal, authenticate};
use super::problem::Problem;
use db::Reader;
use platform::app::App;
use values::Time;

const MAX_AGE: Duration = Duration::from_secs(1);
/// When full, it is cleared, which costs one lookup per caller.
const MAX_CALLERS: usize = 4096;

#[derive(Default)]
pub struct Callers(RwLock<HashMap<Box<str>, Known>>);

struct Known {
    caller: Principal,
    /// Where it called from: an API key may be bound to networks.
    ip: IpAddr,
    looked_up_at: Time,
    /// The epoch before the lookup.
    epoch: u64,
}

impl Known {
    fn is_valid(&self, ip: IpAddr, now: Time, epoch: u64) -> bool {
        let is_recent = self.looked_up_at <= now && now.since(self.looked_up_at) < MAX_AGE;
        let is_touch_due = self.caller.key.as_ref().is_some_and(|key| key.is_touch_due(now));
        self.epoch == epoch
            && is_recent
            && self.ip == ip
            && self.caller.expires_at.is_none_or(|at| now < at)
            && !is_touch_due
    }
}

/// Looks a caller up, and returns the connection, unless it was needed otherwise.
pub async fn look_up(
    app: &App,
    mut conn: Reader,
    token: &str,
    ip: IpAddr,
    now: Time,
) -> Result<(Principal, Option<Reader>), Problem> {
    let mut caller = authenticate(&mut conn, app, token, ip).await?;
    if let Some(key) = caller.key.as_mut().filter(|key| key.is_touch_due(now)) {
        drop(conn);
        api_keys::touch(app, key.id, ip, now).await;
        key.set_touched(now);
        return Ok((caller, None));
    }
    Ok((caller, Some(conn)))
}

impl Callers {
    /// The caller with this token or key; with a connection if it had to be looked up.
    pub async fn find_or_look_up(
        &self,
        app: &App,
        token: &str,
        ip: IpAddr,
        now: Time,
    ) -> Result<(Principal, Option<Reader>), Problem> {
        let epoch = app.db.callers_epoch();
        if let Some(caller) = self.find(token, ip, now, epoch) {
            return Ok((caller, None));
        }
        let (caller, conn) = look_up(app, app.db.read_few().await?, token, ip, now).await?;
        self.insert(token, ip, now, epoch, caller.clone());
        Ok((caller, conn))
    }

    fn find(&self, token: &str, ip: IpAddr, now: Time, epoch: u64) -> Option<Principal> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(token).filter(|known| known.is_valid(ip, now, epoch)).map(|known| known.caller.clone())
    }

    fn insert(&self, token: &str, ip: IpAddr, now: Time, epoch: u64, caller: Principal) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_CALLERS && !known.contains_key(token) {
            known.clear();
        }
        known.insert(token.into(), Known { caller, ip, looked_up_at: now, epoch });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::Ipv4Addr;

    use uuid::Uuid;

    use super::*;
    use values::{AccountId, AccountRole, Role, UserId};

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn caller(expires_at: Option<Time>) -> Principal {
        Principal {
            user_id: UserId::new(Uuid::nil()),
            email: "cora@example.com".parse().unwrap(),
            account_id: AccountId::new(Uuid::nil()),
            roles: vec![Role::Customer].into(),
            account_role: AccountRole::Owner,
            session_id: None,
            jti: Uuid::nil(),
            read_only: false,
            impersonator: None,
            authenticated_at: Time::EPOCH,
            expires_at,
            must_enroll: false,
            key: None,
        }
    }

    #[test]
    fn a_caller_is_known_for_less_than_a_second_in_the_same_epoch_and_place() {
        let (callers, at) = (Callers::default(), Time::from_millis);
        callers.insert("token", HERE, at(5_000), 7, caller(None));
        assert!(callers.find("token", HERE, at(5_000), 7).is_some());
        assert!(callers.find("token", HERE, at(5_999), 7).is_some());
        assert!(callers.find("token", HERE, at(6_000), 7).is_none(), "looked up a second ago");
        assert!(callers.find("token", HERE, at(4_999), 7).is_none(), "the clock went back");
        assert!(callers.find("token", HERE, at(5_000), 8).is_none(), "something was revoked");
        assert!(callers.find("token", Ipv4Addr::UNSPECIFIED.into(), at(5_000), 7).is_none());
        assert!(callers.find("other", HERE, at(5_000), 7).is_none());
    }

    #[test]
    fn a_known_caller_expires_with_its_token() {
        let (callers, at) = (Callers::default(), Time::from_millis);
        callers.insert("token", HERE, at(5_000), 0, caller(Some(at(5_500))));
        assert!(callers.find("token", HERE, at(5_499), 0).is_some());
        assert!(callers.find("token", HERE, at(5_500), 0).is_none());
    }

    #[test]
    fn no_more_callers_are_remembered_than_there_is_room_for() {
        let callers = Callers::default();
        for number in 0..=MAX_CALLERS {
            callers.insert(&number.to_string(), HERE, Time::EPOCH, 0, caller(None));
        }
        assert_eq!(callers.0.read().unwrap().len(), 1);
    }
}
