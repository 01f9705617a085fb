//! The state of the service, as the team sees it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use backoffice::service;
use db::MIGRATIONS;
use serde_json::{Value, json};
use values::Role;

use crate::world::World;
use crate::world::engines::{both, postgres};
use crate::world::fixtures::switch::Scene;

async fn status(world: &World) -> Value {
    world.minted(Role::Support).await.get("/admin/service").await.ok()
}

both! {
    async fn the_team_sees_the_database_the_jobs_and_this_node(db) {
        let world = World::unlimited(db).await;
        service::report(&world.node.app).await.unwrap();
        let shown = status(&world).await;
        let engine = if db.is_shared() { "postgresql" } else { "sqlite" };
        let database = &shown["database"];
        assert_eq!((&database["engine"], &database["migrations"]), (&json!(engine), &json!(MIGRATIONS.len())));
        assert!(database["version"].as_str().unwrap().contains('.') && database["pending_migrations"] == 0, "{database}");
        let classes: Vec<&str> = shown["job_classes"].as_array().unwrap().iter().map(|one| one["class"].as_str().unwrap()).collect();
        assert_eq!(classes, ["money", "payments", "mail", "outside", "webhooks", "bulk"]);
        assert_eq!((&shown["dead_jobs"], &shown["lab"], &shown["edges"]), (&json!(0), &json!(true), &json!([])));
        let nodes = shown["nodes"].as_array().unwrap();
        assert_eq!((nodes.len(), &nodes[0]["current"]), (1, &json!(true)));
        assert_eq!((&nodes[0]["version"], &nodes[0]["started_at"]), (&shown["version"], &shown["started_at"]));
        // However long it did not report itself, it is there.
        world.advance(3600).await;
        assert_eq!(status(&world).await["nodes"].as_array().unwrap().len(), 1);
        world.end().await;
    }

    async fn an_edge_is_listed_for_a_day_after_its_last_call(db) {
        let scene = Scene::start(db, 100_000).await;
        scene.allowed(json!({})).await;
        service::report(&scene.world.node.app).await.unwrap();
        let edges = status(&scene.world).await["edges"].clone();
        assert_eq!((edges.as_array().unwrap().len(), &edges[0]["alive"]), (1, &json!(true)));
        assert!(edges[0]["edge_id"].is_string(), "{edges}");
        scene.world.advance(3600).await;
        assert_eq!(status(&scene.world).await["edges"][0]["alive"], false);
        scene.world.advance(24 * 3600).await;
        assert_eq!(status(&scene.world).await["edges"], json!([]));
        scene.world.end().await;
    }
}

postgres! {
    async fn all_nodes_are_listed_until_they_stop(db) {
        let world = World::unlimited(db).await;
        let other = world.another_node().await;
        for node in [&world, &other] {
            service::report(&node.node.app).await.unwrap();
        }
        let nodes = status(&world).await["nodes"].clone();
        let current: Vec<bool> = nodes.as_array().unwrap().iter().map(|node| node["current"].as_bool().unwrap()).collect();
        assert_eq!((current.len(), current.iter().filter(|current| **current).count()), (2, 1));
        other.stop().await;
        assert_eq!(status(&world).await["nodes"].as_array().unwrap().len(), 1);
        world.end().await;
    }
}
