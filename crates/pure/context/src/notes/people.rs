//! The notes file of a session whose policy kept no notes: its summaries and its evidence.
//!
//! # Not here
//! Notes that a fork writes ([`super::document`]); a file of this form does not follow their
//! template, so an update begins with a blank form.

/// Newest summaries in the file; each tells of the ones before, and the log has them all.
const MOST_SUMMARIES: usize = 20;

/// Text for people from the summaries of all compactions, oldest first, and the evidence; `None`
/// if there is neither.
pub fn for_people(summaries: &[String], evidence: &str) -> Option<String> {
    if summaries.is_empty() && evidence.trim().is_empty() {
        return None;
    }
    let mut parts = vec![
        "# Session notes\n_Put together at the end of the session from its compactions and its \
         evidence; no model was asked._\n"
            .to_owned(),
    ];
    let skipped = summaries.len().saturating_sub(MOST_SUMMARIES);
    if skipped > 0 {
        parts.push(format!("The log has {skipped} earlier summaries.\n"));
    }
    let newest = (1..).zip(summaries).skip(skipped);
    parts.extend(newest.map(|(at, summary)| format!("# Summary {at}\n{}\n", summary.trim())));
    if !evidence.trim().is_empty() {
        parts.push(format!("# Evidence\n{}\n", evidence.trim()));
    }
    Some(parts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notes::{Notes, Template};

    #[test]
    fn newest_summaries_and_the_evidence_are_there() {
        assert_eq!(for_people(&[], " \n"), None);
        let summaries: Vec<String> = (1..=23).map(|at| format!("part {at}.")).collect();
        let text = for_people(&summaries, "- src/lib.rs").unwrap();
        assert!(text.contains("3 earlier summaries"), "{text}");
        assert!(
            !text.contains("part 3.") && text.contains("# Summary 4\npart 4.\n"),
            "{text}"
        );
        assert!(text.ends_with("# Evidence\n- src/lib.rs\n"), "{text}");
    }

    #[test]
    fn it_is_never_taken_for_notes_of_the_template() {
        let text = for_people(&["done".to_owned()], "").unwrap();
        assert!(Notes::parse(&text, &Template::builtin()).is_err());
    }
}
