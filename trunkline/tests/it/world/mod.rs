//! The test harness: the whole service on free ports with its own database, called over HTTP.
//!
//! ```ignore
//! both! {
//!     async fn a_user_sees_itself(db) {
//!         let world = World::start(db).await;
//!         let admin = world.admin().await;
//!         assert_eq!(admin.get("/me").await.ok()["user"]["email"], "admin@carrier.example");
//!         world.end().await;
//!     }
//! }
//! ```

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod accounts;
pub mod authenticator;
pub mod certificates;
pub mod client;
pub mod daemon;
pub mod did_supplier;
pub mod engines;
pub mod fixtures;
pub mod form;
pub mod money;
pub mod outbox;
pub mod passkey;
pub mod payer;
pub mod process;
pub mod receiver;
pub mod revolut;
pub mod s3;
pub mod standby;
mod tokens;
pub mod vies;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use api::endpoint::Endpoint;
use api::portal::Portal;
use db::Clock;
use platform::app::StartError;
use platform::audit;
use platform::config::Settings;
use platform::crypto::passwords::Cost;
use platform::ledger;
use serde_json::{Value, json};
use server::serve::{self, Running};
use tempfile::TempDir;
use values::{Role, UserId};
use voice::cdrs;

use client::{Client, Session};
use engines::TestDb;

/// How long a caller with certificates waits for an answer.
const PATIENCE: Duration = Duration::from_secs(300);

/// The time of day (UTC) at which the clock of every world starts.
const MORNING_SECONDS: i64 = 10 * 3600;

pub const ADMIN_EMAIL: &str = "admin@carrier.example";
pub const PASSWORD: &str = "correct horse battery staple";
// Made with `openssl rand -hex 32`: worlds with a real payment provider refuse anything else.
pub const BOOTSTRAP_TOKEN: &str = "0825121a530371704ffae2f14bad7ccc238e96a4ad6cd2145e71ffe62fe2a791";
pub const SWITCH_SECRET: &str = "b1f6fb3b7561fd3c3dd1b29120f161aead3b4804457e78d3b94fe6ff6b19b087";
pub const CLOCK_SECRET: &str = "9e62a1d98d9905402688ddfca30c268d3048fd10449aa299d81ebac94a4e259b";
pub const JWT_SECRET: &str = "cf5298d7b238e0e37cda32c3f07b4e6985732a2fe43986daf22b94a79cb8e59b";
pub const MASTER_SECRET: &str = "90651caee0bf636882ece7159ff273374e7c1584d5fc19cc42617af39c1f95c1";

/// A client without TLS: reading the system's certificates is slow.
pub fn plain_http() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap()
}

/// One service, or several on one database.
pub struct World {
    pub node: Running,
    folder: Arc<TempDir>,
    database_url: String,
    client: reqwest::Client,
    settings: BTreeMap<String, String>,
}

impl World {
    /// A world with all rate limits on.
    pub async fn start(db: &TestDb) -> World {
        World::with(db, &[]).await
    }

    /// A world without rate limits or lock-outs, for tests that make many requests about something else.
    pub async fn unlimited(db: &TestDb) -> World {
        World::with(db, &[("TRUNKLINE_RATE_LIMITS", "off")]).await
    }

    pub async fn with(db: &TestDb, settings: &[(&str, &str)]) -> World {
        World::with_table(db, settings, server::routes::table()).await
    }

    /// A world with endpoints of its own, for tests of what holds for every endpoint.
    pub async fn with_table(db: &TestDb, settings: &[(&str, &str)], table: Vec<Endpoint>) -> World {
        World::at(db.url.clone(), settings, table).await
    }

    /// A world on the database at this URL.
    pub async fn at(database_url: String, settings: &[(&str, &str)], table: Vec<Endpoint>) -> World {
        World::launch(Arc::new(TempDir::new().unwrap()), database_url, World::names(settings), table).await
    }

    /// A world with this portal, unless the service refuses to start with it.
    pub async fn with_portal(db: &TestDb, portal: Portal) -> Result<World, StartError> {
        let (folder, names) = (Arc::new(TempDir::new().unwrap()), World::names(&[("TRUNKLINE_RATE_LIMITS", "off")]));
        World::try_launch(folder, db.url.clone(), names, server::routes::table(), Some(portal)).await
    }

    /// The settings of a world, those given among them.
    fn names(settings: &[(&str, &str)]) -> BTreeMap<String, String> {
        let mut names: BTreeMap<String, String> = [
            ("TRUNKLINE_LISTEN", "127.0.0.1:0"),
            ("TRUNKLINE_OPS_LISTEN", "127.0.0.1:0"),
            ("TRUNKLINE_DRAIN_SECONDS", "0"),
            // PostgreSQL spends more on opening a connection than most tests do on using it.
            ("TRUNKLINE_DATABASE_CONNECTIONS", "6"),
            ("TRUNKLINE_BOOTSTRAP_TOKEN", BOOTSTRAP_TOKEN),
            ("TRUNKLINE_SWITCH_SECRET", SWITCH_SECRET),
            ("TRUNKLINE_CLOCK_SECRET", CLOCK_SECRET),
            ("TRUNKLINE_JWT_SECRET", JWT_SECRET),
            ("TRUNKLINE_MASTER_SECRET", MASTER_SECRET),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        names.extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        names
    }

    /// Stops the node and starts one with these settings changed, on the same database and data folder.
    pub async fn restart_with(self, settings: &[(&str, &str)]) -> World {
        let (folder, url, mut names) = (self.folder.clone(), self.database_url.clone(), self.settings.clone());
        names.extend(settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self.stop().await;
        World::launch(folder, url, names, server::routes::table()).await
    }

    /// A second node on the same database and data folder. End the first world last.
    pub async fn another_node(&self) -> World {
        let (folder, url) = (self.folder.clone(), self.database_url.clone());
        let other = World::launch(folder, url, self.settings.clone(), server::routes::table()).await;
        let ahead = self.node.app.clock.now().since(other.node.app.clock.now());
        other.node.app.clock.advance(ahead);
        other
    }

    async fn launch(
        folder: Arc<TempDir>,
        database_url: String,
        names: BTreeMap<String, String>,
        table: Vec<Endpoint>,
    ) -> World {
        World::try_launch(folder, database_url, names, table, None).await.unwrap()
    }

    async fn try_launch(
        folder: Arc<TempDir>,
        database_url: String,
        names: BTreeMap<String, String>,
        table: Vec<Endpoint>,
        portal: Option<Portal>,
    ) -> Result<World, StartError> {
        let mut settings = Settings::from_names(names.clone(), BTreeMap::new()).unwrap();
        settings.data_dir = folder.path().to_owned();
        settings.password_cost = Cost::Minimal;
        // A test that sets it has the system's time, as other programs do. Otherwise it is set here and not by its name,
        // which is refused beside a real payment provider: in tests that is a stand-in.
        let clock =
            if names.contains_key("TRUNKLINE_TEST_CLOCK") { Clock::new(settings.test_clock) } else { morning() };
        settings.test_clock = clock.is_movable();
        settings.database_url = Some(database_url.clone());
        let node = serve::start_with(&mut settings, table, portal, clock).await?;
        let client = if settings.switch_tls.has_files() {
            platform::edge::http_client(&settings.switch_tls, PATIENCE).unwrap()
        } else {
            plain_http()
        };
        Ok(World { node, folder, database_url, client, settings: names })
    }

    /// A caller without a token.
    pub fn anyone(&self) -> Client {
        Client::new(self.client.clone(), format!("http://{}/v1", self.node.public), None)
    }

    /// A caller with this access token.
    pub fn bearing(&self, token: &str) -> Client {
        Client::new(self.client.clone(), format!("http://{}/v1", self.node.public), Some(token.to_owned()))
    }

    /// A caller of the operations port with the switch secret.
    pub fn operations(&self) -> Client {
        Client::new(self.client.clone(), self.ops_url(), Some(SWITCH_SECRET.to_owned()))
    }

    fn ops_url(&self) -> String {
        self.node.app.settings.ops_url()
    }

    /// A caller of the operations port without the switch secret.
    pub fn anyone_at_operations(&self) -> Client {
        Client::new(plain_http(), format!("http://{}", self.node.ops), None)
    }

    pub async fn bootstrap(&self, email: &str) -> client::Answer {
        self.anyone()
            .header("X-Bootstrap-Token", BOOTSTRAP_TOKEN)
            .post(
                "/admin/bootstrap",
                json!({"legal_name": "Carrier BV", "contact_name": "Ada Admin", "contact_email": email, "password": PASSWORD}),
            )
            .await
    }

    /// The first admin, bootstrapped and signed in.
    pub async fn admin(&self) -> Session {
        self.bootstrap(ADMIN_EMAIL).await.expect(201);
        self.sign_in(ADMIN_EMAIL).await
    }

    /// A customer of its own account, signed in.
    pub async fn customer(&self, email: &str) -> Session {
        self.user(email, Role::Customer).await;
        self.sign_in(email).await
    }

    /// A user in an account of its own, with the usual password.
    pub async fn user(&self, email: &str, role: Role) -> UserId {
        let hash = self.node.app.passwords.hash(PASSWORD).await.unwrap();
        let now = self.node.app.clock.now();
        let insert = self.node.app.db.tx((email.to_owned(), role, hash, now), |conn, (email, role, hash, now)| {
            Box::pin(async move {
                let account = accounts::live_account(conn, email, *now).await?;
                accounts::user_of(conn, account, email, *role, Some(hash.clone()), *now).await
            })
        });
        insert.await.unwrap()
    }

    /// Signs in a user who has no second factor.
    pub async fn sign_in(&self, email: &str) -> Session {
        let session = self.try_sign_in(email, PASSWORD).await.ok();
        self.session(&session)
    }

    pub async fn try_sign_in(&self, email: &str, password: &str) -> client::Answer {
        self.anyone().post("/auth/sign-in", json!({"email": email, "password": password})).await
    }

    /// The session in a response's body.
    pub fn session(&self, body: &Value) -> Session {
        Session::new(self.bearing(body["access_token"].as_str().unwrap()), body)
    }

    /// Advances the clock; every job that became due has run when this returns.
    pub async fn advance(&self, seconds: u64) {
        let clock = Client::new(self.client.clone(), self.ops_url(), Some(CLOCK_SECRET.to_owned()));
        clock.post("/ops/clock", json!({"advance_seconds": seconds})).await.expect(200);
    }

    /// Runs all due jobs.
    pub async fn settle(&self) {
        self.advance(0).await;
    }

    pub fn data_folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Every mail sent so far, oldest first.
    pub async fn mails(&self) -> Vec<outbox::Mail> {
        self.settle().await;
        outbox::read(&self.folder.path().join("outbox"))
    }

    /// Ends the world after checking that no job is dead and that audit chain, ledger and CDRs verify.
    pub async fn end(self) {
        self.settle().await;
        let app = self.node.app.clone();
        let dead = platform::jobs::list_dead(&mut app.db.read().await.unwrap(), None, 10).await.unwrap();
        assert!(dead.is_empty(), "jobs died: {dead:?}");
        audit::verify(&mut app.db.read().await.unwrap(), &app.keys).await.unwrap().expect("the audit chain holds");
        let verified = app.db.snapshot((), |conn, ()| Box::pin(ledger::verify(conn))).await.unwrap();
        verified.unwrap_or_else(|fault| panic!("the ledger is wrong: {fault}"));
        let verified = app.db.snapshot((), |conn, ()| Box::pin(cdrs::verify(conn))).await.unwrap();
        verified.unwrap_or_else(|fault| panic!("the CDRs are wrong: {fault}"));
        self.node.stop().await;
    }

    /// Ends the world like [`end`](World::end) and returns its data folder.
    pub async fn take_folder(self) -> Arc<TempDir> {
        let folder = self.folder.clone();
        self.end().await;
        folder
    }

    /// Stops a node without those checks.
    pub async fn stop(self) {
        self.node.stop().await;
    }

    /// What the service's clock says, in Unix seconds.
    pub fn seconds(&self) -> i64 {
        self.node.app.clock.now().seconds()
    }

    /// Advances the clock to the start of the next window of this length, so that no window ends during a test.
    pub async fn advance_to_next(&self, window_seconds: i64) {
        let ahead = window_seconds - self.seconds().rem_euclid(window_seconds);
        self.advance(ahead.unsigned_abs()).await;
    }

    pub async fn refresh(&self, refresh_token: &str) -> client::Answer {
        self.anyone().post("/auth/refresh", json!({"refresh_token": refresh_token})).await
    }
}

/// A test clock that starts at the next morning, so that no test depends on the time of day at which it runs.
fn morning() -> Clock {
    static AHEAD: OnceLock<Duration> = OnceLock::new();
    let clock = Clock::movable();
    clock.advance(*AHEAD.get_or_init(|| {
        let ahead_seconds = (MORNING_SECONDS - clock.now().seconds()).rem_euclid(24 * 3600);
        Duration::from_secs(ahead_seconds.unsigned_abs())
    }));
    clock
}
