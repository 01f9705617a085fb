//! Writing XML: elements in the order they are given, every text escaped, nothing that depends on the weather.

/// A document being written.
pub(crate) struct Xml {
    text: String,
    depth: usize,
}

impl Xml {
    /// A document with one root, written by `content`.
    pub(crate) fn document(root: &str, namespaces: &[(&str, &str)], content: impl FnOnce(&mut Xml)) -> String {
        let mut xml = Xml { text: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned(), depth: 0 };
        xml.within_with(root, namespaces, content);
        xml.text
    }

    /// An element that holds others.
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

    /// An element that holds text.
    pub(crate) fn put(&mut self, name: &str, text: &str) {
        self.put_with(name, &[], text);
    }

    pub(crate) fn put_with(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) {
        self.open(name, attributes);
        escape(text, &mut self.text);
        self.close(name);
    }

    /// An element that holds text, if there is any: the standard allows no empty ones.
    pub(crate) fn put_some(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text.filter(|text| says_something(text)) {
            self.put(name, text);
        }
    }

    /// An element within another, if there is any text for it.
    pub(crate) fn put_some_within(&mut self, outer: &str, name: &str, text: Option<&str>) {
        if let Some(text) = text.filter(|text| says_something(text)) {
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

/// Whether anything of a text is left to read once it is written.
pub(crate) fn says_something(text: &str) -> bool {
    text.chars().any(|c| !c.is_whitespace() && !c.is_control())
}

/// Text as XML; characters that XML 1.0 cannot hold in any form are left out.
pub(crate) fn escape(text: &str, into: &mut String) {
    for c in text.chars() {
        match c {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&apos;"),
            // As itself it would come back as a line feed.
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
    fn texts_cannot_become_markup() {
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
        fn no_text_leaves_a_bare_bracket_quote_or_control_behind(text in any::<String>()) {
            let mut escaped = String::new();
            escape(&text, &mut escaped);
            let forbidden = |c: char| "<>\"'".contains(c) || (c.is_control() && !"\t\n".contains(c));
            prop_assert!(!escaped.contains(forbidden));
        }
    }
}
