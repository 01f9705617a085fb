//! The items of `/cdrs`, written as JSON: the fields of [`CdrListItem`](super::types::CdrListItem).

use super::search::{CdrCursor, CdrItem, TrunkName};
use api::page_text::PageText;
use db::{Conn, DbError};
use identity::names::Names;
use values::TrunkId;

/// A page of items that is being written.
pub struct CdrItems {
    text: PageText,
    limit: usize,
    last: Option<CdrCursor>,
    has_more: bool,
    /// Where the names of trunks belong that are not known yet.
    gaps: Vec<(usize, TrunkId)>,
}

impl CdrItems {
    pub fn new(limit: usize) -> CdrItems {
        let text = PageText::with_room(limit);
        CdrItems { text, limit, last: None, has_more: false, gaps: Vec::new() }
    }

    /// Writes a CDR, unless the page is full: then there is a next one.
    pub fn push(&mut self, cdr: &CdrItem<'_>, trunk_name: TrunkName<'_>) {
        if self.text.items() == self.limit {
            self.has_more = true;
            return;
        }
        let mut item = self.text.item();
        item.uuid("id", cdr.id.uuid());
        item.text("call_id", cdr.call_id);
        item.text("leg", cdr.leg);
        item.optional_time("started_at", Some(cdr.started_at));
        item.optional_time("answered_at", cdr.answered_at);
        item.optional_time("ended_at", cdr.ended_at);
        item.number("duration_seconds", cdr.duration_seconds);
        item.text("calling", cdr.calling);
        item.text("called", cdr.called);
        item.optional_text("country", cdr.country);
        item.optional_text("destination_name", cdr.destination_name);
        item.text("status", cdr.status);
        item.exact_money("customer_charge", cdr.charge);
        item.uuid("trunk_id", cdr.trunk_id.uuid());
        match trunk_name {
            TrunkName::Found(name) => item.optional_text("trunk_name", name),
            TrunkName::Unknown => self.gaps.push((item.gap("trunk_name"), cdr.trunk_id)),
        }
        item.end();
        self.last = Some((cdr.started_at, cdr.id));
    }

    /// The cursor of the last CDR, if there are more.
    pub fn next(&self) -> Option<CdrCursor> {
        self.last.filter(|_| self.has_more)
    }

    /// The page, with the names of its trunks.
    pub async fn finish(mut self, conn: &mut Conn) -> Result<PageText, DbError> {
        if !self.gaps.is_empty() {
            let names = Names::of_trunks(conn, self.gaps.iter().map(|(_, trunk)| *trunk)).await?;
            self.text.fill(self.gaps.iter().map(|(gap, trunk)| (*gap, names.find(trunk.uuid()))));
        }
        Ok(self.text)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::cdrs::search::CdrListRow;
    use crate::cdrs::terms::{CallStatus, Leg};
    use crate::cdrs::types::{Cdr, CdrListItem};
    use values::{AccountId, CallId, Currency, Time};

    fn row(is_answered: bool) -> CdrListRow {
        let [at, answered_at, ended_at] =
            [1_760_000_000_123, 1_760_000_001_000, 1_760_000_061_000].map(Time::from_millis);
        CdrListRow {
            id: CallId::new(Uuid::from_u128(7)),
            account_id: AccountId::new(Uuid::nil()),
            trunk_id: TrunkId::new(Uuid::from_u128(8)),
            upstream_id: None,
            call_id: "a \"call\"\\é@example.com".into(),
            leg: Leg::Termination,
            started_at: at,
            answered_at: is_answered.then_some(answered_at),
            ended_at: is_answered.then_some(ended_at),
            duration_seconds: if is_answered { 60 } else { 0 },
            calling: "anonymous".into(),
            called: "+31201234567".into(),
            country: is_answered.then(|| "NL".parse().unwrap()),
            destination_name: is_answered.then(|| "Netherlands, mobile".into()),
            status: if is_answered { CallStatus::Answered } else { CallStatus::NoAnswer },
            currency: Currency::EUR,
            charge: if is_answered { 1_234_500_000 } else { 0 },
            cost: 0,
            hung_up_by: None,
        }
    }

    #[test]
    fn an_item_is_written_as_its_type_is_sent() {
        for is_answered in [true, false] {
            for trunk_name in [Some("Office"), None] {
                let mut items = CdrItems::new(1);
                items.push(&CdrItem::from(&row(is_answered)), TrunkName::Found(trunk_name));
                let expected =
                    CdrListItem { cdr: Cdr::from(row(is_answered)), trunk_name: trunk_name.map(str::to_owned) };
                assert_eq!(items.text.as_str(), format!("{{\"data\":[{}", serde_json::to_string(&expected).unwrap()));
            }
        }
    }

    #[test]
    fn a_full_page_has_a_next_one_only_if_there_are_more() {
        let mut items = CdrItems::new(1);
        items.push(&CdrItem::from(&row(true)), TrunkName::Unknown);
        assert_eq!((items.next(), items.gaps.len()), (None, 1));
        items.push(&CdrItem::from(&row(false)), TrunkName::Unknown);
        assert_eq!((items.next(), items.gaps.len()), (Some((row(true).started_at, row(true).id)), 1));
    }
}
