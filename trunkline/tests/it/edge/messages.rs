//! The message log of SIPp, with microsecond timestamps.

use std::path::Path;

/// One message.
pub struct Message {
    /// Unix seconds.
    at: f64,
    pub is_sent: bool,
    pub call_id: String,
    /// As in `CSeq:1 INVITE`.
    sequence: String,
    pub first_line: String,
}

/// A call that was answered and hung up, as SIP saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Talk {
    pub call_id: String,
    /// Milliseconds from the answer to each BYE: one that gets no response, since the edge is away, is sent again.
    pub byes: Vec<i64>,
}

impl Message {
    pub fn is_invite(&self) -> bool {
        self.first_line.starts_with("INVITE ")
    }

    pub fn is_bye(&self) -> bool {
        self.first_line.starts_with("BYE ")
    }

    fn is_answer(&self) -> bool {
        self.first_line.starts_with("SIP/2.0 200 ") && self.sequence.ends_with(" INVITE")
    }

    /// A line has: date, time, Unix seconds, S or R, Call-ID, CSeq, the first line of the message.
    fn read(line: &str) -> Option<Message> {
        let mut fields = line.split('\t').skip(2);
        Some(Message {
            at: fields.next()?.parse().ok()?,
            is_sent: fields.next()? == "S",
            call_id: fields.next()?.to_owned(),
            sequence: fields.next()?.to_owned(),
            first_line: fields.next()?.to_owned(),
        })
    }
}

/// Those noted so far; none if nothing passed yet.
pub fn read(file: &Path) -> Vec<Message> {
    let text = std::fs::read(file).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(Message::read).collect()
}

/// The calls that are over, in the order of their ends.
pub fn talks(messages: &[Message]) -> Vec<Talk> {
    let mut talks: Vec<Talk> = Vec::new();
    for goodbye in messages.iter().filter(|message| message.is_bye()) {
        let answer = messages.iter().find(|message| message.call_id == goodbye.call_id && message.is_answer());
        let Some(answer) = answer else { continue };
        #[allow(clippy::cast_possible_truncation)]
        let millis = ((goodbye.at - answer.at) * 1000.0).round() as i64;
        match talks.iter_mut().find(|talk| talk.call_id == goodbye.call_id) {
            Some(talk) => talk.byes.push(millis),
            None => talks.push(Talk { call_id: goodbye.call_id.clone(), byes: vec![millis] }),
        }
    }
    talks
}
