//! Malware scan of uploads by ClamAV's daemon (`clamd`), over TCP or a Unix socket: its command `INSTREAM`.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use futures_util::TryStreamExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Semaphore;

use super::files::Content;
use db::assert_no_connection_held;

/// Scans at once. More wait, within the time of their own scan.
const MAX_SCANS: usize = 4;
/// For waiting, connecting, sending and the verdict.
const TIMEOUT: Duration = Duration::from_secs(60);
const MAX_ANSWER_BYTES: u64 = 1024;

/// Where clamd listens: `tcp://host:port` or `unix:/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClamdAddress {
    Tcp(String),
    Unix(PathBuf),
}

impl FromStr for ClamdAddress {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if let Some(server) = text.strip_prefix("tcp://") {
            let is_complete =
                server.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok());
            return if is_complete { Ok(ClamdAddress::Tcp(server.to_owned())) } else { Err(()) };
        }
        let path = text.strip_prefix("unix:").filter(|path| path.starts_with('/')).ok_or(())?;
        Ok(ClamdAddress::Unix(path.into()))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Clean,
    /// The name of what was found.
    Infected(String),
}

/// Why there is no verdict.
#[derive(Debug)]
pub struct ScanError(String);

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the malware scan failed: {}", self.0)
    }
}

impl std::error::Error for ScanError {}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        ScanError(error.to_string())
    }
}

#[derive(Clone)]
pub struct Clamd {
    address: ClamdAddress,
    scans: Arc<Semaphore>,
}

impl Clamd {
    pub fn new(address: ClamdAddress) -> Clamd {
        Clamd { address, scans: Arc::new(Semaphore::new(MAX_SCANS)) }
    }

    pub async fn scan(&self, content: Content) -> Result<Verdict, ScanError> {
        assert_no_connection_held();
        let late = |_| ScanError(format!("clamd did not answer within {} s", TIMEOUT.as_secs()));
        tokio::time::timeout(TIMEOUT, self.scan_in_turn(content)).await.map_err(late)?
    }

    async fn scan_in_turn(&self, content: Content) -> Result<Verdict, ScanError> {
        let _permit = self.scans.acquire().await.map_err(|error| ScanError(error.to_string()))?;
        match &self.address {
            ClamdAddress::Tcp(server) => instream(TcpStream::connect(server).await?, content).await,
            ClamdAddress::Unix(path) => instream(UnixStream::connect(path).await?, content).await,
        }
    }
}

async fn instream<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    mut content: Content,
) -> Result<Verdict, ScanError> {
    stream.write_all(b"zINSTREAM\0").await?;
    while let Some(piece) = content.try_next().await? {
        let length = u32::try_from(piece.len()).map_err(io::Error::other)?;
        // An empty piece would end the stream.
        if length > 0 {
            stream.write_all(&length.to_be_bytes()).await?;
            stream.write_all(&piece).await?;
        }
    }
    stream.write_all(&0u32.to_be_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let answer = answer.trim_end_matches('\0').trim();
    match answer.strip_prefix("stream: ") {
        Some("OK") => Ok(Verdict::Clean),
        Some(found) if found.ends_with(" FOUND") => Ok(Verdict::Infected(found.trim_end_matches(" FOUND").to_owned())),
        _ => Err(ScanError(format!("clamd answered {answer:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_tcp_or_a_socket() {
        assert_eq!("tcp://127.0.0.1:3310".parse(), Ok(ClamdAddress::Tcp("127.0.0.1:3310".to_owned())));
        assert_eq!("tcp://[::1]:3310".parse(), Ok(ClamdAddress::Tcp("[::1]:3310".to_owned())));
        assert_eq!("unix:/run/clamd.ctl".parse(), Ok(ClamdAddress::Unix("/run/clamd.ctl".into())));
        for wrong in ["127.0.0.1:3310", "tcp://127.0.0.1", "tcp://:3310", "unix:clamd.ctl", ""] {
            assert_eq!(wrong.parse::<ClamdAddress>(), Err(()), "{wrong}");
        }
    }
}
