//! Mail delivery, to a folder and to a real mail server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use platform::mail::{MailSettings, Mailer, Message};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;
use values::Time;

const FROM: &str = "Trunkline <noreply@trunkline.example>";
const AT: Time = Time::from_millis(1_767_225_600_000);

fn message(to: &str) -> Message {
    Message {
        id: Uuid::from_u128(0x0198_0000_0000_7000_8000_0000_0000_0001),
        to: to.to_owned(),
        subject: "Ihr Guthaben läuft ab\r\nBcc: thief@example.com".to_owned(),
        text: "Grüße,\n.\nein Punkt steht allein.\n€ 12,50\n".to_owned(),
        html: format!("<p>Grüße,</p>\n.\n<p>{}</p>\n", "lang ".repeat(300)),
        attachments: Vec::new(),
    }
}

fn smtp(url: String) -> Mailer {
    Mailer::open(&MailSettings::Smtp { url }, FROM).unwrap()
}

/// What Python's own mail parser makes of a message: an independent reader.
fn read_by_python(message: &Path) -> serde_json::Value {
    const READ: &str = "
import email, email.policy, json, sys
m = email.message_from_binary_file(open(sys.argv[1], 'rb'), policy=email.policy.default)
print(json.dumps({'headers': {k.lower(): str(v) for k, v in m.items()},
                  'kinds': [part.get_content_type() for part in m.iter_parts()],
                  'bodies': [part.get_content() for part in m.iter_parts()],
                  'defects': [str(d) for part in m.walk() for d in part.defects]}))";
    let output = Command::new("/usr/bin/python3").args(["-c", READ]).arg(message).output().unwrap();
    serde_json::from_slice(&output.stdout).expect("the message can be parsed")
}

fn assert_is_the_message(file: &Path) {
    let read = read_by_python(file);
    let headers = &read["headers"];
    assert_eq!(headers["from"], FROM);
    assert_eq!(headers["to"], "anna@example.com");
    assert_eq!(headers["subject"], "Ihr Guthaben läuft ab  Bcc: thief@example.com");
    assert_eq!(headers["date"], "Thu, 01 Jan 2026 00:00:00 +0000");
    assert_eq!(headers["message-id"], "<01980000-0000-7000-8000-000000000001@trunkline.example>");
    assert_eq!(headers.get("bcc"), None);
    // The reader's program shows the last kind it knows.
    assert_eq!(read["kinds"], serde_json::json!(["text/plain", "text/html"]));
    for (body, written) in [(0, message("").text), (1, message("").html)] {
        // A part ends with a line break of its own.
        let body = read["bodies"][body].as_str().unwrap().replace("\r\n", "\n");
        assert_eq!(body.trim_end(), written.trim_end());
    }
    assert_eq!(read["defects"], serde_json::json!([]));
}

fn only_file_in(folder: &Path) -> std::path::PathBuf {
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.into_iter().next().unwrap()
}

#[tokio::test]
async fn a_message_delivered_twice_to_the_outbox_is_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let outbox = folder.path().join("outbox");
    let mailer = Mailer::open(&MailSettings::File { outbox: outbox.clone() }, FROM).unwrap();
    mailer.deliver(&message("anna@example.com"), AT).await.unwrap();
    mailer.deliver(&message("anna@example.com"), AT).await.unwrap();

    let file = only_file_in(&outbox);
    assert_eq!(file.file_name().unwrap(), "01980000-0000-7000-8000-000000000001.eml");
    assert_is_the_message(&file);
}

#[tokio::test]
async fn a_missing_outbox_is_a_temporary_error() {
    let folder = tempfile::tempdir().unwrap();
    let outbox = folder.path().join("outbox");
    let mailer = Mailer::open(&MailSettings::File { outbox: outbox.clone() }, FROM).unwrap();
    fs::remove_dir(&outbox).unwrap();
    let error = mailer.deliver(&message("anna@example.com"), AT).await.unwrap_err();
    assert!(!error.is_permanent(), "{error}");
}

/// aiosmtpd with a maildir, refusing `gone@` for good and `busy@` for now.
struct MailServer {
    process: Child,
    port: u16,
    folder: TempDir,
}

impl MailServer {
    async fn start() -> MailServer {
        const CHOOSY: &str = "
from aiosmtpd.handlers import Mailbox
class Choosy(Mailbox):
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith('gone@'):
            return '550 5.1.1 no such mailbox'
        if address.startswith('busy@'):
            return '451 4.3.0 try again later'
        envelope.rcpt_tos.append(address)
        return '250 OK'
";
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("choosy.py"), CHOOSY).unwrap();
        let port = unused_port().await;
        let process = Command::new("/usr/bin/python3")
            .args(["-m", "aiosmtpd", "-n", "-l", &format!("127.0.0.1:{port}"), "-c", "choosy.Choosy"])
            .arg(folder.path().join("mail"))
            .env("PYTHONPATH", folder.path())
            .spawn()
            .unwrap();
        let mut server = MailServer { process, port, folder };
        tokio::time::timeout(Duration::from_secs(30), server.answers()).await.expect("the mail server starts");
        server
    }

    async fn answers(&mut self) {
        while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            assert!(self.process.try_wait().unwrap().is_none(), "aiosmtpd ended: is python3-aiosmtpd installed?");
            tokio::task::yield_now().await;
        }
    }

    fn mailer(&self) -> Mailer {
        smtp(format!("smtp://127.0.0.1:{}", self.port))
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn unused_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn a_message_arrives_at_a_mail_server_unchanged() {
    let server = MailServer::start().await;
    server.mailer().deliver(&message("anna@example.com"), AT).await.unwrap();
    let message = only_file_in(&server.folder.path().join("mail/new"));
    assert_is_the_message(&message);
    let read = read_by_python(&message);
    assert_eq!(read["headers"]["x-mailfrom"], "noreply@trunkline.example");
    assert_eq!(read["headers"]["x-rcptto"], "anna@example.com");
}

#[tokio::test]
async fn a_refusal_is_permanent_or_temporary_by_its_smtp_code() {
    let server = MailServer::start().await;
    let gone = server.mailer().deliver(&message("gone@example.com"), AT).await.unwrap_err();
    assert!(gone.is_permanent() && gone.to_string().contains("no such mailbox"), "{gone}");
    let busy = server.mailer().deliver(&message("busy@example.com"), AT).await.unwrap_err();
    assert!(!busy.is_permanent() && busy.to_string().contains("try again later"), "{busy}");
    let unspeakable = server.mailer().deliver(&message("jürgen@example.com"), AT).await.unwrap_err();
    assert!(unspeakable.is_permanent(), "the server takes ASCII addresses only: {unspeakable}");
}

#[tokio::test]
async fn nothing_is_sent_without_tls_when_tls_is_required() {
    let server = MailServer::start().await;
    let mailer = smtp(format!("smtp://127.0.0.1:{}?tls=required", server.port));
    let error = mailer.deliver(&message("anna@example.com"), AT).await.unwrap_err();
    assert!(!error.is_permanent() && error.to_string().contains("TLS with the mail server failed"), "{error}");
}

/// 0.0.0.0 reaches this machine and is not loopback.
#[tokio::test]
async fn off_loopback_mail_needs_tls_and_a_password_is_never_sent_in_clear() {
    let server = MailServer::start().await;
    let address = format!("0.0.0.0:{}", server.port);
    let error = smtp(format!("smtp://{address}")).deliver(&message("anna@example.com"), AT).await.unwrap_err();
    assert!(!error.is_permanent() && error.to_string().contains("TLS with the mail server failed"), "{error}");
    let plain = smtp(format!("smtp://{address}?tls=opportunistic"));
    plain.deliver(&message("anna@example.com"), AT).await.unwrap();
    let with_password = smtp(format!("smtp://me:hunter2@{address}?tls=opportunistic"));
    let error = with_password.deliver(&message("anna@example.com"), AT).await.unwrap_err();
    assert!(!error.is_permanent() && error.to_string().contains("not sent in clear text"), "{error}");
}

#[tokio::test]
async fn an_unreachable_mail_server_is_a_temporary_error() {
    let mailer = smtp(format!("smtp://127.0.0.1:{}", unused_port().await));
    let error = mailer.deliver(&message("anna@example.com"), AT).await.unwrap_err();
    assert!(!error.is_permanent() && error.to_string().contains("cannot be reached"), "{error}");
}

#[tokio::test]
async fn a_refused_smtp_sign_in_is_temporary_and_hides_the_password() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let (reader, mut writer) = stream.split();
        let mut lines = BufReader::new(reader).lines();
        writer.write_all(b"220 hello\r\n").await.unwrap();
        lines.next_line().await.unwrap();
        writer.write_all(b"250-hello\r\n250 AUTH PLAIN\r\n").await.unwrap();
        let sign_in = lines.next_line().await.unwrap().unwrap();
        writer.write_all(format!("535 not understood: {sign_in}\r\n").as_bytes()).await.unwrap();
        sign_in
    });

    let mailer = smtp(format!("smtp://me:hunter%202@127.0.0.1:{port}"));
    let error = mailer.deliver(&message("anna@example.com"), AT).await.unwrap_err();
    let sign_in = server.await.unwrap();
    let secret = sign_in.strip_prefix("AUTH PLAIN ").unwrap();
    assert_eq!(data_encoding::BASE64.decode(secret.as_bytes()).unwrap(), b"\0me\0hunter 2");
    assert!(!error.is_permanent() && error.to_string().contains("535"), "{error}");
    assert!(!format!("{error:?}").contains(secret));
}
