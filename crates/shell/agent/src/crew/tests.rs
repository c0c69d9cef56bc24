use super::wishes::stricter;
use dormouse_permit::Mode;
use pretty_assertions::assert_eq;

#[test]
fn a_definition_never_widens_the_mode() {
    for (session, wish, mode) in [
        (Mode::Ask, Mode::All, Mode::Ask),
        (Mode::Ask, Mode::Plan, Mode::Plan),
        (Mode::Plan, Mode::All, Mode::Plan),
        (Mode::All, Mode::AcceptEdits, Mode::AcceptEdits),
        (Mode::Deny, Mode::Ask, Mode::Deny),
        (Mode::All, Mode::All, Mode::All),
    ] {
        assert_eq!(stricter(session, wish), mode, "{session} and {wish}");
    }
}
