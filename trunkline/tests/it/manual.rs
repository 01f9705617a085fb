//! The manual at `/manual`: a small one that is made here, in the form that mdBook gives it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::BASE64;
use reqwest::{Method, redirect};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::{TestDb, sqlite};

const THEME: &str = "const path_to_root = \"\";";
const BROWSER: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

/// A manual, and beside it a file that nobody may have.
fn built() -> TempDir {
    let folder = TempDir::new().unwrap();
    let manual = folder.path().join("manual");
    fs::create_dir_all(manual.join("css")).unwrap();
    let page = format!(
        "<!doctype html><html><script>{THEME}</script><td style=\"text-align: right\">{}</td>\
         <script src=\"book.js\"></script></html>",
        "words ".repeat(400)
    );
    for (name, text) in [
        ("manual/index.html", page.as_str()),
        ("manual/rates.html", &page),
        ("manual/book.js", "search();"),
        ("manual/css/general.css", "p { color: red }"),
        ("manual/searchindex.json", "{}"),
        ("manual/favicon.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>"),
        ("manual/.nojekyll", "hidden"),
        ("secret.txt", "outside"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    symlink(folder.path().join("secret.txt"), manual.join("link.txt")).unwrap();
    symlink(folder.path(), manual.join("up")).unwrap();
    folder
}

async fn world_with(db: &TestDb, manual: &Path) -> World {
    World::with(db, &[("TRUNKLINE_MANUAL_DIR", manual.to_str().unwrap())]).await
}

fn visitor(world: &World) -> (Client, impl Fn(&str) -> String + use<>) {
    let origin = format!("http://{}", world.node.public);
    (world.anyone(), move |path: &str| format!("{origin}{path}"))
}

/// The answer to a path that no client would send as it is.
async fn raw(world: &World, path: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(world.node.public).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

sqlite! {
    async fn the_manual_is_served_with_the_media_type_of_each_file(db) {
        let folder = built();
        let world = world_with(db, &folder.path().join("manual")).await;
        let (visitor, url) = visitor(&world);
        for (path, media_type) in [
            ("/manual/", "text/html; charset=utf-8"),
            ("/manual/index.html", "text/html; charset=utf-8"),
            ("/manual/rates.html", "text/html; charset=utf-8"),
            ("/manual/book.js", "text/javascript; charset=utf-8"),
            ("/manual/css/general.css", "text/css; charset=utf-8"),
            ("/manual/searchindex.json", "application/json"),
            ("/manual/favicon.svg", "image/svg+xml"),
        ] {
            let answer = visitor.get(&url(path)).await;
            assert_eq!((answer.status, answer.header("content-type")), (200, Some(media_type)), "{path}");
            assert_eq!(answer.header("cache-control"), Some("no-cache"), "{path}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
            let unchanged = visitor.header("If-None-Match", answer.header("etag").unwrap()).get(&url(path)).await;
            assert_eq!((unchanged.status, unchanged.bytes.len()), (304, 0), "{path}");
        }
        let packed = visitor.header("Accept-Encoding", "gzip").get(&url("/manual/")).await;
        assert_eq!(packed.header("content-encoding"), Some("gzip"));

        let client = reqwest::Client::builder().redirect(redirect::Policy::none()).no_proxy().build().unwrap();
        let redirected = client.get(url("/manual")).send().await.unwrap();
        assert_eq!(redirected.status(), 303);
        assert_eq!(redirected.headers()["location"], "/manual/");
        let refused = visitor.post(&url("/manual/"), json!({})).await;
        assert_eq!(refused.header("allow"), Some("GET, HEAD, OPTIONS"));
        refused.problem(405, "method_not_allowed");
        let head = visitor.call(Method::HEAD, &url("/manual/rates.html"), None).await;
        assert_eq!((head.status, head.bytes.len()), (200, 0));
        world.end().await;
    }

    async fn the_policy_of_a_manual_page_allows_its_own_scripts_and_nothing_from_elsewhere(db) {
        let folder = built();
        let world = world_with(db, &folder.path().join("manual")).await;
        let (visitor, url) = visitor(&world);
        let page = visitor.get(&url("/manual/")).await;
        let policy: Vec<&str> = page.header("content-security-policy").unwrap().split("; ").collect();
        let hash = BASE64.encode(digest(&SHA256, THEME.as_bytes()).as_ref());
        assert!(policy.contains(&format!("script-src 'self' 'sha256-{hash}'").as_str()), "{policy:?}");
        let style = "style-src 'self' 'unsafe-inline'";
        for part in ["default-src 'none'", style, "connect-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(&part), "{part} is missing: {policy:?}");
        }
        assert!(!policy.iter().any(|part| part.contains("http") || part.contains('*')), "{policy:?}");
        let script = visitor.get(&url("/manual/book.js")).await;
        assert_eq!(script.header("content-security-policy"), Some("default-src 'none'; frame-ancestors 'none'"));
        world.end().await;
    }

    async fn no_path_leads_out_of_the_manual(db) {
        let folder = built();
        let world = world_with(db, &folder.path().join("manual")).await;
        let (visitor, url) = visitor(&world);
        for path in [
            "/manual/../secret.txt",
            "/manual/css/../../secret.txt",
            "/manual/%2e%2e/secret.txt",
            "/manual/..%2fsecret.txt",
            "/manual/%2e%2e%2fsecret.txt",
            "/manual//etc/passwd",
            "/manual/link.txt",
            "/manual/up/secret.txt",
            "/manual/.nojekyll",
            "/manual/css",
            "/manual/css/",
        ] {
            let answer = raw(&world, path).await;
            assert!(answer.starts_with("HTTP/1.1 404 ") && !answer.contains("outside"), "{path}: {answer}");
        }
        visitor.get(&url("/manual/nowhere.html")).await.problem(404, "not_found");
        world.end().await;
    }

    async fn without_a_manual_its_paths_say_how_to_get_one(db) {
        let nothing = TempDir::new().unwrap();
        for folder in [nothing.path().to_owned(), nothing.path().join("gone"), "".into()] {
            let world = world_with(db, &folder).await;
            let (visitor, url) = visitor(&world);
            for path in ["/manual", "/manual/", "/manual/rates.html", "/manual/css/general.css"] {
                let problem = visitor.get(&url(path)).await.problem(404, "not_found");
                assert!(problem["detail"].as_str().unwrap().contains("TRUNKLINE_MANUAL_DIR"), "{path}: {problem}");
                let page = visitor.header("Accept", BROWSER).get(&url(path)).await;
                assert_eq!((page.status, page.header("content-type")), (404, Some("text/html; charset=utf-8")));
                assert!(String::from_utf8(page.bytes).unwrap().contains("TRUNKLINE_MANUAL_DIR"), "{path}");
            }
            world.stop().await;
        }
    }

    async fn a_folder_that_is_no_manual_but_something_vast_stops_the_start(db) {
        let folder = TempDir::new().unwrap();
        // Sparse, so that it takes no room.
        fs::File::create(folder.path().join("index.html")).unwrap().set_len(65 << 20).unwrap();
        let manual = ("TRUNKLINE_MANUAL_DIR", folder.path().to_str().unwrap());
        let refused = crate::world::process::run(db, &folder.path().join("data"), &[manual], &["serve"]);
        let words = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && words.contains("TRUNKLINE_MANUAL_DIR"), "{words}");
    }
}
