//! Lines over a message of a chat, a forum, a review or a mailbox: a name, a time, what was done.
//!
//! # Not here
//! Lines that begin with a speaker's name, and stamps in front of words (`pasted`).

/// Words of dates and times, in small letters.
const DATES: &str = "at|am|pm|on|today|yesterday|ago|second|seconds|minute|minutes|min|mins|hour|hours|hr|hrs|day|days|\
    week|weeks|mon|tue|wed|thu|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday|jan|feb|mar|apr|\
    may|jun|jul|aug|sep|oct|nov|dec|january|february|march|april|june|july|august|september|october|november|december|\
    utc|gmt|cet|edited|t|z";
/// Units in front of "ago".
const UNITS: &str = "second|seconds|minute|minutes|min|mins|m|hour|hours|hr|hrs|h|day|days|d|week|weeks|w|month|months|\
    mo|year|years|yr|y";
/// Things that pages say people did.
const DEEDS: &str = "commented|reviewed|replied|posted|opened|created|merged|closed|edited|answered|asked|approved|\
    pushed|added|updated|committed|shared|wrote";
/// Phrases over a message or an event, in small letters.
const PHRASES: &str = "left a comment|added a comment|joined the channel|left the channel|joined the group|\
    requested changes|approved these changes|started a thread|pinned a message|shared a file|created issue|\
    opened issue|opened this issue|closed this|created this|mentioned this|message from |comment by |reply from |\
    posted by |forwarded from |submitted by ";
/// First words of a sentence about a user's own doings.
const OWN: &str = "i|we|it|they|he|she|you|my|our|the|this|that|these|please";
/// Names that a page writes alone over a turn.
const TURNS: &str =
    "You|ChatGPT|Claude|Gemini|Copilot|GitHub Copilot|Assistant|Bard|Perplexity|DeepSeek|Grok";
/// Most characters of a head.
const LONGEST: usize = 80;

/// True for a line over words of others.
pub(super) fn is_head(line: &str) -> bool {
    let line = line.trim();
    if line.is_empty() || line.chars().count() > LONGEST {
        return false;
    }
    let words: Vec<&str> = line
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let speaks = words
        .first()
        .is_some_and(|word| listed(OWN, &word.to_lowercase()));
    is_timed(line, &words)
        || TURNS.split('|').any(|name| name == line)
        || is_address(line, &words)
        || is_avatar(line, &words)
        || (!speaks && (is_ago(line, &words) || is_event(line, &words)))
}

fn listed(list: &str, word: &str) -> bool {
    list.split('|').any(|known| known == word)
}

/// Names and a time, and nothing that a sentence has: `[Yesterday 10:13] Jonas Nowak`.
fn is_timed(line: &str, words: &[&str]) -> bool {
    let mut names = 0;
    for word in words {
        if word.contains(|c: char| c.is_ascii_digit()) || listed(DATES, &word.to_lowercase()) {
            continue;
        }
        if !word.starts_with(char::is_uppercase) {
            return false;
        }
        names += 1;
    }
    names <= 4 && super::pasted::has_time(line)
}

/// Something done a while ago: `maria reviewed 2 hours ago`, `u/maria · 2 hr. ago`.
fn is_ago(line: &str, words: &[&str]) -> bool {
    let ago = words.windows(3).any(|three| {
        let number = three[0].chars().all(|c| c.is_ascii_digit());
        number && listed(UNITS, three[1]) && three[2] == "ago"
    });
    let deed = words.iter().any(|word| listed(DEEDS, word));
    let parted = [" · ", " | ", " • "].iter().any(|mark| line.contains(mark));
    ago && words.len() <= 9 && (deed || parted || words.len() <= 4)
}

/// Event that a page reports, a name of a forum, a line divided by points.
fn is_event(line: &str, words: &[&str]) -> bool {
    let lower = line.to_lowercase();
    let phrase = PHRASES.split('|').any(|phrase| lower.contains(phrase));
    let dated = words.len() >= 4
        && words.first().is_some_and(|word| listed(DEEDS, word))
        && super::pasted::has_time(line);
    let forum = ["u/", "r/"].iter().any(|mark| {
        let rest = line.strip_prefix(mark);
        rest.is_some_and(|rest| rest.starts_with(char::is_alphanumeric))
    });
    let points = line.contains(" · ") && !line.ends_with('.') && words.len() <= 8;
    words.len() <= 10 && (phrase || dated || forum || points)
}

/// Name and address, and no more: `Kenji Rao <kenji@example.org>`.
fn is_address(line: &str, words: &[&str]) -> bool {
    let address = line
        .strip_suffix('>')
        .and_then(|rest| rest.rsplit_once('<'));
    let named = address.is_some_and(|(name, address)| {
        address.contains('@') && !address.contains(' ') && name.split_whitespace().count() <= 4
    });
    let list = line.contains(" via ")
        && words.len() <= 8
        && words.iter().all(|word| {
            *word == "via"
                || word.starts_with(char::is_uppercase)
                || line.contains(&format!(".{word}"))
                || line.contains(&format!("{word}."))
        });
    named || list
}

/// Picture of a person or a robot in front of a name.
fn is_avatar(line: &str, words: &[&str]) -> bool {
    let picture = line.starts_with(['👤', '🤖', '🧑', '👩', '👨', '💬', '🙂']);
    picture && (1..=4).contains(&words.len()) && !line.ends_with(['.', '!', '?', ':'])
}
