//! Rate decks that arrive in a folder of a real IMAP server, Dovecot.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};

use super::mail::{SENDER, deliver, mail, seen, set_policy};
use crate::world::certificates::Authority;
use crate::world::client::Client;
use crate::world::engines::{both, sqlite};
use crate::world::fixtures::count;
use crate::world::fixtures::rates::{DECK, price};
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};
use crate::world::process::Process;
use crate::world::{ADMIN_EMAIL, BOOTSTRAP_TOKEN, PASSWORD, World};

/// Dovecot with one user, whose mail is a maildir. It runs as another user if the tests run as root, which it refuses.
struct Dovecot {
    process: Child,
    folder: TempDir,
    authority: Authority,
    port: u16,
    tls_port: u16,
}

impl Dovecot {
    async fn start() -> Dovecot {
        let folder = tempfile::tempdir().unwrap();
        for name in ["run", "state", "mail", "mail/.Rates", "mail/.Rates/new", "mail/.Rates/cur", "mail/.Rates/tmp"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let authority = Authority::new(folder.path(), "authority");
        authority.server("dovecot", "127.0.0.1");
        let is_root = output("id", &["-u"]) == "0";
        let user = if is_root { "nobody".to_owned() } else { output("id", &["-un"]) };
        let (port, tls_port) = (unused_port().await, unused_port().await);
        fs::write(folder.path().join("dovecot.conf"), settings(&folder, &user, port, tls_port)).unwrap();
        let mut command = Command::new(if is_root { "setpriv" } else { "dovecot" });
        if is_root {
            let path = folder.path().to_str().unwrap();
            output("chown", &["-R", &user, path]);
            command.arg(format!("--reuid={user}")).arg(format!("--regid={}", output("id", &["-g", &user])));
            command.args(["--clear-groups", "dovecot"]);
        }
        command.arg("-F").arg("-c").arg(folder.path().join("dovecot.conf"));
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut dovecot = Dovecot { process, folder, authority, port, tls_port };
        while TcpStream::connect(("127.0.0.1", tls_port)).await.is_err() {
            let ended = dovecot.process.try_wait().unwrap();
            assert!(ended.is_none(), "dovecot ended: is dovecot-imapd installed?");
            tokio::task::yield_now().await;
        }
        dovecot
    }

    /// The folder `Rates` as it is on disk.
    fn mails(&self) -> PathBuf {
        self.folder.path().join("mail/.Rates")
    }

    fn url(&self, scheme: &str, password: &str, query: &str) -> String {
        let port = if scheme == "imaps" { self.tls_port } else { self.port };
        format!("{scheme}://decks%40us.example:{password}@127.0.0.1:{port}/Rates{query}")
    }
}

impl Drop for Dovecot {
    /// By SIGTERM, so that its children end too.
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

fn settings(folder: &TempDir, user: &str, port: u16, tls_port: u16) -> String {
    let (path, group) = (folder.path().display(), output("id", &["-gn", user]));
    let (uid, gid) = (output("id", &["-u", user]), output("id", &["-g", user]));
    format!(
        "base_dir = {path}/run\nstate_dir = {path}/state\nlog_path = {path}/log\nprotocols = imap\nlisten = 127.0.0.1\n\
         default_login_user = {user}\ndefault_internal_user = {user}\ndefault_internal_group = {group}\n\
         ssl = yes\nssl_cert = <{path}/dovecot.pem\nssl_key = <{path}/dovecot.key\n\
         mail_location = maildir:{path}/mail\n\
         passdb {{\n  driver = static\n  args = password=hunter2\n}}\n\
         userdb {{\n  driver = static\n  args = uid={uid} gid={gid} home={path}/mail\n}}\n\
         service imap-login {{\n  chroot =\n  inet_listener imap {{\n    port = {port}\n  }}\n\
         \x20 inet_listener imaps {{\n    port = {tls_port}\n    ssl = yes\n  }}\n}}\n\
         service anvil {{\n  chroot =\n}}\nservice stats {{\n  chroot =\n}}\n"
    )
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

async fn unused_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port()
}

async fn first_mail(admin: &Client) -> Value {
    admin.get("/admin/deck-mails").await.ok()["data"][0].clone()
}

both! {
    async fn decks_are_read_from_an_imap_folder_and_marked_as_seen(db) {
        let dovecot = Dovecot::start().await;
        let mailbox = dovecot.url("imap", "hunter2", "");
        let settings = [("TRUNKLINE_DECK_MAILBOX", mailbox.as_str()), ("TRUNKLINE_DECK_MAIL_MINUTES", "1")];
        let world = World::with(db, &settings).await;
        world.settle().await;
        let admin = world.admin().await;
        assert_eq!(admin.get("/admin/deck-mailbox").await.ok()["kind"], "imap");
        let upstream = create_upstream(&admin, upstream_body()).await;
        set_policy(&admin, &upstream, json!({"senders": [SENDER], "trust_senders": true})).await.ok();
        deliver(&dovecot.mails(), "1700000001.a", &mail("1", "somebody@else.example", "Hi", &[]));
        deliver(&dovecot.mails(), "1700000002.b", &mail("2", SENDER, "Rates", &[("rates.csv", DECK)]));
        world.advance(61).await;
        let state = admin.get("/admin/deck-mailbox").await.ok();
        assert_eq!(state["failure"], Value::Null);
        assert_eq!(price(&world, "31612345678").await.as_deref(), Some("0.0209"));
        let read = first_mail(&admin).await;
        assert_eq!((&read["outcome"], &read["files"][0]["import_status"]), (&json!("accepted"), &json!("completed")));
        assert!(seen(&dovecot.mails()).iter().all(|name| name.contains(":2,S")), "{:?}", seen(&dovecot.mails()));
        world.advance(61).await;
        assert_eq!(count(db, "SELECT COUNT(*) FROM deck_mails").await, 2);
        world.end().await;
    }
}

sqlite! {
    async fn a_password_goes_to_a_server_that_its_certificate_names_and_no_other(db) {
        let dovecot = Dovecot::start().await;
        let folder = TempDir::new().unwrap();
        let authority = dovecot.authority.certificate();
        let cases = [
            (dovecot.url("imaps", "hunter2", ""), Some(authority.as_str()), None),
            (dovecot.url("imap", "hunter2", "?tls=required"), Some(authority.as_str()), None),
            (dovecot.url("imaps", "hunter3", ""), Some(authority.as_str()), Some("the mail server refused the login")),
            (dovecot.url("imaps", "hunter2", ""), None, Some("TLS with the mail server failed")),
            (dovecot.url("imap", "hunter2", "?tls=required"), None, Some("TLS with the mail server failed")),
        ];
        for (number, (mailbox, trusted, failure)) in cases.iter().enumerate() {
            let settings = [
                ("TRUNKLINE_TEST_CLOCK", "on"),
                ("TRUNKLINE_BOOTSTRAP_TOKEN", BOOTSTRAP_TOKEN),
                ("TRUNKLINE_DECK_MAILBOX", mailbox.as_str()),
                ("TRUNKLINE_DECK_MAIL_MINUTES", "1"),
                // A file without certificates trusts nobody.
                ("SSL_CERT_FILE", trusted.unwrap_or("/dev/null")),
            ];
            let node = tokio::task::block_in_place(|| Process::serve(db, folder.path(), &settings));
            if number == 0 {
                let admin = json!({
                    "legal_name": "Carrier BV", "contact_name": "Ada", "contact_email": ADMIN_EMAIL, "password": PASSWORD,
                });
                node.anyone().header("X-Bootstrap-Token", BOOTSTRAP_TOKEN).post("/admin/bootstrap", admin).await.expect(201);
            }
            node.advance(0).await;
            // Each process begins at the time that it is, so it has to go further than the one before.
            node.advance(120 * (number as u64 + 1)).await;
            let state = node.sign_in(ADMIN_EMAIL).await.get("/admin/deck-mailbox").await.ok();
            assert!(state["polled_at"].is_string(), "{state}");
            match failure {
                Some(reason) => assert!(state["failure"].as_str().unwrap().starts_with(*reason), "{mailbox}: {state}"),
                None => assert_eq!(state["failure"], Value::Null, "{mailbox}"),
            }
            assert!(!state.to_string().contains("hunter"), "{state}");
        }
    }
}
