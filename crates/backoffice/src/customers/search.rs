//! Search for customers by id, number, IP address or network, email address of a user, or words of the name.
//!
//! Words match by prefix, over the index `account_words`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

use super::store::{self, CustomerFilter, CustomerWithSpend};
use db::{Conn, DbError};
use identity::accounts::search_words;
use platform::routing::allow_lists;
use values::{AccountId, Cidr, Digits, E164, Email, UserId};

/// Appended to a prefix, it sorts after every text with that prefix.
const LAST_CHARACTER: char = '\u{10FFFF}';

/// Exact matches win; only without any the text is searched as words.
pub async fn search(conn: &mut Conn, q: &str, filter: &CustomerFilter) -> Result<Vec<CustomerWithSpend>, DbError> {
    let mut found = Vec::new();
    // Newest first, as in every list of customers.
    for id in exact_matches(conn, q).await?.into_iter().rev() {
        let row = store::find_with_spend(conn, id, filter.spend).await?;
        found.extend(row.filter(|row| filter.includes(&row.customer)));
    }
    match prefix_ranges(q) {
        _ if !found.is_empty() => Ok(found),
        Some(ranges) => store::with_words(conn, &ranges, filter).await,
        None => Ok(found),
    }
}

/// Entries of allow-lists that a text may find.
const MAX_ENTRIES: i64 = 5;

/// Accounts that the text identifies exactly; nine at most.
async fn exact_matches(conn: &mut Conn, q: &str) -> Result<BTreeSet<AccountId>, DbError> {
    let mut ids = BTreeSet::new();
    ids.extend(q.parse::<AccountId>().ok());
    if let Ok(user) = q.parse::<UserId>() {
        ids.extend(store::account_of_user(conn, user).await?);
    }
    if let Ok(email) = q.parse::<Email>() {
        ids.extend(store::account_of_email(conn, &email).await?);
    }
    if let Some(number) = number(q) {
        ids.extend(store::owner_of_number(conn, &number).await?);
    }
    if let Some(cidr) = network(q) {
        let entries = allow_lists::overlaps(conn, cidr, MAX_ENTRIES).await?;
        ids.extend(entries.into_iter().map(|entry| entry.account_id));
    }
    Ok(ids)
}

/// A phone number, with or without plus or 00, and with any separators.
fn number(q: &str) -> Option<E164> {
    let plain: String = q.chars().filter(|c| !matches!(c, '(' | ')' | '.')).collect();
    let digits: Digits = plain.parse().ok()?;
    format!("+{digits}").parse().ok()
}

/// A network, or an IP address as one.
pub fn network(q: &str) -> Option<Cidr> {
    let network = q.parse::<IpAddr>().map(IpNet::from).or_else(|_| q.parse::<IpNet>()).ok()?;
    Cidr::new(network.trunc())
}

/// Ranges of the words that begin like the three longest words of the search. Missing ones match every word.
pub fn prefix_ranges(q: &str) -> Option<[(String, String); 3]> {
    let mut words = Vec::from_iter(search_words([q]));
    if words.iter().any(|word| word.contains('@')) {
        words.retain(|word| word.contains('@'));
    }
    words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    let mut words = words.into_iter();
    let first = words.next()?;
    let range = |start: String| {
        let end = format!("{start}{LAST_CHARACTER}");
        (start, end)
    };
    Some([range(first), range(words.next().unwrap_or_default()), range(words.next().unwrap_or_default())])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_number_is_recognised_in_any_notation() {
        for q in ["+31201234567", "31201234567", "0031 20 123 45 67", "+31 (20) 123-4567"] {
            assert_eq!(number(q).unwrap().as_str(), "+31201234567", "{q}");
        }
        assert!(number("acme").is_none() && number("1.2.3.4.5.6.7.8.9.0.1.2.3.4.5.6").is_none());
    }

    #[test]
    fn an_ip_address_is_a_network_of_one_address() {
        assert_eq!(network("8.8.4.7"), network("8.8.4.7/32"));
        assert!(network("8.8.4.0/24").unwrap().contains("8.8.4.7".parse().unwrap()));
        assert!(network("acme").is_none());
    }

    #[test]
    fn the_longest_word_comes_first() {
        let [first, second, third] = prefix_ranges("B.V. Acme").unwrap();
        assert_eq!((first.0.as_str(), second.0.as_str(), third.0.as_str()), ("acme", "b", "v"));
        assert!(first.0 < first.1 && "acmeology" < first.1.as_str() && "acn" > first.1.as_str());
        let [first, second, _] = prefix_ranges("Ann@Acme").unwrap();
        assert_eq!((first.0.as_str(), second.0.as_str()), ("ann@acme", ""));
        assert!(prefix_ranges("…").is_none());
    }
}
