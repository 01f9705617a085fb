//! Demo data: fills an empty database, and can then place live calls through the running service.

use std::time::Duration;

use super::switch::switch_secret;
use super::{print_line, stop_signal};
use db::Clock;
use platform::app::StartError;
use platform::config::Settings;
use platform::http_error;
use server::demo::{self, DemoData, LiveCalls, Options};
use server::serve;

const TICK: Duration = Duration::from_secs(1);

/// Fills an empty database and, if `calls_per_minute` is given, places live calls until SIGTERM or SIGINT.
pub async fn demo(settings: Settings, options: Options, calls_per_minute: Option<u32>) -> Result<(), StartError> {
    let seed = options.seed;
    if calls_per_minute.is_none() || demo::is_empty(&settings).await? {
        let (days, password) = (options.days, options.password.clone());
        let progress = |day: u32| match day {
            0 => print_line(&format!("Simulating the last {days} days ...")),
            day if day.is_multiple_of(10) => print_line(&format!("  day {day} of {days}")),
            _ => {}
        };
        let filled = demo::fill(serve::start_simulated, settings.clone(), &options, progress).await?;
        print_demo_data(&filled, &password);
    }
    match calls_per_minute {
        Some(calls) => place_calls(settings, calls, seed).await,
        None => Ok(()),
    }
}

fn print_demo_data(data: &DemoData, password: &str) {
    print_line(&format!("Done: {} calls. These users sign in with the password \"{password}\":", data.calls));
    print_line(&format!("  {:<32} admin of the operator", data.admin));
    for (email, status) in &data.customers {
        print_line(&format!("  {email:<32} {status}"));
    }
    let (email, link) = &data.support;
    print_line(&format!("{email} (support) has no password yet. This magic link works once:"));
    print_line(&format!("  {link}"));
}

/// Places calls through the running service until SIGTERM or SIGINT.
async fn place_calls(settings: Settings, calls_per_minute: u32, seed: u64) -> Result<(), StartError> {
    let service = settings.ops_url();
    let mut live = LiveCalls::new(&service, switch_secret(&settings)?, calls_per_minute, seed)?;
    live.use_tls(&settings.switch_tls)?;
    print_line(&format!("Placing calls through {service} until interrupted. The service must be running."));
    let mut interval = tokio::time::interval(TICK);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut stop, clock) = (std::pin::pin!(stop_signal()), Clock::system());
    let mut is_unreachable = false;
    loop {
        tokio::select! {
            stopped = &mut stop => return stopped.map(drop).map_err(Into::into),
            _ = interval.tick() => {}
        }
        match live.tick(clock.now()).await {
            Ok(summary) => {
                if !summary.is_empty() {
                    print_line(&summary.to_string());
                }
                is_unreachable = false;
            }
            Err(error) if !is_unreachable => {
                print_line(&format!("{} failed: {error}. Retrying.", http_error::server("The service", &service)));
                is_unreachable = true;
            }
            Err(_) => {}
        }
    }
}
