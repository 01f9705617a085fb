//! A folder of an IMAP server, in as few commands as reading needs: sign in, select, search, fetch, mark as seen.
//!
//! `BODY.PEEK` leaves a message unseen until it was handled. Every step has a timeout; dropping the session closes the
//! connection. A password goes over TLS only, except on loopback.

mod settings;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use data_encoding::BASE64;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{MAX_HEADER_BYTES, MAX_MESSAGE_BYTES, MailboxError, RawMessage};
pub use settings::{Encryption, ImapSettings};
use wire::{Command, Completion, Response, Wire};

/// Timeout of each step but fetching.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);
const FETCH_TIMEOUT: Duration = Duration::from_secs(300);
/// What a server may answer to anything but a fetch. The unseen messages of a folder are one line.
const ANSWER_BYTES: u64 = 1 << 20;
/// What surrounds a message in the answer to a fetch.
const FETCH_BYTES: u64 = 64 << 10;

/// A connection, with TLS or without.
trait Connection: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Connection for T {}

pub struct Imap {
    settings: ImapSettings,
    tls: TlsConnector,
}

impl Imap {
    /// The certificate of the server must be of one of the system's authorities.
    pub fn new(settings: &ImapSettings) -> Result<Imap, MailboxError> {
        let mut trusted = RootCertStore::empty();
        if settings.encryption != Encryption::None {
            trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| MailboxError(format!("TLS cannot be set up: {error}")))?
            .with_root_certificates(trusted)
            .with_no_client_auth();
        Ok(Imap { settings: settings.clone(), tls: TlsConnector::from(Arc::new(tls)) })
    }

    /// Connects, signs in and selects the folder.
    pub async fn open(&self) -> Result<ImapSession, MailboxError> {
        let mut session = ImapSession { wire: within(STEP_TIMEOUT, self.connect()).await? };
        session.sign_in(&self.settings).await?;
        let folder = quoted(&self.settings.folder.replace('&', "&-"));
        session.run(&["SELECT", &folder].join(" "), "to select the folder").await?;
        Ok(session)
    }

    async fn connect(&self) -> Result<Wire<Box<dyn Connection>>, MailboxError> {
        let ImapSettings { host, port, encryption, .. } = &self.settings;
        let unreachable =
            |error: std::io::Error| MailboxError(format!("the mail server {host}:{port} cannot be reached: {error}"));
        let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(unreachable)?;
        if *encryption == Encryption::Tls {
            let mut wire = Wire::new(self.encrypt(stream).await?);
            wire.greeting().await?;
            return Ok(wire);
        }
        let mut wire = Wire::new(stream);
        wire.greeting().await?;
        if *encryption == Encryption::None {
            let stream: Box<dyn Connection> = Box::new(wire.into_stream()?);
            return Ok(Wire::new(stream));
        }
        let command = Command { text: "STARTTLS", more: None, budget: ANSWER_BYTES };
        match wire.run(command).await? {
            Completion::Ok(_) => Ok(Wire::new(self.encrypt(wire.into_stream()?).await?)),
            Completion::Refused(text) => {
                Err(MailboxError(format!("the mail server offers no TLS, and nothing is sent without it: {text}")))
            }
        }
    }

    async fn encrypt(&self, stream: TcpStream) -> Result<Box<dyn Connection>, MailboxError> {
        let failed = |error: &dyn std::fmt::Display| MailboxError(format!("TLS with the mail server failed: {error}"));
        let name = ServerName::try_from(self.settings.host.clone()).map_err(|error| failed(&error))?;
        let stream = self.tls.connect(name, stream).await.map_err(|error| failed(&error))?;
        Ok(Box::new(stream))
    }
}

pub struct ImapSession {
    wire: Wire<Box<dyn Connection>>,
}

impl ImapSession {
    async fn sign_in(&mut self, settings: &ImapSettings) -> Result<(), MailboxError> {
        let offered = self.run("CAPABILITY", "to list its capabilities").await?;
        let ImapSettings { user, password, .. } = settings;
        let plain = BASE64.encode(format!("\0{user}\0{password}").as_bytes());
        let login = format!("LOGIN {} {}", quoted(user), quoted(password));
        let (text, more) = match offered.iter().any(|response| has_word(&response.text, "AUTH=PLAIN")) {
            true => ("AUTHENTICATE PLAIN", Some(plain.as_str())),
            false => (login.as_str(), None),
        };
        let command = Command { text, more, budget: ANSWER_BYTES };
        match within(STEP_TIMEOUT, self.wire.run(command)).await? {
            Completion::Ok(_) => Ok(()),
            // Without the server's text: it may quote the line with the password.
            Completion::Refused(_) => Err(MailboxError("the mail server refused the login".to_owned())),
        }
    }

    pub async fn unseen(&mut self, limit: usize) -> Result<Vec<String>, MailboxError> {
        let responses = self.run("UID SEARCH UNSEEN UNDELETED", "to search").await?;
        let mut uids: Vec<u32> = responses.iter().flat_map(|response| search_result(&response.text)).collect();
        uids.sort_unstable();
        Ok(uids.into_iter().take(limit).map(|uid| uid.to_string()).collect())
    }

    pub async fn fetch(&mut self, uid: &str) -> Result<Option<RawMessage>, MailboxError> {
        let sizes = self.run(&format!("UID FETCH {uid} (RFC822.SIZE)"), "to tell a size").await?;
        let Some(size_bytes) = sizes.iter().find_map(|response| size_of(&response.text, uid)) else { return Ok(None) };
        let is_whole = size_bytes <= MAX_MESSAGE_BYTES;
        let (part, limit) = if is_whole { ("", MAX_MESSAGE_BYTES) } else { ("HEADER", MAX_HEADER_BYTES) };
        let text = format!("UID FETCH {uid} (BODY.PEEK[{part}])");
        let command = Command { text: &text, more: None, budget: limit + FETCH_BYTES };
        let responses = completed(within(FETCH_TIMEOUT, self.wire.run(command)).await?, "to send a message")?;
        let bytes = responses.into_iter().find_map(|response| body_of(response, uid));
        Ok(bytes.map(|bytes| RawMessage { bytes, size_bytes, is_whole }))
    }

    pub async fn mark_seen(&mut self, uid: &str) -> Result<(), MailboxError> {
        let text = format!("UID STORE {uid} +FLAGS.SILENT (\\Seen)");
        self.run(&text, "to mark a message as seen").await.map(drop)
    }

    /// Whatever comes of it: all has been done.
    pub async fn close(mut self) {
        drop(self.run("LOGOUT", "to end the session").await);
    }

    async fn run(&mut self, text: &str, what: &str) -> Result<Vec<Response>, MailboxError> {
        let command = Command { text, more: None, budget: ANSWER_BYTES };
        completed(within(STEP_TIMEOUT, self.wire.run(command)).await?, what)
    }
}

fn completed(completion: Completion, what: &str) -> Result<Vec<Response>, MailboxError> {
    match completion {
        Completion::Ok(responses) => Ok(responses),
        Completion::Refused(text) => Err(MailboxError(format!("the mail server refused {what}: {text}"))),
    }
}

async fn within<T>(limit: Duration, step: impl Future<Output = Result<T, MailboxError>>) -> Result<T, MailboxError> {
    let late = |_| MailboxError(format!("the mail server did not answer within {} s", limit.as_secs()));
    tokio::time::timeout(limit, step).await.map_err(late)?
}

/// A text as IMAP quotes it. Settings have no line breaks.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(' ').any(|part| part.eq_ignore_ascii_case(word))
}

/// The UIDs in `* SEARCH 3 5 8`.
fn search_result(text: &str) -> Vec<u32> {
    let mut words = text.split(' ');
    let is_result = words.next() == Some("*") && words.next().is_some_and(|word| word.eq_ignore_ascii_case("SEARCH"));
    if is_result { words.filter_map(|word| word.parse().ok()).collect() } else { Vec::new() }
}

/// The words of `* 1 FETCH (UID 7 RFC822.SIZE 100)` after the parenthesis, if it is about this message.
fn fetched<'t>(text: &'t str, uid: &str) -> Option<Vec<&'t str>> {
    let (_, items) = text.strip_prefix("* ")?.split_once(" FETCH (")?;
    let words: Vec<&str> = items.trim_end_matches(')').split(' ').collect();
    let is_it = words.windows(2).any(|pair| pair[0].eq_ignore_ascii_case("UID") && pair[1] == uid);
    is_it.then_some(words)
}

fn size_of(text: &str, uid: &str) -> Option<u64> {
    let words = fetched(text, uid)?;
    words.windows(2).find(|pair| pair[0].eq_ignore_ascii_case("RFC822.SIZE"))?[1].parse().ok()
}

fn body_of(mut response: Response, uid: &str) -> Option<Vec<u8>> {
    let has_body = fetched(&response.text, uid)?.iter().any(|word| word.starts_with("BODY["));
    // Only a short text may come as anything but a literal, and no message is that short.
    (has_body && response.literals.len() == 1).then(|| response.literals.remove(0))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    /// A session with a server that expects each line and sends its answer.
    async fn transcript<T, F>(lines: &'static [(&str, &str)], client: impl FnOnce(ImapSession) -> F) -> T
    where
        F: Future<Output = T>,
    {
        let (stream, server) = duplex(1 << 16);
        let stream: Box<dyn Connection> = Box::new(stream);
        let session = ImapSession { wire: Wire::new(stream) };
        tokio::join!(client(session), answer(server, lines)).0
    }

    async fn answer(mut server: DuplexStream, lines: &[(&str, &str)]) {
        for (expected, sent) in lines {
            let mut line = vec![0; expected.len() + 2];
            server.read_exact(&mut line).await.unwrap();
            assert_eq!(String::from_utf8(line).unwrap(), format!("{expected}\r\n"));
            server.write_all(sent.replace('\n', "\r\n").as_bytes()).await.unwrap();
        }
    }

    fn settings() -> ImapSettings {
        "imap://decks%40carrier.example:hunt%22er2@localhost/Rates".parse().expect("a URL")
    }

    #[tokio::test]
    async fn a_password_is_sent_as_the_server_prefers_and_never_quoted_in_errors() {
        const PLAIN: &[(&str, &str)] = &[
            ("t1 CAPABILITY", "* CAPABILITY IMAP4rev1 SASL-IR AUTH=PLAIN\nt1 OK done\n"),
            ("t2 AUTHENTICATE PLAIN", "+ \n"),
            ("AGRlY2tzQGNhcnJpZXIuZXhhbXBsZQBodW50ImVyMg==", "t2 OK signed in\n"),
        ];
        transcript(PLAIN, async |mut session: ImapSession| session.sign_in(&settings()).await).await.unwrap();
        const LOGIN: &[(&str, &str)] = &[
            ("t1 CAPABILITY", "* CAPABILITY IMAP4rev1\nt1 OK done\n"),
            (r#"t2 LOGIN "decks@carrier.example" "hunt\"er2""#, "t2 NO hunter2 is wrong\n"),
        ];
        let refused = transcript(LOGIN, async |mut session: ImapSession| session.sign_in(&settings()).await).await;
        assert_eq!(refused.unwrap_err().0, "the mail server refused the login");
    }

    #[tokio::test]
    async fn unseen_messages_are_fetched_whole_and_marked() {
        const LINES: &[(&str, &str)] = &[
            ("t1 UID SEARCH UNSEEN UNDELETED", "* SEARCH 12 7 9\n* 4 EXISTS\nt1 OK done\n"),
            ("t2 UID FETCH 7 (RFC822.SIZE)", "* 1 FETCH (UID 7 RFC822.SIZE 13)\nt2 OK done\n"),
            (
                "t3 UID FETCH 7 (BODY.PEEK[])",
                "* 2 FETCH (UID 9 FLAGS ())\n* 1 FETCH (UID 7 BODY[] {13}\nFrom: a\n\nHi)\nt3 OK done\n",
            ),
            ("t4 UID STORE 7 +FLAGS.SILENT (\\Seen)", "t4 OK done\n"),
            ("t5 UID FETCH 9 (RFC822.SIZE)", "t5 OK gone\n"),
            ("t6 LOGOUT", "* BYE\nt6 OK done\n"),
        ];
        transcript(LINES, async |mut session: ImapSession| {
            assert_eq!(session.unseen(2).await.unwrap(), ["7", "9"]);
            let message = session.fetch("7").await.unwrap().unwrap();
            assert_eq!((&*message.bytes, message.is_whole), (&b"From: a\r\n\r\nHi"[..], true));
            session.mark_seen("7").await.unwrap();
            assert_eq!(session.fetch("9").await.unwrap(), None);
            session.close().await;
        })
        .await;
    }

    #[tokio::test]
    async fn of_a_huge_message_only_the_header_is_fetched() {
        const LINES: &[(&str, &str)] = &[
            ("t1 UID FETCH 7 (RFC822.SIZE)", "* 1 FETCH (RFC822.SIZE 99999999 UID 7)\nt1 OK done\n"),
            ("t2 UID FETCH 7 (BODY.PEEK[HEADER])", "* 1 FETCH (UID 7 BODY[HEADER] {11}\nFrom: a\n\n)\nt2 OK done\n"),
        ];
        let message = transcript(LINES, async |mut session: ImapSession| session.fetch("7").await).await;
        let message = message.unwrap().unwrap();
        assert_eq!((&*message.bytes, message.is_whole), (&b"From: a\r\n\r\n"[..], false));
        assert_eq!(message.size_bytes, 99_999_999);
    }
}
