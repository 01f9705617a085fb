//! Real calls: the program, Kamailio as the edge before it, and SIPp as phones and upstreams, all on loopback.
//!
//! Each test has a network of its own, so they neither meet nor wait for each other.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

/// Declares tests that run on SQLite alone: they are about the edge, to which databases are alike, and take their time.
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
mod files;
mod hostile;
mod killed;
mod lab;
mod limits;
mod messages;
mod orders;
mod programs;
mod sync;
mod thinking;
