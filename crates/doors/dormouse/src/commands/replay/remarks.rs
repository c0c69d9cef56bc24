//! Sentences below a comparison of policies: which was cheaper, and which the cheapest.
//!
//! # Not here
//! The figures of each policy: [`super::policies`].

/// Dormouse's own policies. Remarks say which others are cheaper, so that the reader need not look.
const OURS: [&str; 2] = ["economic", "classic"];

/// Remarks about the costs of the policies that finished.
pub(super) fn comparisons(finished: &[(&str, f64)]) -> Vec<String> {
    let mut remarks = Vec::new();
    for ours in OURS {
        let Some((_, cost)) = finished.iter().find(|(name, _)| *name == ours) else {
            continue;
        };
        // Only other agents' policies: ours against ours is the table's business.
        let others = finished.iter().filter(|(name, _)| !OURS.contains(name));
        for (name, other) in others.filter(|(_, other)| other < cost) {
            remarks.push(format!(
                "`{name}` is cheaper than `{ours}` here: ${other:.2} against ${cost:.2}, {:.1} % less.",
                (1.0 - other / cost) * 100.0
            ));
        }
    }
    let cheapest = finished.iter().min_by(|(_, a), (_, b)| a.total_cmp(b));
    // Said of ours alone, since a cheaper one of another agent was named above; and only where
    // there was a comparison.
    if let Some((name, _)) = cheapest.filter(|(name, _)| OURS.contains(name))
        && finished.len() > 1
    {
        remarks.push(format!("`{name}` is the cheapest policy that finished."));
    }
    remarks
}

/// Remark on what session notes cost a policy, and what its bill is without them; `none` is the
/// bill of a session that forgets nothing, if it finished.
pub(super) fn notes(name: &str, cost: f64, spent: f64, none: Option<f64>) -> Option<String> {
    if spent <= 0.0 || cost <= 0.0 {
        return None;
    }
    let without = cost - spent;
    let beside = none.map_or_else(String::new, |none| {
        let relation = if without <= none && none < cost {
            "the notes alone make it dearer than"
        } else {
            "beside"
        };
        format!("; {relation} `none` at ${none:.2}")
    });
    Some(format!(
        "Session notes are ${spent:.2} of what `{name}` costs, {:.1} %: without them ${without:.2}{beside}.",
        spent / cost * 100.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_cheapest_is_named_and_no_dearer_one_is_praised() {
        type Costs<'a> = &'a [(&'a str, f64)];
        let cases: [(Costs<'_>, &[&str]); 5] = [
            (
                &[("economic", 1.0), ("classic", 2.0)],
                &["`economic` is the cheapest policy that finished."],
            ),
            (
                &[("classic", 1.0), ("codex", 2.0)],
                &["`classic` is the cheapest policy that finished."],
            ),
            // Beside a cheaper one of another agent, none of ours is called cheap.
            (
                &[("classic", 2.0), ("codex", 1.0)],
                &["`codex` is cheaper than `classic` here: $1.00 against $2.00, 50.0 % less."],
            ),
            // Alone, a policy is the cheapest of one.
            (&[("classic", 1.0)], &[]),
            (&[], &[]),
        ];
        for (finished, expected) in cases {
            assert_eq!(comparisons(finished), expected, "{finished:?}");
        }
    }

    #[test]
    fn notes_are_priced_and_blamed_only_where_they_make_the_difference() {
        assert_eq!(notes("classic", 4.0, 0.0, None), None);
        assert_eq!(
            notes("classic", 16.0, 2.0, Some(15.0)).unwrap(),
            "Session notes are $2.00 of what `classic` costs, 12.5 %: without them $14.00; the \
             notes alone make it dearer than `none` at $15.00."
        );
        assert_eq!(
            notes("classic", 16.0, 2.0, Some(20.0)).unwrap(),
            "Session notes are $2.00 of what `classic` costs, 12.5 %: without them $14.00; beside \
             `none` at $20.00."
        );
        let lost = notes("classic", 16.0, 2.0, None).unwrap();
        assert!(lost.ends_with("without them $14.00."), "{lost}");
    }
}
