//! Cues: the ways in which people mark a sentence as worth keeping.
//!
//! # Model
//! Phrase lists in English and German, tried in a fixed order; the first that fits decides on the
//! kind. A sentence that points to something at hand or belongs to a task fits none, unless it says
//! that it stands for longer.
//!
//! # Not here
//! Cues for facts (`facts`); the memory made of a hit (`shape`).

use super::facts::{dated, decision, reference};
use crate::extract::evidence::confirms;
use crate::extract::phrases::{Phrases, listed};
use crate::extract::sentence::Sentence;
use crate::topic::Kind;
use serde::Serialize;

/// Cue that gave a memory away, each with an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cue {
    /// Explicit wish: "Remember that …".
    Remember,
    /// "Always …", "never …", "don't …", "from now on …".
    Rule,
    /// "I am …", "I work …".
    Person,
    /// Taste of the user: "I prefer …".
    Preference,
    /// "No, use X instead of Y".
    Correction,
    /// "Yes, exactly, keep doing X".
    Confirmation,
    /// "The freeze starts on Thursday".
    Date,
    /// "We use X because …", "Mia owns …".
    Decision,
    /// "Bugs are tracked in Linear".
    Reference,
}

/// A sentence that fits a cue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) cue: Cue,
    pub(super) kind: Kind,
    /// The rule or fact in the user's words.
    pub(super) statement: String,
}

/// Most words of a sentence. Longer ones are pasted or rambling, and the cue at their beginning
/// says little about their end.
const MOST_WORDS: usize = 60;

/// Words that point to something at hand. Without it, a later session would not know what they
/// mean.
const AT_HAND: &str =
    "this|that|these|those|it|here|above|below|yet|dies|diese|diesen|dieses|hier|them";

/// Words that make a wish stand for longer than the task.
const STANDING: &str = "always|never|from now on|going forward|in future|in the future|every time|\
    by default|as a rule|ever again|every|each|all times|from here on|at all times|in general|generally|\
    whenever|each time|immer|nie|niemals|ab jetzt|ab sofort|in zukunft|künftig|\
    grundsätzlich|nie wieder|no matter what|standardmäßig";

/// Words that begin a task.
const TASKS: &str = "fix|add|refactor|implement|write|create|update|change|rename|remove|delete|run|\
    check|look|build|make|move|debug|find|investigate|review|show|explain|help|let's|\
    can you|could you|please fix|please add|please write|please implement|\
    please refactor|please update|i want you to|i need you to|now|next|convert|port|\
    generate|deploy|bau|schreib|behebe|füge";

/// Words that forbid something.
const FORBID: &str = "don't|do not|never|avoid|stop|no more|you must not|you should not|you shouldn't|nie|\
        niemals|keine|kein|hör auf|verzichte auf|we don't";

/// True if a sentence gives something to do now.
pub(super) fn gives_a_task(sentence: &Sentence) -> bool {
    // "Please don't add comments" begins like a task but is a rule.
    let wish = Phrases::of(without_opener(&sentence.text));
    sentence.words.starts(TASKS)
        && !wish.starts(FORBID)
        && !sentence.words.has(STANDING)
        && !sentence.words.starts("make sure")
}

/// A "yes." or a "no." that the next sentence goes on from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    Yes,
    No,
}

/// Yes or no, if a sentence is nothing but that.
pub(super) fn lead(sentence: &Sentence) -> Option<Lead> {
    const NO: &str = "no|nope|wrong|that's wrong|that is wrong|that's not right|not quite|incorrect|nein|falsch|\
        das ist falsch|that's incorrect|no no|das stimmt nicht";
    let words = &sentence.words;
    // Four words fit "no, that's not right"; longer sentences say something themselves.
    if words.count() > 4 {
        None
    } else if listed(NO, words.as_str()) {
        Some(Lead::No)
    } else {
        confirms(words).then_some(Lead::Yes)
    }
}

/// First cue that a sentence fits.
pub(super) fn find(sentence: &Sentence, in_task: bool, lead: Option<Lead>) -> Option<Hit> {
    let led = match lead {
        Some(Lead::Yes) => format!("yes, {}", sentence.text),
        Some(Lead::No) => format!("no, {}", sentence.text),
        None => sentence.text.clone(),
    };
    let led_to = confirmation(&led).or_else(|| correction(&led));
    // "No, the block should stay" corrects the work at hand, not the way of working.
    let at_hand = behind(&led, "no,|nope,|nein,").is_some() && !Phrases::of(&led).has(STANDING);
    if led_to.is_none() && at_hand {
        return None;
    }
    led_to
        .or_else(|| plain(&sentence.text, in_task))
        .or_else(|| plain(behind_lead_in(&sentence.text)?, in_task))
}

/// Part behind a few words and a colon: "some context about me: …".
fn behind_lead_in(text: &str) -> Option<&str> {
    /// Longest lead-in; a longer head is a statement of its own.
    const MOST_WORDS: usize = 6;
    let (head, rest) = text.split_once(": ")?;
    (Phrases::of(head).count() <= MOST_WORDS).then_some(rest)
}

fn plain(text: &str, in_task: bool) -> Option<Hit> {
    if let Some(hit) = remember(text, &Phrases::of(text)) {
        return Some(hit);
    }
    let text = without_opener(text);
    let words = Phrases::of(text);
    // Two words are too few to mean anything later.
    if words.count() < 3 || words.count() > MOST_WORDS {
        return None;
    }
    let words = words.without(FILLERS);
    remember(text, &words)
        .or_else(|| preference(text, &words))
        .or_else(|| about_self(text, &words))
        .or_else(|| rule(text, &words, in_task))
        .or_else(|| reference(text, &words))
        .or_else(|| decision(text, &words))
        .or_else(|| dated(text, &words))
}

/// Words that change nothing but hide a cue at the beginning.
const FILLERS: &str = "really|just|usually|personally|honestly|kindly|please|simply|actually|definitely|also|bitte|\
    wirklich|eigentlich|absolutely|strongly|generally|very|still|basically|mostly";

pub(super) fn hit(cue: Cue, kind: Kind, statement: &str) -> Option<Hit> {
    let statement = statement
        .trim()
        .trim_start_matches([',', ':', '-', '—', ' ']);
    // Two words of some length: "use it" alone would recall nothing.
    let enough = Phrases::of(statement)
        .words()
        .filter(|word| word.chars().count() > 2)
        .count()
        >= 2;
    enough.then(|| Hit {
        cue,
        kind,
        statement: statement.to_owned(),
    })
}

/// True if a sentence needs something at hand to be understood. The project itself is always there,
/// and words behind a comma or in a reason may point back to the rule.
pub(super) fn points_at_something(text: &str) -> bool {
    const WHOLE: &str = "this project|this repo|this repository|this codebase|this team|this company|diesem projekt|\
        diesem repo|this product";
    // Words before a "that" that is a pronoun, not a conjunction.
    const BEFORE_THAT: &str =
        "do|doing|touch|change|use|like|with|to|of|in|for|about|at|on|from|run|edit|delete|remove";
    let ends = [',', ';', '—', '–', ':'];
    let mut first = text.split(ends).next().unwrap_or_default();
    for reason in [" because ", " since ", " weil "] {
        first = first.split(reason).next().unwrap_or_default();
    }
    let mut plain = format!(" {} ", Phrases::of(first).as_str());
    for whole in WHOLE.split('|') {
        plain = plain.replace(&format!(" {whole} "), " ");
    }
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.iter().enumerate().any(|(at, word)| match *word {
        "that" => {
            let before = at.checked_sub(1).map_or("do", |before| words[before]);
            at + 1 == words.len() || listed(BEFORE_THAT, before)
        }
        word => listed(AT_HAND, word),
    })
}

/// Drops the words that people begin sentences with, as many as there are.
fn without_opener(text: &str) -> &str {
    const OPENERS: &str = "i need you to|you should|you must|you have to|you need to|make sure to|make sure you|make sure that you|be sure to|kindly|\
        one thing|two things|small thing|another thing|first of all|generally|in general|reminder|listen|look|\
        could you|can you|would you|will you|i want you to|i'd like you to|kannst du|könntest du|\
        please|ok|okay|also|and|oh|btw|by the way|one more thing|hey|so|fyi|for the record|\
        just so you know|heads up|quick note|important|note|bitte|übrigens|achtung|\
        für die zukunft|again|seriously|one rule|rule";
    let mut rest = text.trim_start();
    loop {
        let lower = rest.to_lowercase();
        let opener = OPENERS.split('|').find(|opener| {
            lower.starts_with(*opener)
                && lower[opener.len()..].starts_with([' ', ',', ':', ';', '-', '—', '.', '!'])
        });
        match opener.and_then(|opener| rest.get(opener.len()..)) {
            Some(behind) => {
                rest = behind.trim_start_matches([' ', ',', ':', ';', '-', '–', '—', '.', '!']);
            }
            None => return rest,
        }
    }
}

/// Rest behind the longest of these phrases, if the text begins with one.
fn behind<'a>(text: &'a str, phrases: &str) -> Option<&'a str> {
    let lower = text.to_lowercase().replace('’', "'");
    let phrase = phrases
        .split('|')
        .filter(|phrase| lower.starts_with(*phrase))
        .max_by_key(|phrase| phrase.len())?;
    let count = phrase.chars().count();
    let at = text
        .char_indices()
        .nth(count)
        .map_or(text.len(), |(at, _)| at);
    let rest = &text[at..];
    // "no," must not match the beginning of "nothing".
    let ends = rest.is_empty() || !rest.starts_with(char::is_alphanumeric);
    ends.then(|| rest.trim_start_matches([' ', ',', ':', ';', '-', '–', '—']))
}

fn remember(text: &str, words: &Phrases) -> Option<Hit> {
    const CUES: &str = "remember that|remember|keep in mind that|keep in mind|make a note that|make a note|\
        don't forget that|do not forget that|note that|for future reference|merk dir dass|\
        merk dir, dass|merk dir|merke dir|denk daran dass|denk daran, dass|\
        vergiss nicht, dass|behalte im kopf, dass|take note that|save to memory that|\
        remember this|you should remember that";
    let rest = behind(text, CUES)?;
    let rest_words = Phrases::of(rest);
    // "Remember to …" asks for something now; "remember when …" tells a story.
    let now = rest_words.starts("to|when|how|what|the last time") && !words.has(STANDING);
    if now || rest_words.starts("this|that|it") && rest_words.count() < 5 {
        return None;
    }
    // Only for the kind: the user asked to remember it, whatever it is.
    let inner = preference(rest, &rest_words)
        .or_else(|| about_self(rest, &rest_words))
        .or_else(|| rule(rest, &rest_words, false))
        .or_else(|| reference(rest, &rest_words))
        .or_else(|| dated(rest, &rest_words));
    let kind = inner.map_or(Kind::Project, |inner| inner.kind);
    hit(Cue::Remember, kind, rest)
}

fn rule(text: &str, words: &Phrases, in_task: bool) -> Option<Hit> {
    const DEMAND: &str = "always|from now on|going forward|in future|in the future|whenever|every time|\
        by default|as a rule|make sure to always|make sure you always|you should always|\
        you must always|we always|we never|i always want|i never want|i want you to always|\
        i want you to never|you should never|immer|ab jetzt|ab sofort|in zukunft|künftig|\
        grundsätzlich|wir verwenden immer|we only|only ever|let's always|let's never|\
        from here on|each time|before every|after every|before each|wenn du";
    let points = points_at_something(text);
    let demands = words.starts(DEMAND) || (words.starts("if|when") && words.has("always|never"));
    if demands {
        return hit(Cue::Rule, Kind::Feedback, text);
    }
    let reasoned = words.has("because|since|weil|otherwise|sonst")
        || text.contains(" — ")
        || text.contains(" – ");
    let standing = words.has(STANDING);
    if words.starts(FORBID) && (standing || reasoned || !(points || in_task)) {
        let worry = words.starts(
            "don't worry|do not worry|don't bother|don't think|no more questions|stop here|\
            don't know|never mind|stop the|stop it",
        );
        return if worry {
            None
        } else {
            hit(Cue::Rule, Kind::Feedback, text)
        };
    }
    // "Tests should never …" and "use X, always" are rules; "the build always fails" complains.
    let obliged = words.near(
        "should|must|has|have|may|darf|dürfen|muss|müssen|sollen|soll",
        "always|never|immer|nie|niemals",
        3,
    );
    let imperative = words.starts(
        "use|prefer|run|write|keep|put|ask|answer|reply|call|format|name|commit|schreib|\
            schreibe|antworte|nutze|verwende|nimm|frag|sprich",
    );
    if obliged || (imperative && standing) || (imperative && reasoned && !in_task && !points) {
        return hit(Cue::Rule, Kind::Feedback, text);
    }
    let replaces = words.has("instead of|rather than|not|over|statt|and not|never");
    if imperative && replaces && !in_task && !points {
        return hit(Cue::Rule, Kind::Feedback, text);
    }
    let ruled = words.has(
        "is banned|are banned|is forbidden|are forbidden|is not allowed|are not allowed|aren't allowed|isn't allowed|\
         is mandatory|are mandatory|is required|are required|is off limits|are off limits|our convention|\
         the convention|our policy|house rule|our rule|ist verboten|sind verboten|ist pflicht|we don't do|\
         i expect|i insist",
    );
    if ruled && !points && !in_task {
        return hit(Cue::Rule, Kind::Feedback, text);
    }
    let all = words.starts("all|every|each|any|alle|jede|jeder|jedes|no")
        && words.has("must|has to|have to|needs to|need to|should|shall|muss|müssen|soll|sollen|may|gets|get");
    if all && !points && !in_task {
        return hit(Cue::Rule, Kind::Feedback, text);
    }
    // "Tests must hit a real database": an obligation on things in general.
    let general = words.near(
        "tests|commits|messages|branches|migrations|comments|prs|endpoints|functions|names|errors|logs|answers|changes|releases|secrets|dependencies",
        "must|need|should|have|müssen|sollen",
        3,
    );
    (general && !points && !in_task)
        .then(|| hit(Cue::Rule, Kind::Feedback, text))
        .flatten()
}

fn preference(text: &str, words: &Phrases) -> Option<Hit> {
    const CUES: &str = "i prefer|i'd prefer|i would prefer|i'd rather|i would rather|i like my|i like your|\
        i like it when|i like when|i like short|i love when|i love it when|i hate|i dislike|\
        i can't stand|i don't like|i do not like|i like to|my preference is|i want all|\
        i want short|i want answers|i want your answers|ich bevorzuge|ich mag keine|ich mag|\
        ich hätte gern|ich hätte lieber|i'm not a fan of|i am not a fan of|mir ist lieber|\
        ich möchte immer";
    let at_hand = words
        .has("this|these|this one|that one|the first|the second|option a|option b|diese|dieses");
    (words.starts(CUES) && !at_hand)
        .then(|| hit(Cue::Preference, Kind::User, text))
        .flatten()
}

fn about_self(text: &str, words: &Phrases) -> Option<Hit> {
    const CUES: &str = "i am a|i am an|i'm a|i'm an|i am the|i'm the|i am new to|i'm new to|\
        i am responsible|i'm responsible|i am in charge|i'm in charge|i am on the|\
        i'm on the|i am based in|i'm based in|i am colour|i'm colour|i am color|i'm color|\
        i am fluent|i'm fluent|i am not familiar|i'm not familiar|i am familiar|\
        i'm familiar|i am dyslexic|i'm dyslexic|i am blind|i'm blind|i am learning|\
        i'm learning|i work as|i work at|i work in|i work for|i work with|i work on|my role|\
        my name is|my background|my job|my time zone|my timezone|i have been writing|\
        i've been writing|i speak|i live in|my native language|my main";
    const GERMAN: &str = "ich bin ein|ich bin eine|ich bin der|ich bin die|ich arbeite als|ich arbeite bei|\
        ich arbeite im|ich bin neu|ich lerne|ich spreche";
    const LONG: &str =
        "i've|i have|this is my first|it's my first|i lead|i maintain|i own|ich habe";
    const NOT: &str = "a bit|a little|fan of|not a fan|the one asking|a moment|the only one|a second|a mess|\
        an idiot|the same|on the page|on the fence|i am on it|on the phone|on the train|\
        on the wrong|on the right";
    let years = words.has("years|years of experience|jahren|jahre") && words.starts(LONG);
    let first = words.has("first time")
        && words.has("i|i've|my")
        && words.has("touching|using|writing|working with|doing");
    let leads = words.starts("i lead|i maintain|i own|i run the|i manage|ich leite");
    let knows = words.starts(
        "i know|i don't know much|i don't know any|i do not know|i'm comfortable|i am comfortable|i'm experienced|\
         i've never used|i have never used|i have never worked|i've never worked|i studied|i come from|coming from|\
         call me|i'm not very|i'm good at|ich kenne|ich kann kein|i have no experience|i have little experience",
    ) && !words.starts("i know that|i know what|i know why|i know how|i know it|i know this|i know you|i know i");
    let told = words.has(
        "my first language|mother tongue|weak spot|strong suit|day job|by trade|by training|for a living|muttersprache",
    ) || words.starts("i run a|i teach|i study|i coach|i design|i develop|i consult|i freelance|i manage|ich leite|ich studiere");
    let holds =
        (told || knows || words.starts(CUES) || words.starts(GERMAN) || years || first || leads)
            && !words.has(NOT);
    holds.then(|| hit(Cue::Person, Kind::User, text)).flatten()
}

fn correction(text: &str) -> Option<Hit> {
    const CUES: &str = "no,|no -|no —|no.|nope,|nope.|wrong,|wrong.|that's wrong,|that's wrong.|\
        that is wrong,|that's not right,|that's incorrect,|actually,|nein,|nein.|falsch,|\
        das ist falsch,|not quite,|that's not how we do it,";
    let rest = behind(text, CUES)?;
    let rest = without_opener(rest);
    let words = Phrases::of(rest);
    let points = points_at_something(rest);
    let ours = words.starts(
        "we|our|the team|wir|unser|always|never|use|nutze|verwende|in this project|here we",
    );
    (ours && (!points || words.has(STANDING)))
        .then(|| hit(Cue::Correction, Kind::Feedback, rest))
        .flatten()
}

fn confirmation(text: &str) -> Option<Hit> {
    let words = Phrases::of(text);
    let keeps = words.has(
        "keep doing|keep using|keep writing|keep the|keep your|keep it|keep asking|\
            keep putting|continue to|continue doing|do it like this|like that every time|\
            from now on|that's how|that's exactly how|the right way|was the right call|\
            is the right call|right call|weiter so|mach das immer|so machen wir|immer so|\
            bleib dabei|stick with|stick to|please keep",
    );
    let all: Vec<&str> = words.words().collect();
    let goes_on = |pair: &[&str]| pair[0] == "keep" && pair[1].ends_with("ing");
    if !confirms(&words) || !(keeps || all.windows(2).any(goes_on)) {
        return None;
    }
    let rest = behind(
        text,
        "yes exactly|yes, exactly|yes perfect|yes|yep|yeah|exactly right|exactly|right|correct|perfect|great|\
         good|ja genau|ja, genau|ja|genau|perfekt|agreed|nice|love it|that's right",
    )
    .unwrap_or(text);
    let rest = rest.trim_start_matches(['.', '!', ' ', ',', '—', '–', '-']);
    let specific = Phrases::of(rest);
    let vague = [
        "keep", "doing", "like", "that", "this", "it", "way", "exactly", "going", "the", "right",
        "call", "please", "from", "now", "on",
    ];
    let content = specific
        .words()
        .filter(|word| !vague.contains(word) && word.len() > 2)
        .count();
    (content >= 2)
        .then(|| hit(Cue::Confirmation, Kind::Feedback, rest))
        .flatten()
}
