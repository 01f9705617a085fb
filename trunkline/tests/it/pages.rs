//! The front page and the pages that mails link to, as a browser fetches them from a service without a portal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::BASE64;
use reqwest::Method;
use serde_json::json;

use crate::world::client::{Answer, Client};
use crate::world::engines::sqlite;
use crate::world::{ADMIN_EMAIL, PASSWORD, World};

const PAGES: [&str; 3] = ["/reset-password", "/magic-link", "/verify-email"];

fn visitor(world: &World) -> (Client, impl Fn(&str) -> String + use<>) {
    let origin = format!("http://{}", world.node.public);
    (world.anyone(), move |page: &str| format!("{origin}{page}"))
}

fn inside<'a>(page: &'a str, tag: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<{tag}>")).unwrap();
    rest.split_once(&format!("</{tag}>")).unwrap().0
}

fn policy(answer: &Answer) -> Vec<&str> {
    answer.header("content-security-policy").unwrap().split("; ").collect()
}

sqlite! {
    async fn links_in_mails_and_payment_returns_open_a_page(db) {
        let world = World::start(db).await;
        let (visitor, url) = visitor(&world);
        let answer = visitor.get(&url("/")).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/html; charset=utf-8")));
        let page = std::str::from_utf8(&answer.bytes).unwrap();
        assert!(page.contains(r#"href="/docs""#) && page.contains("make run"), "{page}");
        assert_eq!(visitor.get(&url("/docs")).await.status, 200);
        world.end().await;
    }

    async fn programs_find_the_security_contact_and_where_passwords_are_changed(db) {
        let contact = ("TRUNKLINE_SECURITY_CONTACT", "mailto:security@carrier.example");
        let world = World::with(db, &[contact, ("TRUNKLINE_PUBLIC_URL", "http://localhost:8080")]).await;
        let (visitor, url) = visitor(&world);
        let answer = visitor.get(&url("/.well-known/security.txt")).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/plain; charset=utf-8")));
        let text = String::from_utf8(answer.bytes).unwrap();
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap();
        assert_eq!(line("Contact"), "mailto:security@carrier.example");
        assert_eq!(line("Canonical"), "http://localhost:8080/.well-known/security.txt");
        let expires: values::Rfc3339 = line("Expires").parse().unwrap();
        let days = expires.0.since(world.node.app.clock.now()).as_secs() / 86_400;
        assert!((1..365).contains(&days), "{days}");
        let request = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
        let redirect = request.get(url("/.well-known/change-password")).send().await.unwrap();
        assert_eq!((redirect.status().as_u16(), &redirect.headers()["location"]), (303, &"/reset-password".parse().unwrap()));
        world.end().await;
    }

    async fn a_page_linked_in_mail_needs_no_token_and_is_not_cached(db) {
        let world = World::start(db).await;
        let (visitor, url) = visitor(&world);
        for page in PAGES {
            let answer = visitor.get(&url(page)).await;
            assert_eq!(answer.status, 200, "{page}");
            assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
            assert_eq!(answer.header("cache-control"), Some("no-cache"));
            assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
            assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        }
        world.end().await;
    }

    async fn the_content_policy_of_a_page_allows_only_its_own_script_and_style(db) {
        let world = World::start(db).await;
        let (visitor, url) = visitor(&world);
        for page in PAGES {
            let answer = visitor.get(&url(page)).await;
            let text = std::str::from_utf8(&answer.bytes).unwrap();
            let hash = |tag| BASE64.encode(digest(&SHA256, inside(text, tag).as_bytes()).as_ref());
            let expected = [
                "default-src 'none'".to_owned(),
                format!("script-src 'sha256-{}'", hash("script")),
                format!("style-src 'sha256-{}'", hash("style")),
                "connect-src 'self'".to_owned(),
                "form-action 'none'".to_owned(),
                "base-uri 'none'".to_owned(),
                "frame-ancestors 'none'".to_owned(),
            ];
            assert_eq!(policy(&answer), expected, "{page}");
            assert!(text.contains("<noscript>") && !text.contains(" style=") && !text.contains(" src="), "{page}");
        }
        world.end().await;
    }

    async fn a_page_answers_head_like_get_and_refuses_other_methods(db) {
        let world = World::start(db).await;
        let (visitor, url) = visitor(&world);
        for page in PAGES {
            let whole = visitor.get(&url(page)).await;
            let head = visitor.call(Method::HEAD, &url(page), None).await;
            assert_eq!((head.status, head.bytes.len()), (200, 0));
            assert_eq!(head.header("content-length"), Some(whole.bytes.len().to_string().as_str()));
            assert_eq!(policy(&head), policy(&whole));

            let unchanged = visitor.header("If-None-Match", whole.header("etag").unwrap()).get(&url(page)).await;
            assert_eq!(unchanged.status, 304);

            let refused = visitor.post(&url(page), json!({})).await;
            assert_eq!(refused.header("allow"), Some("GET, HEAD, OPTIONS"));
            refused.problem(405, "method_not_allowed");
        }
        world.end().await;
    }

    async fn opening_the_page_of_a_link_does_not_use_it_up(db) {
        let world = World::start(db).await;
        world.admin().await;
        world.anyone().post("/auth/forgot-password", json!({"email": ADMIN_EMAIL})).await.expect(202);
        let mail = world.mails().await.pop().unwrap();
        let (visitor, url) = visitor(&world);
        assert!(mail.text.contains(&url("/reset-password#token=")), "{}", mail.text);

        let token = mail.token();
        // A scanner that knows no better than to send the token along spends it no more than a browser does.
        for opened in [url("/reset-password"), url(&format!("/reset-password?token={token}"))] {
            assert_eq!(visitor.get(&opened).await.status, 200);
        }
        let body = json!({"token": token, "new_password": format!("{PASSWORD}, again")});
        visitor.post("/auth/reset-password", body).await.expect(204);
        world.end().await;
    }
}
