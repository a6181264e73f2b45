//! Which line has which colour.

use super::Series;
use super::panel::PLOT_WIDTH;
use super::text::{escaped, shortened};

/// Told apart on white, also by most who see few colours.
const COLOURS: [&str; 8] = [
    "#1f6fb4", "#d55e00", "#2a8f5b", "#9b4fb5", "#b8860b", "#17a2b8", "#c2185b", "#555555",
];

/// For each further round through the colours.
const DASHES: [&str; 4] = ["", "6 3", "2 3", "8 3 2 3"];

/// The height of a line of entries.
pub(super) const ROW_HEIGHT: f64 = 16.0;

const SAMPLE_WIDTH: f64 = 18.0;
const GAP: f64 = 6.0;
const LETTER_WIDTH: f64 = 6.2;
const MAX_LETTERS: usize = 50;

/// The names of a chart's series, each once.
pub(super) struct Legend<'a> {
    entries: Vec<Entry<'a>>,
}

struct Entry<'a> {
    name: &'a str,
    faint: bool,
    row: usize,
    left: f64,
}

impl<'a> Legend<'a> {
    /// Sets the names in rows.
    pub fn of(series: &'a [Series]) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        let (mut row, mut left) = (0, 0.0);
        for line in series {
            if let Some(entry) = entries.iter_mut().find(|entry| entry.name == line.name) {
                entry.faint &= line.faint;
                continue;
            }
            let letters = line.name.chars().count().min(MAX_LETTERS) as f64;
            let width = match line.name.is_empty() {
                true => 0.0,
                false => SAMPLE_WIDTH + GAP + letters * LETTER_WIDTH,
            };
            if left > 0.0 && left + width > PLOT_WIDTH {
                (row, left) = (row + 1, 0.0);
            }
            entries.push(Entry {
                name: &line.name,
                faint: line.faint,
                row,
                left,
            });
            if width > 0.0 {
                left += width + 2.0 * GAP;
            }
        }
        Self { entries }
    }

    /// How many rows there are to show.
    pub fn rows(&self) -> usize {
        let rows = self.listed().map(|(_, entry)| entry.row + 1);
        rows.max().unwrap_or(0)
    }

    /// The attributes of the lines of this name.
    pub fn stroke(&self, name: &str, faint: bool) -> String {
        let place = self.entries.iter().position(|entry| entry.name == name);
        stroke(place.unwrap_or(0), faint)
    }

    /// The colour of the lines of this name.
    pub fn colour(&self, name: &str) -> &'static str {
        let place = self.entries.iter().position(|entry| entry.name == name);
        COLOURS[place.unwrap_or(0) % COLOURS.len()]
    }

    /// The rows, from a corner on.
    pub fn to_svg(&self, left: f64, top: f64) -> String {
        let entry = |(place, entry): (usize, &Entry)| {
            let x = left + entry.left;
            let y = top + entry.row as f64 * ROW_HEIGHT;
            format!(
                "<path d=\"M{x:.1} {y}h{SAMPLE_WIDTH}\" {}/><text x=\"{:.1}\" y=\"{}\">{}</text>\n",
                stroke(place, entry.faint),
                x + SAMPLE_WIDTH + GAP,
                y + 4.0,
                escaped(&shortened(entry.name, MAX_LETTERS)),
            )
        };
        self.listed().map(entry).collect()
    }

    fn listed(&self) -> impl Iterator<Item = (usize, &Entry<'a>)> {
        let entries = self.entries.iter().enumerate();
        entries.filter(|(_, entry)| !entry.name.is_empty())
    }
}

fn stroke(place: usize, faint: bool) -> String {
    let colour = COLOURS[place % COLOURS.len()];
    let weight = match faint {
        true => "stroke-width=\"1\" stroke-opacity=\"0.3\"",
        false => "stroke-width=\"1.5\"",
    };
    let dashes = match DASHES[place / COLOURS.len() % DASHES.len()] {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    };
    format!("fill=\"none\" stroke=\"{colour}\" {weight}{dashes} stroke-linejoin=\"round\"")
}
