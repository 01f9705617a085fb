//! SMTP delivery: one connection to the configured server per mail.
//!
//! Connections are not pooled. lettre's pool limits only the time to connect, and it returns a connection that was
//! interrupted half-way to the pool for the next mail. Here every step has a timeout, and dropping the connection
//! closes it.

use std::time::Duration;

use lettre::Message as MimeMessage;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::extension::ClientId;

use super::MailError;
use crate::config::{SmtpEncryption, SmtpServer};

/// Timeout of each SMTP step except sending.
const STEP_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of sending. Servers may scan a mail before they accept it; giving up too early would send it twice.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);

pub struct Smtp {
    server: SmtpServer,
    tls: TlsParameters,
    credentials: Option<Credentials>,
    hello: ClientId,
}

impl Smtp {
    pub fn open(url: &str) -> Result<Smtp, MailError> {
        let malformed = || MailError::Permanent(format!("a mail URL has the form {}", SmtpServer::FORM));
        let mut server = SmtpServer::parse(url).ok_or_else(malformed)?;
        let credentials = server.credentials.take().map(|(user, password)| Credentials::new(user, password));
        let tls = TlsParameters::new(server.host.clone())
            .map_err(|error| MailError::Permanent(format!("TLS cannot be set up: {error}")))?;
        Ok(Smtp { server, tls, credentials, hello: ClientId::default() })
    }

    pub async fn deliver(&self, message: &MimeMessage) -> Result<(), MailError> {
        let mut connection = self.open_session().await?;
        within(SEND_TIMEOUT, connection.send(message.envelope(), &message.formatted())).await?.map_err(refused)?;
        // The server has accepted the mail, so an error of QUIT does not matter.
        let _ = within(STEP_TIMEOUT, connection.quit()).await;
        Ok(())
    }

    /// Opens a session and ends it.
    pub async fn check(&self) -> Result<(), MailError> {
        let mut connection = self.open_session().await?;
        let _ = within(STEP_TIMEOUT, connection.quit()).await;
        Ok(())
    }

    async fn open_session(&self) -> Result<AsyncSmtpConnection, MailError> {
        let mut connection = self.connect().await?;
        self.encrypt(&mut connection).await?;
        self.sign_in(&mut connection).await?;
        Ok(connection)
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, MailError> {
        let SmtpServer { host, port, encryption, .. } = &self.server;
        let tls = (*encryption == SmtpEncryption::Tls).then(|| self.tls.clone());
        let server = (host.as_str(), *port);
        within(STEP_TIMEOUT, AsyncSmtpConnection::connect_tokio1(server, Some(STEP_TIMEOUT), &self.hello, tls, None))
            .await?
            .map_err(|error| MailError::Temporary(format!("the mail server {host}:{port} cannot be reached: {error}")))
    }

    async fn encrypt(&self, connection: &mut AsyncSmtpConnection) -> Result<(), MailError> {
        let upgrade = match self.server.encryption {
            SmtpEncryption::Tls => false,
            SmtpEncryption::StartTls => true,
            SmtpEncryption::StartTlsIfOffered => connection.can_starttls(),
        };
        if !upgrade {
            return Ok(());
        }
        within(STEP_TIMEOUT, connection.starttls(self.tls.clone(), &self.hello))
            .await?
            .map_err(|error| MailError::Temporary(format!("TLS with the mail server failed: {error}")))
    }

    /// A refused login is temporary: it says nothing about the mail. Only its code is reported, since some servers
    /// quote the refused line, which contains the password.
    async fn sign_in(&self, connection: &mut AsyncSmtpConnection) -> Result<(), MailError> {
        let Some(credentials) = &self.credentials else { return Ok(()) };
        if !connection.is_encrypted() && !self.server.is_local {
            let clear = "the mail server offers no TLS, and the password is not sent in clear text";
            return Err(MailError::Temporary(clear.to_owned()));
        }
        match within(STEP_TIMEOUT, connection.auth(DEFAULT_MECHANISMS, credentials)).await? {
            Ok(_) => Ok(()),
            Err(error) => {
                let code = error.status().map_or_else(|| "no code".to_owned(), |code| code.to_string());
                Err(MailError::Temporary(format!("the mail server refused the login ({code})")))
            }
        }
    }
}

async fn within<T>(limit: Duration, step: impl Future<Output = T>) -> Result<T, MailError> {
    let late = |_| MailError::Temporary(format!("the mail server did not answer within {} s", limit.as_secs()));
    tokio::time::timeout(limit, step).await.map_err(late)
}

/// Whether an error while sending is about the mail (permanent) or not.
fn refused(error: Error) -> MailError {
    // 530 asks for a login: it is not about the mail.
    let is_login = error.status().is_some_and(|code| code.to_string() == "530");
    if (error.is_permanent() && !is_login) || error.is_client() {
        MailError::Permanent(format!("the mail server refused the mail: {error}"))
    } else {
        MailError::Temporary(format!("the mail server did not accept the mail: {error}"))
    }
}
