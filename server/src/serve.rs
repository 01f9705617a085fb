//! The service as a whole: listeners, jobs, and the order in which they start and stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderValue;
use prometheus::IntGauge;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::ops::{self, Operations, SwitchRoutes};
use crate::{pages, routes, work};
use api::endpoint::Endpoint;
use api::headers::RequestIds;
use api::pipeline::Service;
use api::router::{BASE, Document, Router};
use api::{openapi, reference, server};
use backoffice::dashboards;
use billing::sandbox;
use platform::app::{App, StartError};
use platform::clock::Clock;
use platform::config::Settings;
use platform::jobs::Runner;
use platform::routing::cache::{Snapshot, Versioned};
use voice::{calls, cdrs};

/// The operations port serves switches and a few other machines.
const OPS_CONNECTIONS: usize = 1024;

/// How often a node looks for what others changed.
const POLL: Duration = Duration::from_secs(1);

/// A running service.
pub struct Running {
    pub app: App,
    pub public: SocketAddr,
    pub ops: SocketAddr,
    pub runner: Runner<App>,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
    stop_ops: watch::Sender<bool>,
    ops_task: JoinHandle<()>,
    stop_traces: watch::Sender<bool>,
    traces_task: JoinHandle<()>,
}

/// Starts everything. Listeners open first, so that a taken port is told before anything else happens.
pub async fn start(mut settings: Settings) -> Result<Running, StartError> {
    start_with(&mut settings, routes::table()).await
}

/// The same with another table, for tests of the pipeline itself.
pub async fn start_with(settings: &mut Settings, table: Vec<Endpoint>) -> Result<Running, StartError> {
    let clock = Clock::chosen(settings.test_clock);
    start_by(settings, table, clock).await
}

/// The same by another clock.
pub async fn start_by(settings: &mut Settings, table: Vec<Endpoint>, clock: Clock) -> Result<Running, StartError> {
    let public = bind(settings.listen).await?;
    let ops = bind(settings.ops_listen).await?;
    (settings.listen, settings.ops_listen) = (public.local_addr()?, ops.local_addr()?);

    let app = App::open_with(settings.clone(), clock).await?;
    cdrs::create_partitions(&app).await?;
    let runner = work::runner(&app)?;
    let service = Service::new(app.clone(), router(&app, table)?);
    let (stop, stopping) = watch::channel(false);
    let (stop_ops, stopping_ops) = watch::channel(false);
    let (stop_traces, stopping_traces) = watch::channel(false);

    let request_ids = RequestIds::new(app.entropy);
    let operations = Operations {
        app: app.clone(),
        runner: runner.clone(),
        request_ids,
        imports: Semaphore::new(ops::IMPORTS_AT_ONCE),
        switch: SwitchRoutes::new(&app.metrics.requests),
        decisions: calls::Authorizer::new(app.clone()),
        stopping: stopping.clone(),
    };
    let (ops_address, public_address) = (settings.ops_listen, settings.listen);
    let connections = app.metrics.requests.connections.clone();
    let at_most = app.settings.connections_at_most;
    let tasks = vec![
        tokio::spawn(server::serve(public, at_most, connections, stopping.clone(), move |request, peer| {
            let service = service.clone();
            async move { service.handle(request, peer).await }
        })),
        tokio::spawn(run_jobs(runner.clone(), stopping.clone())),
        tokio::spawn(follow(app.clone(), |app| &app.addresses, stopping.clone())),
        tokio::spawn(follow(app.clone(), |app| &app.gateways, stopping.clone())),
        tokio::spawn(follow(app.clone(), |app| &app.tariff, stopping.clone())),
        tokio::spawn(write_down_traffic(app.clone(), stopping)),
    ];
    let ops_task = tokio::spawn(server::serve(ops, OPS_CONNECTIONS, IntGauge::new("ops", "ops")?, stopping_ops, {
        let operations = Arc::new(operations);
        move |request, _| {
            let operations = operations.clone();
            async move { operations.handle(request).await }
        }
    }));
    let traces_task = tokio::spawn(export_traces(app.clone(), stopping_traces));
    let (public, ops) = (public_address, ops_address);
    Ok(Running { app, public, ops, runner, stop, tasks, stop_ops, ops_task, stop_traces, traces_task })
}

async fn bind(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|error| format!("cannot listen on {address}: {error}").into())
}

async fn run_jobs(runner: Runner<App>, mut stopping: watch::Receiver<bool>) {
    runner
        .run(async move {
            // An error means that nobody can ask for a stop any more, which is one.
            let _ = stopping.wait_for(|stopping| *stopping).await;
        })
        .await;
}

/// Takes in what other nodes changed, whether or not somebody asks for it.
async fn follow<T: Versioned>(app: App, of: fn(&App) -> &Snapshot<T>, mut stopping: watch::Receiver<bool>) {
    loop {
        if let Err(error) = of(&app).current(&app.db).await {
            tracing::warn!(%error, name = T::NAME, "what this node keeps in memory could not be brought up to date");
        }
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => break,
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

async fn export_traces(app: App, stopping: watch::Receiver<bool>) {
    app.traces.export(stopping).await;
}

/// Writes down what was answered, again and again until the service stops.
async fn write_down_traffic(app: App, mut stopping: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => break,
            () = tokio::time::sleep(dashboards::EVERY) => {}
        }
        if let Err(error) = dashboards::write_down(&app).await {
            tracing::warn!(%error, "what was answered could not be written down yet");
        }
    }
}

/// The table, and the pages beside it.
fn router(app: &App, table: Vec<Endpoint>) -> Result<Router, StartError> {
    let table: Arc<[_]> = table.into_iter().map(Arc::new).collect();
    let mut documents = vec![
        ("/v1/openapi.json", description(table.clone())),
        ("/docs", reference_page(table.clone(), app.public_url.clone())?),
    ];
    documents.extend(pages::documents()?);
    Ok(Router::new(&table, documents, sandbox::screens(&app.payments))?)
}

fn description(table: Arc<[Arc<Endpoint>]>) -> Document {
    Document::new("application/json", None, move || openapi::describe(table.iter().map(Arc::as_ref)).to_string())
}

fn reference_page(table: Arc<[Arc<Endpoint>]>, public_url: String) -> Result<Document, StartError> {
    let policy = HeaderValue::from_str(reference::content_security_policy())?;
    Ok(Document::new("text/html; charset=utf-8", Some(policy), move || {
        let mut description = openapi::describe(table.iter().map(Arc::as_ref));
        // The page is read here, so its examples lead here.
        description["servers"][0]["url"] = format!("{public_url}{BASE}").into();
        reference::render(&description)
    }))
}

impl Running {
    /// Takes no more connections, lets requests and jobs that run finish, and ends. The operations port answers to the
    /// last, so that whoever balances the load sees the service draining.
    pub async fn stop(self) {
        let _ = self.stop.send(true);
        for task in self.tasks {
            finished(task).await;
        }
        // After the last request, so that none is missing.
        if let Err(error) = dashboards::write_down(&self.app).await {
            tracing::error!(%error, "what was answered in the end could not be written down");
        }
        let _ = self.stop_ops.send(true);
        finished(self.ops_task).await;
        // By now nobody has anything more to tell.
        let _ = self.stop_traces.send(true);
        finished(self.traces_task).await;
    }
}

async fn finished(task: JoinHandle<()>) {
    if let Err(error) = task.await {
        tracing::error!(%error, "a part of the service ended badly");
    }
}
