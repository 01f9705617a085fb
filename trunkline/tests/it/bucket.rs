//! Object storage under fault: wrong key, missing bucket, outages, and concurrent storing and deleting.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io;
use std::time::Duration;

use bytes::Bytes;
use db::Clock;
use futures_util::{StreamExt, TryStreamExt, stream};
use hyper::Method;
use platform::outside::files::{Addressing, BucketSettings, ContentHash, Files, FilesError, StoredFile};
use serde_json::json;
use tempfile::TempDir;

use crate::world::client::Session;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::onboarding::sign_up;
use crate::world::form::{Form, pdf};
use crate::world::s3::{BUCKET, DOMAIN, S3Server, SECRET, age, file_keys, files_below};
use crate::world::{World, process};

const UPLOAD: &str = "/me/kyb/documents";

async fn open(settings: &BucketSettings) -> (TempDir, Result<Files, FilesError>) {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    open_with(http, settings).await
}

async fn open_with(http: reqwest::Client, settings: &BucketSettings) -> (TempDir, Result<Files, FilesError>) {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::in_bucket(settings, http, folder.path(), &file_keys(), Clock::system().now()).await;
    (folder, files)
}

async fn put(files: &Files, content: &'static str) -> Result<StoredFile, FilesError> {
    files.put(stream::iter([Ok::<_, io::Error>(Bytes::from_static(content.as_bytes()))]), 1 << 20).await
}

async fn content(files: &Files, hash: &ContentHash) -> Option<Vec<u8>> {
    let (_, pieces) = files.open_read(hash).await.unwrap()?;
    Some(pieces.try_collect::<Vec<_>>().await.unwrap().concat())
}

fn is_temporary(error: &FilesError) -> bool {
    matches!(error, FilesError::Bucket(error) if error.is_temporary())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unusable_bucket_is_reported_at_the_start_without_its_secret() {
    let mut server = S3Server::start().await;
    let right = server.bucket();
    let wrong = [
        (BucketSettings { bucket: "nowhere".to_owned(), ..right.clone() }, "404 NoSuchBucket"),
        (BucketSettings { secret: format!("{SECRET}x"), ..right.clone() }, "403 SignatureDoesNotMatch"),
        (BucketSettings { key_id: "AKIANOBODY".to_owned(), ..right.clone() }, "403 "),
    ];
    for (settings, expected) in wrong {
        let error = open(&settings).await.1.err().unwrap();
        let told = format!("{error} {error:?} {settings:?}");
        assert!(told.contains(expected) && told.contains(&settings.bucket), "{told}");
        assert!(!told.contains(SECRET) && !told.contains("X-Amz"), "{told}");
        assert!(!is_temporary(&error));
    }
    server.stop().await;
    let error = open(&right).await.1.err().unwrap();
    assert!(is_temporary(&error) && error.to_string().contains("cannot be reached"), "{error}");
    assert!(!format!("{error} {error:?}").contains("X-Amz"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_can_be_addressed_in_the_host_name() {
    let server = S3Server::start().await;
    let host = format!("{BUCKET}.{DOMAIN}");
    let http = reqwest::Client::builder().no_proxy().resolve(&host, server.address).build().unwrap();
    let endpoint = format!("http://{DOMAIN}:{}", server.address.port()).parse().unwrap();
    let settings = BucketSettings { endpoint, addressing: Addressing::Host, ..server.bucket() };
    let (_folder, files) = open_with(http, &settings).await;
    let files = files.unwrap();
    let stored = put(&files, "hello").await.unwrap();
    assert_eq!(content(&files, &stored.hash).await, Some(b"hello".to_vec()));
    assert_eq!(files_below(&server.objects()), [server.objects().join(stored.hash.to_string())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_storage_request_is_retried_a_limited_number_of_times() {
    let server = S3Server::start().await;
    let (folder, files) = open(&server.bucket()).await;
    let files = files.unwrap();
    server.fail(2);
    let stored = put(&files, "hello").await.unwrap();
    assert_eq!(server.failures_left(), 0);
    server.fail(2);
    assert_eq!(content(&files, &stored.hash).await, Some(b"hello".to_vec()));
    server.fail(100);
    let error = put(&files, "world").await.unwrap_err();
    assert!(is_temporary(&error) && error.to_string().contains("503 SlowDown"), "{error}");
    assert!(server.failures_left() > 90);
    assert_eq!(files_below(folder.path()).len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn storage_works_again_after_an_outage() {
    let mut server = S3Server::start().await;
    let (_folder, files) = open(&server.bucket()).await;
    let files = files.unwrap();
    let before = put(&files, "before").await.unwrap();
    server.stop().await;
    for error in [put(&files, "meanwhile").await.err(), files.open_read(&before.hash).await.err()] {
        assert!(is_temporary(error.as_ref().unwrap()), "{error:?}");
    }
    server.restart().await;
    assert_eq!(content(&files, &before.hash).await, Some(b"before".to_vec()));
    let after = put(&files, "meanwhile").await.unwrap();
    assert_eq!(content(&files, &after.hash).await, Some(b"meanwhile".to_vec()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_download_is_an_error() {
    let mut server = S3Server::start().await;
    let (_folder, files) = open(&server.bucket()).await;
    let files = files.unwrap();
    let large = stream::iter((0..64).map(|_| Ok::<_, io::Error>(Bytes::from(vec![7; 1 << 20]))));
    let stored = files.put(large, 64 << 20).await.unwrap();
    let (_, mut pieces) = files.open_read(&stored.hash).await.unwrap().unwrap();
    pieces.next().await.unwrap().unwrap();
    server.stop().await;
    let rest: Result<Vec<Bytes>, io::Error> = pieces.try_collect().await;
    assert!(rest.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_stored_again_during_its_deletion_is_kept() {
    let server = S3Server::start().await;
    let (_folder, files) = open(&server.bucket()).await;
    let files = files.unwrap();
    let hash = put(&files, "hello").await.unwrap().hash;
    age(&server.objects());
    let cutoff = Clock::system().now().minus(Duration::from_secs(24 * 60 * 60));

    // The removal has seen that the file is old, and its request is on the way.
    let mut held = server.hold(Method::DELETE);
    let removing = tokio::spawn({
        let files = files.clone();
        async move { files.delete_older(&hash, cutoff).await }
    });
    held.arrived().await;
    // The file is stored again; the store then checks that it was not deleted.
    let mut looking = server.hold(Method::GET);
    let storing = tokio::spawn({
        let files = files.clone();
        async move { put(&files, "hello").await }
    });
    looking.arrived().await;
    held.release();
    assert!(removing.await.unwrap().unwrap());
    assert_eq!(files_below(&server.objects()).len(), 0);
    looking.release();
    storing.await.unwrap().unwrap();
    assert_eq!(content(&files, &hash).await, Some(b"hello".to_vec()));
    assert_eq!(files_below(&server.objects()).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn storing_a_file_waits_for_its_deletion_to_finish() {
    let server = S3Server::start().await;
    let (_folder, files) = open(&server.bucket()).await;
    let files = files.unwrap();
    let hash = put(&files, "hello").await.unwrap().hash;
    let removing = server.objects().join("removing").join(hash.to_string());
    std::fs::create_dir_all(&removing).unwrap();
    std::fs::write(removing.join("somebody"), "").unwrap();
    let error = put(&files, "hello").await.unwrap_err();
    assert!(is_temporary(&error) && error.to_string().contains("being deleted"), "{error}");
    // The process that left the deletion mark is dead.
    age(&removing);
    put(&files, "hello").await.unwrap();
}

/// A world whose files are in the bucket.
async fn world(db: &TestDb, server: &S3Server) -> World {
    let settings = server.settings();
    let mut names: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    names.push(("TRUNKLINE_RATE_LIMITS", "off"));
    World::with(db, &names).await
}

async fn upload(session: &Session, kind: &str, content: &[u8]) -> serde_json::Value {
    Form::document(kind, "scan.pdf", content).post(session, UPLOAD).await.expect(201)
}

both! {
    async fn documents_are_stored_in_the_bucket_and_read_by_signed_links(db) {
        let server = S3Server::start().await;
        let world = world(db, &server).await;
        let admin = world.admin().await;
        let cora = sign_up(&world, "cora@prospect.example").await;
        let mut largest = pdf("");
        largest.resize(16 * 1024 * 1024, b' ');
        upload(&cora, "company_registration", &largest).await;
        upload(&cora, "director_id", &pdf("/Director 1")).await;
        upload(&cora, "proof_of_address", &pdf("/Address 1")).await;
        let id = cora.post("/me/kyb/submit", json!({})).await.ok()["id"].as_str().unwrap().to_owned();

        let detail = admin.get(&format!("/admin/kyb/{id}")).await.ok();
        let documents = detail["documents"].as_array().unwrap();
        let registration = documents.iter().find(|it| it["doc_kind"] == "company_registration").unwrap();
        let link = registration["download_url"].as_str().unwrap();
        let path = format!("/files/{}", link.rsplit('/').next().unwrap());
        let file = world.anyone().get(&path).await;
        assert_eq!((file.status, file.header("content-length")), (200, Some("16777216")));
        assert!(file.bytes == largest);
        admin.post(&format!("/admin/kyb/{id}/approve"), json!({})).await.ok();
        assert_eq!(files_below(&server.objects()).len(), 3);
        assert_eq!(files_below(&world.data_folder().join("files")).len(), 0);

        for object in files_below(&server.objects()) {
            std::fs::remove_file(object).unwrap();
        }
        world.anyone().get(&path).await.problem(404, "not_found");
        world.end().await;
    }

    async fn a_bucket_outage_stops_only_file_transfers(db) {
        let mut server = S3Server::start().await;
        let world = world(db, &server).await;
        let cora = world.customer("cora@customer.example").await;
        server.stop().await;
        let form = || Form::document("other", "scan.pdf", &pdf("")).post(&cora, UPLOAD);
        let refused = form().await;
        assert!(refused.header("retry-after").is_some());
        refused.problem(503, "service.unavailable");
        assert_eq!(cora.get("/me/kyb").await.ok()["uploaded_docs"], json!([]));
        server.restart().await;
        form().await.expect(201);
        world.end().await;
    }

    async fn only_orphaned_objects_are_deleted_from_the_bucket_after_a_day(db) {
        let server = S3Server::start().await;
        let world = world(db, &server).await;
        let cora = world.customer("cora@customer.example").await;
        upload(&cora, "other", &pdf("/Kept 1")).await;
        let kept = files_below(&server.objects());
        let removed = upload(&cora, "other", &pdf("/Removed 1")).await;
        cora.delete(&format!("{UPLOAD}/{}", removed["id"].as_str().unwrap())).await.expect(204);
        assert_eq!(files_below(&server.objects()).len(), 2);
        world.advance(2 * 86_400).await;
        assert_eq!(files_below(&server.objects()), kept);
        world.end().await;
    }

    async fn a_service_with_a_missing_bucket_refuses_to_start_and_says_why(db) {
        let server = S3Server::start().await;
        std::fs::remove_dir(server.objects()).unwrap();
        let folder = TempDir::new().unwrap();
        let settings = server.settings();
        let names: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let refused = tokio::task::block_in_place(|| process::run(db, folder.path(), &names, &["serve"]));
        let words = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success());
        assert!(words.contains("the bucket documents at") && words.contains("404 NoSuchBucket"), "{words}");
        assert!(!words.contains(SECRET) && !words.contains("X-Amz"), "{words}");
    }
}
