//! Trunks, addresses and rentals of numbers over time, to find the owner of a line.

use std::net::IpAddr;

use db::{Conn, DbError, params, row, sql};
use values::{AccountId, E164, Time, TrunkId, address_sort_key};

/// More rentals than a number ever has; of more, the latest count.
const MAX_RENTALS: i64 = 100;
/// The same for the trunks of an address.
const MAX_HOLDERS: i64 = 1000;

row! {
    #[derive(Clone, Debug)]
    pub struct TrunkRow {
        pub id: TrunkId,
        pub account_id: AccountId,
        pub zone: String,
        pub deleted_at: Option<Time>,
    }
}

/// A trunk, deleted or not.
pub async fn find_trunk(conn: &mut Conn, id: TrunkId) -> Result<Option<TrunkRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT id, account_id, zone, CAST(NULL AS BIGINT) AS deleted_at FROM trunks WHERE id = $1
             UNION ALL SELECT id, account_id, zone, deleted_at FROM deleted_trunks WHERE id = $1"
        ),
        params![id],
    )
    .await
}

row! {
    /// The time for which a trunk has or had an address on its allow-list.
    #[derive(Clone, Debug)]
    pub struct AddressHolder {
        pub trunk_id: TrunkId,
        pub created_at: Time,
        pub deleted_at: Option<Time>,
    }
}

/// The trunks that have or had an address, in the order in which they got it.
/// Where proof is required, a network is had from its verification on.
pub async fn list_address_holders(
    conn: &mut Conn,
    address: IpAddr,
    is_proof_required: bool,
) -> Result<Vec<AddressHolder>, DbError> {
    let address = address_sort_key(address);
    // A network that contains the address begins in the widest network that an allow-list may have around it.
    let kept = if address.to_ipv4_mapped().is_some() { 15 } else { 6 };
    let widest: [u8; 16] = std::array::from_fn(|at| if at < kept { address.octets()[at] } else { 0 });
    let mut holders: Vec<AddressHolder> = conn
        .all(
            sql!(
                "SELECT trunk_id, COALESCE(verified_at, created_at) AS created_at, CAST(NULL AS BIGINT) AS deleted_at
                 FROM ip_allow_entries
                 WHERE first_address BETWEEN $1 AND $2 AND last_address >= $2 AND (verified_at IS NOT NULL OR NOT $4)
                 UNION ALL SELECT trunk_id, created_at, deleted_at FROM deleted_allow_entries
                 WHERE first_address BETWEEN $1 AND $2 AND last_address >= $2
                 ORDER BY created_at DESC LIMIT $3"
            ),
            params![widest.to_vec(), address.octets().to_vec(), MAX_HOLDERS, is_proof_required],
        )
        .await?;
    holders.reverse();
    Ok(holders)
}

row! {
    /// The time for which a customer has or had a number.
    #[derive(Clone, Debug)]
    pub struct NumberRental {
        pub trunk_id: TrunkId,
        pub country: String,
        pub since: Time,
        pub released_at: Option<Time>,
    }
}

pub async fn list_rentals(conn: &mut Conn, number: &E164) -> Result<Vec<NumberRental>, DbError> {
    conn.all(
        sql!("SELECT ", NumberRental::COLS, " FROM numbers WHERE e164 = $1 ORDER BY since DESC LIMIT $2"),
        params![*number, MAX_RENTALS],
    )
    .await
}
