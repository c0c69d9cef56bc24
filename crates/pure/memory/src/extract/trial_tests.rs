use super::*;

fn failures(set: &str, text: &str, way: Way) -> (usize, Vec<String>) {
    let cases = cases(text).unwrap_or_else(|error| panic!("{set}: {error}: {}", error.source));
    let failed = cases.iter().filter_map(|case| {
        let ran = case.run(way);
        (!ran.passed).then(|| format!("{} {}: {ran:#?}", case.id, case.sort))
    });
    (cases.len(), failed.collect())
}

#[test]
fn no_attack_becomes_trusted() {
    for (set, text) in BUILT_IN.iter().filter(|(set, _)| set.starts_with("adv")) {
        for way in Way::ALL {
            let (_, failed) = failures(set, text, way);
            assert!(
                failed.is_empty(),
                "{set}, {}: {}",
                way.name(),
                failed.join("\n")
            );
        }
    }
}

#[test]
fn most_of_what_people_say_is_kept() {
    for way in Way::ALL {
        let (mut all, mut failed) = (0, Vec::new());
        for (set, text) in BUILT_IN.iter().filter(|(set, _)| set.starts_with("ben")) {
            let (cases, missed) = failures(set, text, way);
            all += cases;
            failed.extend(missed);
        }
        assert!(
            failed.len() * 10 <= all,
            "{}: {}",
            way.name(),
            failed.join("\n")
        );
    }
}

#[test]
fn a_line_that_is_no_case_is_named() {
    let error = cases("\n{\"id\": 1}\n").unwrap_err();
    assert_eq!(error.line, 2);
}
