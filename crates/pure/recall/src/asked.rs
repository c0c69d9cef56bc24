//! The thing that a question asks for, and whether a memory can tell it.
//!
//! # Model
//! "Who owns the search service" and "which port has the search service" share their words with the
//! same memory, and it answers one of them. A person, a time, a place, a number and a reason are
//! told by their own words, in English, German and Chinese; a memory that has none of what is asked
//! for is less likely to be meant. It is a hint, in units of the confidence's logit, not a filter.
//!
//! # Not here
//! The subject of the question: words are matched by the search.

use dormouse_memory::card::Card;

/// Gain if the memory has what is asked for.
const TOLD: f32 = 0.8;
/// Loss if it has not.
const UNTOLD: f32 = -0.8;
/// Loss beyond that for a number that is not there: it is rarely told in words.
const UNCOUNTED: f32 = -1.0;
/// Gain for a prompt that asks for nothing but wants something done: rules are about that.
const ORDER: f32 = 0.5;

/// Sort of thing that is asked for, with the words that ask for it and those that tell it.
struct Sort {
    asking: &'static str,
    asking_han: &'static [&'static str],
    telling: &'static str,
    telling_han: &'static [&'static str],
    /// Also told by a figure.
    figures: bool,
}

const WHO: Sort = Sort {
    asking: "who whom whose who's wer wem wen",
    asking_han: &["谁", "哪位"],
    telling: "owns own owner maintains maintainer responsible approves approval ask asks leads answers decides signs holds \
        reviews team manager zuständig verantwortlich entscheidet leitet kümmert rücksprache ansprechpartner betreut",
    telling_han: &[
        "负责",
        "找",
        "联系",
        "经理",
        "管理员",
        "审批",
        "确认",
        "值班",
    ],
    figures: false,
};
const WHEN: Sort = Sort {
    asking: "when wann until bis lange long deadline",
    asking_han: &[
        "什么时候",
        "何时",
        "几点",
        "多久",
        "啥时候",
        "哪天",
        "周几",
        "几号",
    ],
    telling: "monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays noon \
        night nightly daily weekly monthly day days hour hours minutes until month months year years montag dienstag \
        mittwoch donnerstag freitag samstag sonntag tag tage tagen stunden uhr monat monate woche wochen bis jahr jahre",
    telling_han: &["周", "点", "月", "每天", "天", "小时", "分钟", "凌晨", "年"],
    figures: true,
};
const WHERE: Sort = Sort {
    asking: "where wo woher wohin",
    asking_han: &["哪里", "哪儿", "在哪", "哪了", "去哪"],
    telling: "under lives live kept stored found tracked reported board wiki channel space vault liegt liegen steht \
        stehen findet unter",
    telling_han: &["放在", "存在", "在"],
    figures: false,
};
const COUNT: Sort = Sort {
    asking: "many much often viele viel oft wieviel wieviele",
    asking_han: &["多少", "几个", "多大", "几次", "几条"],
    telling: "one two three four five six seven eight nine ten twelve zwei drei vier fünf sechs zehn zwölf",
    telling_han: &[
        "一", "二", "两", "三", "四", "五", "六", "七", "八", "九", "十", "百",
    ],
    figures: true,
};
const WHY: Sort = Sort {
    asking: "why warum wieso weshalb",
    asking_han: &["为什么", "为啥", "怎么会"],
    telling: "because since otherwise caused broke so weil sonst damit denn da",
    telling_han: &["因为", "曾", "导致", "否则", "由于", "所以"],
    figures: false,
};
const SORTS: [&Sort; 5] = [&WHO, &WHEN, &WHERE, &COUNT, &WHY];
/// Words that ask for a thing which has no words of its own.
const THING: &str = "what which what's how welche welcher welches welchen welchem was wie";
const THING_HAN: [&str; 6] = ["什么", "哪个", "哪种", "啥", "怎么", "吗"];

/// The thing that a question asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    sorts: [bool; SORTS.len()],
    thing: bool,
}

impl Asked {
    /// Reads a prompt.
    pub fn of(prompt: &str) -> Self {
        let words = words(prompt);
        let asks = |asking: &str, han: &[&str]| {
            words.iter().any(|word| listed(asking, word))
                || han.iter().any(|word| prompt.contains(word))
        };
        Self {
            sorts: SORTS.map(|sort| asks(sort.asking, sort.asking_han)),
            thing: asks(THING, &THING_HAN) || prompt.contains(['?', '？']),
        }
    }

    /// Difference that a memory makes to the logit of its confidence.
    pub fn shift(&self, card: &Card) -> f32 {
        let text = format!("{} {}", card.name, card.description);
        let words = words(&text);
        let tells = |sort: &Sort| {
            words.iter().any(|word| listed(sort.telling, word))
                || sort.telling_han.iter().any(|word| text.contains(word))
                || sort.figures && text.contains(|letter: char| letter.is_ascii_digit())
        };
        let asked = SORTS.iter().zip(self.sorts).filter(|(_, asked)| *asked);
        let told: Vec<bool> = asked.map(|(sort, _)| tells(sort)).collect();
        if told.is_empty() {
            return if self.thing { 0.0 } else { ORDER };
        }
        let mut shift = 0.0;
        if told.contains(&true) {
            shift += TOLD;
        }
        let [_, _, place, counts, _] = self.sorts;
        // A place is told by any "in".
        if told.contains(&false) && !place {
            shift += UNTOLD;
        }
        if counts && !tells(&COUNT) {
            shift += UNCOUNTED;
        }
        shift
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '\'')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|item| item == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_core::units::Millis;
    use dormouse_guard::paths::SafePath;

    fn shift(prompt: &str, description: &str) -> f32 {
        let path = SafePath::parse("a.md").unwrap();
        let text = format!("---\ndescription: \"{description}\"\n---\n");
        let card = Card::read(path, &text, Millis(0));
        Asked::of(prompt).shift(&card)
    }

    #[test]
    fn a_memory_without_what_is_asked_for_is_less_likely() {
        let owner = "Mira owns the search service";
        assert!(shift("who owns the search service?", owner) > 0.0);
        assert!(shift("when is the search service deployed?", owner) < 0.0);
        assert!(shift("how many shards has the search service?", owner) < -1.0);
        assert!(shift("推荐模型是谁负责的", "推荐模型每天重新训练") < 0.0);
        assert!(shift("wann liefern wir an Brandt?", "Brandt: am ersten Mittwoch") > 0.0);
    }

    #[test]
    fn an_order_asks_for_nothing_and_a_thing_for_anything() {
        assert!(shift("tweak the ranking of the search", "Ranking needs approval") > 0.0);
        assert!(shift("what is the ranking?", "Ranking needs approval").abs() < f32::EPSILON);
        assert_eq!(Asked::of(""), Asked::default());
    }
}
