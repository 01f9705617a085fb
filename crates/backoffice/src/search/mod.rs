//! `/admin/search`: customers, users, numbers, IP addresses, calls, invoices and tickets by one text.
//!
//! Every kind is looked up by an index: words of names, email addresses, numbers, invoice numbers and subjects by how
//! they begin, everything else exactly. No lookup reads more than it returns, and all together return [`MAX_HITS`].

mod store;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::customers::{network, prefix_ranges};
use api::answer::Json;
use api::context::ReadCtx;
use api::input::Query;
use api::problem::Problem;
use db::{Conn, DbError};
use identity::names::Names;
use platform::routing::allow_lists;
use store::Found;
use values::{AccountId, CallId, Digits, Rfc3339, Text, UserId, parse_uuid, text_enum};

/// Results of a search.
const MAX_HITS: usize = 20;
/// Results of one kind, before they are mixed.
const MAX_OF_KIND: i64 = 20;
/// Fewer digits than a calling code with an area code begin too many numbers.
const MIN_DIGITS: usize = 3;

/// What to search for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchQuery {
    /// Beginning of a company name, email address, number, invoice number or ticket subject; or a whole IP address,
    /// network, Call-ID or id.
    q: Text<1, 255>,
}

text_enum! {
    /// What a search found.
    pub enum HitKind {
        Customer = "customer",
        User = "user",
        Number = "number",
        IpAddress = "ip_address",
        Call = "call",
        Invoice = "invoice",
        Ticket = "ticket",
    }
}

/// A result of a search.
#[derive(Serialize, JsonSchema)]
pub struct SearchHit {
    /// What it is.
    pub kind: HitKind,
    /// Its id: of the customer, user, number, allow-list entry, CDR, invoice or ticket.
    pub id: Uuid,
    /// Company name, email address, number, network, Call-ID, invoice number or subject.
    pub title: String,
    /// What tells it from others: the customer, or the numbers and the time of a call.
    pub subtitle: String,
    /// Customer that it belongs to, as a plain UUID.
    pub customer_id: Uuid,
}

/// Results of a search.
#[derive(Serialize, JsonSchema)]
pub struct SearchHits {
    /// Results, mixed by kind, at most 20.
    pub data: Vec<SearchHit>,
}

pub async fn search(mut ctx: ReadCtx, Query(query): Query<SearchQuery>) -> Result<Json<SearchHits>, Problem> {
    let found = find(&mut ctx, query.q.as_str().trim()).await?;
    let mut kinds: Vec<_> = found.into_iter().map(Vec::into_iter).collect();
    let mut mixed = Vec::new();
    // One of each kind in turn, so that a frequent kind does not hide the others.
    while mixed.len() < MAX_HITS && kinds.iter().any(|kind| kind.len() > 0) {
        mixed.extend(kinds.iter_mut().filter_map(Iterator::next));
    }
    mixed.truncate(MAX_HITS);
    let names = Names::of_customers(&mut ctx, mixed.iter().map(|(_, found)| found.account_id)).await?;
    let data = mixed.into_iter().map(|(kind, found)| hit(kind, found, &names)).collect();
    Ok(Json(SearchHits { data }))
}

fn hit(kind: HitKind, found: Found, names: &Names) -> SearchHit {
    let customer_id = found.account_id.uuid();
    let subtitle = found.note.or_else(|| names.get(customer_id)).unwrap_or_default();
    SearchHit { kind, id: found.id, title: found.title, subtitle, customer_id }
}

/// What the text finds, by kind.
async fn find(conn: &mut Conn, q: &str) -> Result<Vec<Vec<(HitKind, Found)>>, DbError> {
    let mut all = vec![by_id(conn, q).await?];
    let mut add = |kind: HitKind, found: Vec<Found>| all.push(found.into_iter().map(|one| (kind, one)).collect());
    if let Some(cidr) = network(q) {
        let entries = allow_lists::overlaps(conn, cidr, MAX_OF_KIND).await?;
        let found = entries.into_iter().map(|entry| Found {
            id: entry.id.uuid(),
            account_id: entry.account_id,
            title: entry.cidr.to_string(),
            note: None,
        });
        add(HitKind::IpAddress, found.collect());
    }
    if let Some(digits) = digits(q) {
        let number = format!("+{digits}");
        add(HitKind::Number, store::numbers(conn, &number, &end_of(&number), MAX_OF_KIND).await?);
    }
    if let Some(ranges) = prefix_ranges(q) {
        add(HitKind::Customer, store::customers(conn, &ranges, MAX_OF_KIND).await?);
    }
    let lower = q.to_lowercase();
    add(HitKind::User, store::users(conn, &lower, &end_of(&lower), MAX_OF_KIND).await?);
    let upper = q.to_uppercase();
    add(HitKind::Invoice, store::invoices(conn, &upper, &end_of(&upper), MAX_OF_KIND).await?);
    let calls = store::calls(conn, q, MAX_OF_KIND).await?;
    add(HitKind::Call, calls.into_iter().map(call).collect());
    // SQLite knows the case of ASCII letters only.
    let ascii = q.to_ascii_lowercase();
    let ranges = [(lower.clone(), end_of(&lower)), (ascii.clone(), end_of(&ascii))];
    add(HitKind::Ticket, store::tickets(conn, &ranges, MAX_OF_KIND).await?);
    Ok(all)
}

/// What has this id.
async fn by_id(conn: &mut Conn, q: &str) -> Result<Vec<(HitKind, Found)>, DbError> {
    let prefixed = q.parse::<AccountId>().map(AccountId::uuid).or_else(|_| q.parse::<UserId>().map(UserId::uuid));
    let Some(id) = parse_uuid(q).or(prefixed.ok()) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    found.extend(store::customer(conn, id).await?.map(|one| (HitKind::Customer, one)));
    found.extend(store::user(conn, id).await?.map(|one| (HitKind::User, one)));
    found.extend(store::number(conn, id).await?.map(|one| (HitKind::Number, one)));
    found.extend(store::invoice(conn, id).await?.map(|one| (HitKind::Invoice, one)));
    found.extend(store::ticket(conn, id).await?.map(|one| (HitKind::Ticket, one)));
    if let Some(started_at) = CallId::new(id).started_at() {
        found.extend(store::cdr(conn, id, started_at).await?.map(|row| (HitKind::Call, call(row))));
    }
    Ok(found)
}

fn call(row: store::CallRow) -> Found {
    let note = format!("{} to {}, {}", row.calling, row.called, Rfc3339(row.started_at));
    Found { id: row.id, account_id: row.account_id, title: row.call_id, note: Some(note) }
}

/// The beginning of a number, with or without plus or 00 and with any separators.
fn digits(q: &str) -> Option<Digits> {
    let plain: String = q.chars().filter(|c| !matches!(c, '(' | ')' | '.')).collect();
    plain.parse::<Digits>().ok().filter(|digits| digits.as_str().len() >= MIN_DIGITS)
}

/// A text greater than every text with this prefix.
fn end_of(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}
