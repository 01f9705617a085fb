//! No secret is stored in plain text.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD, HEXLOWER};
use serde_json::json;

use crate::world::authenticator::Authenticator;
use crate::world::engines::{TestDb, both, postgres_client};
use crate::world::{ADMIN_EMAIL, PASSWORD, World};

const NEW_PASSWORD: &str = "an entirely new secret";
const KEY: &str = "7d7e1c0a-6f0e-4b0a-9c55-2f1f4a7f9b10";

/// Everything the database holds, as bytes: the files of SQLite, the rows of PostgreSQL.
async fn everything(db: &TestDb) -> Vec<u8> {
    if !db.is_shared() {
        let file = db.file();
        let log = file.with_extension("db-wal");
        return [std::fs::read(file).unwrap(), std::fs::read(log).unwrap_or_default()].concat();
    }
    let client = postgres_client(&db.url).await;
    let sql = "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'";
    let mut found = Vec::new();
    for table in client.query(sql, &[]).await.unwrap() {
        let table: String = table.get(0);
        for row in client.query(&format!("SELECT t::text FROM {table} t"), &[]).await.unwrap() {
            found.extend_from_slice(row.get::<_, String>(0).as_bytes());
        }
    }
    found
}

/// The encodings in which a secret could be stored.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let bare = secret.replace('-', "");
    let mut forms =
        vec![secret.as_bytes().to_vec(), bare.as_bytes().to_vec(), HEXLOWER.encode(secret.as_bytes()).into()];
    let decoded = [BASE32_NOPAD.decode(bare.as_bytes()), BASE64URL_NOPAD.decode(secret.as_bytes())];
    for bytes in decoded.into_iter().flatten() {
        forms.push(HEXLOWER.encode(&bytes).into());
        forms.push(bytes);
    }
    forms
}

fn holds(all: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(all, part).is_some()
}

both! {
    async fn no_secret_is_in_the_database_in_plain_text(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let app = Authenticator::confirmed(&world, &admin.with_key(KEY.parse().unwrap()), "/admin/2fa").await;
        let tmp_token = world.tmp_token(ADMIN_EMAIL).await;
        let session = world.session(&world.verify(&tmp_token, &app.fresh(&world).await).await.ok());
        let refreshed = world.session(&world.refresh(&session.refresh_token).await.ok());
        world.verify(&world.tmp_token(ADMIN_EMAIL).await, &app.recovery_codes[0]).await.ok();
        world.try_sign_in(ADMIN_EMAIL, "a wrong guess of it").await.problem(401, "auth.invalid_credentials");
        world.anyone().post("/auth/forgot-password", json!({"email": ADMIN_EMAIL})).await.expect(202);
        let reset_token = world.mails().await.pop().unwrap().token();
        let body = json!({"token": reset_token, "new_password": NEW_PASSWORD});
        world.anyone().post("/auth/reset-password", body).await.expect(204);
        world.settle().await;

        let mut secrets = vec![
            PASSWORD, NEW_PASSWORD, "a wrong guess of it", &app.secret, &reset_token, &tmp_token,
            &admin.refresh_token, &session.refresh_token, &refreshed.refresh_token,
            admin.token(), session.token(), refreshed.token(),
        ];
        secrets.extend(app.recovery_codes.iter().map(String::as_str));
        let all = everything(db).await;
        assert!(holds(&all, ADMIN_EMAIL.as_bytes()), "what is not secret is found");
        for secret in secrets {
            for form in forms(secret) {
                assert!(!holds(&all, &form), "{secret} lies in the database");
            }
        }
        world.end().await;
    }
}
