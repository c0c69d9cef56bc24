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
}
