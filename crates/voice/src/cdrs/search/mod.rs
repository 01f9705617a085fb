//! Looking for calls, newest first, at a cost that does not grow with how many there are.
//!
//! Every page begins at a place in time and goes back from there, over an account's calls, a trunk's or everybody's.
//! Other wishes are met by looking at [`LOOKED_AT`] calls and keeping those that fit: a page may come out short, even
//! empty, and yet have a next one. A number is different, since it may have few calls among millions. Unless more than
//! [`LOOKED_AT`] calls begin with the digits that are asked for, they are fetched by the number and put in order; if
//! there are more, they are common enough to be met on the way.

mod store;

pub use store::{CdrRow, onwards};

use uuid::Uuid;

use crate::calls::{CallStatus, Leg};
use db::{Conn, DbError};
use values::{AccountId, CallId, Country, Time, TrunkId, UpstreamId};

/// How many calls are looked at for one page.
pub const LOOKED_AT: i64 = 10_000;

/// After every call.
pub const FOREVER: Time = Time::from_millis(i64::MAX);

/// Where a call stands among others.
pub type Place = (Time, CallId);

/// Which calls.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub account: Option<AccountId>,
    pub trunk: Option<TrunkId>,
    pub upstream: Option<UpstreamId>,
    pub status: Option<CallStatus>,
    pub leg: Option<Leg>,
    pub country: Option<Country>,
    /// What the caller's or the called number begins with.
    pub calling: Option<String>,
    pub called: Option<String>,
    pub from: Time,
    /// The first moment that does not belong to it.
    pub to: Time,
}

impl Wanted {
    fn is_of_any_time(&self) -> bool {
        self.from <= Time::EPOCH && self.to == FOREVER
    }
}

/// A page of calls, and the place after which the next begins.
pub struct Found {
    pub rows: Vec<CdrRow>,
    pub next: Option<Place>,
}

/// Whose calls are gone through in the order of time.
#[derive(Clone, Copy)]
enum Stretch {
    Everybody,
    Account(AccountId),
    Trunk(AccountId, TrunkId),
}

/// So many calls after a place, or from the newest.
pub async fn page(conn: &mut Conn, wanted: &Wanted, after: Option<Place>, limit: usize) -> Result<Found, DbError> {
    let place = after.unwrap_or((wanted.to, CallId::new(Uuid::nil())));
    // One row more than fits tells whether there is another page.
    let fetch = i64::try_from(limit).unwrap_or(i64::MAX - 1) + 1;
    if let Some(rows) = by_number(conn, wanted, place, fetch).await? {
        return Ok(whole(rows, limit));
    }
    let stretch = stretch(conn, wanted).await?;
    if !is_choosy(wanted, stretch) {
        if let (Stretch::Account(account), None, true) = (stretch, after, wanted.is_of_any_time())
            && fetch <= store::NEWEST
        {
            return Ok(whole(store::newest(conn, account, fetch).await?, limit));
        }
        return Ok(whole(stretch.rows(conn, wanted, place, fetch, fetch).await?, limit));
    }
    let rows = stretch.rows(conn, wanted, place, LOOKED_AT, fetch).await?;
    if rows.len() > limit {
        return Ok(whole(rows, limit));
    }
    // Calls that arrive in between move the last place up; what was shown must not be shown again.
    let shown = rows.last().map(place_of);
    let last = stretch.last(conn, wanted.from, place, LOOKED_AT).await?;
    let next = last.map(|last| shown.map_or(last, |shown| shown.min(last)));
    Ok(Found { rows, next })
}

/// The page that these rows are, one of which may be too many.
fn whole(mut rows: Vec<CdrRow>, limit: usize) -> Found {
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(place_of);
    Found { rows, next }
}

pub fn place_of(row: &CdrRow) -> Place {
    (row.started_at, row.id)
}

/// The rows by way of a number, if one is asked for that has few enough calls.
async fn by_number(conn: &mut Conn, wanted: &Wanted, place: Place, fetch: i64) -> Result<Option<Vec<CdrRow>>, DbError> {
    let Some(account) = wanted.account else { return Ok(None) };
    let most = LOOKED_AT + 1;
    if let Some(called) = &wanted.called {
        let number = (account, called.as_str());
        if store::count_called(conn, number, wanted, place, most).await? < most {
            return store::of_called(conn, number, wanted, place, most, fetch).await.map(Some);
        }
    }
    if let Some(calling) = &wanted.calling {
        let number = (account, calling.as_str());
        if store::count_calling(conn, number, wanted, place, most).await? < most {
            return store::of_calling(conn, number, wanted, place, most, fetch).await.map(Some);
        }
    }
    Ok(None)
}

async fn stretch(conn: &mut Conn, wanted: &Wanted) -> Result<Stretch, DbError> {
    let account = match (wanted.account, wanted.trunk) {
        (None, Some(trunk)) => store::owner(conn, trunk).await?,
        (account, _) => account,
    };
    Ok(match (account, wanted.trunk) {
        (Some(account), Some(trunk)) => Stretch::Trunk(account, trunk),
        (Some(account), None) => Stretch::Account(account),
        (None, _) => Stretch::Everybody,
    })
}

/// Whether there may be calls in the stretch that are not wanted.
fn is_choosy(wanted: &Wanted, stretch: Stretch) -> bool {
    let is_trunk_left = wanted.trunk.is_some() && !matches!(stretch, Stretch::Trunk(..));
    is_trunk_left
        || wanted.upstream.is_some()
        || wanted.status.is_some()
        || wanted.leg.is_some()
        || wanted.country.is_some()
        || wanted.calling.is_some()
        || wanted.called.is_some()
}

impl Stretch {
    async fn rows(
        self,
        conn: &mut Conn,
        wanted: &Wanted,
        place: Place,
        looked_at: i64,
        fetch: i64,
    ) -> Result<Vec<CdrRow>, DbError> {
        match self {
            Stretch::Everybody => store::of_everybody(conn, wanted, place, looked_at, fetch).await,
            Stretch::Account(account) => store::of_account(conn, account, wanted, place, looked_at, fetch).await,
            Stretch::Trunk(account, trunk) => {
                store::of_trunk(conn, (account, trunk), wanted, place, looked_at, fetch).await
            }
        }
    }

    async fn last(self, conn: &mut Conn, from: Time, place: Place, looked_at: i64) -> Result<Option<Place>, DbError> {
        match self {
            Stretch::Everybody => store::last_of_everybody(conn, from, place, looked_at).await,
            Stretch::Account(account) => store::last_of_account(conn, account, from, place, looked_at).await,
            Stretch::Trunk(account, trunk) => {
                store::last_of_trunk(conn, (account, trunk), from, place, looked_at).await
            }
        }
    }
}

/// What comes after everything that begins like this.
fn beyond(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

/// What numbers begin with, as they are kept: with a plus if these are digits, which may have come with 00. In a query
/// string a plus is a space.
pub fn number_prefix(text: &str) -> String {
    let text = text.trim();
    let bare = text.strip_prefix("00").unwrap_or_else(|| text.trim_start_matches('+'));
    let is_number = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { format!("+{bare}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_is_looked_for_however_its_plus_came_through() {
        for text in ["+3120", "3120", " 3120", "+3120 ", "003120", " 003120"] {
            assert_eq!(number_prefix(text), "+3120", "{text:?}");
        }
        assert_eq!((number_prefix("anon"), number_prefix("+")), ("anon".to_owned(), "+".to_owned()));
    }

    proptest! {
        #[test]
        fn what_begins_with_a_prefix_lies_between_it_and_what_is_beyond(prefix in "[+a-z0-9]{1,8}", rest in "[ -~é]{0,8}", other in "[+a-z0-9]{1,8}") {
            let (within, end) = (format!("{prefix}{rest}"), beyond(&prefix));
            prop_assert!(prefix <= within && within < end);
            let lies_between = prefix <= other && other < end;
            prop_assert_eq!(other.starts_with(&prefix), lies_between);
        }
    }
}
