//! The command line: arguments, and the command that each runs (`cli`).

mod cli;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use cli::{CdrArchive, JobSelection};
use platform::app::StartError;
use platform::config::{self, Settings};
use server::demo::{self, MAX_DAYS, MIN_DAYS, Options};
use uuid::Uuid;

/// Faster than the system allocator for many short-lived allocations on several threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(name = "trunkline", version, about = "A wholesale voice platform in one binary")]
struct Arguments {
    /// TOML file with settings; environment variables override it.
    #[arg(long, global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run the service (the default)
    #[command(after_long_help = config::help())]
    Serve,
    /// Check and show settings
    #[command(subcommand)]
    Config(Config),
    /// Check what the service depends on; fails if something does not work
    Doctor,
    /// Ask the service on this machine whether it is ready; fails if not, for health checks
    Ready,
    /// Apply database migrations
    Migrate {
        /// Apply none; fail if some are pending, or the database is newer than this binary.
        #[arg(long, conflicts_with = "plan")]
        check: bool,
        /// Apply none; list those that are pending, and whether nodes can serve meanwhile.
        #[arg(long)]
        plan: bool,
    },
    /// Write a backup of database, files and secrets while the service runs
    ///
    /// It is sealed with TRUNKLINE_BACKUP_PASSPHRASE, or with a passphrase that is asked for.
    Backup {
        /// File to write; it must not exist.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Restore a backup into an empty installation, and verify it
    Restore {
        /// Only read the backup to its end.
        #[arg(long)]
        check: bool,
        /// Backup to read.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Write everything that is stored about a customer to a folder
    Export {
        /// Id of the customer.
        #[arg(value_name = "CUSTOMER")]
        customer: String,
        /// Folder to create; by default export-CUSTOMER.
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
    /// Erase the personal data of a customer who has nothing open
    ///
    /// What the law requires stays: invoices, ledger, payments, VAT evidence, the audit log, and the numbers in CDRs
    /// for TRUNKLINE_CALL_NUMBERS_DAYS.
    Erase {
        /// Id of the customer.
        #[arg(value_name = "CUSTOMER")]
        customer: String,
        /// Keep the documents of its intakes.
        #[arg(long)]
        keep_documents: bool,
    },
    /// Create the first admin, and magic links
    #[command(subcommand)]
    Admin(Admin),
    /// Verify the audit chain
    #[command(subcommand)]
    Audit(Audit),
    /// Preview the mails that the service sends
    #[command(subcommand)]
    Mail(Mail),
    /// Verify the ledger
    #[command(subcommand)]
    Ledger(Ledger),
    /// Import exchange rates
    #[command(subcommand)]
    Fx(Fx),
    /// Import rate decks
    #[command(subcommand)]
    Rates(Rates),
    /// Import and verify CDRs, and read their archive
    #[command(subcommand)]
    Cdrs(Cdrs),
    /// List and retry dead jobs
    #[command(subcommand)]
    Jobs(Jobs),
    /// Rotate the master secret
    #[command(subcommand)]
    Secrets(Secrets),
    /// Write the configuration files of a switch on this machine
    ///
    /// The switch secret is TRUNKLINE_SWITCH_SECRET, or the one in the data folder.
    #[command(subcommand)]
    Switch(Switch),
    /// Forward events of a running service to a URL, signed like webhooks
    ///
    /// TRUNKLINE_URL is the address of the service, TRUNKLINE_API_KEY the token.
    Listen {
        /// URL to post every event to.
        #[arg(long, value_name = "URL")]
        forward_to: String,
        /// Secret to sign with; by default a new one, which is printed.
        #[arg(long, value_name = "SECRET")]
        secret: Option<String>,
        #[command(flatten)]
        source: EventOptions,
    },
    /// Read events of a running service
    #[command(subcommand)]
    Events(Events),
    /// Fill an empty database with demo data
    Demo(Demo),
    /// Print the OpenAPI document
    Openapi,
    /// Print a script that completes commands in a shell
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write the manual pages of all commands
    Man {
        /// Folder to write to.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
    },
}

#[derive(Subcommand)]
enum Config {
    /// Report every fault in the settings, with the line of the file
    Check,
    /// Print the settings in force and where each comes from; secrets are hidden
    Show,
    /// Print a settings file with every setting commented out
    Example,
}

#[derive(Subcommand)]
enum Events {
    /// Print every new event as a line of JSON
    ///
    /// TRUNKLINE_URL is the address of the service, TRUNKLINE_API_KEY the token.
    Tail {
        #[command(flatten)]
        source: EventOptions,
    },
}

#[derive(clap::Args)]
struct EventOptions {
    /// Types of events, separated by commas; all by default.
    #[arg(long, value_delimiter = ',', value_name = "TYPES")]
    types: Vec<String>,
    /// Events of all customers, for a token of the team.
    #[arg(long)]
    team: bool,
}

impl From<EventOptions> for cli::EventSource {
    fn from(options: EventOptions) -> Self {
        cli::EventSource { is_team: options.team, types: options.types }
    }
}

#[derive(clap::Args)]
struct Demo {
    /// Number of past days to simulate.
    #[arg(long, default_value_t = 92, value_parser = clap::value_parser!(u32).range(i64::from(MIN_DAYS)..=i64::from(MAX_DAYS)))]
    days: u32,
    /// Approximate number of calls.
    #[arg(long, default_value_t = 40_000, value_parser = clap::value_parser!(u32).range(0..=2_000_000))]
    calls: u32,
    /// Seed of the random numbers; the same seed gives the same prices and calls.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Password of all demo users; by default a fixed one in a lab, elsewhere a random one, printed once.
    #[arg(long)]
    password: Option<String>,
    /// Then place live calls through the running service until interrupted.
    #[arg(long)]
    live: bool,
    /// Number of live calls to start per minute.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=6000))]
    calls_per_minute: u32,
}

#[derive(Subcommand)]
enum Admin {
    /// Create the first admin; the password is read from standard input
    Bootstrap {
        /// Legal name of the operator.
        #[arg(long)]
        legal_name: String,
        /// Name of the admin.
        #[arg(long)]
        name: String,
        /// Email of the admin.
        #[arg(long)]
        email: String,
    },
    /// Print a magic link for a user whom mail does not reach
    Link {
        /// Email of the user.
        #[arg(long)]
        email: String,
    },
}

#[derive(Subcommand)]
enum Audit {
    /// Recompute the audit chain from its last checkpoint; fails at the first row that does not match
    Verify {
        /// Also read the files of older rows, and hold them against their checkpoints.
        #[arg(long)]
        archives: bool,
    },
}

#[derive(Subcommand)]
enum Secrets {
    /// End the rotation of the master secret, once every node has the new one
    Rotate,
}

#[derive(Subcommand)]
enum Mail {
    /// Write a sample of every mail as HTML and text, and an index.html
    Preview {
        /// Folder to write to.
        #[arg(long, default_value = "mail-preview", value_name = "FOLDER")]
        out: PathBuf,
    },
}

#[derive(Subcommand)]
enum Ledger {
    /// Recompute every balance, hold and total from the postings; fails at the first difference
    Verify,
}

#[derive(Subcommand)]
enum Fx {
    /// Import reference rates of the European Central Bank
    Import {
        /// XML file with the rates of one or more days.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Subcommand)]
enum Rates {
    /// Import a rate deck from a CSV file and wait until it is in force
    Import {
        /// Id of the upstream.
        #[arg(long, value_name = "ID")]
        upstream: String,
        /// Only report what would change.
        #[arg(long)]
        dry_run: bool,
        /// Keep prefixes that are not in the file.
        #[arg(long)]
        merge: bool,
        /// Let increases reach customers before their notice ends; the audit log keeps the reason.
        #[arg(long, value_name = "REASON")]
        waive_notice: Option<String>,
        /// URL of a service elsewhere, called with TRUNKLINE_API_KEY; by default TRUNKLINE_URL, else this machine's.
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// CSV file with the rates.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Subcommand)]
enum Cdrs {
    /// Import CDRs of another switch; duplicates are skipped
    ///
    /// Prints each rejected line and its reason. The other lines are imported. Exits with status 1 if any line was
    /// rejected, and then prints the summary to standard error.
    Import {
        /// URL of the operations port of a service elsewhere, called with TRUNKLINE_API_KEY; by default
        /// TRUNKLINE_OPS_URL, else this machine's.
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// JSON Lines file, one CDR per line.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Recompute the rollups and charges of all CDRs; fails at the first difference
    Verify,
    /// Verify and copy the CDR archive
    #[command(subcommand)]
    Archive(CdrArchive),
}

#[derive(Subcommand)]
enum Jobs {
    /// List dead jobs, newest first
    Dead,
    /// Retry dead jobs, by id or by kind
    #[command(group = clap::ArgGroup::new("which").required(true))]
    Rerun {
        /// Ids of the jobs.
        #[arg(group = "which", value_name = "ID")]
        ids: Vec<Uuid>,
        /// Retry all dead jobs of this kind, such as letter.send.
        #[arg(long, group = "which")]
        kind: Option<String>,
    },
}

#[derive(Subcommand)]
enum Switch {
    /// Write dispatcher.list and address.list once
    Render {
        #[command(flatten)]
        target: SwitchTarget,
    },
    /// Keep both files up to date and reload the switch, until interrupted
    Sync {
        #[command(flatten)]
        target: SwitchTarget,
        /// URL of the switch's control interface.
        #[arg(long, default_value = "http://127.0.0.1:8060", value_name = "URL")]
        control: String,
    },
}

#[derive(clap::Args)]
struct SwitchTarget {
    /// Folder of the switch's files.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// URL of the service's operations port; by default TRUNKLINE_OPS_LISTEN.
    #[arg(long, value_name = "URL")]
    service: Option<String>,
}

impl Config {
    fn run(&self, file: Option<&Path>) -> Result<(), StartError> {
        match self {
            Config::Check => {
                let settings = Settings::load(file)?;
                cli::print_checked(&settings);
            }
            Config::Show => cli::print_text(&config::effective(file)?),
            Config::Example => cli::print_text(&config::example_file()),
        }
        Ok(())
    }
}

impl Demo {
    async fn run(self, settings: Settings) -> Result<(), StartError> {
        let Demo { days, calls, seed, password, live, calls_per_minute } = self;
        let password = password.unwrap_or_else(|| demo::default_password(&settings));
        let options = Options { days, calls, seed, password };
        Box::pin(cli::demo(settings, options, live.then_some(calls_per_minute))).await
    }
}

fn main() -> ExitCode {
    // The allocator asks for huge pages. They triple the memory of a service at rest, and make nothing faster.
    rustix::thread::disable_transparent_huge_pages(true).ok();
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            cli::print_error(&*error);
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: Arguments) -> Result<(), StartError> {
    match &arguments.command {
        Some(Command::Openapi) => return cli::print_openapi(),
        Some(Command::Config(command)) => return command.run(arguments.config.as_deref()),
        Some(Command::Completions { shell }) => {
            cli::print_completions(*shell, Arguments::command());
            return Ok(());
        }
        Some(Command::Man { out }) => return cli::write_manual(Arguments::command(), out),
        _ => {}
    }
    // They need the address of a service, not its settings.
    match arguments.command.take() {
        Some(Command::Listen { forward_to, secret, source }) => {
            return runtime()?.block_on(cli::listen(source.into(), &forward_to, secret.as_deref()));
        }
        Some(Command::Events(Events::Tail { source })) => return runtime()?.block_on(cli::tail_events(source.into())),
        command => arguments.command = command,
    }
    let settings = Settings::load(arguments.config.as_deref())?;
    runtime()?.block_on(async {
        match arguments.command.unwrap_or(Command::Serve) {
            Command::Serve => Box::pin(cli::serve(settings)).await,
            Command::Doctor => Box::pin(cli::doctor(settings)).await,
            Command::Ready => cli::ready(&settings).await,
            Command::Migrate { check: true, .. } => cli::check_migrations(settings).await,
            Command::Migrate { plan: true, .. } => cli::plan_migrations(settings).await,
            Command::Migrate { .. } => cli::migrate(settings).await,
            Command::Backup { file } => Box::pin(cli::make_backup(settings, &file)).await,
            Command::Restore { check, file } => Box::pin(cli::restore_backup(settings, &file, check)).await,
            Command::Export { customer, out } => {
                Box::pin(cli::export_customer(settings, &customer, out.as_deref())).await
            }
            Command::Erase { customer, keep_documents } => {
                Box::pin(cli::erase_customer(settings, &customer, keep_documents)).await
            }
            Command::Admin(Admin::Bootstrap { legal_name, name, email }) => {
                cli::bootstrap(settings, &legal_name, &name, &email).await
            }
            Command::Admin(Admin::Link { email }) => cli::create_magic_link(settings, &email).await,
            Command::Audit(Audit::Verify { archives }) => cli::verify_audit(settings, archives).await,
            Command::Mail(Mail::Preview { out }) => cli::preview_mail(&settings, &out),
            Command::Ledger(Ledger::Verify) => cli::verify_ledger(settings).await,
            Command::Fx(Fx::Import { file }) => cli::import_fx(settings, &file).await,
            Command::Cdrs(Cdrs::Import { url, file }) => match url.or(settings.remote.ops_url.clone()) {
                Some(url) => cli::Remote::new(&url, &settings.remote)?.import_cdrs(&file).await,
                None => cli::import_cdrs(settings, &file).await,
            },
            Command::Cdrs(Cdrs::Verify) => cli::verify_cdrs(settings).await,
            Command::Cdrs(Cdrs::Archive(command)) => Box::pin(command.run(settings)).await,
            Command::Rates(Rates::Import { upstream, dry_run, merge, waive_notice, url, file }) => {
                let import = cli::RatesImport { upstream, file, merge, dry_run, waive_notice };
                match url.or(settings.remote.url.clone()) {
                    Some(url) => cli::Remote::new(&url, &settings.remote)?.import_rates(&import).await,
                    None => cli::import_rates(settings, &import).await,
                }
            }
            Command::Jobs(Jobs::Dead) => cli::list_dead_jobs(settings).await,
            Command::Jobs(Jobs::Rerun { ids, kind }) => {
                cli::rerun_jobs(settings, kind.map_or(JobSelection::Ids(ids), JobSelection::Kind)).await
            }
            Command::Secrets(Secrets::Rotate) => cli::rotate_master_secret(settings).await,
            Command::Switch(Switch::Render { target }) => {
                cli::render_switch(settings, target.service, target.out).await
            }
            Command::Switch(Switch::Sync { target, control }) => {
                cli::sync_switch(settings, target.service, target.out, &control).await
            }
            Command::Demo(demo) => Box::pin(demo.run(settings)).await,
            Command::Openapi
            | Command::Config(_)
            | Command::Completions { .. }
            | Command::Man { .. }
            | Command::Listen { .. }
            | Command::Events(_) => Ok(()),
        }
    })
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    // A thread that hashed a password keeps that memory until it ends.
    tokio::runtime::Builder::new_multi_thread().enable_all().thread_keep_alive(Duration::from_secs(1)).build()
}
