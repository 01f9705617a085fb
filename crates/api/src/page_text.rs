//! The items of a page as JSON, written while their rows are read: no struct, value or `String` in between. For lists
//! that are read often and have many items; for all others a [`Page`](super::page::Page) is simpler.

use uuid::Uuid;
use uuid::fmt::Hyphenated;

use values::{Money, Rfc3339, Time, push_number};

const START: &[u8] = b"{\"data\":[";
/// Typical length of an item.
const ITEM_BYTES: usize = 560;
/// Typical length of what fills a gap.
const GAP_BYTES: usize = 40;
const HEX: &[u8; 16] = b"0123456789abcdef";

/// A page that is being written.
pub struct PageText {
    bytes: Vec<u8>,
    items: usize,
}

impl PageText {
    /// A page without items yet, with room for this many.
    pub fn with_room(items: usize) -> PageText {
        let mut bytes = Vec::with_capacity(START.len() + items * ITEM_BYTES);
        bytes.extend_from_slice(START);
        PageText { bytes, items: 0 }
    }

    pub fn items(&self) -> usize {
        self.items
    }

    /// What was written so far.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }

    /// Begins the next item.
    pub fn item(&mut self) -> Object<'_> {
        if self.items > 0 {
            self.bytes.push(b',');
        }
        self.items += 1;
        Object::begin(&mut self.bytes)
    }

    /// Inserts a text or null at each of these places, which [`Object::gap`] left, in their order.
    pub fn fill<'a>(&mut self, gaps: impl Iterator<Item = (usize, Option<&'a str>)>) {
        let before = std::mem::take(&mut self.bytes);
        self.bytes.reserve(before.len() + self.items * GAP_BYTES);
        let mut copied = 0;
        for (gap, text) in gaps {
            self.bytes.extend_from_slice(before.get(copied..gap).unwrap_or_default());
            push_optional_text(&mut self.bytes, text);
            copied = gap;
        }
        self.bytes.extend_from_slice(before.get(copied..).unwrap_or_default());
    }

    /// Ends the items; what follows them is the caller's.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.push(b']');
        self.bytes
    }
}

/// An object that is being written, field by field.
pub struct Object<'p> {
    out: &'p mut Vec<u8>,
    is_empty: bool,
}

impl<'p> Object<'p> {
    fn begin(out: &'p mut Vec<u8>) -> Object<'p> {
        out.push(b'{');
        Object { out, is_empty: true }
    }

    fn name(&mut self, name: &'static str) {
        let opening: &[u8] = if self.is_empty { b"\"" } else { b",\"" };
        self.out.extend_from_slice(opening);
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.is_empty = false;
    }

    pub fn text(&mut self, name: &'static str, text: &str) {
        self.name(name);
        push_text(self.out, text);
    }

    pub fn optional_text(&mut self, name: &'static str, text: Option<&str>) {
        self.name(name);
        push_optional_text(self.out, text);
    }

    pub fn number(&mut self, name: &'static str, number: i64) {
        self.name(name);
        push_number(self.out, number);
    }

    pub fn uuid(&mut self, name: &'static str, id: Uuid) {
        self.name(name);
        self.out.push(b'"');
        self.out.extend_from_slice(id.hyphenated().encode_lower(&mut [0; Hyphenated::LENGTH]).as_bytes());
        self.out.push(b'"');
    }

    pub fn optional_time(&mut self, name: &'static str, time: Option<Time>) {
        self.name(name);
        match time {
            Some(time) => {
                self.out.push(b'"');
                Rfc3339(time).push_to(self.out);
                self.out.push(b'"');
            }
            None => self.out.extend_from_slice(b"null"),
        }
    }

    /// An amount as [`ExactMoney`](values::ExactMoney) is sent.
    pub fn exact_money(&mut self, name: &'static str, money: Money) {
        self.name(name);
        let mut object = Object::begin(self.out);
        object.number("amount_minor", money.minor());
        object.name("amount");
        object.out.push(b'"');
        money.push_amount(object.out);
        object.out.push(b'"');
        object.text("currency", money.currency().code());
        object.end();
    }

    /// Leaves a field without its value, and returns the place where [`PageText::fill`] inserts it.
    pub fn gap(&mut self, name: &'static str) -> usize {
        self.name(name);
        self.out.len()
    }

    pub fn end(self) {
        self.out.push(b'}');
    }
}

fn push_optional_text(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => push_text(out, text),
        None => out.extend_from_slice(b"null"),
    }
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    if text.bytes().any(must_escape) {
        text.bytes().for_each(|byte| push_escaped(out, byte));
    } else {
        out.extend_from_slice(text.as_bytes());
    }
    out.push(b'"');
}

fn must_escape(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

fn push_escaped(out: &mut Vec<u8>, byte: u8) {
    match byte {
        b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0x08 => out.extend_from_slice(b"\\b"),
        0x0C => out.extend_from_slice(b"\\f"),
        byte if must_escape(byte) => {
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xF)]]);
        }
        byte => out.push(byte),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use values::{Currency, ExactMoney};

    use super::*;

    fn read(page: PageText) -> Value {
        let mut bytes = page.into_bytes();
        bytes.push(b'}');
        serde_json::from_slice(&bytes).unwrap()
    }

    proptest! {
        #[test]
        fn texts_are_written_as_serde_writes_them(text: String) {
            let mut out = Vec::new();
            push_text(&mut out, &text);
            prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
        }

        #[test]
        fn money_is_written_as_it_is_sent(nanos: i64) {
            let money = Money::from_nanos(nanos, Currency::EUR);
            let mut page = PageText::with_room(1);
            let mut item = page.item();
            item.exact_money("charge", money);
            item.end();
            prop_assert_eq!(&read(page)["data"][0]["charge"], &json!(ExactMoney(money)));
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        let all: String = (0..0x20).map(char::from).chain("\"\\\u{7f}é".chars()).collect();
        let mut out = Vec::new();
        push_text(&mut out, &all);
        assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&all).unwrap());
    }

    #[test]
    fn an_item_has_its_fields_and_gaps_are_filled_in_order() {
        let mut page = PageText::with_room(2);
        let mut gaps = Vec::new();
        for (number, time) in [(-7, None), (7, Some(Time::from_millis(1_000)))] {
            let mut item = page.item();
            item.number("number", number);
            item.optional_time("at", time);
            item.uuid("id", Uuid::nil());
            item.optional_text("text", None);
            gaps.push(item.gap("name"));
            item.end();
        }
        assert_eq!(page.items(), 2);
        page.fill(gaps.into_iter().zip([Some("a \"name\""), None]));
        let id = Uuid::nil().to_string();
        let expected = json!([
            {"number": -7, "at": null, "id": id, "text": null, "name": "a \"name\""},
            {"number": 7, "at": "1970-01-01T00:00:01Z", "id": id, "text": null, "name": null},
        ]);
        assert_eq!(read(page)["data"], expected);
    }
}
