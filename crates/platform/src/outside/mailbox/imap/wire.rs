//! What goes over an IMAP connection (RFC 9051): commands with tags, and responses with literals.
//!
//! Nothing that the server sends is unbounded: each command has a budget of bytes, and of responses.

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

use super::super::MailboxError;

const MAX_RESPONSES: usize = 10_000;
/// How much of a server's text an error quotes.
const MAX_QUOTED_CHARS: usize = 200;

/// A response of the server: its text, where `{5}` stands for a literal of five bytes, and the literals.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Response {
    pub text: String,
    pub literals: Vec<Vec<u8>>,
}

/// A command, as it is sent.
pub struct Command<'a> {
    pub text: &'a str,
    /// Sent when the server asks for more.
    pub more: Option<&'a str>,
    /// Bytes that the server may answer with.
    pub budget: u64,
}

/// How the server completed a command.
pub enum Completion {
    Ok(Vec<Response>),
    /// `NO` or `BAD`, with the server's text.
    Refused(String),
}

pub struct Wire<S> {
    stream: BufReader<S>,
    sent: u32,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub fn new(stream: S) -> Wire<S> {
        Wire { stream: BufReader::new(stream), sent: 0 }
    }

    /// The stream, to continue over TLS. Whatever came before that could be anybody's.
    pub fn into_stream(self) -> Result<S, MailboxError> {
        if self.stream.buffer().is_empty() {
            return Ok(self.stream.into_inner());
        }
        Err(MailboxError("the mail server sent text before TLS began".to_owned()))
    }

    /// The first line of a session.
    pub async fn greeting(&mut self) -> Result<(), MailboxError> {
        let greeting = self.read(&mut 8192).await?;
        if greeting.text.starts_with("* OK") {
            return Ok(());
        }
        Err(MailboxError(format!("the mail server greets with {:?}", quoted(&greeting.text))))
    }

    /// Sends a command and reads its responses.
    pub async fn run(&mut self, command: Command<'_>) -> Result<Completion, MailboxError> {
        self.sent += 1;
        let tag = format!("t{} ", self.sent);
        self.send(&format!("{tag}{}\r\n", command.text)).await?;
        let (mut more, mut budget, mut responses) = (command.more, command.budget, Vec::new());
        while responses.len() < MAX_RESPONSES {
            let response = self.read(&mut budget).await?;
            if let Some(status) = response.text.strip_prefix(&tag) {
                let is_ok = status.get(..2).is_some_and(|word| word.eq_ignore_ascii_case("OK"));
                return Ok(if is_ok { Completion::Ok(responses) } else { Completion::Refused(quoted(status)) });
            }
            if response.text.starts_with('+') {
                let more = more.take().ok_or_else(|| MailboxError("the mail server asks for more".to_owned()))?;
                self.send(&format!("{more}\r\n")).await?;
                continue;
            }
            responses.push(response);
        }
        Err(MailboxError("the mail server sends too many responses".to_owned()))
    }

    async fn send(&mut self, text: &str) -> Result<(), MailboxError> {
        self.stream.write_all(text.as_bytes()).await.map_err(|error| broken(&error))?;
        self.stream.flush().await.map_err(|error| broken(&error))
    }

    /// Reads one response, and takes its length from the budget.
    async fn read(&mut self, budget: &mut u64) -> Result<Response, MailboxError> {
        let mut response = Response::default();
        loop {
            let mut line = Vec::new();
            (&mut self.stream).take(*budget).read_until(b'\n', &mut line).await.map_err(|error| broken(&error))?;
            *budget -= line.len() as u64;
            let Some(text) = line.strip_suffix(b"\n") else { return Err(ended(*budget)) };
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            response.text.push_str(&String::from_utf8_lossy(text));
            let Some(length) = literal_length(text) else { return Ok(response) };
            if length > *budget {
                return Err(ended(0));
            }
            let mut literal = Vec::new();
            (&mut self.stream).take(length).read_to_end(&mut literal).await.map_err(|error| broken(&error))?;
            *budget -= length;
            if literal.len() as u64 != length {
                return Err(ended(1));
            }
            response.literals.push(literal);
        }
    }
}

/// The length of the literal that follows a line ending in `{5}`.
fn literal_length(line: &[u8]) -> Option<u64> {
    let inner = line.strip_suffix(b"}")?;
    let start = inner.iter().rposition(|byte| *byte == b'{')?;
    std::str::from_utf8(&inner[start + 1..]).ok()?.parse().ok()
}

/// Why a response has no end: too long, or the connection was closed.
fn ended(budget: u64) -> MailboxError {
    let reason = if budget == 0 { "sends more than was asked for" } else { "closed the connection" };
    MailboxError(format!("the mail server {reason}"))
}

fn broken(error: &std::io::Error) -> MailboxError {
    MailboxError(format!("the connection to the mail server broke: {error}"))
}

fn quoted(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(MAX_QUOTED_CHARS).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::duplex;

    use super::*;

    /// Runs a command against a server that sends this text.
    async fn run(server: &[u8], budget: u64) -> Result<Completion, MailboxError> {
        let (client, mut other) = duplex(1 << 20);
        other.write_all(server).await.unwrap();
        let mut wire = Wire::new(client);
        let command = wire.run(Command { text: "NOOP", more: None, budget });
        let (completion, ()) = tokio::join!(command, async move {
            let mut sent = [0; 9];
            other.read_exact(&mut sent).await.unwrap();
            assert_eq!(&sent, b"t1 NOOP\r\n");
        });
        completion
    }

    #[tokio::test]
    async fn literals_may_contain_anything() {
        let body = b"From: a\r\n\r\nt1 OK {3}\r\n";
        let text =
            [&b"* 1 FETCH (UID 7 BODY[] {22}\r\n"[..], body, b" FLAGS ())\r\n* 2 EXISTS\r\nt1 OK done\r\n"].concat();
        let Completion::Ok(responses) = run(&text, 1000).await.unwrap() else { panic!("refused") };
        let fetched =
            Response { text: "* 1 FETCH (UID 7 BODY[] {22} FLAGS ())".to_owned(), literals: vec![body.to_vec()] };
        let exists = Response { text: "* 2 EXISTS".to_owned(), literals: Vec::new() };
        assert_eq!(responses, [fetched, exists]);
    }

    #[tokio::test]
    async fn a_refusal_is_quoted_and_an_excess_is_an_error() {
        let Completion::Refused(text) = run(b"t1 NO no such folder\r\n", 1000).await.unwrap() else { panic!("ok") };
        assert_eq!(text, "NO no such folder");
        for (server, budget) in [
            (&b"* BYE\r\n"[..], 1000),
            (b"* OK long line\r\n", 8),
            (b"* {900}\r\n", 100),
            (b"* {5}\r\nabc", 100),
            (b"+ go on\r\n", 100),
        ] {
            assert!(run(server, budget).await.is_err(), "{server:?}");
        }
        assert!(run(&b"* A\r\n".repeat(10_001), 1 << 20).await.is_err());
    }

    #[tokio::test]
    async fn what_precedes_tls_is_refused() {
        let (client, mut other) = duplex(1024);
        other.write_all(b"* OK hello\r\n* CAPABILITY injected\r\n").await.unwrap();
        let mut wire = Wire::new(client);
        wire.greeting().await.unwrap();
        assert!(wire.into_stream().is_err());
    }

    proptest! {
        #[test]
        fn no_server_makes_the_client_panic_or_hang(server: Vec<u8>, budget in 0u64..10_000) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let mut wire = Wire::new(tokio::io::join(&server[..], tokio::io::sink()));
                drop(wire.run(Command { text: "NOOP", more: None, budget }).await);
            });
        }
    }
}
