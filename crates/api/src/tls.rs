//! TLS of a listener, with client certificates if an authority for them is given.
//!
//! Certificates are renewed while the service runs: the files are read again when they have changed, which is looked at
//! before a handshake and at most once a second. Files that cannot be used leave the certificates as they are. Sessions
//! are never resumed, so that every connection shows its client certificate.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use aws_lc_rs::digest::{self, SHA256};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use platform::config::{OpsTls, PemFile};

/// How often the files are looked at, and failed handshakes are logged.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The certificates of a listener.
pub struct ServerTls {
    files: OpsTls,
    state: Mutex<State>,
}

struct State {
    config: Arc<ServerConfig>,
    /// Of the files as last read, whether or not they could be used; none if they could not be read.
    digest: Option<Vec<u8>>,
    checked_at: Instant,
    failure_logged_at: Option<Instant>,
}

/// The contents of the files.
struct Pems {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

impl ServerTls {
    /// Reads the files. An error names the setting and the file.
    pub fn load(files: OpsTls) -> Result<ServerTls, String> {
        let pems = Pems::read(&files)?;
        let state = State {
            config: Arc::new(pems.server_config(&files)?),
            digest: Some(pems.digest()),
            checked_at: Instant::now(),
            failure_logged_at: None,
        };
        Ok(ServerTls { files, state: Mutex::new(state) })
    }

    /// Shakes hands with a client.
    pub async fn accept(self: &Arc<Self>, stream: TcpStream) -> io::Result<Transport> {
        let acceptor = TlsAcceptor::from(self.current().await);
        Ok(Transport::Tls(Box::new(acceptor.accept(stream).await?)))
    }

    /// Whether a failed handshake is to be logged: one a second, since strangers can cause any number.
    pub fn may_log_failure(&self) -> bool {
        let mut state = self.state();
        let is_due = state.failure_logged_at.is_none_or(|at| at.elapsed() >= CHECK_INTERVAL);
        if is_due {
            state.failure_logged_at = Some(Instant::now());
        }
        is_due
    }

    async fn current(self: &Arc<Self>) -> Arc<ServerConfig> {
        if self.begins_check() {
            let this = self.clone();
            if let Err(error) = tokio::task::spawn_blocking(move || this.reload()).await {
                tracing::error!(%error, "reading the certificates of the operations port panicked");
            }
        }
        self.state().config.clone()
    }

    /// True for the first caller after each interval.
    fn begins_check(&self) -> bool {
        let mut state = self.state();
        let is_due = state.checked_at.elapsed() >= CHECK_INTERVAL;
        if is_due {
            state.checked_at = Instant::now();
        }
        is_due
    }

    /// Takes over files that have changed. While they are being replaced they may not fit together; then the rest
    /// follows, and the next check finds it.
    fn reload(&self) {
        let pems = Pems::read(&self.files);
        let digest = pems.as_ref().ok().map(Pems::digest);
        if self.state().digest == digest {
            return;
        }
        let config = pems.and_then(|pems| pems.server_config(&self.files));
        let mut state = self.state();
        state.digest = digest;
        match config {
            Ok(config) => {
                state.config = Arc::new(config);
                tracing::info!("certificates of the operations port replaced");
            }
            Err(error) => tracing::warn!(error, "certificates of the operations port not replaced"),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pems {
    fn read(files: &OpsTls) -> Result<Pems, String> {
        Ok(Pems {
            certificate: files.identity.certificate.read()?,
            key: files.identity.key.read()?,
            client_ca: files.client_ca.as_ref().map(PemFile::read).transpose()?,
        })
    }

    fn digest(&self) -> Vec<u8> {
        let mut of_all = digest::Context::new(&SHA256);
        for content in [&self.certificate, &self.key].into_iter().chain(&self.client_ca) {
            of_all.update(digest::digest(&SHA256, content).as_ref());
        }
        of_all.finish().as_ref().to_vec()
    }

    fn server_config(&self, files: &OpsTls) -> Result<ServerConfig, String> {
        let identity = &files.identity;
        let chain = certificates(&identity.certificate, &self.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|error| identity.key.error(format_args!("no private key: {error}")))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config = match self.client_roots(files)? {
            None => config.with_no_client_auth(),
            Some((file, roots)) => {
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                config.with_client_cert_verifier(verifier.build().map_err(|error| file.error(error))?)
            }
        };
        let mut config = config
            .with_single_cert(chain, key)
            .map_err(|error| identity.certificate.error(format_args!("unusable with its key: {error}")))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    fn client_roots<'f>(&self, files: &'f OpsTls) -> Result<Option<(&'f PemFile, RootCertStore)>, String> {
        let (Some(file), Some(content)) = (&files.client_ca, &self.client_ca) else { return Ok(None) };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(file, content)? {
            roots.add(certificate).map_err(|error| file.error(error))?;
        }
        Ok(Some((file, roots)))
    }
}

fn certificates(file: &PemFile, content: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(content).collect();
    let certificates = certificates.map_err(|error| file.error(error))?;
    if certificates.is_empty() { Err(file.error("contains no certificate")) } else { Ok(certificates) }
}

/// The bytes of a connection.
pub enum Transport {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Transport {
    pub fn tcp(&self) -> &TcpStream {
        match self {
            Transport::Plain(stream) => stream,
            Transport::Tls(stream) => stream.get_ref().0,
        }
    }
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Transport::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Transport::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Transport::Tls(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Transport::Plain(stream) => stream.is_write_vectored(),
            Transport::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(stream) => Pin::new(stream).poll_flush(context),
            Transport::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Transport::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
