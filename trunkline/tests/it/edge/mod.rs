//! Real calls: the program, Kamailio as the edge before it, and SIPp as phones and upstreams, all on loopback.
//!
//! Each test has its own addresses, so tests do not disturb each other.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

/// Declares tests that run on SQLite alone: they test the edge, not the database, and are slow.
macro_rules! on_sqlite {
    ($(async fn $name:ident($db:ident) $body:block)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                $crate::world::engines::TestDb::sqlite().await.run(async |$db| $body).await;
            }
        )*
    };
}

mod calls;
mod failing_upstream;
mod files;
mod hang_up;
mod hostile;
mod killed;
mod lab;
mod limits;
mod messages;
mod names;
mod programs;
mod proofs;
mod settings;
mod slow_service;
mod spoofed;
mod sync;
mod targets;
mod tls;
