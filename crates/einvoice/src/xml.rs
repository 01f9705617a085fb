//! Writes XML: elements in call order, indented by two spaces, every text and attribute escaped.

/// An XML document being written.
pub(crate) struct Xml {
    text: String,
    depth: usize,
}

impl Xml {
    /// Writes a document with one root element, filled by `content`.
    pub(crate) fn document(root: &str, namespaces: &[(&str, &str)], content: impl FnOnce(&mut Xml)) -> String {
        let mut xml = Xml { text: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned(), depth: 0 };
        xml.within_with(root, namespaces, content);
        xml.text
    }

    /// Writes an element with child elements.
    pub(crate) fn within(&mut self, name: &str, content: impl FnOnce(&mut Xml)) {
        self.within_with(name, &[], content);
    }

    fn within_with(&mut self, name: &str, attributes: &[(&str, &str)], content: impl FnOnce(&mut Xml)) {
        self.open(name, attributes);
        self.text.push('\n');
        self.depth += 1;
        content(self);
        self.depth -= 1;
        self.indent();
        self.close(name);
    }

    /// Writes an element with text.
    pub(crate) fn put(&mut self, name: &str, text: &str) {
        self.put_with(name, &[], text);
    }

    pub(crate) fn put_with(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) {
        self.open(name, attributes);
        escape(text, &mut self.text);
        self.close(name);
    }

    /// Writes an element with text, unless the text is absent or blank: EN 16931 forbids empty elements.
    pub(crate) fn put_some(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text.filter(|text| has_text(text)) {
            self.put(name, text);
        }
    }

    /// Writes `outer` with one text element inside, unless the text is absent or blank.
    pub(crate) fn put_some_within(&mut self, outer: &str, name: &str, text: Option<&str>) {
        if let Some(text) = text.filter(|text| has_text(text)) {
            self.within(outer, |xml| xml.put(name, text));
        }
    }

    fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.indent();
        self.text.push('<');
        self.text.push_str(name);
        for (attribute, value) in attributes {
            self.text.push(' ');
            self.text.push_str(attribute);
            self.text.push_str("=\"");
            escape(value, &mut self.text);
            self.text.push('"');
        }
        self.text.push('>');
    }

    fn close(&mut self, name: &str) {
        self.text.push_str("</");
        self.text.push_str(name);
        self.text.push_str(">\n");
    }

    fn indent(&mut self) {
        self.text.extend(std::iter::repeat_n("  ", self.depth));
    }
}

/// Whether a text has a character that is neither white space nor a control character.
pub(crate) fn has_text(text: &str) -> bool {
    text.chars().any(|c| !c.is_whitespace() && !c.is_control())
}

/// Appends text escaped for XML. Characters that XML 1.0 cannot represent are dropped.
pub(crate) fn escape(text: &str, into: &mut String) {
    for c in text.chars() {
        match c {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&apos;"),
            // Unescaped, a parser would read it as a line feed.
            '\r' => into.push_str("&#13;"),
            '\t' | '\n' => into.push(c),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => into.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_escaped_and_blank_elements_are_left_out() {
        let text = Xml::document("a", &[("xmlns", "u\"v")], |xml| {
            xml.put_with("b", &[("c", "'<&")], "</b>\u{0}\u{1b}&amp;\u{ffff}");
            xml.put_some("d", Some(" \u{0}"));
            xml.put_some_within("e", "f", None);
        });
        assert_eq!(
            text,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a xmlns=\"u&quot;v\">\n  \
             <b c=\"&apos;&lt;&amp;\">&lt;/b&gt;&amp;amp;</b>\n</a>\n"
        );
    }

    proptest! {
        #[test]
        fn escaped_text_has_no_bare_bracket_quote_or_control(text in any::<String>()) {
            let mut escaped = String::new();
            escape(&text, &mut escaped);
            let forbidden = |c: char| "<>\"'".contains(c) || (c.is_control() && !"\t\n".contains(c));
            prop_assert!(!escaped.contains(forbidden));
        }
    }
}
