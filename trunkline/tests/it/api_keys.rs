//! API keys of customers and of the team.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::params;
use identity::onboarding::Event;
use reqwest::Method;
use serde_json::{Value, json};
use values::AccountRole;

use crate::world::authenticator::Authenticator;
use crate::world::client::Client;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::api_keys::{all_scopes, make_key, make_team_key, post_key, secret};
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs, ndjson};
use crate::world::fixtures::key;
use crate::world::fixtures::links::CORA;
use crate::world::fixtures::onboarding::apply_event;
use crate::world::fixtures::rates::DECK;
use crate::world::fixtures::switch::Scene;
use crate::world::fixtures::tickets::ticket_body;
use crate::world::fixtures::trunks::{create_trunk, post_trunk, trunk_body};
use crate::world::process::program;
use crate::world::{ADMIN_EMAIL, World};

/// CRC-32 as the standard defines it, apart from the service's.
fn crc32(text: &str) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
    !text.bytes().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

fn in_base_62(mut number: u32) -> String {
    let digits: Vec<char> = ('0'..='9').chain('A'..='Z').chain('a'..='z').collect();
    let mut text = String::new();
    for _ in 0..6 {
        text.insert(0, digits[(number % 62) as usize]);
        number /= 62;
    }
    text
}

async fn listed(owner: &Client, id: &Value) -> Value {
    let keys = owner.get("/account/api-keys").await.ok();
    keys["data"].as_array().unwrap().iter().find(|one| one["id"] == *id).unwrap().clone()
}

fn path(made: &Value) -> String {
    format!("/account/api-keys/{}", made["id"].as_str().unwrap())
}

/// The `meta` of the last audit row with this action.
async fn audited(db: &TestDb, action: &str) -> Value {
    let sql = "SELECT meta FROM audit_log WHERE action = $1 ORDER BY seq DESC LIMIT 1";
    let (meta,): (Option<String>,) = db.read().await.unwrap().one(sql, params![action]).await.unwrap();
    serde_json::from_str(&meta.unwrap()).unwrap()
}

/// A call of the last two minutes, while the deck was in force.
async fn recent_cdr(scene: &Scene) -> Value {
    scene.world.advance(120).await;
    cdr_line(scene, "a", scene.now() - 100_000, 60, json!({}))
}

both! {
    async fn a_key_reads_cdrs_although_its_owner_has_a_second_factor(db) {
        let scene = Scene::start(db, 1000).await;
        import_cdrs(&scene.world, &[recent_cdr(&scene).await]).await;
        Authenticator::confirmed(&scene.world, &scene.customer, "/me/2fa").await;
        let made = make_key(&scene.customer, &["calls:read"]).await;
        let program = scene.world.program(&made);
        assert_eq!(program.get("/cdrs").await.ok()["data"].as_array().unwrap().len(), 1);
        let refused = post_trunk(&program, trunk_body("Second")).await.problem(403, "auth.forbidden");
        assert_eq!(refused["required_scope"], "trunks:write");
        assert_eq!(program.get("/account/balance").await.problem(403, "auth.forbidden")["required_scope"], "billing:read");
        // No scope opens what is for people.
        for (method, path) in [(Method::GET, "/me"), (Method::GET, "/account/users"), (Method::POST, "/auth/reauthenticate")] {
            let refused = program.call(method, path, None).await.problem(403, "auth.forbidden");
            assert_eq!(refused["required_scope"], json!(null), "{path}");
        }
        program.get("/admin/cdrs").await.problem(403, "auth.forbidden");
        scene.end().await;
    }

    async fn a_scanner_recognises_a_key_and_the_database_does_not_have_it(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let made = make_key(&cora, &["calls:read"]).await;
        let secret = secret(&made);
        let pattern = json!({"pattern": r"tl_(live|test)_[0-9A-Za-z]{49}\b"});
        let leaked = json!(format!("curl -H 'Authorization: Bearer {secret}' https://voice.example"));
        assert!(jsonschema::is_valid(&pattern, &leaked));
        let (first, checksum) = secret.split_at(secret.len() - 6);
        assert!(first.starts_with("tl_test_"));
        assert_eq!(checksum, in_base_62(crc32(first)));
        assert!(secret.starts_with(made["prefix"].as_str().unwrap()) && made["prefix"] != json!(secret));
        let shown = listed(&cora, &made["id"]).await;
        assert_eq!(shown["secret"], json!(null));
        assert_eq!(shown["created_by"], json!(cora.user_id));
        for stored in ["SELECT name || prefix || scopes || allowed_cidrs FROM api_keys", "SELECT meta FROM audit_log WHERE meta IS NOT NULL"] {
            let rows: Vec<(String,)> = db.read().await.unwrap().all(stored, params![]).await.unwrap();
            assert!(!rows.is_empty() && rows.iter().all(|(text,)| !text.contains(secret)), "{rows:?}");
        }
        let told = world.mails().await.pop().unwrap();
        assert!(told.subject.contains("API key was created") && !told.text.contains(secret));
        // A mistyped one is no key.
        let mistyped = format!("{first}{}", if checksum == "000000" { "000001" } else { "000000" });
        world.bearing(&mistyped).get("/cdrs").await.problem(401, "auth.token_invalid");
        world.end().await;
    }

    async fn a_revoked_key_is_refused_at_once_and_elsewhere_within_a_second(db) {
        let world = World::unlimited(db).await;
        let other = if db.is_shared() { Some(world.another_node().await) } else { None };
        let node = other.as_ref().unwrap_or(&world);
        let cora = world.customer(CORA).await;
        let [made, kept] = [make_key(&cora, &["calls:read"]).await, make_key(&cora, &["calls:read"]).await];
        node.program(&made).get("/cdrs").await.ok();
        world.program(&made).get("/cdrs").await.ok();
        cora.delete(&path(&made)).await.expect(204);
        world.program(&made).get("/cdrs").await.problem(401, "auth.token_invalid");
        if let Some(other) = &other {
            other.advance(1).await;
            other.program(&made).get("/cdrs").await.problem(401, "auth.token_invalid");
        }
        node.program(&kept).get("/cdrs").await.ok();
        cora.delete(&path(&made)).await.problem(404, "not_found");
        assert_eq!(cora.get("/account/api-keys").await.ok()["data"].as_array().unwrap().len(), 1);
        if let Some(other) = other {
            other.end().await;
        }
        world.end().await;
    }

    async fn a_key_works_only_from_its_networks(db) {
        let world = World::with(db, &[("TRUNKLINE_TRUSTED_PROXIES", "127.0.0.1"), ("TRUNKLINE_RATE_LIMITS", "off")]).await;
        let cora = world.customer(CORA).await;
        let networks = json!(["203.0.113.0/24", "2001:db8::/48"]);
        let body = json!({"name": "Office", "scopes": ["calls:read"], "allowed_cidrs": networks});
        let made = post_key(&cora, body).await.expect(201);
        let from = async |ip: &str| world.program(&made).header("X-Forwarded-For", ip).get("/cdrs").await;
        from("203.0.113.9").await.ok();
        from("2001:db8::7").await.ok();
        for elsewhere in ["203.0.114.1", "2001:db8:1::7", "127.0.0.1"] {
            from(elsewhere).await.problem(401, "auth.token_invalid");
        }
        assert_eq!(listed(&cora, &made["id"]).await["last_used_ip"], "203.0.113.9");
        cora.patch(&path(&made), json!({"allowed_cidrs": []})).await.ok();
        from("203.0.114.1").await.ok();
        let bad = json!({"name": "Office", "scopes": ["calls:read"], "allowed_cidrs": ["0.0.0.0/0", "office"]});
        assert_eq!(post_key(&cora, bad).await.invalid(), ["allowed_cidrs.0", "allowed_cidrs.1"]);
        world.end().await;
    }

    async fn a_key_whose_answer_was_lost_is_replayed_after_it_expired(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await.with_key(key());
        let at = values::Rfc3339(values::Time::from_seconds(world.seconds() + 60)).to_string();
        let body = json!({"name": "Short", "scopes": ["calls:read"], "expires_at": at});
        let made = cora.post("/account/api-keys", body.clone()).await.expect(201);
        world.advance(61).await;
        let again = cora.post("/account/api-keys", body.clone()).await;
        assert_eq!((again.header("idempotent-replayed"), &again.body), (Some("true"), &made));
        let mut other = body;
        other["name"] = json!("Late");
        assert_eq!(cora.post("/account/api-keys", other).await.invalid(), ["expires_at"]);
        world.end().await;
    }

    async fn a_key_expires_and_can_be_extended(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let at = |after: i64| values::Rfc3339(values::Time::from_seconds(world.seconds() + after)).to_string();
        let past = json!({"name": "Late", "scopes": ["calls:read"], "expires_at": at(-1)});
        assert_eq!(post_key(&cora, past).await.invalid(), ["expires_at"]);
        let made = post_key(&cora, json!({"name": "Short", "scopes": ["calls:read"], "expires_at": at(60)})).await.expect(201);
        let program = world.program(&made);
        program.get("/cdrs").await.ok();
        world.advance(61).await;
        program.get("/cdrs").await.problem(401, "auth.token_expired");
        cora.patch(&path(&made), json!({"expires_at": at(60)})).await.ok();
        program.get("/cdrs").await.ok();
        let renamed = cora.patch(&path(&made), json!({"expires_at": null, "name": "Long"})).await.ok();
        assert_eq!((&renamed["expires_at"], &renamed["name"]), (&json!(null), &json!("Long")));
        world.advance(120).await;
        program.get("/cdrs").await.ok();
        world.end().await;
    }

    async fn the_last_use_of_a_key_is_written_once_a_minute(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let made = make_key(&cora, &["calls:read"]).await;
        assert_eq!((&made["last_used_at"], &made["last_used_ip"]), (&json!(null), &json!(null)));
        let used = async || {
            world.program(&made).get("/cdrs").await.ok();
            listed(&cora, &made["id"]).await["last_used_at"].clone()
        };
        let first = used().await;
        assert!(first.is_string());
        world.advance(50).await;
        assert_eq!(used().await, first);
        world.advance(11).await;
        assert_ne!(used().await, first);
        world.end().await;
    }

    async fn each_key_has_a_rate_limit_of_its_own(db) {
        let world = World::with(db, &[("TRUNKLINE_LIMIT_READS", "5/3600")]).await;
        world.advance_to_next(3600).await;
        let cora = world.customer(CORA).await;
        let [one, other] = [make_key(&cora, &["calls:read"]).await, make_key(&cora, &["calls:read"]).await];
        for _ in 0..5 {
            world.program(&one).get("/cdrs").await.ok();
        }
        world.program(&one).get("/cdrs").await.problem(429, "rate_limited");
        world.program(&other).get("/cdrs").await.ok();
        cora.get("/cdrs").await.ok();
        world.end().await;
    }

    async fn the_audit_log_names_the_key(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let made = make_key(&cora, &["support:write", "trunks:write"]).await;
        assert_eq!(audited(db, "api_key.create").await["scopes"], json!(["support:write", "trunks:write"]));
        let program = world.program(&made);
        let expected = json!({"id": made["id"], "name": "Billing export"});
        program.post("/tickets", ticket_body()).await.expect(201);
        assert_eq!(audited(db, "ticket.create").await["api_key"], expected);
        // What is refused, too.
        program.with_key(key()).call(Method::PUT, "/account/auto-recharge", Some(json!({}))).await.problem(403, "auth.forbidden");
        assert_eq!(audited(db, "auto_recharge.update").await["api_key"], expected);
        // A write scope includes its read scope, and stands in for a recent sign-in.
        let trunk = create_trunk(&program, "First").await;
        program.get(&trunk).await.ok();
        program.patch("/account", json!({"company_name": "Other"})).await.problem(403, "auth.forbidden");
        world.end().await;
    }

    async fn nobody_gives_a_key_more_than_it_may_do_itself(db) {
        let world = World::unlimited(db).await;
        let tess = world.minted_member(AccountRole::Technical).await;
        let body = |scopes: Value| json!({"name": "Key", "scopes": scopes});
        post_key(&tess, body(json!(["billing:write"]))).await.problem(403, "auth.forbidden");
        post_key(&tess, body(json!(["billing:read", "trunks:write"]))).await.expect(201);
        for role in [AccountRole::Billing, AccountRole::Viewer] {
            let other = world.minted_member(role).await;
            post_key(&other, body(json!(["calls:read"]))).await.problem(403, "auth.forbidden");
            other.get("/account/api-keys").await.ok();
        }
        let owner = world.customer(CORA).await;
        post_key(&owner, body(json!(all_scopes(false)))).await.expect(201);
        for scopes in [json!(["cdrs:write"]), json!(["admin:read"]), json!([]), json!(["calls:read", "calls:read"])] {
            let refused = post_key(&owner, body(scopes)).await.invalid();
            assert!(refused[0].starts_with("scopes"), "{refused:?}");
        }
        let admin = world.admin().await;
        let refused = admin.with_key(key()).post("/admin/api-keys", body(json!(["billing:read"]))).await.invalid();
        assert_eq!(refused, ["scopes.0"]);
        // A key makes no keys.
        let made = make_team_key(&admin, &["admin:read"]).await;
        let program = world.program(&made);
        program.get("/admin/customers").await.ok();
        program.get("/admin/users").await.problem(403, "auth.forbidden");
        program.with_key(key()).post("/admin/api-keys", body(json!(["admin:read"]))).await.problem(403, "auth.forbidden");
        program.get("/cdrs").await.problem(403, "auth.forbidden");
        assert_eq!(admin.get("/admin/api-keys").await.ok()["data"].as_array().unwrap().len(), 1);
        world.end().await;
    }

    async fn a_key_outlives_its_creator_unless_its_keys_are_revoked(db) {
        let world = World::unlimited(db).await;
        let owner = world.customer(CORA).await;
        let admin = world.admin().await;
        let invite = async |email: &str| {
            let body = json!({"email": email, "name": "Tess", "account_role": "technical"});
            let user = owner.with_key(key()).post("/account/users", body).await.expect(201);
            let mail = world.mails().await.into_iter().rfind(|mail| mail.to.contains(email)).unwrap();
            let session = world.anyone().post("/auth/first-login", json!({"token": mail.token()})).await.ok();
            let made = make_key(&world.session(&session), &["calls:read"]).await;
            (user["id"].as_str().unwrap().to_owned(), world.program(&made))
        };
        let (user, program) = invite("tess@customer.example").await;
        let path = format!("/account/users/{user}");
        owner.patch(&path, json!({"status": "deactivated"})).await.ok();
        program.get("/cdrs").await.ok();
        owner.patch(&path, json!({"revoke_keys": true})).await.problem(422, "validation.failed");
        owner.patch(&path, json!({"status": "deactivated", "revoke_keys": true})).await.ok();
        program.get("/cdrs").await.problem(401, "auth.token_invalid");
        let (user, program) = invite("theo@customer.example").await;
        owner.delete(&format!("/account/users/{user}")).await.expect(204);
        program.get("/cdrs").await.ok();
        let (user, program) = invite("tara@customer.example").await;
        let deactivate = format!("/admin/customers/{}/users/{user}/deactivate", owner.account_id);
        admin.post(&deactivate, json!({"revoke_keys": true})).await.ok();
        program.get("/cdrs").await.problem(401, "auth.token_invalid");
        world.end().await;
    }

    async fn a_key_of_a_suspended_account_may_do_what_its_users_may(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer(CORA).await;
        let made = make_key(&cora, &["trunks:write", "support:write"]).await;
        apply_event(&world, &cora, Event::Suspended).await;
        let program = world.program(&made);
        for caller in [&program, &*cora] {
            post_trunk(caller, trunk_body("Late")).await.problem(403, "account.not_active");
            caller.get("/trunks").await.ok();
            caller.post("/tickets", ticket_body()).await.expect(201);
        }
        world.end().await;
    }

    async fn a_team_key_imports_cdrs_on_the_operations_port(db) {
        let scene = Scene::start(db, 1000).await;
        let lines = ndjson(&[recent_cdr(&scene).await]);
        let [made, reader] = [make_team_key(&scene.admin, &["cdrs:write"]).await, make_team_key(&scene.admin, &["admin:read"]).await];
        let ops = scene.world.anyone_at_operations();
        let send = async |token: &str| {
            ops.send(ops.request(Method::POST, "/switch/cdrs").bearer_auth(token).body(lines.clone())).await
        };
        assert_eq!(send(secret(&made)).await.ok()["accepted"], 1);
        assert_eq!(audited(db, "cdrs.import").await["api_key"]["name"], "Nightly import");
        assert_eq!(send(secret(&reader)).await.problem(403, "auth.forbidden")["required_scope"], "cdrs:write");
        let theirs = make_key(&scene.customer, &["calls:read"]).await;
        send(secret(&theirs)).await.problem(403, "auth.forbidden");
        send("tl_test_unknown").await.problem(401, "auth.token_invalid");
        // Nothing else there is open to it.
        let config = ops.send(ops.request(Method::GET, "/switch/config").bearer_auth(secret(&made))).await;
        config.problem(401, "auth.token_invalid");
        scene.admin.delete(&format!("/admin/api-keys/{}", made["id"].as_str().unwrap())).await.expect(204);
        send(secret(&made)).await.problem(401, "auth.token_invalid");
        scene.end().await;
    }

    async fn a_team_key_works_on_the_operations_port_only_from_its_networks(db) {
        let world = World::with(db, &[("TRUNKLINE_TRUSTED_PROXIES", "127.0.0.1"), ("TRUNKLINE_RATE_LIMITS", "off")]).await;
        let admin = world.admin().await;
        let body = json!({"name": "Nightly import", "scopes": ["cdrs:write"], "allowed_cidrs": ["203.0.113.0/24"]});
        let made = admin.with_key(key()).post("/admin/api-keys", body).await.expect(201);
        let ops = world.anyone_at_operations();
        let from = async |ip: &str| {
            let request = ops.request(Method::POST, "/switch/cdrs").bearer_auth(secret(&made));
            ops.send(request.header("X-Forwarded-For", ip).body("{}\n")).await
        };
        assert_eq!(from("203.0.113.9").await.ok()["accepted"], 0);
        for elsewhere in ["203.0.114.1", "127.0.0.1"] {
            from(elsewhere).await.problem(401, "auth.token_invalid");
        }
        let sql = "SELECT ip FROM audit_log WHERE action = 'cdrs.import'";
        let (ip,): (Option<String>,) = db.read().await.unwrap().one(sql, params![]).await.unwrap();
        assert_eq!(ip.as_deref(), Some("203.0.113.9"));
        world.end().await;
    }

    async fn commands_import_into_a_service_elsewhere_with_a_key(db) {
        let scene = Scene::start(db, 1000).await;
        let made = make_team_key(&scene.admin, &["rates:write", "cdrs:write"]).await;
        let folder = tempfile::tempdir().unwrap();
        let (deck, cdrs) = (folder.path().join("deck.csv"), folder.path().join("cdrs.jsonl"));
        std::fs::write(&deck, DECK).unwrap();
        let line = recent_cdr(&scene).await;
        std::fs::write(&cdrs, format!("{line}\nnot a CDR\n{line}\n")).unwrap();
        let (api, ops) = (format!("http://{}", scene.world.node.public), format!("http://{}", scene.world.node.ops));
        let run = async |key: &str, arguments: &[&str]| {
            // Without a database of its own: everything goes over the API.
            let mut command = program(db, folder.path(), &[("TRUNKLINE_API_KEY", key), ("TRUNKLINE_URL", &api)], arguments);
            command.env("TRUNKLINE_DATABASE_URL", "postgres://nobody@127.0.0.1:1/none");
            let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (output.status.success(), text(&output.stdout), text(&output.stderr))
        };
        let (deck, cdrs) = (deck.to_str().unwrap(), cdrs.to_str().unwrap());
        let rates = ["rates", "import", "--upstream", &scene.upstream, deck];
        let (ok, out, err) = run(secret(&made), &rates).await;
        assert!(ok && out.contains("Imported 3 rows"), "{out}{err}");
        let (ok, out, err) = run(secret(&made), &["cdrs", "import", "--url", &ops, cdrs]).await;
        assert!(!ok && out.starts_with("line 2: "), "{out}{err}");
        assert!(err.contains("1 lines were rejected; 1 CDRs imported, 1 duplicates skipped"), "{err}");
        let reader = make_team_key(&scene.admin, &["admin:read"]).await;
        let (ok, _, err) = run(secret(&reader), &rates).await;
        assert!(!ok && err.contains("403") && err.contains("rates:write"), "{err}");
        scene.end().await;
    }

    async fn a_key_of_an_admin_who_left_goes_when_the_team_says_so(db) {
        let world = World::unlimited(db).await;
        let first = world.admin().await;
        world.user("ann@carrier.example", values::Role::Admin).await;
        let ann = world.sign_in("ann@carrier.example").await;
        let made = make_team_key(&ann, &["admin:read"]).await;
        let path = format!("/admin/users/{}", ann.user_id);
        first.patch(&path, json!({"is_active": false})).await.ok();
        world.program(&made).get("/admin/customers").await.ok();
        first.patch(&path, json!({"revoke_keys": true})).await.problem(422, "validation.failed");
        first.patch(&path, json!({"is_active": false, "revoke_keys": true})).await.ok();
        world.program(&made).get("/admin/customers").await.problem(401, "auth.token_invalid");
        assert_eq!(first.get("/me").await.ok()["user"]["email"], ADMIN_EMAIL);
        world.end().await;
    }

    async fn two_changes_of_a_key_at_once_both_count(db) {
        let world = World::unlimited(db).await;
        let owner = world.customer(CORA).await;
        for round in 0..10 {
            let made = make_key(&owner, &["calls:read"]).await;
            let change = async |body| owner.with_key(key()).patch(&path(&made), body).await.expect(200);
            let rename = async |number: usize| change(json!({"name": format!("Key {round} {number}")})).await;
            tokio::join!(rename(1), rename(2), rename(3), change(json!({"allowed_cidrs": ["203.0.113.0/24"]})));
            let kept = listed(&owner, &made["id"]).await;
            assert_eq!(kept["allowed_cidrs"], json!(["203.0.113.0/24"]), "round {round}");
            owner.delete(&path(&made)).await.expect(204);
        }
        world.end().await;
    }
}
