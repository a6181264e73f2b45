//! Tables of class counts: `file,class,count`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::BACKGROUND;
use crate::error::{AtPath, Result, bad_input};

const COLUMNS: [&str; 3] = ["file", "class", "count"];
/// The most objects of a class in one image.
const MAX_COUNT: usize = 1_000_000;

/// How many objects of each class each file has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// What the classes are called, in alphabetical order.
    pub classes: Vec<String>,
    by_file: BTreeMap<String, Vec<usize>>,
}

/// What is wrong with a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CountsError {
    /// It is not text.
    #[error("is not UTF-8 text")]
    NotText,
    /// It has no lines.
    #[error("is empty; the first line must be `file,class,count`")]
    Empty,
    /// A column is missing.
    #[error("has no column `{0}`; the first line must be `file,class,count`")]
    MissingColumn(&'static str),
    /// A column is there twice.
    #[error("has two columns `{0}`")]
    DoubledColumn(&'static str),
    /// A row has too few or too many fields.
    #[error("line {line}: has {found} fields instead of {expected}")]
    Fields {
        /// Counted from 1.
        line: usize,
        /// In this row.
        found: usize,
        /// In the first one.
        expected: usize,
    },
    /// A quotation mark that is never closed.
    #[error("line {line}: a quotation mark is not closed")]
    OpenQuote {
        /// Counted from 1.
        line: usize,
    },
    /// A count that is not a whole number.
    #[error("line {line}: the count `{found}` must be a whole number from 0 to {MAX_COUNT}")]
    Count {
        /// Counted from 1.
        line: usize,
        /// What is there.
        found: String,
    },
    /// A row without a file, or objects without a class.
    #[error("line {line}: the {column} is empty")]
    EmptyField {
        /// Counted from 1.
        line: usize,
        /// Which column.
        column: &'static str,
    },
    /// The same file and class twice.
    #[error("line {line}: class `{class}` of `{file}` is counted a second time")]
    DoubledRow {
        /// Counted from 1.
        line: usize,
        /// The file.
        file: String,
        /// The class.
        class: String,
    },
    /// A class with the name of none.
    #[error("line {line}: `{BACKGROUND}` cannot be a class: it stands for no object")]
    ReservedClass {
        /// Counted from 1.
        line: usize,
    },
    /// No row has an object.
    #[error("counts no object at all")]
    NoObjects,
}

impl Counts {
    /// Reads a table from a CSV file.
    ///
    /// # Errors
    /// When it cannot be read, or is not such a table.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).at("read", path)?;
        let text = String::from_utf8(bytes).map_err(|_| CountsError::NotText);
        text.and_then(|text| Self::parse(&text))
            .map_err(|error| bad_input(path, error.to_string()))
    }

    /// Reads a table from text: fields may be quoted, lines may end with CR LF, further columns are left out. A file
    /// without objects has a row whose count is 0; its class may be empty.
    ///
    /// # Errors
    /// As [`CountsError`] says.
    pub fn parse(text: &str) -> Result<Self, CountsError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut records = records(text)?.into_iter();
        let (_, header) = records.next().ok_or(CountsError::Empty)?;
        let columns = columns(&header)?;
        let mut rows: BTreeMap<(String, String), usize> = BTreeMap::new();
        let mut files = BTreeSet::new();
        for (line, fields) in records {
            if fields.len() != header.len() {
                return Err(CountsError::Fields {
                    line,
                    found: fields.len(),
                    expected: header.len(),
                });
            }
            let [file, class, count] = columns.map(|column| fields[column].trim());
            let count = parse_count(line, count)?;
            let empty = |column| CountsError::EmptyField { line, column };
            if file.is_empty() {
                return Err(empty(COLUMNS[0]));
            }
            let file = file_name(file);
            files.insert(file.clone());
            if class.is_empty() {
                match count {
                    0 => continue,
                    _ => return Err(empty(COLUMNS[1])),
                }
            }
            if class.eq_ignore_ascii_case(BACKGROUND) {
                return Err(CountsError::ReservedClass { line });
            }
            let key = (file, class.to_owned());
            if rows.contains_key(&key) {
                let (file, class) = key;
                return Err(CountsError::DoubledRow { line, file, class });
            }
            rows.insert(key, count);
        }
        if rows.values().all(|&count| count == 0) {
            return Err(CountsError::NoObjects);
        }
        Ok(Self::from_rows(&files, &rows))
    }

    fn from_rows(files: &BTreeSet<String>, rows: &BTreeMap<(String, String), usize>) -> Self {
        let classes: BTreeSet<&String> = rows.keys().map(|(_, class)| class).collect();
        let classes: Vec<String> = classes.into_iter().cloned().collect();
        let counted = |file: &String| {
            let of_class = |class: &String| rows.get(&(file.clone(), class.clone())).copied();
            let counts = classes.iter().map(|class| of_class(class).unwrap_or(0));
            (file.clone(), counts.collect())
        };
        Self {
            by_file: files.iter().map(counted).collect(),
            classes,
        }
    }

    /// The counts of a file by label, if it is in the table.
    pub fn of(&self, file: &str) -> Option<&[usize]> {
        self.by_file.get(file).map(Vec::as_slice)
    }

    /// The files of the table, in alphabetical order.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.by_file.keys().map(String::as_str)
    }
}

fn parse_count(line: usize, text: &str) -> Result<usize, CountsError> {
    let wrong = || CountsError::Count {
        line,
        found: text.to_owned(),
    };
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let count = text.parse().ok().filter(|&count| count <= MAX_COUNT);
    count.filter(|_| digits).ok_or_else(wrong)
}

/// A path as [`super::FolderFiles::name`] writes it.
fn file_name(text: &str) -> String {
    let parts = text.split(['/', '\\']);
    let parts: Vec<&str> = parts
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    parts.join("/")
}

/// Where the three columns are.
fn columns(header: &[String]) -> Result<[usize; 3], CountsError> {
    let mut places = [0; 3];
    for (place, name) in places.iter_mut().zip(COLUMNS) {
        let named = |field: &String| field.trim().eq_ignore_ascii_case(name);
        let mut found = (0..header.len()).filter(|&column| named(&header[column]));
        *place = found.next().ok_or(CountsError::MissingColumn(name))?;
        if found.next().is_some() {
            return Err(CountsError::DoubledColumn(name));
        }
    }
    Ok(places)
}

/// The records of a CSV text with the lines at which they begin; empty lines are left out.
pub(crate) fn records(text: &str) -> Result<Vec<(usize, Vec<String>)>, CountsError> {
    let mut records = Vec::new();
    let (mut fields, mut field) = (Vec::new(), String::new());
    let (mut line, mut begun) = (1, 1);
    let mut quoted_from = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\n' {
            line += 1;
        }
        match (letter, quoted_from) {
            ('"', Some(_)) if letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            ('"', Some(_)) => quoted_from = None,
            ('"', None) if field.trim().is_empty() => {
                field.clear();
                quoted_from = Some(line);
            }
            (',', None) => fields.push(std::mem::take(&mut field)),
            ('\r', None) if letters.peek() == Some(&'\n') => {}
            ('\n', None) => {
                end_record(&mut records, begun, &mut fields, &mut field);
                begun = line;
            }
            (other, _) => field.push(other),
        }
    }
    if let Some(line) = quoted_from {
        return Err(CountsError::OpenQuote { line });
    }
    end_record(&mut records, begun, &mut fields, &mut field);
    Ok(records)
}

fn end_record(
    records: &mut Vec<(usize, Vec<String>)>,
    line: usize,
    fields: &mut Vec<String>,
    field: &mut String,
) {
    let last = std::mem::take(field);
    if fields.is_empty() && last.trim().is_empty() {
        return;
    }
    fields.push(last);
    records.push((line, std::mem::take(fields)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn byte_order_marks_line_ends_quotes_and_further_columns_are_read() {
        let text = "\u{feff}note,File,class,COUNT\r\nx,./a.png,red,2\r\n,a.png,\"white, big\",1\r\n\r\n\
                    ,sub\\b.png,,0\r\n";
        let counts = Counts::parse(text).unwrap();
        assert_eq!(counts.classes, ["red", "white, big"]);
        assert_eq!(counts.of("a.png"), Some(&[2, 1][..]));
        assert_eq!(counts.of("sub/b.png"), Some(&[0, 0][..]));
        assert_eq!(counts.of("c.png"), None);
        assert_eq!(counts.files().count(), 2);
    }

    #[test]
    fn every_mistake_has_its_error() {
        use CountsError as E;
        let error = |text: &str| Counts::parse(text).unwrap_err();
        let row = |row: &str| error(&format!("file,class,count\na.png,red,1\n{row}\n"));
        assert_eq!(error(""), E::Empty);
        assert_eq!(error("file,count\n"), E::MissingColumn("class"));
        assert_eq!(error("file,class,count,File\n"), E::DoubledColumn("file"));
        assert!(matches!(row("b.png,red"), E::Fields { line: 3, .. }));
        for count in ["-1", "1.5", "+1", "", "many", "99999999999999999999"] {
            let wrong = row(&format!("b.png,red,{count}"));
            assert!(matches!(wrong, E::Count { line: 3, .. }), "{count}");
        }
        assert!(matches!(row("./a.png,red,1"), E::DoubledRow { .. }));
        assert!(matches!(row(",red,1"), E::EmptyField { .. }));
        assert!(matches!(row("b.png,,1"), E::EmptyField { .. }));
        assert!(matches!(
            row("b.png,Background,1"),
            E::ReservedClass { line: 3 }
        ));
        assert_eq!(row("b.png,\"red,1"), E::OpenQuote { line: 3 });
        assert_eq!(error("file,class,count\na.png,red,0\n"), E::NoObjects);
    }

    fn quoted(text: &str) -> String {
        format!("\"{}\"", text.replace('"', "\"\""))
    }

    proptest! {
        #[test]
        fn any_text_is_a_table_or_an_error(text in "\\PC*|[a-c,\"\r\n0-9]{0,60}") {
            let _ = Counts::parse(&text);
            let _ = Counts::parse(&format!("file,class,count\n{text}"));
        }

        #[test]
        fn what_is_written_is_read(
            rows in prop::collection::btree_map("[a-z\", ]{0,6}[a-z]", 1_usize..1000, 1..9),
            end in prop::sample::select(vec!["\n", "\r\n"]),
        ) {
            let mut text = format!("file,class,count{end}");
            for (number, (class, count)) in rows.iter().enumerate() {
                text += &format!("{number}.png,{},{count}{end}", quoted(class));
            }
            let counts = Counts::parse(&text).unwrap();
            let classes: BTreeSet<&str> = rows.keys().map(|class| class.trim()).collect();
            prop_assert!(counts.classes.iter().map(String::as_str).eq(classes));
            for (number, (class, &count)) in rows.iter().enumerate() {
                let label = counts.classes.iter().position(|name| name == class.trim());
                let of_file = counts.of(&format!("{number}.png")).unwrap();
                prop_assert_eq!(of_file[label.unwrap()], count);
                prop_assert_eq!(of_file.iter().sum::<usize>(), count);
            }
        }
    }
}
