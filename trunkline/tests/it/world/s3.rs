//! A server that speaks S3 and checks every signature, with one bucket whose objects are files in a folder.
//!
//! It can stop and restart, fail, and hold back a request until the test releases it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use platform::crypto::keys::Keys;
use platform::outside::files::{Addressing, BucketSettings};
use s3s::auth::SimpleAuth;
use s3s::host::SingleDomain;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{Body, HttpResponse};
use s3s_fs::FileSystem;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use super::MASTER_SECRET;

pub const BUCKET: &str = "documents";
pub const KEY_ID: &str = "AKIATESTWORLD";
pub const SECRET: &str = "secret-of-the-test-bucket/+0123456789";
/// The name of the server where the bucket is part of the host.
pub const DOMAIN: &str = "s3.example";

pub struct S3Server {
    folder: TempDir,
    pub address: SocketAddr,
    task: JoinHandle<()>,
    service: FaultyService,
}

/// The service with the faults it injects.
#[derive(Clone)]
struct FaultyService {
    service: S3Service,
    failures: Arc<AtomicU32>,
    hold: Arc<Mutex<Option<Hold>>>,
}

struct Hold {
    method: Method,
    arrived: oneshot::Sender<()>,
    released: oneshot::Receiver<()>,
}

/// A request that the server holds back.
pub struct Held {
    arrived: oneshot::Receiver<()>,
    release: oneshot::Sender<()>,
}

impl Held {
    pub async fn arrived(&mut self) {
        (&mut self.arrived).await.unwrap();
    }

    pub fn release(self) {
        self.release.send(()).unwrap();
    }
}

impl S3Server {
    pub async fn start() -> S3Server {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut builder = S3ServiceBuilder::new(FileSystem::new(folder.path()).unwrap());
        builder.set_auth(SimpleAuth::from_single(KEY_ID, SECRET));
        builder.set_host(SingleDomain::new(&format!("{DOMAIN}:{}", address.port())).unwrap());
        let service = FaultyService { service: builder.build(), failures: Arc::default(), hold: Arc::default() };
        S3Server { folder, address, task: tokio::spawn(serve(listener, service.clone())), service }
    }

    /// Stops the server and closes every connection.
    pub async fn stop(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    /// Starts it again on the same address.
    pub async fn restart(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.task = tokio::spawn(serve(listener, self.service.clone()));
    }

    /// Makes the next requests fail like on an overloaded server.
    pub fn fail(&self, requests: u32) {
        self.service.failures.store(requests, Ordering::SeqCst);
    }

    /// How many of them are left.
    pub fn failures_left(&self) -> u32 {
        self.service.failures.load(Ordering::SeqCst)
    }

    /// Holds back the next request of this method.
    pub fn hold(&self, method: Method) -> Held {
        let ((heard, arrived), (release, released)) = (oneshot::channel(), oneshot::channel());
        *self.service.hold.lock().unwrap() = Some(Hold { method, arrived: heard, released });
        Held { arrived, release }
    }

    /// Where the bucket's objects are.
    pub fn objects(&self) -> PathBuf {
        self.folder.path().join(BUCKET)
    }

    pub fn bucket(&self) -> BucketSettings {
        BucketSettings {
            endpoint: format!("http://{}", self.address).parse().unwrap(),
            bucket: BUCKET.to_owned(),
            region: "eu-central-1".to_owned(),
            key_id: KEY_ID.to_owned(),
            secret: SECRET.to_owned(),
            addressing: Addressing::Path,
        }
    }

    /// The same as settings of a service.
    pub fn settings(&self) -> [(&'static str, String); 5] {
        [
            ("TRUNKLINE_S3_ENDPOINT", format!("http://{}", self.address)),
            ("TRUNKLINE_S3_BUCKET", BUCKET.to_owned()),
            ("TRUNKLINE_S3_REGION", "eu-central-1".to_owned()),
            ("TRUNKLINE_S3_KEY_ID", KEY_ID.to_owned()),
            ("TRUNKLINE_S3_SECRET", SECRET.to_owned()),
        ]
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Connections end with the task that serves them.
async fn serve(listener: TcpListener, service: FaultyService) {
    let mut connections = JoinSet::new();
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        let service = service.clone();
        let answer = service_fn(move |request| {
            let service = service.clone();
            async move { Ok::<_, Infallible>(service.answer(request).await) }
        });
        connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), answer));
    }
}

impl FaultyService {
    async fn answer(&self, request: Request<Incoming>) -> HttpResponse {
        let fewer = |left: u32| left.checked_sub(1);
        if self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer).is_ok() {
            let body = Body::from(
                "<Error><Code>SlowDown</Code><Message>Please reduce your rate.</Message></Error>".to_owned(),
            );
            return Response::builder().status(StatusCode::SERVICE_UNAVAILABLE).body(body).unwrap();
        }
        let held = self.hold.lock().unwrap().take_if(|hold| hold.method == *request.method());
        if let Some(hold) = held {
            hold.arrived.send(()).unwrap();
            hold.released.await.unwrap();
        }
        self.service.call(request.map(Body::from)).await.unwrap()
    }
}

/// The keys that files are sealed with.
pub fn file_keys() -> Keys {
    Keys::from_master(MASTER_SECRET.as_bytes())
}

/// Every file below a folder, in order.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect();
    files.sort();
    files
}

/// Makes every file below a folder look three days old.
pub fn age(folder: &Path) {
    for file in files_below(folder) {
        let long_ago = std::fs::metadata(&file).unwrap().modified().unwrap() - Duration::from_secs(3 * 24 * 60 * 60);
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(long_ago).unwrap();
    }
}
