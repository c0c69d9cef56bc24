//! Language detection, and stop words per language.
//!
//! The lists are short on purpose: articles, pronouns, prepositions, auxiliaries and fillers of
//! chats. Words that carry a rule ("not", "never", "always", "must") are not in them, because
//! dropping them would reverse a rule.

use frostem::Algorithm;

/// Words examined to detect the language: far more than the count needs to settle, and a bound on
/// the time for texts of megabytes.
const SAMPLE: usize = 2_000;

/// Language with a stop-word list and a stemmer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// English, the language of most sessions.
    English,
    /// German, with its compounds left whole.
    German,
    /// French, elided articles included.
    French,
    /// Spanish; accents are kept as written.
    Spanish,
}

impl Language {
    pub(super) const ALL: [Self; 4] = [Self::English, Self::German, Self::French, Self::Spanish];

    /// True if a folded word is a stop word of the language.
    pub fn is_stop_word(self, folded: &str) -> bool {
        self.stop_words().binary_search(&folded).is_ok()
    }

    pub(super) fn algorithm(self) -> Algorithm {
        match self {
            Self::English => Algorithm::English,
            Self::German => Algorithm::German,
            Self::French => Algorithm::French,
            Self::Spanish => Algorithm::Spanish,
        }
    }

    /// Stop words in byte order, for the binary search.
    pub(super) fn stop_words(self) -> &'static [&'static str] {
        match self {
            Self::English => ENGLISH,
            Self::German => GERMAN,
            Self::French => FRENCH,
            Self::Spanish => SPANISH,
        }
    }
}

/// Language with the most stop words in the text. None if fewer than two, or fewer than one word in
/// sixteen, are stop words, or on a tie: code and logs contain a few by chance.
pub fn detect(text: &str) -> Option<Language> {
    let mut counts = [0_usize; 4];
    let mut words = 0;
    let mut folded = String::new();
    for word in super::Words::new(text).take(SAMPLE) {
        super::fold(&text[word.range], &mut folded);
        words += 1;
        for (count, language) in counts.iter_mut().zip(Language::ALL) {
            *count += usize::from(language.is_stop_word(&folded));
        }
    }
    let best = counts.iter().max().copied().unwrap_or_default();
    let mut winners = counts
        .iter()
        .zip(Language::ALL)
        .filter(|(count, _)| **count == best);
    let winner = winners.next().map(|(_, language)| language);
    (best * 16 >= words && best > 1 && winners.next().is_none())
        .then_some(winner)
        .flatten()
}

#[rustfmt::skip]
const ENGLISH: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "below", "between", "both", "but", "by", "can", "could", "did",
    "do", "does", "doing", "done", "down", "during", "each", "few", "for", "from", "further", "get", "gets",
    "getting", "go", "goes", "going", "got", "had", "has", "have", "having", "he", "her", "here", "hers",
    "him", "his", "how", "i", "i'd", "i'll", "i'm", "i've", "if", "in", "into", "is", "it", "it's", "its",
    "itself", "just", "let", "let's", "like", "me", "more", "most", "my", "of", "off", "ok", "okay", "on",
    "once", "one", "only", "or", "other", "our", "ours", "out", "over", "own", "per", "please", "same", "see",
    "she", "should", "so", "some", "such", "than", "that", "that's", "the", "their", "them", "then", "there",
    "there's", "these", "they", "they're", "this", "those", "through", "to", "too", "under", "until", "up",
    "upon", "us", "use", "used", "uses", "using", "very", "was", "we", "we'll", "we're", "we've", "were",
    "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "would", "yes",
    "yet", "you", "you'll", "you're", "you've", "your", "yours",
];

#[rustfmt::skip]
const GERMAN: &[&str] = &[
    "ab", "aber", "alle", "allem", "allen", "aller", "alles", "als", "also", "am", "an", "auch", "auf", "aus",
    "bei", "beim", "bin", "bis", "bist", "bitte", "da", "damit", "dann", "das", "dass", "dein", "deine",
    "dem", "den", "denn", "der", "des", "dich", "die", "dies", "diese", "diesem", "diesen", "dieser",
    "dieses", "dir", "doch", "dort", "du", "durch", "ein", "eine", "einem", "einen", "einer", "eines", "er",
    "es", "etwas", "euch", "euer", "für", "gegen", "hab", "habe", "haben", "hat", "hatte", "hatten", "hier",
    "hin", "hinter", "ich", "ihm", "ihn", "ihr", "ihre", "ihrem", "ihren", "ihrer", "im", "in", "ins", "ist",
    "ja", "jede", "jedem", "jeden", "jeder", "jedes", "jetzt", "kann", "kannst", "können", "könnte", "mal",
    "man", "mein", "meine", "meinem", "meinen", "meiner", "mich", "mir", "mit", "nach", "noch", "nun", "nur",
    "ob", "oder", "schon", "sehr", "sein", "seine", "seinem", "seinen", "seiner", "sich", "sie",
    "sind", "so", "soll", "sollte", "sollten", "sondern", "um", "und", "uns", "unser", "unsere", "unter",
    "vom", "von", "vor", "war", "waren", "was", "weil", "wenn", "wer", "werde", "werden", "wie", "wieder",
    "will", "wir", "wird", "wo", "wurde", "wurden", "würde", "zu", "zum", "zur", "zwischen", "über",
];

#[rustfmt::skip]
const FRENCH: &[&str] = &[
    "a", "ai", "ainsi", "alors", "au", "aussi", "aux", "avec", "avez", "avons", "c'est", "ce", "cela", "ces",
    "cet", "cette", "ceux", "chez", "comme", "d'un", "d'une", "dans", "de", "des", "donc", "du", "elle",
    "elles", "en", "encore", "est", "et", "eu", "il", "ils", "j'ai", "je", "la", "le", "les", "leur", "leurs",
    "lui", "là", "ma", "mais", "me", "mes", "moi", "mon", "même", "n'est", "nos", "notre", "nous", "on",
    "ont", "ou", "où", "par", "plus", "pour", "qu'il", "que", "quel", "quelle", "qui", "sa",
    "se", "ses", "si", "son", "sont", "sous", "sur", "ta", "te", "tes", "toi", "ton", "tous", "tout", "toute",
    "toutes", "très", "tu", "un", "une", "vos", "votre", "vous", "y", "à", "était", "été", "être",
];

#[rustfmt::skip]
const SPANISH: &[&str] = &[
    "a", "al", "algo", "ante", "antes", "aquí", "así", "aunque", "bien", "como", "con", "cual", "cuando",
    "de", "del", "desde", "donde", "dos", "e", "el", "ella", "ellas", "ellos", "en", "entre", "era", "es",
    "esa", "ese", "eso", "esta", "estaba", "estado", "estas", "este", "esto", "estos", "está", "están", "fue",
    "ha", "hacer", "han", "hasta", "hay", "he", "la", "las", "le", "les", "lo", "los", "me", "mi", "mis",
    "muy", "más", "nos", "nosotros", "o", "otra", "otro", "para", "pero", "poco", "por", "porque", "que",
    "quien", "qué", "se", "ser", "si", "sido", "sobre", "solo", "son", "su", "sus", "sí", "también",
    "te", "tener", "tiene", "todo", "todos", "tu", "tus", "un", "una", "uno", "unos", "y", "ya", "yo",
];
