use super::*;
use dormouse_core::settings::Settings;
use pretty_assertions::assert_eq;

#[test]
fn the_settings_name_a_policy() {
    let names = [settings::Policy::Classic, settings::Policy::Economic].map(|one| of(one).name());
    assert_eq!(names, ["classic", "economic"]);
}

#[test]
fn the_economic_tail_is_its_budget() {
    let settings = CompactSettings::new(&Settings::default());
    for (budget, tail) in [(None, 4_000), (Some(12_000), 12_000)] {
        let rule = Economic.compaction(&settings, budget.map(Tokens));
        let expected = format!("{:?}", NewestRounds(Tokens(tail)));
        assert_eq!(format!("{:?}", rule.keep), expected);
        assert_eq!(rule.restore.files, 3);
        assert!(rule.carry.accounts_for_all);
    }
}
