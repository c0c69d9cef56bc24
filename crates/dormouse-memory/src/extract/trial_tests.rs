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
    let mut short = Vec::new();
    for (set, text) in BUILT_IN.iter().filter(|(set, _)| set.starts_with("ben")) {
        for way in Way::ALL {
            let (all, failed) = failures(set, text, way);
            if failed.len() * 10 > all {
                short.push(format!("{set}, {}: {}", way.name(), failed.join("\n")));
            }
        }
    }
    assert!(short.is_empty(), "{}", short.join("\n"));
}
