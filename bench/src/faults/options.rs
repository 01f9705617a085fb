//! Command-line options: `--kills 20 --seed 7 sqlite`.

use crate::Outcome;
use db::Entropy;

const KILLS: usize = 200;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Engine {
    #[default]
    Sqlite,
    Postgres,
}

impl Engine {
    pub const fn name(self) -> &'static str {
        match self {
            Engine::Sqlite => "SQLite",
            Engine::Postgres => "PostgreSQL",
        }
    }
}

pub struct Options {
    /// Number of kills on each engine.
    pub kills: usize,
    pub seed: u64,
    pub engines: Vec<Engine>,
}

impl TryFrom<&[String]> for Options {
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn try_from(arguments: &[String]) -> Outcome<Options> {
        // 32 bits, short enough to type for a repeat run.
        let seed = u64::from(u32::from_be_bytes(Entropy.bytes()));
        let mut options = Options { kills: KILLS, seed, engines: Vec::new() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut number = || arguments.next().ok_or_else(|| format!("{argument} needs a number"));
            match argument.as_str() {
                "--kills" => options.kills = number()?.parse()?,
                "--seed" => options.seed = number()?.parse()?,
                "sqlite" => options.engines.push(Engine::Sqlite),
                "postgres" => options.engines.push(Engine::Postgres),
                unknown => {
                    return Err(format!("unknown option {unknown}; usage: --kills N --seed N sqlite postgres").into());
                }
            }
        }
        if options.engines.is_empty() {
            options.engines = vec![Engine::Sqlite, Engine::Postgres];
        }
        Ok(options)
    }
}
