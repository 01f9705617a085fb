//! Lists: keyset pages with signed cursors.
//!
//! A cursor says after which row the next page begins. It is signed together with the path and the filters it was made
//! for, so it can be neither forged nor carried over to another list. Rows that arrive meanwhile move nothing.

use std::collections::BTreeMap;

use data_encoding::BASE64URL_NOPAD;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::context::RequestCtx;
use super::input::{Description, Inbound, Input, describe_query, query_pairs, read_query};
use super::problem::Problem;
use platform::crypto::keys::{Keys, Purpose};

pub const LIMIT_DEFAULT: u32 = 50;
pub const LIMIT_MAX: u32 = 200;

/// The list part of a query: filters of type `F`, how many (at most `MOST`), and after which position of type `K`.
pub struct Listing<F, K, const MOST: u32 = LIMIT_MAX> {
    pub filters: F,
    pub limit: u32,
    pub after: Option<K>,
    keys: Keys,
    /// Path and filters, as the cursor is bound to them.
    scope: String,
}

/// No filters.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unfiltered {}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    pub data: Vec<T>,
    pub meta: PageMeta,
    #[serde(skip)]
    next: Option<String>,
}

/// The other envelope of a list: the cursor is absent when there are no more pages.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}List")]
pub struct Items<T> {
    pub items: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    #[serde(skip)]
    next: Option<String>,
}

/// The envelope of a log: like `Items`, by another name.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}ListResponse")]
pub struct Rows<T> {
    pub rows: Vec<T>,
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

#[derive(Serialize, JsonSchema)]
pub struct PageMeta {
    /// Opaque; null when there are no more pages.
    pub next_cursor: Option<String>,
    pub limit: u32,
}

impl<T> Page<T> {
    /// Where the next page is, relative to the origin.
    pub fn next_link(&self) -> Option<&str> {
        self.next.as_deref()
    }
}

impl<F, K: Serialize, const MOST: u32> Listing<F, K, MOST> {
    /// One row more than the page holds tells whether there is another page.
    pub fn fetch(&self) -> i64 {
        i64::from(self.limit) + 1
    }

    /// The page of these rows, which were fetched with `fetch` as the limit.
    pub fn page<R, T>(
        self,
        mut rows: Vec<R>,
        position: impl Fn(&R) -> K,
        show: impl FnMut(R) -> T,
    ) -> Result<Page<T>, Problem> {
        let limit = self.limit as usize;
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| has_more).map(position);
        self.page_before(rows, next, show)
    }

    /// The page of these rows, which ends here; the next begins after this position.
    pub fn page_before<R, T>(
        self,
        rows: Vec<R>,
        next: Option<K>,
        show: impl FnMut(R) -> T,
    ) -> Result<Page<T>, Problem> {
        let next_cursor = next.map(|position| self.cursor(&position)).transpose()?;
        let next = next_cursor.as_ref().map(|cursor| {
            let joint = if self.scope.contains('?') { '&' } else { '?' };
            format!("{}{joint}limit={}&cursor={cursor}", self.scope, self.limit)
        });
        let meta = PageMeta { next_cursor, limit: self.limit };
        Ok(Page { data: rows.into_iter().map(show).collect(), meta, next })
    }

    /// The same in the other envelope.
    pub fn items<R, T>(
        self,
        rows: Vec<R>,
        position: impl Fn(&R) -> K,
        show: impl FnMut(R) -> T,
    ) -> Result<Items<T>, Problem> {
        let Page { data, meta, next } = self.page(rows, position, show)?;
        Ok(Items { items: data, next_cursor: meta.next_cursor, next })
    }

    /// The same in the envelope of a log.
    pub fn rows<R, T>(
        self,
        rows: Vec<R>,
        position: impl Fn(&R) -> K,
        show: impl FnMut(R) -> T,
    ) -> Result<Rows<T>, Problem> {
        let Page { data, meta, next } = self.page(rows, position, show)?;
        Ok(Rows { rows: data, next_cursor: meta.next_cursor, next })
    }

    fn cursor(&self, position: &K) -> Result<String, Problem> {
        let mut bytes = serde_json::to_vec(position).map_err(Problem::internal)?;
        let tag = self.keys.mac(Purpose::Cursor, &signed(&self.scope, &bytes));
        bytes.extend_from_slice(&tag[..16]);
        Ok(BASE64URL_NOPAD.encode(&bytes))
    }
}

fn signed(scope: &str, position: &[u8]) -> Vec<u8> {
    [&(scope.len() as u64).to_be_bytes(), scope.as_bytes(), position].concat()
}

fn open_cursor<K: DeserializeOwned>(keys: &Keys, scope: &str, cursor: &str) -> Option<K> {
    let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok()?;
    let (position, tag) = bytes.split_at_checked(bytes.len().checked_sub(16)?)?;
    let expected = keys.mac(Purpose::Cursor, &signed(scope, position));
    // A cursor guards nothing secret, but there is no reason to tell how much of a guess was right.
    aws_lc_rs::constant_time::verify_slices_are_equal(&expected[..16], tag).ok()?;
    serde_json::from_slice(position).ok()
}

impl<F, K, const MOST: u32> Input for Listing<F, K, MOST>
where
    F: DeserializeOwned + JsonSchema + Send + 'static,
    K: DeserializeOwned + Send + 'static,
{
    async fn read(ctx: &RequestCtx, inbound: &mut Inbound) -> Result<Self, Problem> {
        let mut pairs: BTreeMap<String, String> = query_pairs(inbound)?.into_iter().collect();
        let cursor = pairs.remove("cursor");
        let limit = match pairs.remove("limit") {
            None => LIMIT_DEFAULT,
            Some(text) => match text.parse() {
                Ok(limit) if (1..=MOST).contains(&limit) => limit,
                _ => return Err(Problem::invalid("limit", format!("must be an integer from 1 to {MOST}"))),
            },
        };
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
        let path = inbound.head.uri.path();
        let scope = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        let keys = ctx.app.keys.clone();
        let after = match cursor {
            None => None,
            Some(cursor) => match open_cursor(&keys, &scope, &cursor) {
                None => return Err(Problem::invalid("cursor", "is not a cursor of this list with these filters")),
                found => found,
            },
        };
        let filters = read_query(pairs.into_iter().collect())?;
        Ok(Listing { filters, limit, after, keys, scope })
    }

    fn describe(_: &str, schemas: &mut SchemaGenerator, description: &mut Description) {
        describe_query::<F>(schemas, description);
        description.parameters.push(json!({
            "name": "limit", "in": "query", "required": false,
            "description": "Maximum number of items on the page.",
            "schema": {"type": "integer", "minimum": 1, "maximum": MOST, "default": LIMIT_DEFAULT},
        }));
        description.parameters.push(json!({
            "name": "cursor", "in": "query", "required": false,
            "description": "`next_cursor` of the previous page, with the same filters; absent for the first page.",
            "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"},
        }));
    }
}
