//! CPU time of processes, user and system, from `/proc`.

use std::fs::{read_dir, read_to_string};

use crate::Outcome;

/// What `/proc` counts in (`USER_HZ`): 100 on x86-64 and ARM.
const TICKS_PER_SECOND: f64 = 100.0;

/// What `/proc/PID/stat` says about a process; times are in ticks.
struct Stat {
    parent: u32,
    own: u64,
    /// Of children that have ended.
    ended: u64,
}

impl Stat {
    fn read(process: u32) -> Outcome<Stat> {
        let text = read_to_string(format!("/proc/{process}/stat"))
            .map_err(|error| format!("process {process} is not on this machine: {error}"))?;
        Ok(Stat::parse(&text).ok_or_else(|| format!("unexpected fields of process {process}: {text}"))?)
    }

    fn parse(text: &str) -> Option<Stat> {
        // The name in brackets may have brackets and spaces of its own.
        let (_, fields) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Stat {
            parent: u32::try_from(number(1)?).ok()?,
            own: number(11)? + number(12)?,
            ended: number(13)? + number(14)?,
        })
    }
}

pub fn parent(process: u32) -> Outcome<u32> {
    Ok(Stat::read(process)?.parent)
}

pub fn seconds(process: u32) -> Outcome<f64> {
    Ok(Stat::read(process)?.own as f64 / TICKS_PER_SECOND)
}

/// The time of a process and of all that it has started, also of those that have ended.
pub fn seconds_with_children(process: u32) -> Outcome<f64> {
    let Stat { own, ended, .. } = Stat::read(process)?;
    let mut ticks = own + ended;
    for entry in read_dir("/proc")? {
        // Not every entry is a process, and a process may end meanwhile.
        let id = entry?.file_name().to_string_lossy().parse::<u32>();
        let child = id.ok().and_then(|id| Stat::read(id).ok());
        ticks += child.filter(|child| child.parent == process).map_or(0, |child| child.own);
    }
    Ok(ticks as f64 / TICKS_PER_SECOND)
}
