//! The body of a response, as the result has it.

use std::io::{BufRead, BufReader, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_exchange::{Body, Encodings, Failure, ResponseHeaders, is_early_end};
use toolhost_guest::ToolError;
use url::Url;

use crate::input::Conversion;
use crate::media_type::MediaType;
use crate::page;
use crate::save::Unfinished;
use crate::{charset, fault};

/// The most bytes that a body may take in the result's JSON, below the 1 MiB of a result.
const MAX_JSON_BYTES: usize = 900_000;

/// The most bytes of a page that is converted.
const MAX_PAGE: usize = 4 << 20;

/// Bytes that are read from the network at once.
const PIECE: usize = 64 << 10;

/// What became of a body.
#[derive(Default)]
pub(crate) struct Content {
    pub(crate) text: String,
    pub(crate) is_base64: bool,
    pub(crate) charset: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) truncated: bool,
    pub(crate) notes: Vec<String>,
}

/// A body that is decoded while it arrives.
pub(crate) struct Decoded<'u> {
    reader: Box<dyn BufRead>,
    failure: Failure,
    url: &'u Url,
    is_encoded: bool,
    notes: Vec<String>,
}

impl<'u> Decoded<'u> {
    /// # Errors
    /// The network fails, or the first bytes are not in the encoding that the headers name.
    pub(crate) fn new(
        url: &'u Url,
        headers: &ResponseHeaders,
        body: Body,
    ) -> Result<Self, ToolError> {
        let failure = body.failure();
        let body = BufReader::with_capacity(PIECE, body);
        let mut notes = Vec::new();
        let (reader, is_encoded): (Box<dyn BufRead>, bool) =
            match Encodings::parse(headers.all("content-encoding")) {
                Ok(encodings) => {
                    let reader = encodings.decode(body);
                    (
                        reader.map_err(|error| failed(url, &failure, &error))?,
                        false,
                    )
                }
                Err(name) => {
                    notes.push(format!(
                        "the content encoding `{name}` is not decoded: these are the encoded bytes"
                    ));
                    (Box::new(body), true)
                }
            };
        Ok(Self {
            reader,
            failure,
            url,
            is_encoded,
            notes,
        })
    }

    /// Reads up to `most` bytes, and says whether there are more. A body that ends within its encoding is
    /// returned as far as it goes.
    fn read(&mut self, most: usize) -> Result<(Vec<u8>, bool), ToolError> {
        let mut bytes = Vec::new();
        // One byte more tells whether there is more.
        let limit = most as u64 + 1;
        let truncated = match self.reader.by_ref().take(limit).read_to_end(&mut bytes) {
            Ok(_) => bytes.len() > most,
            Err(error) if self.failure.borrow().is_none() && is_early_end(&error) => {
                self.notes
                    .push("the body ends within its content encoding".to_owned());
                true
            }
            Err(error) => return Err(failed(self.url, &self.failure, &error)),
        };
        bytes.truncate(most);
        Ok((bytes, truncated))
    }

    /// Returns a body of up to `most` bytes.
    pub(crate) fn content(
        mut self,
        kind: &MediaType,
        conversion: Conversion,
        most: usize,
    ) -> Result<Content, ToolError> {
        let of_page = match conversion {
            Conversion::Raw => most,
            Conversion::Markdown | Conversion::Text => MAX_PAGE,
        };
        let (mut bytes, mut truncated) = self.read(of_page)?;
        let text = if self.is_encoded {
            None
        } else {
            charset::decode(&bytes, kind, truncated)
        };
        let mut notes = self.notes;
        let Some(text) = text else {
            truncated |= bytes.len() > most;
            bytes.truncate(most);
            return Ok(Content {
                text: STANDARD.encode(bytes),
                is_base64: true,
                truncated,
                notes,
                ..Content::default()
            });
        };
        notes.extend(text.notes);
        let mut content = Content {
            text: text.text,
            charset: Some(text.charset),
            truncated,
            notes,
            ..Content::default()
        };
        if conversion != Conversion::Raw {
            if kind.is_html() || (kind.is_absent() && charset::is_page(&content.text)) {
                content.convert(self.url, conversion, most);
            } else {
                content
                    .notes
                    .push("not an HTML page: not converted".to_owned());
                content.cut(most);
            }
        }
        content.fit();
        Ok(content)
    }

    /// Writes the whole body to a file, and returns its size.
    pub(crate) fn save(mut self, mut file: Unfinished) -> Result<(u64, Vec<String>), ToolError> {
        let mut size = 0;
        loop {
            let bytes = match self.reader.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) => return Err(failed(self.url, &self.failure, &error)),
            };
            if bytes.is_empty() {
                break;
            }
            file.write(bytes)?;
            let count = bytes.len();
            self.reader.consume(count);
            size += count as u64;
        }
        file.commit()?;
        Ok((size, self.notes))
    }
}

impl Content {
    fn convert(&mut self, url: &Url, conversion: Conversion, most: usize) {
        let page = page::convert(&self.text, url, conversion, most);
        self.text = page.text;
        self.title = page.title;
        self.truncated |= page.truncated;
        self.cut(most);
    }

    /// Cuts the text to so many bytes.
    fn cut(&mut self, most: usize) {
        if self.text.len() > most {
            self.text.truncate(self.text.floor_char_boundary(most));
            self.truncated = true;
        }
    }

    /// Cuts the text to what a result may hold.
    fn fit(&mut self) {
        let mut json_bytes = 0;
        let end = self.text.char_indices().find_map(|(at, char)| {
            json_bytes += in_json(char);
            (json_bytes > MAX_JSON_BYTES).then_some(at)
        });
        if let Some(end) = end {
            self.cut(end);
        }
    }
}

/// Returns the bytes of a character in JSON.
fn in_json(char: char) -> usize {
    match char {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        char if char.is_control() => 6,
        char => char.len_utf8(),
    }
}

/// Returns why a body cannot be read: the network failed, or its encoding is invalid.
fn failed(url: &Url, failure: &Failure, error: &std::io::Error) -> ToolError {
    match failure.borrow_mut().take() {
        Some(failure) => fault::exchange(url, failure),
        None => fault::encoding(url, error),
    }
}
