//! A builder of HTML. Markup must be `'static`; everything else is escaped.

#[derive(Default)]
pub struct Html(String);

impl Html {
    pub fn raw(&mut self, markup: &'static str) -> &mut Html {
        self.0.push_str(markup);
        self
    }

    pub fn text(&mut self, text: &str) -> &mut Html {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                _ => self.0.push(c),
            }
        }
        self
    }

    /// Text between tags, where quotes stand for themselves. Not for attributes.
    pub fn content(&mut self, text: &str) -> &mut Html {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                _ => self.0.push(c),
            }
        }
        self
    }

    pub fn code(&mut self, text: &str) -> &mut Html {
        self.raw("<code>").content(text).raw("</code>")
    }

    /// Text with `code` in backticks.
    pub fn inline(&mut self, text: &str) -> &mut Html {
        for (position, part) in text.split('`').enumerate() {
            if position % 2 == 0 {
                self.content(part)
            } else {
                self.code(part)
            };
        }
        self
    }

    /// Paragraphs, separated by empty lines.
    pub fn prose(&mut self, text: &str) -> &mut Html {
        for paragraph in text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
            self.raw("<p>").inline(paragraph).raw("</p>");
        }
        self
    }

    pub fn finish(self) -> String {
        self.0
    }
}

/// A text as the fragment of a link.
pub fn anchor(text: &str) -> String {
    let dashed: String = text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    dashed.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_text_becomes_markup(text in any::<String>()) {
            let mut html = Html::default();
            html.text(&text);
            let escaped = html.finish();
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
            let back = escaped.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
            prop_assert_eq!(back.replace("&amp;", "&"), text);
        }

        #[test]
        fn no_content_becomes_markup(text in any::<String>()) {
            let mut html = Html::default();
            html.content(&text);
            let escaped = html.finish();
            prop_assert!(!escaped.contains(['<', '>']));
            prop_assert_eq!(escaped.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"), text);
        }

        #[test]
        fn an_anchor_needs_no_escaping(text in any::<String>()) {
            prop_assert!(anchor(&text).chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'));
        }
    }

    #[test]
    fn prose_has_paragraphs_and_code() {
        let mut html = Html::default();
        html.prose("One `a<b>`.\n\nTwo & three.\n");
        assert_eq!(html.finish(), "<p>One <code>a&lt;b&gt;</code>.</p><p>Two &amp; three.</p>");
    }
}
