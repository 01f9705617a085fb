//! Just enough of a Rust lexer to tell code, comments and string literals apart.

/// A string literal: where its opening quote stands in the code, and what it says.
pub struct Literal {
    pub at: usize,
    pub line: usize,
    pub text: String,
}

pub struct Source {
    /// The file, byte for byte, with spaces in place of comments and of what strings say.
    pub code: String,
    pub literals: Vec<Literal>,
    /// Line comments with their lines, slashes included.
    pub comments: Vec<(usize, String)>,
}

impl Source {
    pub fn read(text: &str) -> Source {
        let mut source = Source { code: String::with_capacity(text.len()), literals: Vec::new(), comments: Vec::new() };
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let length = if rest.starts_with("//") {
                let length = rest.find('\n').unwrap_or(rest.len());
                source.comments.push((source.line(), rest[..length].to_owned()));
                source.blank(&rest[..length]);
                length
            } else if rest.starts_with("/*") {
                let length = block_comment(rest);
                source.blank(&rest[..length]);
                length
            } else if let Some((opening, closing, raw)) = string_opening(rest, &source.code) {
                source.code.push_str(&rest[..opening]);
                let content = content_length(&rest[opening..], &closing, raw);
                let text = &rest[opening..opening + content];
                source.literals.push(Literal { at: source.code.len() - 1, line: source.line(), text: text.to_owned() });
                source.blank(text);
                let end = (opening + content + closing.len()).min(rest.len());
                source.code.push_str(&rest[opening + content..end]);
                end
            } else {
                let length = char_literal(rest).unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
                match length {
                    1 => source.code.push_str(&rest[..1]),
                    _ => source.blank(&rest[..length]),
                }
                length
            };
            at += length;
        }
        source
    }

    /// The line of a place in the code.
    pub fn line_at(&self, at: usize) -> usize {
        self.code[..at].matches('\n').count() + 1
    }

    /// Where the unit tests begin: by custom they close a file.
    pub fn tests_at(&self) -> usize {
        self.code.find("#[cfg(test)]").unwrap_or(self.code.len())
    }

    fn line(&self) -> usize {
        self.line_at(self.code.len())
    }

    fn blank(&mut self, text: &str) {
        self.code.extend(text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
    }
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a string's opening, its closing, and whether backslashes mean nothing in it.
fn string_opening(rest: &str, before: &str) -> Option<(usize, String, bool)> {
    if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
        return rest.starts_with('"').then(|| (1, "\"".to_owned(), false));
    }
    let prefix = rest.len() - rest.trim_start_matches(['b', 'c']).len();
    let after_prefix = &rest[prefix.min(1)..];
    let Some(raw) = after_prefix.strip_prefix('r') else {
        return after_prefix.starts_with('"').then(|| (prefix.min(1) + 1, "\"".to_owned(), false));
    };
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    raw[hashes..].starts_with('"').then(|| (prefix.min(1) + hashes + 2, format!("\"{}", "#".repeat(hashes)), true))
}

fn content_length(content: &str, closing: &str, raw: bool) -> usize {
    if raw {
        return content.find(closing).unwrap_or(content.len());
    }
    let mut escaped = false;
    for (at, c) in content.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    content.len()
}

/// The length of a character literal; a lifetime is none.
fn char_literal(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('\'')?;
    if let Some(escape) = inner.strip_prefix('\\') {
        let escaped = escape.chars().next()?.len_utf8();
        return Some(2 + escaped + escape[escaped..].find('\'')? + 1);
    }
    let length = inner.chars().next()?.len_utf8();
    inner[length..].starts_with('\'').then_some(length + 2)
}

#[test]
fn code_comments_and_strings_are_told_apart() {
    let text = "let a = \"say \\\" // no\"; // why\nlet b = r#\"raw \" \\\"#; /* x /* y */ z */ let c: &'a u8 = b'\"'; let d = '\\'';\nf(b\"bytes\")";
    let source = Source::read(text);
    let literals: Vec<_> = source.literals.iter().map(|literal| (literal.line, literal.text.as_str())).collect();
    assert_eq!(literals, [(1, "say \\\" // no"), (2, "raw \" \\"), (3, "bytes")]);
    assert_eq!(source.comments, [(1, "// why".to_owned())]);
    assert_eq!(source.code.len(), text.len());
    assert!(!["say", "why", "raw", "x", "z"].iter().any(|word| source.code.contains(word)), "{}", source.code);
    assert!(source.code.contains("let c: &'a u8"));
}
