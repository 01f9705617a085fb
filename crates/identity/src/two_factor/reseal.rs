//! Seals TOTP seeds with the current master secret.

use super::store;
use db::{Db, DbError};
use platform::crypto::keys::{Keys, Purpose, Reseal};
use platform::crypto::resealed::{BATCH, Resealed};
use uuid::Uuid;
use values::UserId;

pub async fn reseal(db: &Db, keys: &Keys) -> Result<Resealed, DbError> {
    let (mut total, mut after) = (Resealed::default(), UserId::from(Uuid::nil()));
    loop {
        let page = store::list_seeds(&mut *db.read().await?, after, BATCH).await?;
        let Some(last) = page.last() else { return Ok(total) };
        after = last.user_id;
        for seed in page {
            total.checked += 1;
            match keys.reseal(Purpose::TotpSeed, &seed.seed) {
                Reseal::Current => {}
                Reseal::Unreadable => total.unreadable += 1,
                Reseal::Resealed(new) => {
                    let work = (seed, new);
                    let replaced = db.tx(work, |conn, (seed, new)| Box::pin(store::replace_seed(conn, seed, new)));
                    total.resealed += replaced.await?;
                }
            }
        }
    }
}
