//! Secrets of endpoints, and the signatures of Standard Webhooks 1.0 that are made with them.

use data_encoding::BASE64;

use super::store::{self, EndpointId, EndpointRow};
use db::{Db, DbError, Entropy};
use platform::crypto::keys::{Keys, Purpose, Reseal, mac_with};
use platform::crypto::resealed::{BATCH, Resealed};
use uuid::Uuid;
use values::Time;

/// A secret as the receiver gets it.
pub fn show(secret: &[u8; 32]) -> String {
    format!("whsec_{}", BASE64.encode(secret))
}

pub fn new(keys: &Keys) -> ([u8; 32], Vec<u8>) {
    let secret = Entropy.bytes();
    (secret, keys.seal(Purpose::WebhookSecret, &secret))
}

/// The header `webhook-signature`: one signature, or two for a day after the secret was replaced. None if the secret
/// cannot be opened.
pub fn signatures(keys: &Keys, endpoint: &EndpointRow, id: &str, now: Time, body: &[u8]) -> Option<String> {
    let previous =
        endpoint.previous_secret.as_ref().filter(|_| endpoint.previous_until.is_some_and(|until| now < until));
    let mut signatures = Vec::new();
    for sealed in std::iter::once(&endpoint.secret).chain(previous) {
        let secret: [u8; 32] = keys.open(Purpose::WebhookSecret, sealed)?.try_into().ok()?;
        signatures.push(sign(&secret, id, now, body));
    }
    Some(signatures.join(" "))
}

fn sign(secret: &[u8; 32], id: &str, now: Time, body: &[u8]) -> String {
    let signed = [id.as_bytes(), b".", now.seconds().to_string().as_bytes(), b".", body].concat();
    format!("v1,{}", BASE64.encode(&mac_with(secret, &signed)))
}

/// Seals the secrets with the current master secret.
pub async fn reseal(db: &Db, keys: &Keys) -> Result<Resealed, DbError> {
    let (mut total, mut after) = (Resealed::default(), EndpointId::from(Uuid::nil()));
    loop {
        let page = store::list_secrets(&mut *db.read().await?, after, BATCH).await?;
        let Some(last) = page.last() else { return Ok(total) };
        after = last.id;
        for old in page {
            total.checked += 1;
            let mut new = old.clone();
            let mut is_changed = false;
            for sealed in std::iter::once(&mut new.secret).chain(new.previous_secret.as_mut()) {
                match keys.reseal(Purpose::WebhookSecret, sealed) {
                    Reseal::Current => {}
                    Reseal::Unreadable => total.unreadable += 1,
                    Reseal::Resealed(again) => (*sealed, is_changed) = (again, true),
                }
            }
            if is_changed {
                let replaced =
                    db.tx((old, new), |conn, (old, new)| Box::pin(store::replace_secrets(conn, old, new))).await?;
                total.resealed += replaced;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_signature_is_that_of_the_standard() {
        let secret: [u8; 32] = std::array::from_fn(|at| u8::try_from(at).unwrap());
        assert_eq!(show(&secret), "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        let signature = sign(&secret, "msg_1", Time::from_seconds(1_700_000_000), b"{\"test\": 2432232314}");
        assert_eq!(signature, "v1,34WW/dnpYYFBxfl6d397ABSvi5Tykr0niapk6v9/KPk=");
    }
}
