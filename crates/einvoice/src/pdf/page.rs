//! A page as a list of items, and drawing them with krilla.
//!
//! Coordinates are points from the top left; y grows downwards.

use krilla::Document;
use krilla::color::rgb;
use krilla::geom::{PathBuilder, Point, Rect};
use krilla::num::NormalizedF32;
use krilla::page::PageSettings;
use krilla::paint::{Fill, FillRule};
use krilla::surface::Surface;

use super::PdfError;
use super::fonts::{Fonts, Weight};

/// A4 in points.
pub(super) const WIDTH: f32 = 595.28;
pub(super) const HEIGHT: f32 = 841.89;

pub(super) type Colour = [u8; 3];

pub(super) const INK: Colour = [29, 33, 41];
pub(super) const MUTED: Colour = [98, 105, 118];
pub(super) const LIGHT: Colour = [218, 222, 228];
pub(super) const WHITE: Colour = [255, 255, 255];

/// Size, weight and colour of a text.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub(super) size: f32,
    pub(super) weight: Weight,
    pub(super) colour: Colour,
}

impl Style {
    pub(super) const fn regular(size: f32) -> Style {
        Style { size, weight: Weight::Regular, colour: INK }
    }

    pub(super) const fn bold(size: f32) -> Style {
        Style { size, weight: Weight::Bold, colour: INK }
    }

    pub(super) const fn in_colour(self, colour: Colour) -> Style {
        Style { colour, ..self }
    }
}

enum Item {
    Text { left: f32, baseline: f32, style: Style, text: String },
    Rect { left: f32, top: f32, width: f32, height: f32, colour: Colour },
}

#[derive(Default)]
pub(super) struct Page {
    items: Vec<Item>,
}

impl Page {
    pub(super) fn text(&mut self, left: f32, baseline: f32, style: Style, text: impl Into<String>) {
        self.items.push(Item::Text { left, baseline, style, text: text.into() });
    }

    /// A text aligned to the right at `right`.
    pub(super) fn text_right(
        &mut self,
        right: f32,
        baseline: f32,
        style: Style,
        text: impl Into<String>,
        fonts: &Fonts,
    ) {
        let text = text.into();
        self.text(right - fonts.width(&text, style.weight, style.size), baseline, style, text);
    }

    pub(super) fn rect(&mut self, left: f32, top: f32, width: f32, height: f32, colour: Colour) {
        self.items.push(Item::Rect { left, top, width, height, colour });
    }

    /// A horizontal line.
    pub(super) fn rule(&mut self, left: f32, right: f32, y: f32, weight: f32, colour: Colour) {
        self.rect(left, y - weight / 2.0, right - left, weight, colour);
    }

    pub(super) fn draw(&self, document: &mut Document, fonts: &Fonts) -> Result<(), PdfError> {
        let settings =
            PageSettings::from_wh(WIDTH, HEIGHT).ok_or_else(|| PdfError::new("A4 is not a valid page size"))?;
        let mut page = document.start_page_with(settings);
        let mut surface = page.surface();
        for item in &self.items {
            item.draw(&mut surface, fonts)?;
        }
        surface.finish();
        page.finish();
        Ok(())
    }
}

impl Item {
    fn draw(&self, surface: &mut Surface<'_>, fonts: &Fonts) -> Result<(), PdfError> {
        match self {
            Item::Text { left, baseline, style, text } => {
                surface.set_fill(Some(fill(style.colour)));
                let mut left = *left;
                for run in fonts.runs(text, style.weight) {
                    let start = Point::from_xy(left, *baseline);
                    surface.draw_glyphs(start, &run.glyphs, fonts.font_of(&run)?, &run.text, style.size, false);
                    left += run.width * style.size;
                }
            }
            Item::Rect { left, top, width, height, colour } => {
                surface.set_fill(Some(fill(*colour)));
                let mut path = PathBuilder::new();
                if let Some(rect) = Rect::from_xywh(*left, *top, *width, *height) {
                    path.push_rect(rect);
                }
                if let Some(path) = path.finish() {
                    surface.draw_path(&path);
                }
            }
        }
        Ok(())
    }
}

fn fill([red, green, blue]: Colour) -> Fill {
    Fill { paint: rgb::Color::new(red, green, blue).into(), opacity: NormalizedF32::ONE, rule: FillRule::NonZero }
}
