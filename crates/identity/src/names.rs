//! Names beside ids: those of customers, trunks, upstreams and users.
//!
//! A page looks its ids up fifty at a time, or a few one by one, each by the primary key. Ids are unique across tables,
//! so one map has all names.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::BoxFuture;
use uuid::Uuid;

use db::{Conn, DbError, Value, params, sql};
use values::{AccountId, TrunkId, UpstreamId, UserId};

/// Ids that one statement looks up.
const CHUNK: usize = 50;
/// So few are looked up one by one where that takes no round trips.
const FEW: usize = 8;

/// The statements that look up one id, and fifty.
type Texts = (&'static str, &'static str);

/// A lookup. It is boxed, so that its type does not depend on where the ids come from.
type Loading<'c, T> = BoxFuture<'c, Result<T, DbError>>;

/// Names by id.
#[derive(Default)]
pub struct Names(HashMap<Uuid, String>);

impl Names {
    /// The names of these customers.
    pub fn of_customers<'c>(conn: &'c mut Conn, ids: impl IntoIterator<Item = AccountId>) -> Loading<'c, Names> {
        let ids: Vec<AccountId> = ids.into_iter().collect();
        Box::pin(async move {
            let mut names = Names::default();
            names.add_customers(conn, ids).await?;
            Ok(names)
        })
    }

    /// The name of one customer.
    pub async fn of_customer(conn: &mut Conn, id: AccountId) -> Result<Option<String>, DbError> {
        Ok(Names::of_customers(conn, [id]).await?.get(id.uuid()))
    }

    /// The names of these trunks.
    pub fn of_trunks<'c>(conn: &'c mut Conn, ids: impl IntoIterator<Item = TrunkId>) -> Loading<'c, Names> {
        let ids: Vec<TrunkId> = ids.into_iter().collect();
        Box::pin(async move {
            let mut names = Names::default();
            names.add_trunks(conn, ids).await?;
            Ok(names)
        })
    }

    /// The names of these upstreams.
    pub fn of_upstreams<'c>(conn: &'c mut Conn, ids: impl IntoIterator<Item = UpstreamId>) -> Loading<'c, Names> {
        let ids: Vec<UpstreamId> = ids.into_iter().collect();
        Box::pin(async move {
            let mut names = Names::default();
            names.add_upstreams(conn, ids).await?;
            Ok(names)
        })
    }

    /// Adds company names.
    pub fn add_customers<'c>(
        &'c mut self,
        conn: &'c mut Conn,
        ids: impl IntoIterator<Item = AccountId>,
    ) -> Loading<'c, ()> {
        let one = sql!("SELECT id, company_name FROM accounts WHERE id = $1");
        let many = sql!(
            "SELECT id, company_name FROM accounts WHERE id IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
             $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30,
             $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49,
             $50)"
        );
        Box::pin(self.add(conn, (one, many), ids.into_iter().map(AccountId::uuid).collect()))
    }

    /// Adds the names of trunks; a deleted trunk has none.
    pub fn add_trunks<'c>(&'c mut self, conn: &'c mut Conn, ids: impl IntoIterator<Item = TrunkId>) -> Loading<'c, ()> {
        let one = sql!("SELECT id, name FROM trunks WHERE id = $1");
        let many = sql!(
            "SELECT id, name FROM trunks WHERE id IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
             $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32,
             $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50)"
        );
        Box::pin(self.add(conn, (one, many), ids.into_iter().map(TrunkId::uuid).collect()))
    }

    /// Adds the names of upstreams.
    pub fn add_upstreams<'c>(
        &'c mut self,
        conn: &'c mut Conn,
        ids: impl IntoIterator<Item = UpstreamId>,
    ) -> Loading<'c, ()> {
        let one = sql!("SELECT id, name FROM upstreams WHERE id = $1");
        let many = sql!(
            "SELECT id, name FROM upstreams WHERE id IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
             $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31,
             $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50)"
        );
        Box::pin(self.add(conn, (one, many), ids.into_iter().map(UpstreamId::uuid).collect()))
    }

    /// Adds the email addresses of users.
    pub fn add_users<'c>(&'c mut self, conn: &'c mut Conn, ids: impl IntoIterator<Item = UserId>) -> Loading<'c, ()> {
        let one = sql!("SELECT id, email FROM users WHERE id = $1");
        let many = sql!(
            "SELECT id, email FROM users WHERE id IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
             $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32,
             $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50)"
        );
        Box::pin(self.add(conn, (one, many), ids.into_iter().map(UserId::uuid).collect()))
    }

    /// The name of an id; none if what it names is gone.
    pub fn get(&self, id: Uuid) -> Option<String> {
        self.find(id).map(str::to_owned)
    }

    /// The same, borrowed.
    pub fn find(&self, id: Uuid) -> Option<&str> {
        self.0.get(&id).map(String::as_str)
    }

    async fn add(&mut self, conn: &mut Conn, texts: Texts, ids: BTreeSet<Uuid>) -> Result<(), DbError> {
        let ids: Vec<Uuid> = ids.into_iter().filter(|id| !self.0.contains_key(id)).collect();
        let (one, many) = texts;
        let few = if conn.is_in_process() { FEW } else { 1 };
        if ids.len() <= few {
            for id in ids {
                self.0.extend(conn.opt::<(Uuid, String)>(one, params![id]).await?);
            }
            return Ok(());
        }
        for chunk in ids.chunks(CHUNK) {
            // Every statement has as many parameters, so that one plan serves pages of all sizes.
            let params: Vec<Value<'_>> =
                (0..CHUNK).map(|at| Value::Uuid(chunk.get(at).copied().unwrap_or_default())).collect();
            let found: Vec<(Uuid, String)> = conn.all(many, &params).await?;
            self.0.extend(found);
        }
        Ok(())
    }
}
