use super::*;
use pretty_assertions::assert_eq;

/// Key made at run time, so that no file contains one.
fn made_up(prefix: &str, alphabet: &str, length: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % 1_000_003).unwrap()
    };
    let body = (0..length).map(|_| letters[random() % letters.len()]);
    prefix.chars().chain(body).collect()
}

const ALPHANUMERIC: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

#[test]
fn a_key_is_found_where_it_stands() {
    let key = made_up("ghp_", ALPHANUMERIC, 36);
    let text = format!("first line\nuse {key} for it\n");
    let findings = scan(&text);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].rule, "github-token");
    assert_eq!(findings[0].line, 2);
    assert_eq!(&text[findings[0].range.clone()], key);
    let shown = format!("{findings:?}{}", serde_json::to_string(&findings).unwrap());
    assert!(!shown.contains(&key[4..]), "{shown}");
}

#[test]
fn redaction_takes_it_out_and_leaves_the_rest() {
    let key = made_up("glpat-", ALPHANUMERIC, 20);
    let text = format!("token: {key}, done");
    assert_eq!(redact(&text), "token: [secret: gitlab-token], done");
    assert!(matches!(
        redact("nothing here"),
        Cow::Borrowed("nothing here")
    ));
    let twice = format!("{key} and {key}");
    assert_eq!(
        redact(&twice),
        "[secret: gitlab-token] and [secret: gitlab-token]"
    );
}

#[test]
fn what_only_stands_for_a_key_is_none() {
    for text in [
        "api_key = \"your-api-key-here-123456\"",
        "API_KEY=xxxxxxxxxxxxxxxxxxxxxxxx",
        "password: ${DB_PASSWORD}",
        "password = \"<your password 1>\"",
        "token = process.env.TOKEN_2024",
        "const token = getToken(user1, 2024)",
        "key: AKIAIOSFODNN7EXAMPLE",
        "password: 'password'",
        "secret = \"secret\"",
        "export GITHUB_TOKEN=$(gh auth token)",
        "primary_key: users_2024_id",
        "postgres://user:password@localhost/db",
        "let per_token = ratio.as_f64() * 1_000.0;",
        "token = Base.url_encode64(bytes)",
        "curl -u name:$PASSWORD https://host",
        "curl https://host/a-user:b",
        "the token is spoken, the key is a monkey",
        "login: mara83",
        "Pass the target with `-m*-version-min=`",
        "pub const LOCAL_CREDS: c_int = 0x0004;",
        "password: \"super_s3cr3t\"",
        "{\"name\": \"Bash\", \"blob\": \"0a1b2c3d4e5f60718293a4b5c6d7e8f9\"}",
    ] {
        assert_eq!(scan(text), [], "{text}");
    }
}

#[test]
fn a_key_in_a_very_long_line_is_found_on_the_seam_too() {
    let key = made_up("npm_", ALPHANUMERIC, 36);
    for before in [
        0,
        LONGEST_PIECE - 20,
        LONGEST_PIECE - OVERLAP,
        3 * LONGEST_PIECE,
    ] {
        let text = format!("{} {key} {}", "a".repeat(before), "b".repeat(LONGEST_PIECE));
        let findings = scan(&text);
        assert_eq!(findings.len(), 1, "{before}");
        assert_eq!(findings[0].range.start, before + 1);
    }
}

#[test]
fn a_private_key_is_one_finding() {
    let line = made_up("", ALPHANUMERIC, 64);
    for kind in ["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", "", "PGP "] {
        let block = if kind == "PGP " { " BLOCK" } else { "" };
        let dashes = "-".repeat(5);
        let key = format!(
            "{dashes}BEGIN {kind}PRIVATE KEY{block}{dashes}\n{line}\n{line}\n{dashes}END {kind}PRIVATE KEY{block}{dashes}"
        );
        let text = format!("here:\n{key}\nand on");
        let findings = scan(&text);
        assert_eq!(findings.len(), 1, "{kind}");
        assert_eq!((findings[0].rule, findings[0].line), ("private-key", 2));
        assert_eq!(&text[findings[0].range.clone()], key);
        // A truncated key is still a secret.
        let cut = &text[..text.len() - 60];
        assert_eq!(scan(cut).len(), 1);
        assert!(!redact(cut).contains(&line));
    }
}

#[test]
fn rules_have_names_for_people() {
    let kinds = vocabulary::Noun::ALL.map(vocabulary::Noun::rule);
    for name in rules().iter().map(Rule::name).chain(kinds) {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(name.bytes().all(plain), "{name}");
    }
}

#[test]
fn passwords_are_found_as_people_write_them_down() {
    let password = made_up("Q", ALPHANUMERIC, 11);
    let encoded = made_up("", ALPHANUMERIC, 32);
    for text in [
        format!("curl -s -u alice:{password} https://host/x"),
        format!("curl --user='alice:{password}' https://host"),
        format!("postgres://app:{password}@db.internal:5432/app"),
        format!("Server=db;Database=x;User Id=sa;Password={password};"),
        format!("machine host login me password {password}"),
        format!("db.internal:5432:app:me:{password}"),
        format!("//registry.npmjs.org/:_authToken={encoded}"),
        format!("password = \"{password}\""),
        format!("\"db_password\": \"{password}\","),
        format!("DB_PASSWORD={password}"),
        format!("Authorization: Bearer {encoded}"),
        format!("-H 'X-Api-Key: {encoded}'"),
        format!(
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  password: {encoded}\n"
        ),
        format!("client_secret: {encoded}"),
        format!("datadog_api_key={encoded}"),
    ] {
        let findings = scan(&text);
        assert_eq!(
            findings.len(),
            1,
            "{}",
            text.replace(&password, "…").replace(&encoded, "…")
        );
        let clean = redact(&text);
        assert!(
            !clean.contains(&password[1..]) && !clean.contains(&encoded),
            "{clean}"
        );
    }
}

#[test]
fn text_made_to_cost_time_is_scanned_to_its_end() {
    let dashes = "-".repeat(5);
    for piece in [
        format!("{dashes}BEGIN RSA PRIVATE KEY{dashes}\n"),
        "kind: Secret data: ".to_owned(),
        "data:\n x: ".to_owned(),
        "api_key=".to_owned(),
        "curl -u ".to_owned(),
        "eyJ".to_owned(),
        "PuTTY-User-Key-File-2: ".to_owned(),
    ] {
        let text = piece.repeat(200_000 / piece.len());
        let end = scan(&text).last().map_or(0, |finding| finding.range.end);
        assert!(end <= text.len());
    }
}
