//! Statements for the networks of all trunks.

use db::{Conn, DbError, params, row, sql};
use values::{AccountId, Cidr, IpAllowEntryId, Time, TrunkId};

row! {
    /// A network of an allow-list, with its trunk and account.
    #[derive(Clone, Debug)]
    pub struct Network {
        pub cidr: Cidr,
        pub trunk_id: TrunkId,
        pub account_id: AccountId,
        pub verified_at: Option<Time>,
    }
}

/// All networks: the verified ones, and then the others in the order in which they were listed.
pub async fn networks(conn: &mut Conn) -> Result<Vec<Network>, DbError> {
    let mut networks = Vec::new();
    let sql = sql!("SELECT ", Network::COLS, " FROM ip_allow_entries ORDER BY verified_at NULLS LAST, created_at, id");
    conn.each(sql, params![], |network| {
        networks.push(network);
        Ok(())
    })
    .await?;
    Ok(networks)
}

row! {
    /// An entry of an allow-list.
    pub struct AllowListEntry {
        pub id: IpAllowEntryId,
        pub trunk_id: TrunkId,
        pub account_id: AccountId,
        pub cidr: Cidr,
        pub verified_at: Option<Time>,
    }
}

/// Entries that overlap a network, the verified ones first.
pub async fn overlaps(conn: &mut Conn, cidr: Cidr, limit: i64) -> Result<Vec<AllowListEntry>, DbError> {
    let [from, first, last] = range(cidr);
    conn.all(
        sql!(
            "SELECT ",
            AllowListEntry::COLS,
            " FROM ip_allow_entries WHERE first_address BETWEEN $1 AND $3 AND last_address >= $2
             ORDER BY verified_at NULLS LAST, created_at, id LIMIT $4"
        ),
        params![from, first, last, limit],
    )
    .await
}

/// An entry of an account that overlaps a network.
pub async fn overlap_of(conn: &mut Conn, cidr: Cidr, account: AccountId) -> Result<Option<AllowListEntry>, DbError> {
    let [from, first, last] = range(cidr);
    conn.opt(
        sql!(
            "SELECT ",
            AllowListEntry::COLS,
            " FROM ip_allow_entries WHERE first_address BETWEEN $1 AND $3 AND last_address >= $2 AND account_id = $4
             ORDER BY first_address DESC, id LIMIT 1"
        ),
        params![from, first, last, account],
    )
    .await
}

/// The verified entry that overlaps a network.
pub async fn verified_overlap(conn: &mut Conn, cidr: Cidr) -> Result<Option<AllowListEntry>, DbError> {
    Ok(overlaps(conn, cidr, 1).await?.into_iter().find(|entry| entry.verified_at.is_some()))
}

/// Where entries that overlap a network begin at the earliest, its first address, and its last.
fn range(cidr: Cidr) -> [Vec<u8>; 3] {
    // An entry begins in the widest network that an allow-list may have around its addresses: a /24 or a /48.
    let kept = if cidr.first().to_ipv4_mapped().is_some() { 15 } else { 6 };
    let first = cidr.first().octets();
    let from: [u8; 16] = std::array::from_fn(|at| if at < kept { first[at] } else { 0 });
    [from.to_vec(), first.to_vec(), cidr.last().octets().to_vec()]
}
