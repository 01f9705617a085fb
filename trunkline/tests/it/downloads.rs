//! Downloads by signed links.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use platform::outside::download::Download;

use crate::world::World;
use crate::world::engines::both;

/// Stores a file and signs a link to it that lives a minute.
async fn link(world: &World, content: &'static [u8], name: &str) -> String {
    let app = &world.node.app;
    let body = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(content))]);
    let stored = app.files.put(body, 1024).await.unwrap();
    let expires_at = app.clock.now().plus(Duration::from_secs(60));
    let content_type = "application/pdf".to_owned();
    app.links.sign(&Download { hash: stored.hash, file_name: name.to_owned(), content_type, expires_at })
}

both! {
    async fn a_signed_link_downloads_the_file_as_an_attachment(db) {
        let world = World::start(db).await;
        let token = link(&world, b"%PDF-1.7 invoice", "Rechnung März \"2026\".pdf").await;
        let answer = world.anyone().get(&format!("/files/{token}")).await;
        assert_eq!(answer.header("content-type"), Some("application/pdf"));
        assert_eq!(answer.header("content-length"), Some("16"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        let disposition = answer.header("content-disposition").unwrap();
        assert!(disposition.starts_with("attachment; filename*=UTF-8''Rechnung%20M%C3%A4rz"), "{disposition}");
        assert_eq!((answer.status, answer.bytes.as_slice()), (200, b"%PDF-1.7 invoice".as_slice()));
        world.end().await;
    }

    async fn an_altered_expired_or_forged_link_is_refused(db) {
        let world = World::start(db).await;
        let token = link(&world, b"secret", "a.pdf").await;
        let altered = format!("{}{}", &token[..token.len() - 1], if token.ends_with('A') { 'B' } else { 'A' });
        for bad in [altered.as_str(), "nonsense", "%00", &"A".repeat(4000)] {
            world.anyone().get(&format!("/files/{bad}")).await.problem(404, "not_found");
        }
        world.advance(61).await;
        world.anyone().get(&format!("/files/{token}")).await.problem(404, "not_found");
        world.end().await;
    }
}
