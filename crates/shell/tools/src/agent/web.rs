//! `WebFetch` and `WebSearch`.
//!
//! A page is fetched over https, followed through redirects of its own host, turned into Markdown and
//! kept for a quarter of an hour, so that reading on costs no second request. Addresses that are not
//! public are refused where the connection is made (`dormouse_model::web`).

mod markdown;

use super::Inner;
use crate::limits::LONGEST_RESULT;
use crate::reply::{Failure, Reply, shorten};
use dormouse_core::show;
use dormouse_core::units::Millis;
use dormouse_model::web::{Page, PageLimits, page};
use dormouse_system::{Access, End, Order};
use http::Uri;
use http::uri::{Parts, PathAndQuery, Scheme};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bounds of one request. Articles have some hundred kilobytes; slow servers answer within seconds.
const LIMITS: PageLimits = PageLimits {
    bytes: 5 << 20,
    time: Duration::from_secs(30),
};
/// Redirects that are followed; browsers stop at twenty, honest sites need two.
const MOST_REDIRECTS: usize = 5;
/// Milliseconds for which a page is kept: long enough to read on, short enough to be news.
const KEPT_FOR: i64 = 15 * 60 * 1_000;
/// Pages that are kept; older ones go first.
const MOST_KEPT: usize = 32;
/// Bytes of an error page that are shown: the reason stands at its beginning.
const LONGEST_ERROR: usize = 1_000;
/// Bytes of a result that are left to the notes around a page.
const ROOM: usize = 500;
/// Bytes of the reason why a question was not answered; the page needs the room.
const LONGEST_REASON: usize = 200;
/// Time for a search command to answer.
const SEARCH_TIME: Duration = Duration::from_mins(1);
/// Bytes that are kept of a search command's output.
const SEARCH_OUTPUT: u64 = 30_000;

/// Input of `WebFetch`. A small model answers the prompt from the page; with an offset, without a
/// prompt or without such a model the page itself is the result.
#[derive(Debug, Deserialize)]
pub(super) struct Fetch {
    url: String,
    prompt: Option<String>,
    offset: Option<u64>,
}

/// Input of `WebSearch`, as the model writes it.
#[derive(Debug, Deserialize)]
pub(super) struct Search {
    query: String,
    #[serde(default)]
    allowed_domains: Vec<String>,
    #[serde(default)]
    blocked_domains: Vec<String>,
}

/// Pages that were fetched lately, by address.
#[derive(Debug, Default)]
pub(super) struct Pages(Mutex<HashMap<String, (Millis, Arc<str>)>>);

impl Pages {
    fn get(&self, url: &str, now: Millis) -> Option<Arc<str>> {
        let pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, text) = pages.get(url)?;
        // A clock that went backwards makes every page old.
        let age = now.0 - at.0;
        (0..KEPT_FOR).contains(&age).then(|| Arc::clone(text))
    }

    fn put(&self, url: &str, now: Millis, text: &Arc<str>) {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pages.len() >= MOST_KEPT {
            let oldest = pages.iter().min_by_key(|(_, (at, _))| *at);
            let oldest = oldest.map(|(url, _)| url.clone());
            oldest.map(|url| pages.remove(&url));
        }
        pages.insert(url.to_owned(), (now, Arc::clone(text)));
    }
}

impl Inner {
    pub(super) fn web_fetch(&self, input: &Fetch) -> Reply {
        let url = address(&input.url)?;
        let now = self.system.clock.now();
        let key = url.to_string();
        let text = if let Some(text) = self.pages.get(&key, now) {
            text
        } else {
            let text: Arc<str> = self.fetched(url)?.into();
            self.pages.put(&key, now, &text);
            text
        };
        let question = input.prompt.as_deref().map(str::trim);
        let question = question.filter(|asked| !asked.is_empty() && input.offset.is_none());
        let (Some(question), Some(reader)) = (question, &self.services.reader) else {
            return part(&text, input.offset.unwrap_or(0));
        };
        match reader.read(&key, &text, question) {
            Ok(Some(answer)) => Ok(format!(
                "{answer}\n\n[answered by a small model from {key}, {} bytes; `offset` 0 shows the page \
                 itself]",
                text.len()
            )),
            Ok(None) => part(&text, 0),
            // The page is there all the same.
            Err(why) => {
                let why = shorten(&why, LONGEST_REASON);
                let page = part(&text, 0)?;
                Ok(format!(
                    "[`prompt` was not answered: {why}; this is the page]\n\n{page}"
                ))
            }
        }
    }

    fn fetched(&self, mut url: Uri) -> Result<String, Failure> {
        let network = self.services.network.as_ref();
        let network = network.ok_or_else(|| Failure::failed("There is no network here."))?;
        for _ in 0..=MOST_REDIRECTS {
            let page = page(network, &url, LIMITS)
                .map_err(|error| Failure::failed(format!("{}.", show::chain(&error))))?;
            if !(300..400).contains(&page.status) {
                return readable(&url, &page);
            }
            let Some(target) = page.location.as_deref().and_then(|to| joined(&url, to)) else {
                return Err(Failure::failed(format!(
                    "{url} answers {} without an address to go on to.",
                    page.status
                )));
            };
            let same = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
            if same(&target) != same(&url) {
                // Reported: another host needs a permission of its own.
                return Err(Failure::failed(format!(
                    "{url} leads to another host: {target}. Fetch that address if it is wanted."
                )));
            }
            url = upgraded(target);
        }
        Err(Failure::failed(format!(
            "{url} redirects more than {MOST_REDIRECTS} times."
        )))
    }

    pub(super) fn web_search(&self, input: &Search) -> Reply {
        let Some(command) = &self.services.search_command else {
            return Err(Failure::failed(
                "No search is set up here (setting `web.search_command`). If the address is known, \
                 use WebFetch.",
            ));
        };
        let mut words = input.query.trim().to_owned();
        if words.is_empty() {
            return Err(Failure::failed(
                "`query` is empty; give some words to look for.",
            ));
        }
        for domain in &input.allowed_domains {
            words.push_str(" site:");
            words.push_str(domain);
        }
        for domain in &input.blocked_domains {
            words.push_str(" -site:");
            words.push_str(domain);
        }
        // A zero byte ends an argument early; nothing else can leave the quotes.
        let quoted = words.replace('\0', " ").replace('\'', r"'\''");
        let results = &self.places.results;
        self.system.files.create_dir_all(results, Access::Private)?;
        let output = results.join(format!("search-{}.txt", self.system.ids.fresh()));
        let order = Order {
            line: format!("{command} '{quoted}'"),
            directory: self.places.folder.clone(),
            output: output.clone(),
            output_limit: SEARCH_OUTPUT,
            folder_file: None,
            mark: self.places.mark.clone(),
            // The user's own command from the settings; it needs the network.
            confined_to: None,
        };
        let started = self.system.commands.start(&order);
        let running = started.map_err(|error| Failure::failed(show::chain(&error)))?;
        let end = running.wait(SEARCH_TIME);
        if end.is_none() {
            running.stop();
        }
        let text = self.system.files.read(&output, SEARCH_OUTPUT);
        // The result holds it; the file was only the way.
        let _gone = self.system.files.remove_file(&output);
        let text = String::from_utf8_lossy(&text?).trim_end().to_owned();
        match end {
            Some(End::Exit(0)) if text.is_empty() => Ok("Nothing was found.".to_owned()),
            Some(End::Exit(0)) => Ok(text),
            None => Err(Failure::failed(format!(
                "The search took longer than {} seconds.",
                SEARCH_TIME.as_secs()
            ))),
            Some(_) => Err(Failure::failed(format!(
                "The search command failed: {}",
                shorten(&text, LONGEST_ERROR)
            ))),
        }
    }
}

/// Address that a call names, over https. Without a scheme it is one of the web all the same.
fn address(text: &str) -> Result<Uri, Failure> {
    let text = text.trim();
    let whole = if text.contains("://") {
        text.to_owned()
    } else {
        format!("https://{text}")
    };
    let bad = || {
        Failure::failed(format!(
            "`url` is `{}`, which is no address of the web; give one such as \
             `https://example.com/page`.",
            shorten(text, LONGEST_ERROR)
        ))
    };
    // The part behind `#` is the reader's, and the parser refuses it.
    let sent = whole.split('#').next().unwrap_or_default();
    let uri: Uri = sent.parse().map_err(|_| bad())?;
    let of_web = matches!(uri.scheme_str(), Some("http" | "https"));
    if !of_web || uri.host().is_none_or(str::is_empty) {
        return Err(bad());
    }
    Ok(upgraded(uri))
}

/// The same address over https; a port that is named stays.
fn upgraded(uri: Uri) -> Uri {
    let mut parts = uri.clone().into_parts();
    if parts.scheme == Some(Scheme::HTTP) {
        parts.scheme = Some(Scheme::HTTPS);
        if let Some(authority) = &parts.authority
            && let Some(bare) = authority.as_str().strip_suffix(":80")
        {
            parts.authority = bare.parse().ok();
        }
    }
    Uri::from_parts(parts).unwrap_or(uri)
}

/// Address that a redirect leads to.
fn joined(base: &Uri, location: &str) -> Option<Uri> {
    let location = location.trim().split('#').next()?;
    if location.contains("://") {
        return location.parse().ok();
    }
    let mut parts: Parts = base.clone().into_parts();
    if let Some(host) = location.strip_prefix("//") {
        return format!("{}://{host}", parts.scheme?).parse().ok();
    }
    let path = if location.starts_with('/') {
        location.to_owned()
    } else if location.starts_with('?') {
        format!("{}{location}", base.path())
    } else {
        let folder = base.path().rfind('/').map_or("/", |at| &base.path()[..=at]);
        format!("{folder}{location}")
    };
    parts.path_and_query = Some(PathAndQuery::try_from(path).ok()?);
    Uri::from_parts(parts).ok()
}

/// Text of a page, or the reason why it has none.
fn readable(url: &Uri, page: &Page) -> Result<String, Failure> {
    let kind = page.content_type.as_deref().unwrap_or("text/html");
    let kind_alone = kind.split(';').next().unwrap_or_default().trim();
    let kind_alone = kind_alone.to_ascii_lowercase();
    let is_html = matches!(kind_alone.as_str(), "text/html" | "application/xhtml+xml");
    let is_text = is_html
        || kind_alone.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "toml"]
            .iter()
            .any(|word| kind_alone.contains(word));
    if !is_text {
        return Err(Failure::failed(format!(
            "{url} is {kind_alone}, not text; fetch it with a command if it is wanted."
        )));
    }
    let text = decoded(kind, &page.body);
    let mut text = if is_html {
        markdown::from_html(&text)
            .map_err(|why| Failure::failed(format!("{url} cannot be shown: {why}.")))?
    } else {
        text
    };
    if page.cut {
        let note = format!(
            "\n\n[the page is longer than {} bytes; this is its beginning]",
            LIMITS.bytes
        );
        text.push_str(&note);
    }
    if page.status >= 400 {
        return Err(Failure::failed(format!(
            "{url} answers {}. {}",
            page.status,
            shorten(&text, LONGEST_ERROR)
        )));
    }
    Ok(text)
}

/// Body as text, in the encoding that it says it has.
fn decoded(content_type: &str, body: &[u8]) -> String {
    let named = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let label = value.trim().trim_matches('"');
        (name.trim().eq_ignore_ascii_case("charset")).then(|| label.to_owned())
    });
    let named = named.and_then(|label| encoding_rs::Encoding::for_label(label.as_bytes()));
    let encoding = named.unwrap_or(encoding_rs::UTF_8);
    encoding.decode(body).0.into_owned()
}

/// Part of a text from an offset on, in bytes, cut between lines where there are some.
fn part(text: &str, offset: u64) -> Reply {
    let from = usize::try_from(offset).unwrap_or(usize::MAX);
    if from > 0 && from >= text.len() {
        return Err(Failure::failed(format!(
            "`offset` is {offset}; the page ends at {}.",
            text.len()
        )));
    }
    let rest = &text[text.floor_char_boundary(from)..];
    let shown = shorten(rest, LONGEST_RESULT - ROOM);
    if shown.len() == rest.len() {
        return Ok(if rest.is_empty() {
            "[the page is empty]".to_owned()
        } else {
            rest.to_owned()
        });
    }
    let whole = shown.rfind('\n').map_or(shown.len(), |at| at + 1);
    let shown = &shown[..whole];
    let next = text.len() - rest.len() + shown.len();
    Ok(format!(
        "{shown}\n[{} of {} bytes; go on with `offset` {next}]",
        shown.len(),
        text.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_upgraded_and_bad_ones_named() {
        let ok = |text: &str| address(text).unwrap().to_string();
        assert_eq!(ok("http://example.com"), "https://example.com/");
        assert_eq!(ok("example.com/a?b#c"), "https://example.com/a?b");
        assert_eq!(ok("http://example.com:80/x"), "https://example.com/x");
        assert_eq!(
            ok("http://example.com:8080/x"),
            "https://example.com:8080/x"
        );
        for bad in [
            "",
            "ftp://example.com",
            "file:///etc/passwd",
            "https://",
            "a b",
        ] {
            let Err(Failure::Failed(text)) = address(bad) else {
                panic!("{bad}");
            };
            assert!(text.contains("`url`"), "{text}");
        }
    }

    #[test]
    fn redirects_lead_where_the_server_means() {
        let base: Uri = "https://example.com/a/b?c".parse().unwrap();
        let to = |location: &str| joined(&base, location).unwrap().to_string();
        assert_eq!(to("https://other.com/x"), "https://other.com/x");
        assert_eq!(to("//other.com/x"), "https://other.com/x");
        assert_eq!(to("/x#part"), "https://example.com/x");
        assert_eq!(to("x"), "https://example.com/a/x");
        assert_eq!(to("?d"), "https://example.com/a/b?d");
    }

    #[test]
    fn long_pages_come_in_parts_that_join_again() {
        let lines: Vec<String> = (0..20_000).map(|n| format!("line {n} é\n")).collect();
        let text = lines.concat();
        let mut joined = String::new();
        let mut offset = 0;
        loop {
            let shown = part(&text, offset).unwrap();
            let Some((body, note)) = shown.rsplit_once("\n[") else {
                joined.push_str(&shown);
                break;
            };
            joined.push_str(body);
            offset = note
                .rsplit(' ')
                .next()
                .and_then(|end| end.trim_end_matches(']').parse().ok())
                .unwrap();
        }
        assert_eq!(joined, text);
        assert!(part("short", 5).is_err());
    }

    #[test]
    fn other_encodings_are_read() {
        assert_eq!(
            decoded("text/html; charset=\"iso-8859-1\"", b"caf\xe9"),
            "café"
        );
        assert_eq!(decoded("text/html", "café".as_bytes()), "café");
    }
}
