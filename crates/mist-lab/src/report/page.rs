//! One self-contained HTML page about a run.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const STYLE: &str = "body{font:15px/1.5 sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}\
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}img,svg{max-width:100%;height:auto}\
img{image-rendering:pixelated}table{border-collapse:collapse}td,th{padding:.2rem .8rem;border-bottom:1px solid #ddd;\
text-align:left}pre{background:#f6f6f6;padding:1rem;overflow-x:auto}figcaption{color:#666}figure{margin:1rem 0}";

/// A page under construction.
pub struct Page {
    title: String,
    body: String,
}

impl Page {
    /// A page with its heading.
    pub fn new(title: &str) -> Self {
        let title = escaped(title);
        let body = format!("<h1>{title}</h1>\n");
        Self { title, body }
    }

    /// Begins a part.
    pub fn heading(&mut self, text: &str) {
        self.add(format_args!("<h2>{}</h2>\n", escaped(text)));
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.add(format_args!("<p>{}</p>\n", escaped(text)));
    }

    /// Names and values.
    pub fn table<'a>(&mut self, rows: impl Iterator<Item = (&'a str, String)>) {
        self.body.push_str("<table>\n");
        for (name, value) in rows {
            let (name, value) = (escaped(name), escaped(&value));
            self.add(format_args!("<tr><td>{name}</td><td>{value}</td></tr>\n"));
        }
        self.body.push_str("</table>\n");
    }

    /// A drawing of our own.
    pub fn svg(&mut self, svg: &str) {
        self.add(format_args!("<figure>{svg}</figure>\n"));
    }

    /// A picture, held in the page.
    pub fn png(&mut self, png: &[u8], caption: &str) {
        let (data, caption) = (STANDARD.encode(png), escaped(caption));
        self.add(format_args!(
            "<figure><img alt=\"{caption}\" src=\"data:image/png;base64,{data}\">\
             <figcaption>{caption}</figcaption></figure>\n"
        ));
    }

    /// Text as it is.
    pub fn listing(&mut self, text: &str) {
        self.add(format_args!("<pre>{}</pre>\n", escaped(text)));
    }

    /// The whole page.
    pub fn finish(self) -> String {
        let Self { title, body } = self;
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
             <style>{STYLE}</style></head>\n<body>\n{body}</body></html>\n"
        )
    }

    fn add(&mut self, html: std::fmt::Arguments) {
        self.body += &html.to_string();
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_page() {
        let mut page = Page::new("<script>");
        page.table([("a\"b", "<i>".to_owned())].into_iter());
        page.png(b"png", "x\" onerror=\"y");
        let html = page.finish();
        assert!(
            !html.contains("<script>") && !html.contains("<i>") && !html.contains("onerror=\"")
        );
        assert!(html.contains("data:image/png;base64,cG5n"));
    }
}
