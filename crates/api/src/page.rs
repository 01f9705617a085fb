//! Lists: keyset pages with signed cursors.
//!
//! A cursor contains the sort key of the last row of a page. It is signed together with the path and filters it was
//! created for, so it can neither be forged nor used on another list. New rows do not shift later pages.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use data_encoding::BASE64URL_NOPAD;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::checks::Request;
use super::context::RequestCtx;
use super::faults::Faults;
use super::input::{Description, IncomingRequest, Input, describe_query, query_pairs, read_query};
use super::page_text::PageText;
use super::problem::Problem;
use platform::crypto::keys::{Keys, Purpose};
use values::Time;

pub const LIMIT_DEFAULT: u32 = 50;
pub const LIMIT_MAX: u32 = 200;

/// The query of a list: filters of type `F`, a limit of at most `MAX`, and a cursor with a sort key of type `K`.
pub struct Listing<F, K, const MAX: u32 = LIMIT_MAX> {
    pub filters: F,
    pub limit: u32,
    pub after: Option<K>,
    keys: Keys,
    /// Path and filters that the cursor is bound to.
    scope: String,
}

/// The sort key of a list with the newest row first: the row's time and its id.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct NewestFirst<I>(i64, I);

impl<I> From<(Time, I)> for NewestFirst<I> {
    fn from((at, id): (Time, I)) -> Self {
        NewestFirst(at.millis(), id)
    }
}

/// A list without filters.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unfiltered {}

/// One page of a list.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    /// The items of the page.
    pub data: Vec<T>,
    /// The cursor of the next page, and the limit.
    pub meta: PageMeta,
    #[serde(skip)]
    next: Option<String>,
}

/// A page of items of type `T` that were written as JSON while they were read; the same to its caller as a [`Page`].
pub struct WrittenPage<T> {
    pub body: Vec<u8>,
    next: Option<String>,
    item: PhantomData<fn() -> T>,
}

impl<T> WrittenPage<T> {
    pub fn next_link(&self) -> Option<&str> {
        self.next.as_deref()
    }
}

/// One page of a report, and the totals of the whole report.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}Report")]
pub struct TotalledPage<T> {
    /// The rows of the page.
    pub data: Vec<T>,
    /// The cursor of the next page, and the limit.
    pub meta: PageMeta,
    /// Sums of all rows of all pages.
    pub totals: T,
    #[serde(skip)]
    next: Option<String>,
}

impl<T> TotalledPage<T> {
    pub fn next_link(&self) -> Option<&str> {
        self.next.as_deref()
    }
}

/// One page of a list.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub struct Items<T> {
    /// The items of the page.
    pub items: Vec<T>,
    /// Cursor of the next page, for the parameter `cursor`; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    #[serde(skip)]
    next: Option<String>,
}

/// One page of a list.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}ListResponse")]
pub struct Rows<T> {
    /// The rows of the page.
    pub rows: Vec<T>,
    /// Cursor of the next page, for the parameter `cursor`; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    #[serde(skip)]
    next: Option<String>,
}

impl<T> Rows<T> {
    pub fn next_link(&self) -> Option<&str> {
        self.next.as_deref()
    }
}

impl<T> Items<T> {
    pub fn next_link(&self) -> Option<&str> {
        self.next.as_deref()
    }
}

/// Where a page ends.
#[derive(Serialize, JsonSchema)]
pub struct PageMeta {
    /// Cursor of the next page, for the parameter `cursor`; null on the last page.
    pub next_cursor: Option<String>,
    /// Maximum number of items on the page.
    pub limit: u32,
}

impl<T> Page<T> {
    /// The path and query of the next page.
    pub fn next_link(&self) -> Option<&str> {
        self.next.as_deref()
    }

    pub fn with_totals(self, totals: T) -> TotalledPage<T> {
        let Page { data, meta, next } = self;
        TotalledPage { data, meta, totals, next }
    }
}

impl<F, K: Serialize, const MAX: u32> Listing<F, K, MAX> {
    /// How many rows to read: one more than the page, to know whether there is a next page.
    pub fn fetch(&self) -> i64 {
        i64::from(self.limit) + 1
    }

    /// The page of these rows, which were read with `fetch` as the limit.
    pub fn page<R, T, Q: Into<K>>(
        self,
        mut rows: Vec<R>,
        key: impl Fn(&R) -> Q,
        show: impl FnMut(R) -> T,
    ) -> Result<Page<T>, Problem> {
        let limit = self.limit as usize;
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| has_more).map(|row| key(row).into());
        self.page_with_next(rows, next, show)
    }

    /// The page of exactly these rows; the next one begins after `next`.
    pub fn page_with_next<R, T>(
        self,
        rows: Vec<R>,
        next: Option<K>,
        show: impl FnMut(R) -> T,
    ) -> Result<Page<T>, Problem> {
        let (meta, next) = self.end(next)?;
        Ok(Page { data: rows.into_iter().map(show).collect(), meta, next })
    }

    /// The page of these items; the next one begins after `next`.
    pub fn written_page<T>(self, items: PageText, next: Option<K>) -> Result<WrittenPage<T>, Problem> {
        let (meta, next) = self.end(next)?;
        let mut body = items.into_bytes();
        body.extend_from_slice(b",\"meta\":");
        serde_json::to_writer(&mut body, &meta).map_err(Problem::internal)?;
        body.push(b'}');
        Ok(WrittenPage { body, next, item: PhantomData })
    }

    /// How a page ends whose next one begins after `next`, and the link of that one.
    fn end(&self, next: Option<K>) -> Result<(PageMeta, Option<String>), Problem> {
        let next_cursor = next.map(|key| self.cursor(&key)).transpose()?;
        let next = next_cursor.as_ref().map(|cursor| {
            let joint = if self.scope.contains('?') { '&' } else { '?' };
            format!("{}{joint}limit={}&cursor={cursor}", self.scope, self.limit)
        });
        Ok((PageMeta { next_cursor, limit: self.limit }, next))
    }

    /// The same as `Items`.
    pub fn items<R, T, Q: Into<K>>(
        self,
        rows: Vec<R>,
        key: impl Fn(&R) -> Q,
        show: impl FnMut(R) -> T,
    ) -> Result<Items<T>, Problem> {
        let Page { data, meta, next } = self.page(rows, key, show)?;
        Ok(Items { items: data, next_cursor: meta.next_cursor, next })
    }

    /// The same as `Rows`.
    pub fn rows<R, T, Q: Into<K>>(
        self,
        rows: Vec<R>,
        key: impl Fn(&R) -> Q,
        show: impl FnMut(R) -> T,
    ) -> Result<Rows<T>, Problem> {
        let Page { data, meta, next } = self.page(rows, key, show)?;
        Ok(Rows { rows: data, next_cursor: meta.next_cursor, next })
    }

    fn cursor(&self, key: &K) -> Result<String, Problem> {
        let mut bytes = serde_json::to_vec(key).map_err(Problem::internal)?;
        let tag = self.keys.mac(Purpose::Cursor, &signed(&self.scope, &bytes));
        bytes.extend_from_slice(&tag[..16]);
        Ok(BASE64URL_NOPAD.encode(&bytes))
    }
}

impl<F, I: From<Uuid> + Copy, const MAX: u32> Listing<F, NewestFirst<I>, MAX> {
    /// The time and id that all rows of the page come before.
    pub fn before(&self) -> (Time, I) {
        let newest = || NewestFirst(i64::MAX, I::from(Uuid::max()));
        let NewestFirst(at, id) = self.after.unwrap_or_else(newest);
        (Time::from_millis(at), id)
    }

    /// The same for a list of rows before `end`.
    pub fn before_end(&self, end: Option<Time>) -> (Time, I) {
        let (at, id) = self.before();
        match end {
            Some(end) if end <= at => (end, I::from(Uuid::nil())),
            _ => (at, id),
        }
    }
}

fn signed(scope: &str, key: &[u8]) -> Vec<u8> {
    [&(scope.len() as u64).to_be_bytes(), scope.as_bytes(), key].concat()
}

fn open_cursor<K: DeserializeOwned>(keys: &Keys, scope: &str, cursor: &str) -> Option<K> {
    let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok()?;
    let (key, tag) = bytes.split_at_checked(bytes.len().checked_sub(16)?)?;
    if !keys.mac_starts_with(Purpose::Cursor, &signed(scope, key), tag) {
        return None;
    }
    serde_json::from_slice(key).ok()
}

impl<F, K, const MAX: u32> Input for Listing<F, K, MAX>
where
    F: Request,
    K: DeserializeOwned + Send + 'static,
{
    async fn read(ctx: &RequestCtx, request: &mut IncomingRequest) -> Result<Self, Problem> {
        let mut faults = Faults::default();
        let mut pairs: BTreeMap<String, String> = query_pairs(request, &mut faults)?.into_iter().collect();
        let cursor = pairs.remove("cursor");
        let limit = pairs.remove("limit").map_or(Ok(LIMIT_DEFAULT), |text| text.parse()).unwrap_or_default();
        faults.unless((1..=MAX).contains(&limit), "limit", format!("must be an integer from 1 to {MAX}"));
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
        let path = request.head.uri.path();
        let scope = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        let keys = ctx.app.keys.clone();
        let after = cursor.as_ref().and_then(|cursor| open_cursor(&keys, &scope, cursor));
        let is_open = cursor.is_none() || after.is_some();
        faults.unless(is_open, "cursor", "is not a cursor of this list and these filters");
        let filters = read_query(pairs.into_iter().collect(), faults, ctx)?;
        Ok(Listing { filters, limit, after, keys, scope })
    }

    fn describe(_: &str, schemas: &mut SchemaGenerator, description: &mut Description) {
        describe_query::<F>(schemas, description);
        description.parameters.push(json!({
            "name": "limit", "in": "query", "required": false,
            "description": "Maximum number of items on the page.",
            "schema": {"type": "integer", "minimum": 1, "maximum": MAX, "default": LIMIT_DEFAULT},
        }));
        description.parameters.push(json!({
            "name": "cursor", "in": "query", "required": false,
            "description": "`next_cursor` of the previous page, with the same filters; absent for the first page.",
            "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"},
        }));
    }
}
