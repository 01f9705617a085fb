//! Multipart forms with a file, valid and invalid.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Child, Command, Stdio};

use data_encoding::HEXLOWER;
use reqwest::Method;
use serde_json::json;
use tempfile::TempDir;
use tokio::net::UnixStream;

use crate::world::World;
use crate::world::engines::both;
use crate::world::fixtures::count;
use crate::world::form::{Form, pdf, post_bytes};

const UPLOAD: &str = "/me/kyb/documents";

/// A signature of this pattern, in a string of a PDF.
const EICAR: &str = r"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*";

/// ClamAV's daemon with one signature.
struct Clamd {
    process: Child,
    address: String,
    _folder: TempDir,
}

impl Clamd {
    async fn start() -> Clamd {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("clamd.ctl");
        let signature = format!("Eicar-Test-Signature:0:*:{}\n", HEXLOWER.encode(EICAR.as_bytes()));
        std::fs::create_dir(folder.path().join("db")).unwrap();
        std::fs::write(folder.path().join("db/eicar.ndb"), signature).unwrap();
        let settings = format!(
            "DatabaseDirectory {}\nLocalSocket {}\nForeground yes\nMaxThreads 2\n",
            folder.path().join("db").display(),
            socket.display()
        );
        std::fs::write(folder.path().join("clamd.conf"), settings).unwrap();
        let process = Command::new("clamd")
            .arg("--config-file")
            .arg(folder.path().join("clamd.conf"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("clamd is in the package clamav-daemon");
        let mut clamd = Clamd { process, address: format!("unix:{}", socket.display()), _folder: folder };
        while UnixStream::connect(&socket).await.is_err() {
            assert!(clamd.process.try_wait().unwrap().is_none(), "clamd ended");
            tokio::task::yield_now().await;
        }
        clamd
    }

    fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Clamd {
    fn drop(&mut self) {
        self.stop();
    }
}

both! {
    async fn an_upload_is_scanned_for_malware_and_refused_without_a_verdict(db) {
        let mut clamd = Clamd::start().await;
        let world = World::with(db, &[("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_CLAMD", &clamd.address)]).await;
        let cora = world.customer("cora@customer.example").await;
        Form::document("other", "a.pdf", &pdf("")).post(&cora, UPLOAD).await.expect(201);
        let infected = Form::document("other", "b.pdf", &pdf(&format!("({EICAR})"))).post(&cora, UPLOAD).await;
        let problem = infected.problem(422, "validation.failed");
        assert!(problem.to_string().contains("must not contain malware (Eicar-Test-Signature"), "{problem}");
        clamd.stop();
        let unscanned = Form::document("other", "c.pdf", &pdf("(c)")).post(&cora, UPLOAD).await;
        let problem = unscanned.problem(503, "service.unavailable");
        assert!(problem["detail"].as_str().unwrap().contains("scanned for malware"), "{problem}");
        assert_eq!(count(db, "SELECT COUNT(*) FROM intake_documents").await, 1);
        world.end().await;
    }

    async fn form_parts_come_in_any_order_and_every_fault_is_named(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let scan = pdf("");
        Form::default().file("file", "a.pdf", &scan).text("doc_kind", "other").post(&cora, UPLOAD).await.expect(201);
        let faults: [(Form, &[&str]); 9] = [
            (Form::default(), &["doc_kind", "file"]),
            (Form::default().text("doc_kind", "other"), &["file"]),
            (Form::default().file("file", "a.pdf", &scan), &["doc_kind"]),
            (Form::document("selfie", "a.pdf", &scan), &["doc_kind"]),
            (Form::document("No Kind", "a.pdf", &scan), &["doc_kind"]),
            (Form::document("other", "a.pdf", &scan).text("colour", "blue"), &["colour"]),
            (Form::document("other", "a.pdf", &scan).file("file", "b.pdf", &scan), &["file"]),
            (Form::document("other", "a.pdf", &scan).file("second", "b.pdf", &scan), &["second"]),
            (
                Form::document("No Kind", "a.pdf", b"text").text("colour", "blue").text("colour", &"a".repeat(2_000)),
                &["colour", "doc_kind", "file"],
            ),
        ];
        for (form, names) in faults {
            assert_eq!(form.post(&cora, UPLOAD).await.invalid(), names);
        }
        let long = Form::default().text("doc_kind", &"a".repeat(2_000)).file("file", "a.pdf", &scan);
        assert_eq!(long.post(&cora, UPLOAD).await.invalid(), ["doc_kind"]);
        world.end().await;
    }

    async fn an_unreadable_form_is_malformed(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let whole = Form::document("other", "a.pdf", &pdf("")).finish();
        let endless_head = [b"--a-boundary-that-is-in-no-file\r\nX: ".as_slice(), &vec![b'a'; 1 << 20]].concat();
        let many = (0..9).fold(Form::default(), |form, number| form.text(&format!("t{number}"), "x"));
        let cut_short = whole[..whole.len() - 40].to_vec();
        for broken in [Vec::new(), b"nonsense".to_vec(), cut_short, endless_head, many.finish()] {
            post_bytes(&cora, UPLOAD, broken).await.problem(400, "request.malformed");
        }
        let other_type = cora.post(UPLOAD, json!({"doc_kind": "other"})).await;
        other_type.problem(415, "request.unsupported_media_type");
        let no_boundary = cora.request(Method::POST, UPLOAD).header("content-type", "multipart/form-data").body(whole);
        cora.send(no_boundary).await.problem(400, "request.malformed");
        let left = std::fs::read_dir(world.data_folder().join("files/incoming")).unwrap().count();
        assert_eq!(left, 0);
        world.end().await;
    }
}
