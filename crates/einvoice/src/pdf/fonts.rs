//! Shapes text into glyphs with harfrust, measures it and breaks it into lines.
//!
//! A name may be in any script. Each character comes from the first font that has it; one that no font has becomes
//! U+FFFD, since PDF/A forbids the `.notdef` glyph. Runs of right-to-left scripts are shaped right to left, but runs
//! within a line keep the order of the text: there is no bidirectional reordering.

use std::cell::{OnceCell, RefCell};

use harfrust::{GlyphBuffer, ShapeOptions, ShapePlan, ShapePlanKey, ShaperData, UnicodeBuffer};
use krilla::text::{Font, GlyphId, KrillaGlyph};
use skrifa::charmap::Charmap;
use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

use super::PdfError;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Weight {
    Regular,
    Bold,
}

/// The two weights of the text font, then the fallback fonts in order.
const FILES: [&[u8]; 5] = [
    include_bytes!("../../fonts/NotoSans-Regular.ttf"),
    include_bytes!("../../fonts/NotoSans-Bold.ttf"),
    include_bytes!("../../fonts/DejaVuSans.ttf"),
    include_bytes!("../../fonts/NotoSansThai-Regular.ttf"),
    include_bytes!("../../fonts/DroidSansFallback.ttf"),
];
const FIRST_FALLBACK: usize = 2;
/// More than fit on any line.
const MAX_LINE_CHARS: usize = 300;
const REPLACEMENT: char = '\u{fffd}';

pub(super) struct Fonts(Vec<Typeface>);

struct Typeface {
    file: &'static [u8],
    font: FontRef<'static>,
    charmap: Charmap<'static>,
    units_per_em: f32,
    shaper: ShaperData,
    /// One plan per script and direction: building a plan takes far longer than shaping with it.
    plans: RefCell<Vec<ShapePlan>>,
    /// Built on first use, since krilla parses the whole file.
    pdf_font: OnceCell<Option<Font>>,
}

/// Text shaped with one font.
pub(super) struct Run {
    typeface: usize,
    pub(super) text: String,
    pub(super) glyphs: Vec<KrillaGlyph>,
    /// At font size 1.
    pub(super) width: f32,
}

impl Fonts {
    pub(super) fn load() -> Result<Fonts, PdfError> {
        let typefaces: Option<Vec<Typeface>> = FILES.iter().map(|file| Typeface::load(file)).collect();
        typefaces.map(Fonts).ok_or_else(|| PdfError::new("a font cannot be read"))
    }

    /// The krilla font of a run.
    pub(super) fn font_of(&self, run: &Run) -> Result<Font, PdfError> {
        let typeface = self.0.get(run.typeface);
        let font = typeface.and_then(|face| face.pdf_font.get_or_init(|| Font::new(face.file.into(), 0)).clone());
        font.ok_or_else(|| PdfError::new("a font cannot be embedded"))
    }

    /// Splits the text by font and shapes each piece.
    pub(super) fn runs(&self, text: &str, weight: Weight) -> Vec<Run> {
        let mut pieces: Vec<(usize, String)> = Vec::new();
        for c in printable(text).chars() {
            let before = pieces.last().map(|(typeface, _)| *typeface);
            let (typeface, c) = self.pick_typeface(c, weight, before);
            match pieces.last_mut() {
                Some((last, piece)) if *last == typeface => piece.push(c),
                _ => pieces.push((typeface, c.to_string())),
            }
        }
        pieces.into_iter().filter_map(|(typeface, text)| self.shape_run(typeface, text)).collect()
    }

    fn pick_typeface(&self, c: char, weight: Weight, before: Option<usize>) -> (usize, char) {
        let has = |index: &usize| self.0.get(*index).is_some_and(|face| face.charmap.map(c).is_some());
        // Spaces and punctuation stay in a fallback run: split there, right-to-left words would end up in wrong order.
        if let Some(before) = before.filter(|before| *before >= FIRST_FALLBACK && !c.is_alphanumeric() && has(before)) {
            return (before, c);
        }
        let own = weight as usize;
        let found = std::iter::once(own).chain(FIRST_FALLBACK..self.0.len()).find(has);
        found.map_or((own, REPLACEMENT), |typeface| (typeface, c))
    }

    fn shape_run(&self, typeface: usize, text: String) -> Option<Run> {
        let face = self.0.get(typeface)?;
        let shaped = face.shape(&text);
        let em = face.units_per_em;
        let mut starts: Vec<usize> = shaped.glyph_infos().iter().map(|info| info.cluster as usize).collect();
        starts.sort_unstable();
        let end_of = |start: usize| starts.iter().copied().find(|other| *other > start).unwrap_or(text.len());
        let placed = shaped.glyph_infos().iter().zip(shaped.glyph_positions());
        let glyphs: Vec<KrillaGlyph> = placed
            .map(|(info, position)| {
                let start = info.cluster as usize;
                KrillaGlyph::new(
                    GlyphId::new(info.glyph_id),
                    position.x_advance as f32 / em,
                    position.x_offset as f32 / em,
                    position.y_offset as f32 / em,
                    position.y_advance as f32 / em,
                    start..end_of(start),
                    None,
                )
            })
            .collect();
        let width = glyphs.iter().map(|glyph| glyph.x_advance).sum();
        Some(Run { typeface, text, glyphs, width })
    }

    /// The width of a text in points.
    pub(super) fn width(&self, text: &str, weight: Weight, size: f32) -> f32 {
        self.runs(text, weight).iter().map(|run| run.width).sum::<f32>() * size
    }

    /// Breaks the text into at most `max_lines` lines of at most `width` points; a longer text ends in an ellipsis.
    pub(super) fn wrap(&self, text: &str, weight: Weight, size: f32, width: f32, max_lines: usize) -> Vec<String> {
        let fits = |line: &str| self.width(line, weight, size) <= width;
        let shown: String = printable(text).chars().take((max_lines + 1) * MAX_LINE_CHARS).collect();
        let mut lines: Vec<String> = Vec::new();
        let mut line = String::new();
        for word in shown.split(' ').filter(|word| !word.is_empty()) {
            if lines.len() > max_lines {
                break;
            }
            let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if fits(&longer) {
                line = longer;
            } else {
                lines.extend(Some(std::mem::take(&mut line)).filter(|line| !line.is_empty()));
                let mut pieces = split_word(word, fits);
                line = pieces.pop().unwrap_or_default();
                lines.append(&mut pieces);
            }
        }
        lines.extend(Some(line).filter(|line| !line.is_empty()));
        if lines.len() > max_lines {
            lines.truncate(max_lines);
            if let Some(last) = lines.last_mut() {
                while !last.is_empty() && !fits(&format!("{last}…")) {
                    last.pop();
                }
                last.push('…');
            }
        }
        lines
    }
}

impl Typeface {
    fn load(file: &'static [u8]) -> Option<Typeface> {
        let font = FontRef::new(file).ok()?;
        let units_per_em = font.metrics(Size::unscaled(), LocationRef::default()).units_per_em.into();
        let (charmap, shaper) = (font.charmap(), ShaperData::new(&font));
        Some(Typeface {
            file,
            font,
            charmap,
            units_per_em,
            shaper,
            plans: RefCell::default(),
            pdf_font: OnceCell::new(),
        })
    }

    fn shape(&self, text: &str) -> GlyphBuffer {
        let mut buffer = UnicodeBuffer::new();
        buffer.push_str(text);
        buffer.guess_segment_properties();
        let (direction, script) = (buffer.direction(), Some(buffer.script()));
        let shaper = self.shaper.shaper(&self.font).build();
        let key = ShapePlanKey::new(script, direction);
        let mut plans = self.plans.borrow_mut();
        let known = plans.iter().position(|plan| key.matches(plan));
        let index = known.unwrap_or_else(|| {
            plans.push(ShapePlan::new(&shaper, direction, script, None, &[]));
            plans.len() - 1
        });
        shaper.shape(buffer, ShapeOptions::new().plan(plans.get(index)))
    }
}

/// Splits a word into pieces that fit, of at least one character each.
fn split_word(word: &str, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for c in word.chars() {
        match pieces.last_mut() {
            Some(piece) if fits(&format!("{piece}{c}")) => piece.push(c),
            _ => pieces.push(c.to_string()),
        }
    }
    pieces
}

/// Replaces white space by spaces and drops control characters and invisible formatting characters. Direction overrides
/// are dropped too: with them a name can be made to look like another.
pub(super) fn printable(text: &str) -> String {
    text.chars()
        .filter_map(|c| if c.is_whitespace() { Some(' ') } else { Some(c).filter(|c| !is_invisible(*c)) })
        .collect()
}

fn is_invisible(c: char) -> bool {
    let is_formatting = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    is_formatting || c.is_control() || matches!(c, '\u{ad}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn text_in_any_supported_script_has_glyphs() {
        let fonts = Fonts::load().unwrap();
        for name in ["Łódź Ælfgār", "Ελληνικά", "Телеком", "电信 株式会社 전화", "شركة الاتصالات", "תקשורת", "โทรคมนาคม"]
        {
            let runs = fonts.runs(name, Weight::Bold);
            assert!(runs.iter().all(|run| !run.text.contains(REPLACEMENT)), "{name}");
            assert!(runs.iter().flat_map(|run| &run.glyphs).all(|glyph| glyph.glyph_id.to_u32() != 0), "{name}");
        }
    }

    #[test]
    fn right_to_left_words_stay_in_one_run() {
        let fonts = Fonts::load().unwrap();
        assert_eq!(fonts.runs("شركة الاتصالات", Weight::Regular).len(), 1);
    }

    #[test]
    fn a_character_without_a_font_is_replaced_and_controls_are_dropped() {
        let fonts = Fonts::load().unwrap();
        let texts: Vec<String> =
            fonts.runs("a\u{13000}\u{0}b\u{202e}", Weight::Regular).into_iter().map(|r| r.text).collect();
        assert_eq!(texts.concat(), "a\u{fffd}b");
    }

    #[test]
    fn lines_break_between_words_and_inside_long_ones_with_an_ellipsis() {
        let fonts = Fonts::load().unwrap();
        let wrap = |text: &str, max_lines| fonts.wrap(text, Weight::Regular, 10.0, 60.0, max_lines);
        assert_eq!(wrap("one two three four", 9), ["one two", "three four"]);
        assert!(wrap(&"x".repeat(40), 9).iter().all(|line| fonts.width(line, Weight::Regular, 10.0) <= 60.0));
        assert_eq!(wrap(&"x".repeat(40), 9).concat(), "x".repeat(40));
        let short = wrap(&"word ".repeat(5000), 2);
        assert!(short.len() == 2 && short[1].ends_with('…'), "{short:?}");
        assert_eq!(wrap("", 3), Vec::<String>::new());
    }
}
