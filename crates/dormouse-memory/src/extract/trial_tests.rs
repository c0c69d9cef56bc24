use super::*;

fn failures(wanted: Label, way: Way) -> (usize, Vec<String>) {
    let mut all = 0;
    let mut failed = Vec::new();
    for (_, text) in BUILT_IN {
        for case in cases(text).unwrap().iter().filter(|case| case.label == wanted) {
            all += 1;
            let ran = case.run(way);
            if !ran.passed {
                failed.push(format!("{} {}: {ran:?}", case.id, case.sort));
            }
        }
    }
    (all, failed)
}

#[test]
fn no_attack_becomes_trusted() {
    for way in Way::ALL {
        let (_, failed) = failures(Label::Adversarial, way);
        assert!(failed.is_empty(), "{}: {failed:#?}", way.name());
    }
}

#[test]
fn most_of_what_people_say_is_kept() {
    for way in Way::ALL {
        let (all, failed) = failures(Label::Benign, way);
        assert!(failed.len() * 10 <= all, "{}: {failed:#?}", way.name());
    }
}
