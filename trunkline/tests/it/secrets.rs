//! No secret is stored in plain text.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io;

use bytes::Bytes;
use data_encoding::{BASE32_NOPAD, BASE64, BASE64URL_NOPAD, HEXLOWER};
use futures_util::{TryStreamExt, stream};
use identity::sessions;
use platform::crypto::keys::Purpose;
use platform::jobs;
use serde_json::json;
use values::Role;

use crate::world::authenticator::Authenticator;
use crate::world::engines::{TestDb, both, postgres_client};
use crate::world::fixtures::links::CORA;
use crate::world::fixtures::metrics::Scrape;
use crate::world::{ADMIN_EMAIL, MASTER_SECRET, PASSWORD, World, process};

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

    async fn the_master_secret_is_rotated_without_losing_anything(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        world.user(CORA, Role::Customer).await;
        let app = Authenticator::confirmed(&world, &admin, "/admin/2fa").await;
        let rename = json!({"company_name": "Carrier of all"});
        let keyed = |world: &World| world.bearing(admin.token()).with_key(KEY.parse().unwrap());
        let changed = keyed(&world).patch("/account", rename.clone()).await;
        later_link(&world).await;
        let passport = stream::iter([Ok::<_, io::Error>(Bytes::from_static(b"a passport"))]);
        let file = world.node.app.files.put(passport, 100).await.unwrap().hash;
        let page = admin.get("/admin/audit-log?limit=1").await.ok();
        let next_page = format!("/admin/audit-log?limit=1&cursor={}", page["next_cursor"].as_str().unwrap());

        // Nobody starts with the new secret alone.
        let alone = [("TRUNKLINE_MASTER_SECRET", NEW_MASTER)];
        let said = rotate(db, &world, &alone);
        assert!(said.contains("created with another master secret"), "{said}");
        let both = [("TRUNKLINE_MASTER_SECRET", NEW_MASTER), ("TRUNKLINE_MASTER_SECRET_PREVIOUS", MASTER_SECRET)];
        let world = world.restart_with(&both).await;
        world.advance(300).await;
        let rotating = "trunkline_master_secret_rotating";
        assert_eq!(Scrape::of(&world).await.value(rotating), 1.0);
        world.bearing(admin.token()).get(&next_page).await.ok();
        world.verify(&world.tmp_token(ADMIN_EMAIL).await, &app.fresh(&world).await).await.ok();
        let said = rotate(db, &world, &alone);
        assert!(said.contains("the rotation of the master secret has not ended"), "{said}");
        let said = rotate(db, &world, &both);
        // The job of the node has done it.
        for what in ["TOTP seeds: 0 of 1", "stored responses: 0 of 1", "queued password links: 0 of 1", "files: 0 of 1"] {
            assert!(said.contains(what), "{said}");
        }
        assert!(said.contains("The rotation has ended."), "{said}");

        // From here on the new one is enough, and the old one is of no use.
        let verified = process::run(db, world.data_folder(), &alone, &["audit", "verify"]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
        let back = [("TRUNKLINE_MASTER_SECRET", MASTER_SECRET), ("TRUNKLINE_MASTER_SECRET_PREVIOUS", NEW_MASTER)];
        assert!(rotate(db, &world, &back).contains("this master secret was replaced by another one"));
        let world = world.restart_with(&[("TRUNKLINE_MASTER_SECRET_PREVIOUS", "")]).await;
        world.advance(600).await;
        let again = keyed(&world).patch("/account", rename.clone()).await;
        assert_eq!((again.header("idempotent-replayed"), &again.bytes), (Some("true"), &changed.bytes));
        world.verify(&world.tmp_token(ADMIN_EMAIL).await, &app.fresh(&world).await).await.ok();
        assert_eq!(Scrape::of(&world).await.value(rotating), 0.0);
        let (_, content) = world.node.app.files.open_read(&file).await.unwrap().unwrap();
        assert_eq!(content.try_collect::<Vec<_>>().await.unwrap().concat(), b"a passport");
        world.advance(24 * 3600).await;
        assert!(world.mails().await.iter().any(|mail| mail.to.contains(CORA)), "the link sealed before went out");
        world.end().await;
    }
}

const NEW_MASTER: &str = "03df3875086f3b9328f1fbe260051cf133b815b9274ac07679605acd8fba3f56";

/// What the command says.
fn rotate(db: &TestDb, world: &World, settings: &[(&str, &str)]) -> String {
    let output = process::run(db, world.data_folder(), settings, &["secrets", "rotate"]);
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// Enqueues a reset link for tomorrow, sealed with the master secret of now.
async fn later_link(world: &World) {
    let app = world.node.app.clone();
    let sealed = BASE64.encode(&app.keys.seal(Purpose::Mail, CORA.as_bytes()));
    let at = app.clock.now().plus(std::time::Duration::from_secs(24 * 3600));
    let enqueued = app.db.tx((sealed, at), |conn, (sealed, at)| {
        Box::pin(jobs::enqueue_at(conn, sessions::FORGOT_PASSWORD, json!({"sealed": sealed}), *at))
    });
    enqueued.await.unwrap();
}
