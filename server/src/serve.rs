//! Starts and stops the service: both listeners, the job runner, and the tasks that keep caches up to date.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderValue;
use prometheus::{IntCounter, IntGauge};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::ops::Operations;
use crate::{demo, job_registry, pages, routes};
use api::document::Document;
use api::endpoint::Endpoint;
use api::manual::Manual;
use api::pipeline::Service;
use api::portal::{Portal, Screens};
use api::router::{BASE, Router};
use api::server::{self, ClientLimits, ConnectionMetrics, Listener, Shutdown};
use api::tls::ServerTls;
use api::{openapi, reference};
use backoffice::{dashboards, demo_data, events, service};
use billing::sandbox;
use db::Clock;
use platform::app::{App, StartError};
use platform::config::Settings;
use platform::disk;
use platform::jobs::{JobContext, JobError, JobKind, Runner};
use platform::routing::cache::{Cached, Versioned};
use platform::routing::quality;
use voice::cdrs;

/// The operations port serves switches and a few other machines.
const MAX_OPS_CONNECTIONS: usize = 1024;
/// Strangers can reach a port with TLS, so one network cannot hold all of its connections. An edge has about twenty.
const MAX_OPS_CONNECTIONS_PER_NETWORK: usize = 256;

/// How long a node that stops waits until it is out of the list of nodes.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(1);

/// How often a node checks whether another node changed what it caches.
const CACHE_POLL: Duration = Duration::from_secs(1);

/// A running service.
pub struct Running {
    pub app: App,
    pub public: SocketAddr,
    pub ops: SocketAddr,
    pub runner: Runner<App>,
    /// The screens of the portal; none without one.
    pub screens: Screens,
    drain: watch::Sender<bool>,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
    stop_ops: watch::Sender<bool>,
    ops_task: JoinHandle<()>,
    stop_traces: watch::Sender<bool>,
    traces_task: JoinHandle<()>,
}

/// Starts the service. Listeners open first, so that a port in use is reported before anything else happens.
pub async fn start(mut settings: Settings, portal: Option<Portal>) -> Result<Running, StartError> {
    let clock = Clock::new(settings.test_clock);
    start_with(&mut settings, routes::table(), portal, clock).await
}

/// Starts the service with other endpoints, for tests of the pipeline, and another clock, for tests and the demo.
pub async fn start_with(
    settings: &mut Settings,
    table: Vec<Endpoint>,
    portal: Option<Portal>,
    clock: Clock,
) -> Result<Running, StartError> {
    let public = bind(settings.listen)?;
    let ops = bind(settings.ops_listen)?;
    (settings.listen, settings.ops_listen) = (public.local_addr()?, ops.local_addr()?);
    let ops_tls = settings.ops_tls.clone().map(ServerTls::load).transpose()?.map(Arc::new);

    let app = open(settings, clock).await.map_err(|error| disk::explain(error, settings))?;
    let runner = job_registry::runner_with(&app, demo_jobs())?;
    let screens = portal.map(|portal| portal.screens()).transpose()?.unwrap_or_default();
    let service = Service::new(app.clone(), router(&app, table, portal.as_ref(), &screens)?);
    let (drain, draining) = watch::channel(false);
    let (stop, stopping) = watch::channel(false);
    let (stop_ops, stopping_ops) = watch::channel(false);
    let (stop_traces, stopping_traces) = watch::channel(false);

    let operations = Operations::new(app.clone(), runner.clone(), draining.clone());
    let (ops_address, public_address) = (settings.ops_listen, settings.listen);
    let public_shutdown =
        Shutdown { draining: draining.clone(), closing: stopping.clone(), drain: settings.clients.drain };
    let ops_shutdown = Shutdown { draining, closing: stopping_ops, drain: settings.clients.drain };
    let requests = &app.metrics.requests;
    let (open, refused) = (requests.connections.clone(), requests.connections_refused.clone());
    let tasks = vec![
        tokio::spawn(server::serve(
            Listener { tcp: public, tls: None },
            public_limits(&app.settings),
            ConnectionMetrics { open, refused },
            public_shutdown,
            move |request, peer| {
                let service = service.clone();
                async move { service.handle(request, peer).await }
            },
        )),
        tokio::spawn(run_jobs(runner.clone(), stopping.clone())),
        tokio::spawn(refresh_cache(app.clone(), |app| &app.addresses, stopping.clone())),
        tokio::spawn(refresh_cache(app.clone(), |app| &app.gateways, stopping.clone())),
        tokio::spawn(refresh_cache(app.clone(), |app| &app.tariff, stopping.clone())),
        tokio::spawn(refresh_cache(app.clone(), |app| &app.plans, stopping.clone())),
        tokio::spawn(refresh_cache(app.clone(), |app| &app.routing_policies, stopping.clone())),
        tokio::spawn(exchange_route_quality(app.clone(), stopping.clone())),
        tokio::spawn(events::read_events(app.clone(), stopping.clone())),
        tokio::spawn(report_node(app.clone(), stopping.clone())),
        tokio::spawn(flush_request_stats(app.clone(), stopping)),
    ];
    let (ops_limits, ops_metrics) = (ops_limits(&app.settings), unregistered_metrics()?);
    let ops_task =
        tokio::spawn(server::serve(Listener { tcp: ops, tls: ops_tls }, ops_limits, ops_metrics, ops_shutdown, {
            let operations = Arc::new(operations);
            move |request, peer| {
                let operations = operations.clone();
                async move { operations.handle(request, peer).await }
            }
        }));
    let traces_task = tokio::spawn(export_traces(app.clone(), stopping_traces));
    let (public, ops) = (public_address, ops_address);
    Ok(Running { app, public, ops, runner, screens, drain, stop, tasks, stop_ops, ops_task, stop_traces, traces_task })
}

/// Starts the service that the demo simulates.
pub fn start_simulated(mut settings: Settings, clock: Clock) -> demo::Pending<Result<demo::Service, StartError>> {
    Box::pin(async move {
        let running = start_with(&mut settings, routes::table(), None, clock).await?;
        let (app, runner) = (running.app.clone(), running.runner.clone());
        let (public, ops) = (running.public, running.ops);
        Ok(demo::Service { app, runner, public, ops, stop: Box::new(|| Box::pin(running.stop())) })
    })
}

/// Here and not in the registry, since the job starts a service.
fn demo_jobs() -> Vec<JobKind<App>> {
    platform::job_kinds! { demo_data::FILL => fill_demo_data, }
}

async fn fill_demo_data(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    demo::fill_running(context, payload, start_simulated).await
}

async fn open(settings: &Settings, clock: Clock) -> Result<App, StartError> {
    let app = App::open_with(settings.clone(), clock).await?;
    app.route_quality.load(&app.db, app.clock.now()).await?;
    app.routing_policies.current(&app.db).await?;
    cdrs::create_partitions(&app).await?;
    Ok(app)
}

fn bind(address: SocketAddr) -> Result<TcpListener, StartError> {
    server::bind(address).map_err(|error| format!("cannot listen on {address}: {error}").into())
}

fn public_limits(settings: &Settings) -> ClientLimits {
    ClientLimits {
        max_connections: settings.max_connections,
        max_per_network: settings.clients.max_connections,
        exempt: settings.trusted_proxies.clone(),
        window: settings.clients.window,
    }
}

/// A few machines share the operations port. Without TLS only they can reach it, so that none of them is limited alone.
fn ops_limits(settings: &Settings) -> ClientLimits {
    ClientLimits {
        max_connections: MAX_OPS_CONNECTIONS,
        max_per_network: settings.ops_tls.as_ref().map_or(MAX_OPS_CONNECTIONS, |_| MAX_OPS_CONNECTIONS_PER_NETWORK),
        exempt: Vec::new(),
        window: settings.clients.window,
    }
}

/// The connections of the operations port are in no metric.
fn unregistered_metrics() -> Result<ConnectionMetrics, StartError> {
    Ok(ConnectionMetrics { open: IntGauge::new("ops", "ops")?, refused: IntCounter::new("ops_refused", "ops")? })
}

async fn run_jobs(runner: Runner<App>, mut stopping: watch::Receiver<bool>) {
    runner
        .run(async move {
            // An error means that the sender is gone, which is a stop too.
            let _ = stopping.wait_for(|stopping| *stopping).await;
        })
        .await;
}

/// Reloads a cache when another node changed its data, also when no request uses it.
async fn refresh_cache<T: Versioned>(app: App, of: fn(&App) -> &Cached<T>, mut stopping: watch::Receiver<bool>) {
    loop {
        if let Err(error) = of(&app).current(&app.db).await {
            tracing::warn!(%error, name = T::NAME, "cache reload failed, retrying");
        }
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => break,
            () = tokio::time::sleep(CACHE_POLL) => {}
        }
    }
}

/// Shares with the other nodes how the calls of routes went, until the service stops.
async fn exchange_route_quality(app: App, mut stopping: watch::Receiver<bool>) {
    loop {
        let is_last = tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => true,
            () = tokio::time::sleep(quality::EXCHANGE_INTERVAL) => false,
        };
        if let Err(error) = app.route_quality.exchange(&app.db, app.clock.now()).await {
            tracing::warn!(%error, "sharing the quality of routes failed, retrying");
        }
        if is_last {
            break;
        }
    }
}

/// Tells the other nodes and the team that this one runs, until it stops.
async fn report_node(app: App, mut stopping: watch::Receiver<bool>) {
    loop {
        if let Err(error) = service::report(&app).await {
            tracing::warn!(%error, "reporting this node failed, retrying");
        }
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => break,
            () = tokio::time::sleep(service::REPORT_INTERVAL) => {}
        }
    }
    // Otherwise it is gone from the list a little later.
    let left = tokio::time::timeout(LEAVE_TIMEOUT, service::leave(&app)).await;
    if let Ok(Err(error)) = left {
        tracing::warn!(%error, "this node stays in the list of nodes for a minute");
    }
}

async fn export_traces(app: App, stopping: watch::Receiver<bool>) {
    app.traces.export(stopping).await;
}

/// Writes request statistics to the database at intervals until the service stops.
async fn flush_request_stats(app: App, mut stopping: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => break,
            () = tokio::time::sleep(dashboards::FLUSH_INTERVAL) => {}
        }
        if let Err(error) = dashboards::flush_traffic(&app).await {
            tracing::warn!(%error, "request stats flush failed, retrying");
        }
    }
}

/// The endpoints of `/v1`, the OpenAPI document, the API reference, the HTML pages, the manual and the portal.
fn router(
    app: &App,
    table: Vec<Endpoint>,
    portal: Option<&Portal>,
    portal_screens: &Screens,
) -> Result<Router, StartError> {
    let table: Arc<[_]> = table.into_iter().map(Arc::new).collect();
    let mut documents = vec![
        ("/v1/openapi.json", openapi_document(table.clone())),
        ("/docs", reference_page(table.clone(), app.public_url.clone())?),
    ];
    documents.extend(pages::documents(portal_screens)?);
    let mut screens = sandbox::screens(&app.payments, portal_screens);
    screens.extend(pages::screens(portal_screens));
    let manual = read_manual(&app.settings)?;
    let router = Router::new(&table, documents, screens)?.with_manual(manual.as_ref())?;
    Ok(match portal {
        Some(portal) => router.with_portal(portal)?,
        None => router,
    })
}

fn read_manual(settings: &Settings) -> Result<Option<Manual>, StartError> {
    let Some(folder) = &settings.manual_dir else { return Ok(None) };
    let manual = Manual::read(folder)
        .map_err(|error| format!("cannot read the manual in {} (TRUNKLINE_MANUAL_DIR): {error}", folder.display()))?;
    if manual.is_none() {
        tracing::warn!(folder = %folder.display(), "TRUNKLINE_MANUAL_DIR has no manual: there is no index.html");
    }
    Ok(manual)
}

fn openapi_document(table: Arc<[Arc<Endpoint>]>) -> Document {
    Document::new("application/json", None, move || openapi::describe(table.iter().map(Arc::as_ref)).to_string())
}

fn reference_page(table: Arc<[Arc<Endpoint>]>, public_url: String) -> Result<Document, StartError> {
    let policy = HeaderValue::from_str(reference::content_security_policy())?;
    Ok(Document::new("text/html; charset=utf-8", Some(policy), move || {
        let mut document = openapi::describe(table.iter().map(Arc::as_ref));
        // Examples on the page use this service's address.
        document["servers"][0]["url"] = format!("{public_url}{BASE}").into();
        reference::render(&document)
    }))
}

impl Running {
    /// Drains, so that clients and load balancers turn to other nodes, then stops accepting connections and waits for
    /// running requests and jobs. The operations port stops last, so that load balancers see that.
    pub async fn stop(self) {
        let _ = self.drain.send(true);
        // Their clients resume at other nodes.
        self.app.event_feed.close();
        tokio::time::sleep(self.app.settings.clients.drain).await;
        self.close().await;
    }

    /// Stops without draining.
    pub async fn close(self) {
        let _ = self.drain.send(true);
        self.app.event_feed.close();
        let _ = self.stop.send(true);
        for task in self.tasks {
            join(task).await;
        }
        // After the last request, so that none is missing.
        if let Err(error) = dashboards::flush_traffic(&self.app).await {
            tracing::error!(%error, "request stats flush failed at shutdown");
        }
        let _ = self.stop_ops.send(true);
        join(self.ops_task).await;
        // Last, since requests and jobs write spans.
        let _ = self.stop_traces.send(true);
        join(self.traces_task).await;
    }
}

async fn join(task: JoinHandle<()>) {
    if let Err(error) = task.await {
        tracing::error!(%error, "task of the service panicked");
    }
}
