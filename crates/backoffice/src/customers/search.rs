//! Finding a customer by whatever the team has at hand: an id, one of its numbers, an address its calls come from, the
//! address somebody signs in with, or the beginnings of words of its name.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;

use super::store::{self, CustomerRow, Wanted};
use db::{Conn, DbError};
use identity::accounts::words_of;
use platform::routing::allow_lists;
use values::{AccountId, Cidr, E164, Email, UserId};

/// Sorts behind every text that begins with what stands before it.
const LAST_CHARACTER: char = '\u{10FFFF}';

/// What is named exactly is all that is found; only what names nothing is taken for words.
pub async fn search(conn: &mut Conn, q: &str, wanted: &Wanted) -> Result<Vec<CustomerRow>, DbError> {
    let mut found = Vec::new();
    // The newest first, as in every list of customers.
    for id in named(conn, q).await?.into_iter().rev() {
        found.extend(store::find(conn, id).await?.filter(|customer| wanted.admits(customer)));
    }
    match ranges(q) {
        _ if !found.is_empty() => Ok(found),
        Some(ranges) => store::with_words(conn, &ranges, wanted).await,
        None => Ok(found),
    }
}

async fn named(conn: &mut Conn, q: &str) -> Result<BTreeSet<AccountId>, DbError> {
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
        ids.extend(allow_lists::overlap(conn, cidr).await?.map(|taken| taken.account_id));
    }
    Ok(ids)
}

/// A number with or without its plus, and with whatever people put between the digits.
fn number(q: &str) -> Option<E164> {
    let digits: String = q.chars().filter(|c| !matches!(c, ' ' | '-' | '(' | ')' | '.')).collect();
    format!("+{}", digits.strip_prefix('+').or(digits.strip_prefix("00")).unwrap_or(&digits)).parse().ok()
}

fn network(q: &str) -> Option<Cidr> {
    let network = q.parse::<IpAddr>().map(IpNet::from).or_else(|_| q.parse::<IpNet>()).ok()?;
    Cidr::new(network.trunc())
}

/// The ranges of words that begin as the three longest words of the search do; those that lack hold every word.
fn ranges(q: &str) -> Option<[(String, String); 3]> {
    let mut wanted = Vec::from_iter(words_of([q]));
    if wanted.iter().any(|word| word.contains('@')) {
        wanted.retain(|word| word.contains('@'));
    }
    wanted.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    let mut words = wanted.into_iter();
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
    fn a_number_is_understood_however_it_is_written() {
        for q in ["+31201234567", "31201234567", "0031 20 123 45 67", "+31 (20) 123-4567"] {
            assert_eq!(number(q).unwrap().as_str(), "+31201234567", "{q}");
        }
        assert!(number("acme").is_none() && number("1.2.3.4.5.6.7.8.9.0.1.2.3.4.5.6").is_none());
    }

    #[test]
    fn an_address_is_a_network_of_one() {
        assert_eq!(network("8.8.4.7"), network("8.8.4.7/32"));
        assert!(network("8.8.4.0/24").unwrap().contains("8.8.4.7".parse().unwrap()));
        assert!(network("acme").is_none());
    }

    #[test]
    fn the_longest_word_leads() {
        let [first, second, third] = ranges("B.V. Acme").unwrap();
        assert_eq!((first.0.as_str(), second.0.as_str(), third.0.as_str()), ("acme", "b", "v"));
        assert!(first.0 < first.1 && "acmeology" < first.1.as_str() && "acn" > first.1.as_str());
        let [first, second, _] = ranges("Ann@Acme").unwrap();
        assert_eq!((first.0.as_str(), second.0.as_str()), ("ann@acme", ""));
        assert!(ranges("…").is_none());
    }
}
