//! Internal notes of the team about a customer. They cannot be changed, and are deleted with the customer's data only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::customers;
use api::answer::Created;
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use db::{Conn, DbError, insert, params, row, sql};
use identity::users;
use values::{AccountId, Rfc3339, Text, Time, UserId, id};

id! {
    /// Id of a note.
    pub struct NoteId;
}

row! {
    struct NoteRow {
        id: NoteId,
        body: Text<1, 5000>,
        author_id: UserId,
        author_name: String,
        created_at: Time,
    }
}

/// Internal note about a customer; customers never see it.
#[derive(Serialize, JsonSchema)]
pub struct AdminNote {
    /// Id of the note.
    pub id: NoteId,
    /// Text of the note.
    pub body: Text<1, 5000>,
    /// Team member who wrote the note.
    pub author_id: UserId,
    /// Name of that team member.
    pub author_name: String,
    /// When the note was written (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

impl From<NoteRow> for AdminNote {
    fn from(row: NoteRow) -> Self {
        let NoteRow { id, body, author_id, author_name, created_at } = row;
        AdminNote { id, body, author_id, author_name, created_at: created_at.into() }
    }
}

/// New note about a customer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminNoteCreate {
    /// Text of the note, up to 5000 characters.
    body: Text<1, 5000>,
}

/// Newest first.
pub async fn list(
    mut ctx: ReadCtx,
    Path(account): Path<AccountId>,
    listing: Listing<Unfiltered, NewestFirst<NoteId>>,
) -> Result<Page<AdminNote>, Problem> {
    customers::find(&mut ctx, account).await?;
    let (at, id) = listing.before();
    let rows: Vec<NoteRow> = ctx
        .all(
            sql!(
                "SELECT n.id, n.body, n.author_id, u.name, n.created_at
                 FROM admin_notes n JOIN users u ON u.id = n.author_id
                 WHERE n.account_id = $1 AND (n.created_at, n.id) < ($2, $3)
                 ORDER BY n.created_at DESC, n.id DESC LIMIT $4"
            ),
            params![account, at, id, listing.fetch()],
        )
        .await?;
    listing.page(rows, |row| (row.created_at, row.id), AdminNote::from)
}

pub async fn create(
    ctx: RequestCtx,
    Path(account): Path<AccountId>,
    Body(request): Body<AdminNoteCreate>,
) -> Result<Committed<Created<AdminNote>>, Problem> {
    ctx.audit_account(account);
    ctx.commit((account, request.body), |tx, (account, body)| {
        Box::pin(async move {
            let (now, author_id) = (tx.ctx.now, tx.ctx.principal()?.user_id);
            customers::find(tx, *account).await?;
            let author = users::find(tx, author_id).await?.ok_or_else(Problem::not_found)?;
            let id = tx.new_id();
            let note = NoteRow { id, body: body.clone(), author_id, author_name: author.name, created_at: now };
            insert(tx, *account, &note).await?;
            Ok(Created(note.into()))
        })
    })
    .await
}

async fn insert(conn: &mut Conn, account: AccountId, note: &NoteRow) -> Result<(), DbError> {
    insert!(
        conn,
        admin_notes {
            id: note.id,
            account_id: account,
            author_id: note.author_id,
            body: note.body,
            created_at: note.created_at
        }
    )
    .await?;
    Ok(())
}

/// Deletes the notes about a customer.
pub async fn erase(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM admin_notes WHERE account_id = $1"), params![account]).await?;
    Ok(())
}
