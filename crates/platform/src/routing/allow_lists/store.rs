//! Statements for the networks of all trunks.

use db::{Conn, DbError, params, row, sql};
use values::{AccountId, Cidr, IpAllowEntryId, TrunkId};

row! {
    /// A network of an allow-list, with its trunk and account.
    #[derive(Clone, Debug)]
    pub struct Network {
        pub cidr: Cidr,
        pub trunk_id: TrunkId,
        pub account_id: AccountId,
    }
}

/// All networks, sorted by address.
pub async fn networks(conn: &mut Conn) -> Result<Vec<Network>, DbError> {
    let mut networks = Vec::new();
    let sql = sql!("SELECT ", Network::COLS, " FROM ip_allow_entries ORDER BY first_address");
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
    }
}

/// The entry that overlaps a network; the one with the highest addresses if there are several.
pub async fn overlap(conn: &mut Conn, cidr: Cidr) -> Result<Option<AllowListEntry>, DbError> {
    // Entries do not overlap, so the one that begins last also ends last.
    let nearest: Option<AllowListEntry> = conn
        .opt(
            sql!(
                "SELECT ",
                AllowListEntry::COLS,
                " FROM ip_allow_entries WHERE first_address <= $1 ORDER BY first_address DESC LIMIT 1"
            ),
            params![cidr.last().octets().to_vec()],
        )
        .await?;
    Ok(nearest.filter(|entry| entry.cidr.last() >= cidr.first()))
}
