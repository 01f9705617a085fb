//! CPU time of processes, user and system, and what other machines took of this one, from `/proc`.

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

/// CPU time of this machine since its start, in ticks.
pub struct MachineTime {
    used: u64,
    /// Used by other machines on the same processors while this one had work.
    stolen: u64,
}

impl MachineTime {
    pub fn now() -> Outcome<MachineTime> {
        let text = read_to_string("/proc/stat")?;
        Ok(MachineTime::parse(&text).ok_or("unexpected first line of /proc/stat")?)
    }

    fn parse(text: &str) -> Option<MachineTime> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let [user, nice, system, _idle, _io_wait, interrupts, soft_interrupts, stolen, ..] = ticks[..] else {
            return None;
        };
        Some(MachineTime { used: user + nice + system + interrupts + soft_interrupts, stolen })
    }

    /// The part that was stolen of the time that this machine wanted since then, from 0 to 1.
    pub fn stolen_since(&self, then: &MachineTime) -> f64 {
        let (used, stolen) = (self.used.saturating_sub(then.used), self.stolen.saturating_sub(then.stolen));
        if stolen == 0 { 0.0 } else { stolen as f64 / (used + stolen) as f64 }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn stolen_time_is_a_part_of_what_was_wanted() {
        let before = MachineTime::parse("cpu  100 10 50 1000 5 1 4 20 0 0\ncpu0 1 2 3\n").unwrap();
        let after = MachineTime::parse("cpu  150 10 70 9000 9 1 9 50 0 0\ncpu0 1 2 3\n").unwrap();
        assert!((after.stolen_since(&before) - 30.0 / 105.0).abs() < 1e-9);
        assert!(before.stolen_since(&before).abs() < 1e-9);
        assert!(MachineTime::parse("cpu0 1 2 3").is_none() && MachineTime::parse("cpu  1 x 3").is_none());
    }
}
