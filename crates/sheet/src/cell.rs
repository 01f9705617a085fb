//! Writes CSV cells that are safe to open in a spreadsheet.

/// Appends a text as a CSV cell: quoted if necessary, and with an apostrophe before what a spreadsheet would run as a
/// formula. An E.164 number keeps its plus without one.
pub fn write_cell(out: &mut Vec<u8>, text: &str) {
    let needs_quotes = text.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'));
    let looks_like_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_e164(text);
    if needs_quotes {
        out.push(b'"');
    }
    if looks_like_formula {
        out.push(b'\'');
    }
    if needs_quotes {
        for byte in text.bytes() {
            out.extend_from_slice(if byte == b'"' { b"\"\"" } else { std::slice::from_ref(&byte) });
        }
        out.push(b'"');
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

/// A plus and 7 to 15 digits, the first not zero.
fn is_e164(text: &str) -> bool {
    text.strip_prefix('+').is_some_and(|digits| {
        (7..=15).contains(&digits.len())
            && !digits.starts_with('0')
            && digits.bytes().all(|digit| digit.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn cell(text: &str) -> String {
        let mut out = Vec::new();
        write_cell(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn formulas_get_an_apostrophe_and_e164_numbers_do_not() {
        assert_eq!(cell("+31201234567"), "+31201234567");
        for (text, written) in [
            ("=1+1", "'=1+1"),
            ("+31", "'+31"),
            ("+31201234567;x", "'+31201234567;x"),
            ("-1", "'-1"),
            ("@a", "'@a"),
            ("\tx", "'\tx"),
            ("\rx", "\"'\rx\""),
            ("=\"a\",b", "\"'=\"\"a\"\",b\""),
            ("a, b", "\"a, b\""),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(cell(text), written, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_reads_back_as_one_cell(text in any::<String>()) {
            let line = format!("{},end\n", cell(&text));
            let read = read_csv(&line);
            prop_assert_eq!(read.len(), 2);
            prop_assert_eq!(read[0].strip_prefix('\'').filter(|rest| *rest == text).unwrap_or(&read[0]), &text);
            prop_assert!(!read[0].starts_with(['=', '-', '@', '\t', '\r']));
        }
    }

    /// Splits one line by the rules of RFC 4180.
    fn read_csv(line: &str) -> Vec<String> {
        let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
        let mut rest = line.strip_suffix('\n').unwrap().chars().peekable();
        while let Some(next) = rest.next() {
            match (next, quoted) {
                ('"', true) if rest.peek() == Some(&'"') => cell.extend(rest.next()),
                ('"', _) => quoted = !quoted,
                (',', false) => cells.push(std::mem::take(&mut cell)),
                (other, _) => cell.push(other),
            }
        }
        cells.push(cell);
        cells
    }
}
