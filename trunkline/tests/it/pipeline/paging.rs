//! Paging: every row once despite concurrent changes, and cursors that cannot be altered.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use db::params;
use db::{Db, DbError};

use super::probes::{caller, world};
use crate::world::client::Client;
use crate::world::engines::both;

both! {
    async fn no_row_is_repeated_or_missed_while_others_come_and_go(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        fill(db, 1, 500).await;
        let (mut seen, mut cursor, mut fresh) = (Vec::new(), None, 501);
        loop {
            let page = page(&caller, cursor.as_deref(), 7).await;
            seen.extend(page.ids);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
            // Rows arrive at the top, and one that was shown and one that comes next disappear.
            fill(db, fresh, 3).await;
            fresh += 3;
            let last = *seen.last().unwrap();
            remove(db, last).await;
            remove(db, last - 1).await;
        }
        assert!(seen.is_sorted_by(|one, next| one > next), "a row was shown twice or out of order");
        let mut reader = db.read().await.unwrap();
        let stayed: Vec<(i64,)> = reader.all("SELECT id FROM probe_items WHERE id <= 500", &[]).await.unwrap();
        let seen: BTreeSet<i64> = seen.into_iter().collect();
        assert!(stayed.iter().all(|(id,)| seen.contains(id)), "a row that stayed was missed");
        assert!(seen.iter().all(|id| *id <= 500), "a row that came later was shown");
        drop(reader);
        world.end().await;
    }

    async fn pages_have_the_requested_length_and_the_last_has_no_cursor(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        fill(db, 1, 200).await;
        let whole = caller.get("/items?limit=200").await;
        assert_eq!((whole.header("link"), whole.body["data"].as_array().unwrap().len()), (None, 200));
        assert!(whole.body["meta"]["next_cursor"].is_null());
        let default = caller.get("/items").await.ok();
        assert_eq!((default["data"].as_array().unwrap().len(), &default["meta"]["limit"]), (50, &50.into()));
        for limit in ["0", "201", "-1", "abc", "", "1.5", "99999999999999999999"] {
            assert_eq!(caller.get(&format!("/items?limit={limit}")).await.invalid(), ["limit"], "{limit}");
        }
        assert_eq!(caller.get("/items?limit=1&limit=2").await.invalid(), ["limit"]);
        assert_eq!(caller.get("/items?page=2").await.invalid(), ["page"]);
        let several = caller.get("/items?page=2&limit=0&cursor=none&colour=a&colour=b").await;
        assert_eq!(several.invalid(), ["colour", "cursor", "limit", "page"]);
        world.end().await;
    }

    async fn the_link_header_leads_through_the_whole_list(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        fill(db, 1, 30).await;
        let (mut url, mut count) = ("/v1/items?limit=4&colour=red".to_owned(), 0);
        loop {
            let answer = caller.get(&format!("http://{}{url}", world.node.public)).await;
            count += answer.body["data"].as_array().unwrap().len();
            let Some(link) = answer.header("link") else { break };
            url = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap().to_owned();
            let cursor = answer.body["meta"]["next_cursor"].as_str().unwrap();
            assert!(url.ends_with(cursor) && url.contains("colour=red") && url.contains("limit=4"), "{url}");
        }
        assert_eq!(count, 15);
        world.end().await;
    }

    async fn a_cursor_works_only_with_its_path_and_filters(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        fill(db, 1, 30).await;
        let cursor = page(&caller, None, 5).await.next.unwrap();
        assert_eq!(caller.get(&format!("/items?cursor={cursor}&limit=9")).await.ok()["data"][0]["id"], 25);
        for query in [format!("/other-items?cursor={cursor}"), format!("/items?colour=red&cursor={cursor}")] {
            assert_eq!(caller.get(&query).await.invalid(), ["cursor"], "{query}");
        }
        let reds = caller.get("/items?colour=red&limit=2").await.ok();
        let filtered = reds["meta"]["next_cursor"].as_str().unwrap();
        assert_eq!(caller.get(&format!("/items?colour=blue&cursor={filtered}")).await.invalid(), ["cursor"]);
        assert_eq!(caller.get(&format!("/items?cursor={filtered}")).await.invalid(), ["cursor"]);
        world.end().await;
    }

    async fn a_cursor_with_any_character_changed_is_refused(db) {
        let world = world(db).await;
        let caller = caller(&world).await;
        fill(db, 1, 30).await;
        let cursor = page(&caller, None, 5).await.next.unwrap();
        for at in 0..cursor.len() {
            let other = if cursor.as_bytes()[at] == b'A' { "B" } else { "A" };
            let altered = format!("{}{other}{}", &cursor[..at], &cursor[at + 1..]);
            assert_eq!(caller.get(&format!("/items?cursor={altered}")).await.invalid(), ["cursor"], "{altered}");
        }
        for made_up in ["", "AAAA", "%00", "MQ", &"A".repeat(4000), &cursor[1..], &format!("{cursor}A")] {
            assert_eq!(caller.get(&format!("/items?cursor={made_up}")).await.invalid(), ["cursor"], "{made_up}");
        }
        world.end().await;
    }
}

struct Shown {
    ids: Vec<i64>,
    next: Option<String>,
}

async fn page(caller: &Client, cursor: Option<&str>, limit: u32) -> Shown {
    let after = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
    let body = caller.get(&format!("/items?limit={limit}{after}")).await.ok();
    let ids = body["data"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect();
    Shown { ids, next: body["meta"]["next_cursor"].as_str().map(str::to_owned) }
}

/// This many items from this id on, alternately red and blue.
async fn fill(db: &Db, first: i64, count: i64) {
    let fill = db.tx((first, count), |conn, (first, count)| {
        Box::pin(async move {
            for id in *first..first + count {
                let colour = if id % 2 == 0 { "red" } else { "blue" };
                conn.exec("INSERT INTO probe_items (id, colour) VALUES ($1, $2)", params![id, colour]).await?;
            }
            Ok::<_, DbError>(())
        })
    });
    fill.await.unwrap();
}

async fn remove(db: &Db, id: i64) {
    let remove = db.tx(id, |conn, id| {
        Box::pin(async move {
            conn.exec("DELETE FROM probe_items WHERE id = $1", params![*id]).await?;
            Ok::<_, DbError>(())
        })
    });
    remove.await.unwrap();
}
