//! Planes with a margin of zeros, so that no read needs to check the border.

/// Two pixels, so that both neighbours of a sample beyond the border are zero.
pub(super) const MARGIN_PX: usize = 2;

/// `[channel][row][column]` planes with a margin on all sides.
pub(super) struct Padded {
    height_px: usize,
    width_px: usize,
    values: Vec<f32>,
}

impl Padded {
    /// All zero; the size is given without the margin.
    pub fn new(channels: usize, height_px: usize, width_px: usize) -> Self {
        let [padded_height, padded_width] = [height_px, width_px].map(|size| size + 2 * MARGIN_PX);
        Self {
            height_px,
            width_px,
            values: vec![0.0; channels * padded_height * padded_width],
        }
    }

    /// Copies planes in; the margin stays zero.
    pub fn load(&mut self, planes: &[f32]) {
        for (index, row) in self.inner_rows().enumerate() {
            row.copy_from_slice(&planes[index * row.len()..][..row.len()]);
        }
    }

    /// Copies the planes out without the margin.
    pub fn unload(&mut self, planes: &mut [f32]) {
        for (index, row) in self.inner_rows().enumerate() {
            planes[index * row.len()..][..row.len()].copy_from_slice(row);
        }
    }

    pub fn clear(&mut self) {
        self.values.fill(0.0);
    }

    /// A row with its margin; `line` counts from the margin's first.
    pub fn line(&self, channel: usize, line: usize) -> &[f32] {
        let start = self.line_start(channel, line);
        &self.values[start..][..self.padded_width()]
    }

    pub fn line_mut(&mut self, channel: usize, line: usize) -> &mut [f32] {
        let (start, width) = (self.line_start(channel, line), self.padded_width());
        &mut self.values[start..][..width]
    }

    /// Rows of each plane with the margin.
    pub fn lines(&self) -> usize {
        self.height_px + 2 * MARGIN_PX
    }

    fn padded_width(&self) -> usize {
        self.width_px + 2 * MARGIN_PX
    }

    fn line_start(&self, channel: usize, line: usize) -> usize {
        (channel * self.lines() + line) * self.padded_width()
    }

    fn inner_rows(&mut self) -> impl Iterator<Item = &mut [f32]> {
        let (lines, inside) = (self.lines(), MARGIN_PX..MARGIN_PX + self.height_px);
        let (padded_width, width_px) = (self.padded_width(), self.width_px);
        let rows = self.values.chunks_exact_mut(padded_width).enumerate();
        rows.filter(move |(index, _)| inside.contains(&(index % lines)))
            .map(move |(_, row)| &mut row[MARGIN_PX..][..width_px])
    }
}
