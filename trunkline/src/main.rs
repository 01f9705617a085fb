//! The command line and nothing else.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use platform::app::StartError;
use platform::config::Settings;
use server::cli::{self, Revived};
use server::demo::{FEWEST_DAYS, MOST_DAYS, Options, PASSWORD};
use uuid::Uuid;

/// Requests allocate much and briefly, on several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(name = "trunkline", version, about = "A wholesale voice platform in one binary")]
struct Arguments {
    /// A TOML file with settings; the environment wins over it.
    #[arg(long, global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run the service (the default).
    Serve,
    /// Bring the database up to date.
    Migrate,
    /// Manage the carrier's team.
    #[command(subcommand)]
    Admin(Admin),
    /// Prove the audit log.
    #[command(subcommand)]
    Audit(Audit),
    /// Look at the mails the service writes.
    #[command(subcommand)]
    Mail(Mail),
    /// Prove the ledger.
    #[command(subcommand)]
    Ledger(Ledger),
    /// Take exchange rates in.
    #[command(subcommand)]
    Fx(Fx),
    /// Take rate decks in.
    #[command(subcommand)]
    Rates(Rates),
    /// Take records of calls in, and prove them.
    #[command(subcommand)]
    Cdrs(Cdrs),
    /// Look at work that was given up, and have it tried again.
    #[command(subcommand)]
    Jobs(Jobs),
    /// Keep the files of a switch on this machine in step with the service. The switch secret is
    /// TRUNKLINE_SWITCH_SECRET, or the one in the data folder.
    #[command(subcommand)]
    Switch(Switch),
    /// Fill an empty database with customers, calls and money of the last months.
    Demo(Demo),
    /// Print the OpenAPI description.
    Openapi,
}

#[derive(clap::Args)]
struct Demo {
    /// How many days it begins ago.
    #[arg(long, default_value_t = 92, value_parser = clap::value_parser!(u32).range(i64::from(FEWEST_DAYS)..=i64::from(MOST_DAYS)))]
    days: u32,
    /// How many calls there are, about.
    #[arg(long, default_value_t = 40_000, value_parser = clap::value_parser!(u32).range(0..=2_000_000))]
    calls: u32,
    /// The same seed draws the same people, prices and calls again.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What everybody signs in with.
    #[arg(long, default_value = PASSWORD)]
    password: String,
    /// Then keep calls coming to the running service, until told to stop.
    #[arg(long)]
    live: bool,
    /// How many of these begin in a minute.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=6000))]
    calls_per_minute: u32,
}

#[derive(Subcommand)]
enum Admin {
    /// Make the first admin. The password is read from standard input.
    Bootstrap {
        #[arg(long)]
        legal_name: String,
        #[arg(long)]
        name: String,
        #[arg(long)]
        email: String,
    },
    /// Print a magic link for a user, when mail is no way to reach it.
    Link {
        #[arg(long)]
        email: String,
    },
}

#[derive(Subcommand)]
enum Audit {
    /// Recompute the whole chain; fails at the first row that does not follow.
    Verify,
}

#[derive(Subcommand)]
enum Mail {
    /// Write a sample of every mail, as HTML and as text; index.html shows them all.
    Preview {
        #[arg(long, default_value = "mail-preview", value_name = "FOLDER")]
        out: PathBuf,
    },
}

#[derive(Subcommand)]
enum Ledger {
    /// Recompute every balance, hold and sum from the postings; fails at the first that differs.
    Verify,
}

#[derive(Subcommand)]
enum Fx {
    /// Import a file of the European Central Bank's reference rates, of a day or of several.
    Import {
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Subcommand)]
enum Rates {
    /// Import a deck from a CSV file, and wait until it is in force.
    Import {
        /// The id of the upstream whose deck it is.
        #[arg(long, value_name = "ID")]
        upstream: String,
        /// Only tell what would change.
        #[arg(long)]
        dry_run: bool,
        /// Let prefixes stay that the file does not name.
        #[arg(long)]
        merge: bool,
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Subcommand)]
enum Cdrs {
    /// Import finished calls of another switch, one JSON object to a line. Lines that were imported before are passed
    /// over.
    Import {
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Count everything again that is kept beside the records; fails at the first that differs.
    Verify,
}

#[derive(Subcommand)]
enum Jobs {
    /// List the jobs that failed too often, newest first.
    Dead,
    /// Try dead jobs again: those with these ids, or all of a kind.
    #[command(group = clap::ArgGroup::new("which").required(true))]
    Rerun {
        #[arg(group = "which", value_name = "ID")]
        ids: Vec<Uuid>,
        #[arg(long, group = "which")]
        kind: Option<String>,
    },
}

#[derive(Subcommand)]
enum Switch {
    /// Write dispatcher.list and address.list once.
    Render {
        #[command(flatten)]
        place: Place,
    },
    /// Write them whenever they change, and have the switch read them again, until told to stop.
    Sync {
        #[command(flatten)]
        place: Place,
        /// Where the switch takes orders.
        #[arg(long, default_value = "http://127.0.0.1:8060", value_name = "URL")]
        control: String,
    },
}

#[derive(clap::Args)]
struct Place {
    /// The folder of the switch's files.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// The service's operations port; the one of these settings unless given.
    #[arg(long, value_name = "URL")]
    service: Option<String>,
}

impl Demo {
    async fn run(self, settings: Settings) -> Result<(), StartError> {
        let Demo { days, calls, seed, password, live, calls_per_minute } = self;
        let options = Options { days, calls, seed, password };
        cli::demo(settings, options, live.then_some(calls_per_minute)).await
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            cli::complain(&*error);
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<(), StartError> {
    if let Some(Command::Openapi) = arguments.command {
        return cli::print_openapi();
    }
    let settings = Settings::load(arguments.config.as_deref())?;
    // A thread that hashed a password keeps what that took as long as it lives.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_keep_alive(Duration::from_secs(1)).build()?;
    runtime.block_on(async {
        match arguments.command.unwrap_or(Command::Serve) {
            Command::Serve => cli::serve(settings).await,
            Command::Migrate => cli::migrate(settings).await,
            Command::Admin(Admin::Bootstrap { legal_name, name, email }) => {
                cli::bootstrap(settings, &legal_name, &name, &email).await
            }
            Command::Admin(Admin::Link { email }) => cli::link(settings, &email).await,
            Command::Audit(Audit::Verify) => cli::verify_audit(settings).await,
            Command::Mail(Mail::Preview { out }) => cli::preview_mail(&settings, &out),
            Command::Ledger(Ledger::Verify) => cli::verify_ledger(settings).await,
            Command::Fx(Fx::Import { file }) => cli::import_fx(settings, &file).await,
            Command::Cdrs(Cdrs::Import { file }) => cli::import_cdrs(settings, &file).await,
            Command::Cdrs(Cdrs::Verify) => cli::verify_cdrs(settings).await,
            Command::Rates(Rates::Import { upstream, dry_run, merge, file }) => {
                cli::import_rates(settings, &upstream, &file, merge, dry_run).await
            }
            Command::Jobs(Jobs::Dead) => cli::dead_jobs(settings).await,
            Command::Jobs(Jobs::Rerun { ids, kind }) => {
                cli::rerun_jobs(settings, kind.map_or(Revived::These(ids), Revived::Kind)).await
            }
            Command::Switch(Switch::Render { place }) => cli::render_switch(settings, place.service, place.out).await,
            Command::Switch(Switch::Sync { place, control }) => {
                cli::sync_switch(settings, place.service, place.out, &control).await
            }
            Command::Demo(demo) => demo.run(settings).await,
            Command::Openapi => cli::print_openapi(),
        }
    })
}
