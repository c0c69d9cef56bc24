//! Places and variables that hold keys, by name.
//!
//! The lists are of well-known programs; a key under a name of its own is not found by them. The
//! judgement of texts by their content is `dormouse-guard`'s.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Files and folders below the user's home: keys for other machines, clouds and registries, password
/// stores, profiles of browsers and mail programs, and the credentials of coding agents.
const IN_HOME: [&str; 47] = [
    ".ssh",
    ".gnupg",
    ".pki",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/doctl",
    ".config/op",
    ".oci",
    ".kube",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".gem/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".pgpass",
    ".my.cnf",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".pi/agent/auth.json",
    ".gemini/oauth_creds.json",
    ".local/share/opencode/auth.json",
];

/// Files of the machine that only root reads, for an agent that runs as root.
const OF_MACHINE: [&str; 6] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssl/private",
    "/etc/sudoers.d",
];

/// Words in the name of a variable whose value is a key.
const WORDS: [&str; 15] = [
    "KEY",
    "KEYS",
    "APIKEY",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASS",
    "PAT",
    "CREDENTIAL",
    "CREDENTIALS",
    "AUTH",
];

/// Well-known places with keys below a home, and those of the machine. They need not exist.
pub fn secret_places(home: Option<&Path>) -> Vec<PathBuf> {
    let of_machine = OF_MACHINE.iter().map(PathBuf::from);
    let in_home = home.into_iter().flat_map(|home| {
        let places = IN_HOME.iter();
        places.map(move |place| home.join(place))
    });
    in_home.chain(of_machine).collect()
}

/// True if a variable seems to hold a key: by its name, or because its value is an address with a
/// password.
pub(crate) fn is_secret_variable(name: &OsStr, value: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    // Names of settings for git, which say nothing by themselves.
    if name.starts_with("GIT_CONFIG_KEY_") {
        return false;
    }
    let by_name = name.split('_').any(|word| WORDS.contains(&word));
    by_name || has_password(&value.to_string_lossy())
}

/// True for `scheme://user:password@host`.
fn has_password(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    user.is_some_and(|user| user.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_judged_by_name_and_by_addresses() {
        let judged = |name: &str, value: &str| is_secret_variable(name.as_ref(), value.as_ref());
        for name in [
            "ANTHROPIC_API_KEY",
            "gh_token",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD_PASS",
        ] {
            assert!(judged(name, "x"), "{name}");
        }
        assert!(judged("DATABASE_URL", "postgres://ann:pw@db/x"));
        for (name, value) in [
            ("PATH", "/bin"),
            ("KEYBOARD", "de"),
            ("GIT_CONFIG_KEY_0", "core.pager"),
            ("PROXY", "http://proxy:3128/a@b:c"),
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9"),
        ] {
            assert!(!judged(name, value), "{name}");
        }
    }

    #[test]
    fn places_are_below_the_home_and_of_the_machine() {
        let places = secret_places(Some(Path::new("/home/ann")));
        assert!(places.contains(&PathBuf::from("/home/ann/.ssh")));
        assert!(places.contains(&PathBuf::from("/etc/shadow")));
        assert_eq!(secret_places(None).len(), OF_MACHINE.len());
    }
}
