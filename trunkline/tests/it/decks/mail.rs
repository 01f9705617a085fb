//! Rate decks that arrive by mail, in a maildir.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;

use data_encoding::BASE64_MIME;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::world::World;
use crate::world::client::{Answer, Client};
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::rates::{DECK, import_report, price};
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};
use crate::world::fixtures::{count, key};

const IMPORTS: &str = "SELECT COUNT(*) FROM deck_imports";
pub const SENDER: &str = "rates@carrier.example";

/// A folder that mail is delivered to.
struct Maildir(TempDir);

impl Maildir {
    fn new() -> Maildir {
        let folder = tempfile::tempdir().unwrap();
        for name in ["new", "cur", "tmp"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Maildir(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn url(&self) -> String {
        format!("maildir://{}", self.path().display())
    }

    fn deliver(&self, name: &str, mail: &str) {
        deliver(self.path(), name, mail);
    }

    /// The seen mails.
    fn seen(&self) -> Vec<String> {
        seen(self.path())
    }

    /// Moves a mail back, as a crash before it was marked leaves it, or somebody who marks it as unread.
    fn mark_unseen(&self, name: &str) {
        fs::rename(self.path().join(format!("cur/{name}:2,S")), self.path().join("new").join(name)).unwrap();
    }
}

pub fn deliver(folder: &Path, name: &str, mail: &str) {
    fs::write(folder.join("tmp").join(name), mail.replace('\n', "\r\n")).unwrap();
    fs::rename(folder.join("tmp").join(name), folder.join("new").join(name)).unwrap();
}

pub fn seen(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("cur")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// A mail with these files.
pub fn mail(id: &str, sender: &str, subject: &str, files: &[(&str, &str)]) -> String {
    let mut mail = format!(
        "Message-ID: <{id}@carrier.example>\nFrom: Rates <{sender}>\nTo: decks@us.example\nSubject: {subject}\n\
         MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n\
         --b\nContent-Type: text/plain\n\nPlease find our rates attached.\n"
    );
    for (name, content) in files {
        let content = BASE64_MIME.encode(content.as_bytes()).replace('\r', "");
        mail.push_str(&format!(
            "--b\nContent-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n\
             Content-Disposition: attachment; filename=\"{name}\"\n\n{content}\n"
        ));
    }
    mail + "--b--\n"
}

/// A world that reads this mailbox every minute.
async fn reading(db: &TestDb, mailbox: &str, more: &[(&str, &str)]) -> World {
    let settings = [("TRUNKLINE_DECK_MAILBOX", mailbox), ("TRUNKLINE_DECK_MAIL_MINUTES", "1")];
    let world = World::with(db, &[&settings[..], more].concat()).await;
    world.settle().await;
    world
}

/// Lets the mailbox be read.
async fn poll(world: &World) {
    world.advance(61).await;
}

pub async fn set_policy(admin: &Client, upstream: &str, policy: Value) -> Answer {
    admin.with_key(key()).call(Method::PUT, &format!("/admin/upstreams/{upstream}/deck-mail"), Some(policy)).await
}

async fn mails(admin: &Client, query: &str) -> Vec<Value> {
    admin.get(&format!("/admin/deck-mails{query}")).await.ok()["data"].as_array().unwrap().clone()
}

/// Outcome, reason and upstream of the newest mail.
async fn newest(admin: &Client) -> [Value; 3] {
    let newest = mails(admin, "?limit=1").await.remove(0);
    ["outcome", "reason", "upstream_id"].map(|name| newest[name].clone())
}

async fn inbox(admin: &Client, name: &str) -> Value {
    admin.get("/admin/inbox").await.ok()[name].clone()
}

async fn import_of(admin: &Client, upstream: &str, mail: &Value) -> Value {
    import_report(admin, upstream, &json!({"id": mail["files"][0]["import_id"]})).await
}

both! {
    async fn a_mailed_sheet_is_imported_once_by_the_mapping_of_its_upstream(db) {
        let maildir = Maildir::new();
        let world = reading(db, &maildir.url(), &[]).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let columns = json!({"prefix": "Dial Code", "destination_name": "Destination", "rate_per_minute": "Rate"});
        let mapping = json!({"columns": columns, "date_format": "DD/MM/YYYY"});
        admin.with_key(key()).call(Method::PUT, &format!("/admin/upstreams/{upstream}/sheet-mapping"), Some(mapping)).await.ok();
        set_policy(&admin, &upstream, json!({"senders": [SENDER], "trust_senders": true})).await.ok();
        let sheet = "Rates of May\n\nDestination,Dial Code,Rate\nNetherlands,31,0.005\n";
        let text = mail("1", "Rates@Carrier.example", "Our rates", &[("terms.pdf", "PDF"), ("Rates May.CSV", sheet)]);
        maildir.deliver("1", &text);
        poll(&world).await;
        let read = mails(&admin, "").await.remove(0);
        assert_eq!((&read["outcome"], &read["sender"], &read["subject"]), (&json!("accepted"), &json!(SENDER), &json!("Our rates")));
        assert_eq!((&read["upstream_name"], &read["sender_verified"]), (&json!("Carrier One"), &json!(false)));
        let file = &read["files"][0];
        assert_eq!((&file["file_name"], &file["import_status"]), (&json!("Rates May.CSV"), &json!("completed")), "{read}");
        assert_eq!(price(&world, "31201234567").await.as_deref(), Some("0.0055"));
        assert_eq!(maildir.seen(), ["1:2,S"]);

        // A crash came before the mark, and later the mail is delivered a second time.
        maildir.mark_unseen("1");
        poll(&world).await;
        maildir.deliver("2", &text);
        poll(&world).await;
        assert_eq!(maildir.seen(), ["1:2,S", "2:2,S"]);
        assert_eq!((count(db, IMPORTS).await, mails(&admin, "").await.len()), (1, 1));
        // Another file of the same message is not the same.
        maildir.deliver("3", &mail("1", SENDER, "Our rates", &[("a.csv", sheet), ("b.csv", &sheet.replace("0.005", "0.006"))]));
        poll(&world).await;
        assert_eq!((count(db, IMPORTS).await, mails(&admin, "").await.len()), (2, 1));
        assert_eq!(price(&world, "31201234567").await.as_deref(), Some("0.0066"));
        let log = admin.get("/admin/audit-log?action=deck_mail.receive").await.ok();
        assert_eq!(log["rows"].as_array().unwrap().len(), 2, "{log}");
        world.end().await;
    }

    async fn a_deck_whose_sender_may_be_forged_is_held(db) {
        let maildir = Maildir::new();
        let world = reading(db, &maildir.url(), &[]).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        set_policy(&admin, &upstream, json!({"senders": [SENDER]})).await.ok();
        maildir.deliver("1", &mail("1", SENDER, "Rates", &[("rates.csv", DECK)]));
        poll(&world).await;
        let read = mails(&admin, &format!("?upstream_id={upstream}&outcome=accepted")).await.remove(0);
        assert_eq!(read["files"][0]["import_status"], "held", "{read}");
        let held = import_of(&admin, &upstream, &read).await;
        assert_eq!(held["held_for"], json!(["unverified_sender"]));
        assert_eq!((price(&world, "31612345678").await, inbox(&admin, "held_imports").await), (None, json!(1)));
        let path = format!("/admin/upstreams/{upstream}/imports/{}/apply", held["id"].as_str().unwrap());
        admin.with_key(key()).call(Method::POST, &path, None).await.expect(202);
        world.settle().await;
        assert_eq!(price(&world, "31612345678").await.as_deref(), Some("0.0209"));
        assert_eq!(mails(&admin, "").await[0]["files"][0]["import_status"], "completed");
        world.end().await;
    }

    async fn mail_of_other_senders_is_refused_and_can_be_read_again(db) {
        let maildir = Maildir::new();
        let world = reading(db, &maildir.url(), &[]).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let policy = |senders: &[&str]| json!({"senders": senders, "subject_contains": "rates", "trust_senders": true});
        set_policy(&admin, &upstream, policy(&[SENDER])).await.ok();
        let refused = |reason: &str, of: Option<&str>| [json!("refused"), json!(reason), json!(of)];
        maildir.deliver("1", &mail("1", "somebody@else.example", "Rates", &[("rates.csv", DECK)]));
        poll(&world).await;
        assert_eq!(newest(&admin).await, refused("unknown_sender", None));
        assert_eq!(inbox(&admin, "deck_mails").await, 0);
        maildir.deliver("2", &mail("2", "pricing@carrier.example", "New RATES", &[("rates.csv", DECK)]));
        poll(&world).await;
        assert_eq!(newest(&admin).await, refused("sender_not_allowed", Some(&upstream)));
        assert_eq!(inbox(&admin, "deck_mails").await, 1);
        let log = admin.get("/admin/audit-log?action=deck_mail.receive").await.ok();
        assert_eq!((&log["rows"][0]["outcome"], &log["rows"][0]["reason"]), (&json!("failure"), &json!("sender_not_allowed")));
        for (id, subject, files, reason) in [
            ("3", "Invoice", &[("rates.csv", DECK)][..], "subject"),
            ("4", "Rates follow", &[("rates.pdf", "PDF")][..], "no_deck"),
        ] {
            maildir.deliver(id, &mail(id, SENDER, subject, files));
            poll(&world).await;
            assert_eq!(newest(&admin).await, [json!("ignored"), json!(reason), json!(upstream)]);
        }
        assert_eq!((count(db, IMPORTS).await, inbox(&admin, "deck_mails").await), (0, json!(1)));

        set_policy(&admin, &upstream, policy(&[SENDER, "pricing@carrier.example"])).await.ok();
        maildir.mark_unseen("2");
        poll(&world).await;
        let accepted = mails(&admin, "?outcome=accepted").await;
        assert_eq!((accepted.len(), &accepted[0]["reason"]), (1, &Value::Null));
        assert_eq!(inbox(&admin, "deck_mails").await, 0);
        assert_eq!(price(&world, "31612345678").await.as_deref(), Some("0.0209"));
        assert_eq!(maildir.seen().len(), 4);
        world.end().await;
    }

    async fn senders_count_as_genuine_if_the_named_mail_server_says_so(db) {
        let maildir = Maildir::new();
        let world = reading(db, &maildir.url(), &[("TRUNKLINE_DECK_MAIL_AUTHSERV", "mx.us.example")]).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        set_policy(&admin, &upstream, json!({"senders": [SENDER], "trust_senders": true})).await.ok();
        let results = |server: &str, domain: &str| format!("Authentication-Results: {server};\n dkim=pass header.d={domain}\n");
        for (id, header) in
            [("1", String::new()), ("2", results("mx.others.example", "carrier.example")), ("3", results("mx.us.example", "else.example"))]
        {
            maildir.deliver(id, &(header + &mail(id, SENDER, "Rates", &[("rates.csv", DECK)])));
            poll(&world).await;
            assert_eq!(newest(&admin).await, [json!("refused"), json!("not_authenticated"), json!(upstream)], "{id}");
        }
        let genuine = results("mx.us.example", "carrier.example");
        maildir.deliver("4", &(genuine.clone() + &mail("4", SENDER, "Rates", &[("rates.csv", DECK)])));
        poll(&world).await;
        let read = mails(&admin, "").await.remove(0);
        assert_eq!((&read["sender_verified"], &read["files"][0]["import_status"]), (&json!(true), &json!("completed")));
        // The hold policy applies to what is mailed, too, and so do faults.
        let hold = json!({"changed_percent": 10, "increase_percent": null});
        admin.with_key(key()).call(Method::PUT, &format!("/admin/upstreams/{upstream}/hold-policy"), Some(hold)).await.ok();
        let next = DECK.replace("0.0045", "0.005");
        let files = [("rates.csv", next.as_str()), ("faulty.csv", "prefix,nonsense\n31,x\n")];
        maildir.deliver("5", &(genuine + &mail("5", SENDER, "Rates", &files)));
        poll(&world).await;
        let read = mails(&admin, "").await.remove(0);
        assert_eq!(import_of(&admin, &upstream, &read).await["held_for"], json!(["changed_prefixes"]), "{read}");
        assert_eq!(read["files"][1]["import_status"], "failed", "{read}");
        assert_eq!(inbox(&admin, "failed_imports").await, 1);
        world.end().await;
    }

    async fn a_mailbox_that_cannot_be_read_is_reported_until_it_can(db) {
        let folder = tempfile::tempdir().unwrap();
        let world = reading(db, &format!("maildir://{}", folder.path().display()), &[]).await;
        let admin = world.admin().await;
        let before = admin.get("/admin/deck-mailbox").await.ok();
        assert_eq!((&before["kind"], &before["verifies_senders"]), (&json!("maildir"), &json!(false)));
        poll(&world).await;
        poll(&world).await;
        let failing = admin.get("/admin/deck-mailbox").await.ok();
        assert!(failing["failure"].as_str().unwrap().contains("new cannot be read"), "{failing}");
        assert!(failing["failed_since"].as_str().unwrap() < failing["polled_at"].as_str().unwrap(), "{failing}");
        assert_eq!(inbox(&admin, "deck_mails").await, 1);
        for name in ["new", "cur"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        poll(&world).await;
        let fine = admin.get("/admin/deck-mailbox").await.ok();
        assert_eq!((&fine["failure"], &fine["failed_since"]), (&Value::Null, &Value::Null));
        assert_eq!(inbox(&admin, "deck_mails").await, 0);
        world.end().await;
    }

    async fn a_deck_mail_policy_is_set_read_and_deleted(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        assert_eq!(admin.get("/admin/deck-mailbox").await.ok()["kind"], Value::Null);
        let upstream = create_upstream(&admin, upstream_body()).await;
        let path = format!("/admin/upstreams/{upstream}/deck-mail");
        admin.get(&path).await.problem(404, "not_found");
        let saved = set_policy(&admin, &upstream, json!({"senders": ["Rates@Carrier.example"]})).await.ok();
        let expected = json!({
            "senders": [SENDER], "subject_contains": null, "file_types": ["csv", "xlsx"], "file_name_contains": null,
            "mode": "replace", "trust_senders": false,
        });
        assert_eq!((&saved, admin.get(&path).await.ok()), (&expected, expected.clone()));
        let wrong = json!({"senders": [], "file_types": ["pdf"], "subject_contains": ""});
        let mut faults = set_policy(&admin, &upstream, wrong).await.invalid();
        faults.sort();
        assert_eq!(faults, ["file_types.0", "senders", "subject_contains"]);
        admin.with_key(key()).delete(&path).await.expect(204);
        admin.get(&path).await.problem(404, "not_found");
        admin.with_key(key()).delete(&path).await.problem(404, "not_found");
        world.end().await;
    }
}
