//! Counts of a route in a sliding window, minute by minute.
//!
//! Nodes share their counts through a table. So a minute has two parts: what the table has of all nodes, and what this
//! node has not written yet.

use crate::UnixMillis;

pub const MINUTE_MILLIS: i64 = 60_000;
/// Length of the window.
pub const WINDOW_MINUTES: i64 = 15;
const SLOTS: usize = WINDOW_MINUTES as usize;

/// The minute of a time.
pub fn minute_of(at: UnixMillis) -> i64 {
    at.div_euclid(MINUTE_MILLIS)
}

/// What happened to the calls of a route.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Calls that the upstream was tried for, once their result is known.
    pub attempts: i64,
    pub answered: i64,
    /// Answered calls that are over, and how long they were.
    pub ended: i64,
    pub seconds: i64,
    /// Attempts with a known post-dial delay, and the sum of these delays.
    pub delays: i64,
    pub delay_millis: i64,
}

impl Counts {
    pub fn add(&mut self, more: &Counts) {
        self.combine(more, i64::saturating_add);
    }

    pub fn subtract(&mut self, less: &Counts) {
        self.combine(less, i64::saturating_sub);
    }

    fn combine(&mut self, other: &Counts, with: fn(i64, i64) -> i64) {
        self.attempts = with(self.attempts, other.attempts);
        self.answered = with(self.answered, other.answered);
        self.ended = with(self.ended, other.ended);
        self.seconds = with(self.seconds, other.seconds);
        self.delays = with(self.delays, other.delays);
        self.delay_millis = with(self.delay_millis, other.delay_millis);
    }

    pub fn is_empty(&self) -> bool {
        *self == Counts::default()
    }

    /// Answer-seizure ratio in thousandths.
    pub fn asr_permille(&self) -> Option<i64> {
        self.answered.saturating_mul(1000).checked_div(self.attempts)
    }

    /// Average call duration in seconds.
    pub fn acd_seconds(&self) -> Option<i64> {
        self.seconds.checked_div(self.ended)
    }

    /// Average post-dial delay in milliseconds.
    pub fn pdd_millis(&self) -> Option<i64> {
        self.delay_millis.checked_div(self.delays)
    }

    /// One number to compare routes by: the ASR in thousandths, up to 100 more for the ACD (one for every 3 seconds), up
    /// to 200 less for the PDD (one for every 50 milliseconds).
    pub fn score(&self) -> i64 {
        let talk = self.acd_seconds().unwrap_or(0) / 3;
        let delay = self.pdd_millis().unwrap_or(0) / 50;
        self.asr_permille().unwrap_or(0) + talk.clamp(0, 100) - delay.clamp(0, 200)
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    minute: i64,
    /// What the table has, of all nodes.
    saved: Counts,
    /// What this node has not written to it.
    unsaved: Counts,
}

/// The counts of the last minutes. A minute that has left the window is replaced by the one that took its place.
#[derive(Clone, Debug)]
pub struct Window {
    slots: [Slot; SLOTS],
}

impl Default for Window {
    fn default() -> Window {
        Window { slots: [Slot::default(); SLOTS] }
    }
}

impl Window {
    /// Adds what this node saw. It is lost if the window has moved past the minute.
    pub fn record(&mut self, minute: i64, more: &Counts) {
        if let Some(slot) = self.slot(minute) {
            slot.unsaved.add(more);
        }
    }

    /// Takes over what the table has of a minute.
    pub fn learn(&mut self, minute: i64, total: Counts) {
        if let Some(slot) = self.slot(minute) {
            slot.saved = total;
        }
    }

    /// What this node has to write to the table.
    pub fn unsaved(&self) -> impl Iterator<Item = (i64, Counts)> {
        let dirty = self.slots.iter().filter(|slot| !slot.unsaved.is_empty());
        dirty.map(|slot| (slot.minute, slot.unsaved))
    }

    /// Notes that counts were written, and what the table has since.
    pub fn mark_saved(&mut self, minute: i64, written: &Counts, total: Counts) {
        if let Some(slot) = self.slot(minute) {
            slot.unsaved.subtract(written);
            slot.saved = total;
        }
    }

    /// The counts of the window that ends with the minute `now`, from the minute `since` on.
    pub fn sum(&self, since: i64, now: i64) -> Counts {
        let first = since.max(now - WINDOW_MINUTES + 1);
        let mut sum = Counts::default();
        for slot in self.slots.iter().filter(|slot| (first..=now).contains(&slot.minute)) {
            sum.add(&slot.saved);
            sum.add(&slot.unsaved);
        }
        sum
    }

    /// The last minute with counts.
    pub fn last_minute(&self) -> i64 {
        self.slots.iter().map(|slot| slot.minute).max().unwrap_or_default()
    }

    fn slot(&mut self, minute: i64) -> Option<&mut Slot> {
        let index = usize::try_from(minute.rem_euclid(WINDOW_MINUTES)).ok()?;
        let slot = self.slots.get_mut(index).filter(|slot| slot.minute <= minute)?;
        if slot.minute < minute {
            *slot = Slot { minute, ..Slot::default() };
        }
        Some(slot)
    }
}
