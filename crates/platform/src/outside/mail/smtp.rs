//! SMTP: one short conversation with the configured server per letter.
//!
//! Connections are not kept. lettre's pool limits only the time to connect and would park a conversation that was
//! cut off half-way, to be taken up by the next letter; here every step has its limit, and letting go of the
//! connection ends it.

use std::time::Duration;

use hyper::Uri;
use lettre::Message;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::{Error, SUBMISSION_PORT, SUBMISSIONS_PORT};
use percent_encoding::percent_decode_str;

use super::MailError;

/// How long any step of the conversation may take.
const STEP: Duration = Duration::from_secs(10);
/// How long a server may look at a letter before it takes it. Whoever does not wait for that sends it twice.
const HANDING_OVER: Duration = Duration::from_secs(60);

const URL_FORM: &str =
    "a mail URL reads smtp://user:password@host:port (?tls=required) or smtps://user:password@host:port";

pub struct Smtp {
    host: String,
    port: u16,
    encryption: Encryption,
    tls: TlsParameters,
    credentials: Option<Credentials>,
    hello: ClientId,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encryption {
    FromTheFirstByte,
    StartTls,
    StartTlsIfOffered,
}

impl Smtp {
    pub fn open(url: &str) -> Result<Smtp, MailError> {
        // Whatever a parser says of the URL could quote the password in it.
        let malformed = || MailError::Permanent(URL_FORM.to_owned());
        let uri: Uri = url.parse().map_err(|_| malformed())?;
        let encryption = match (uri.scheme_str(), uri.query()) {
            (Some("smtps"), None) => Encryption::FromTheFirstByte,
            (Some("smtp"), Some("tls=required")) => Encryption::StartTls,
            (Some("smtp"), None | Some("tls=opportunistic")) => Encryption::StartTlsIfOffered,
            _ => return Err(malformed()),
        };
        let authority = uri.authority().filter(|authority| !authority.host().is_empty()).ok_or_else(malformed)?;
        let (user_info, server) = match authority.as_str().rsplit_once('@') {
            Some((user_info, server)) => (Some(user_info), server),
            None => (None, authority.as_str()),
        };
        let credentials = user_info.map(|text| credentials(text).ok_or_else(malformed)).transpose()?;
        let port = match server.strip_prefix(authority.host()).and_then(|rest| rest.strip_prefix(':')) {
            Some(port) => port.parse().map_err(|_| malformed())?,
            None if encryption == Encryption::FromTheFirstByte => SUBMISSIONS_PORT,
            None => SUBMISSION_PORT,
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let tls = TlsParameters::new(host.clone())
            .map_err(|error| MailError::Permanent(format!("TLS cannot be set up: {error}")))?;
        Ok(Smtp { host, port, encryption, tls, credentials, hello: ClientId::default() })
    }

    pub async fn deliver(&self, message: &Message) -> Result<(), MailError> {
        let mut connection = self.connect().await?;
        self.encrypt(&mut connection).await?;
        self.sign_in(&mut connection).await?;
        within(HANDING_OVER, connection.send(message.envelope(), &message.formatted())).await?.map_err(refused)?;
        // The letter is the server's now, whatever becomes of the goodbye.
        let _ = within(STEP, connection.quit()).await;
        Ok(())
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, MailError> {
        let tls = (self.encryption == Encryption::FromTheFirstByte).then(|| self.tls.clone());
        let server = (self.host.as_str(), self.port);
        within(STEP, AsyncSmtpConnection::connect_tokio1(server, Some(STEP), &self.hello, tls, None))
            .await?
            .map_err(|error| MailError::Temporary(format!("the mail server cannot be reached: {error}")))
    }

    async fn encrypt(&self, connection: &mut AsyncSmtpConnection) -> Result<(), MailError> {
        let upgrade = match self.encryption {
            Encryption::FromTheFirstByte => false,
            Encryption::StartTls => true,
            Encryption::StartTlsIfOffered => connection.can_starttls(),
        };
        if !upgrade {
            return Ok(());
        }
        within(STEP, connection.starttls(self.tls.clone(), &self.hello))
            .await?
            .map_err(|error| MailError::Temporary(format!("the mail server's connection cannot be encrypted: {error}")))
    }

    /// A refusal is temporary, since it is about us and not about the letter, and told by its code alone: some
    /// servers quote the line they refuse, and the password is on it.
    async fn sign_in(&self, connection: &mut AsyncSmtpConnection) -> Result<(), MailError> {
        let Some(credentials) = &self.credentials else { return Ok(()) };
        match within(STEP, connection.auth(DEFAULT_MECHANISMS, credentials)).await? {
            Ok(_) => Ok(()),
            Err(error) => {
                let code = error.status().map_or_else(|| "no code".to_owned(), |code| code.to_string());
                Err(MailError::Temporary(format!("the mail server refused to let us sign in ({code})")))
            }
        }
    }
}

async fn within<T>(limit: Duration, step: impl Future<Output = T>) -> Result<T, MailError> {
    let late = |_| MailError::Temporary(format!("the mail server did not answer within {} s", limit.as_secs()));
    tokio::time::timeout(limit, step).await.map_err(late)
}

/// What went wrong once the letter itself was on the table.
fn refused(error: Error) -> MailError {
    // A server that wants us to sign in first (530) has not looked at the letter.
    let about_us = error.status().is_some_and(|code| code.to_string() == "530");
    if (error.is_permanent() && !about_us) || error.is_client() {
        MailError::Permanent(format!("the mail server refused the letter: {error}"))
    } else {
        MailError::Temporary(format!("the mail server did not take the letter: {error}"))
    }
}

fn credentials(user_info: &str) -> Option<Credentials> {
    let (user, password) = user_info.split_once(':')?;
    let decode = |text| percent_decode_str(text).decode_utf8().ok().map(|text| text.into_owned());
    Some(Credentials::new(decode(user)?, decode(password)?))
}
