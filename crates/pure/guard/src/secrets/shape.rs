//! Shapes of texts that hold letters and digits and are no password: names, numbers, code.

use regex::RegexSet;
use std::sync::LazyLock;

/// Shapes, each with what it is.
const SHAPES: [&str; 15] = [
    // Number with a unit, range or ordinal: `90d`, `8-64`, `12-character`.
    r"^[+~]?\d[\d.,:/-]*[%a-zA-Z]{0,5}$",
    r"^\d+-[a-zA-Z]+$",
    // Number of a program: `0x0004`.
    r"^0x[0-9a-fA-F]{1,10}$",
    // Version: `v2.3.0-rc.1`.
    r"(?i)^v?\d+(?:\.\d+)+",
    // Word with one digit, or with a version: `staging2`, `UUIDv7`.
    r"^[A-Za-z]+\d$",
    r"^[A-Za-z]+[vV]\d{1,2}$",
    // Word after a digit: `1Password`, `3rd`.
    r"^\d[A-Za-z]+$",
    // Name of a variable or constant.
    r"^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$",
    // Members: `config.db2.password`, `users.auth_v2`.
    r"^[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+$",
    // Address of mail.
    r"^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$",
    // Name of a file, or of a host.
    r"(?i)^[\w./~-]+\.(?:md|toml|json|ya?ml|env|rs|py|jsx?|tsx?|txt|pem|key|sh|go|java|rb|php|html|css|lock|cfg|conf|ini|xml|sql|log|io|com|org|net|dev|local|internal)$",
    // Ticket or standard: `ACME-1042`, `SP800-63B`.
    r"^[A-Z]{2,}\d*-\d+[A-Z]?$",
    // Algorithm, encoding, protocol or product whose name has a digit.
    r"(?i)^(?:sha|md|aes|hs|rs|es|ps|base|utf|rsa|ed|x|p|secp|curve|argon|pbkdf|hkdf|oauth|auth|fido|k8s|s3|ec2|ipv|http|tls|ssl|rfc|iso|nist|fips|sp800|uuid|jwt|pkcs|ntlm|bcrypt|scrypt|1password|keepass|bip|totp|hotp|hmac|ascii|win|amd|arm|python|java|node|postgres|mysql|redis|gpt|claude|llama|zxcvbn|log4j|i18n|l10n|a11y)[-_]?v?\d+(?:[-_/.]?[a-z0-9]{1,8}){0,2}$",
    r"(?i)^(?:1password|keepassx?c?\d?|auth0|b64|p12|k8s|2fa|mfa2?)\b",
    // Path.
    r"^(?:\.{0,2}/|~/|[A-Za-z]:\\|\\\\|@|#|--|//)",
];

/// True if a text has the shape of something else than a password.
pub(super) fn is_something_else(text: &str) -> bool {
    // A test compiles every shape, so that none is missing here.
    static SET: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(SHAPES).ok());
    SET.as_ref().is_some_and(|set| set.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_numbers_and_code_have_other_shapes() {
        for text in [
            "90d",
            "8-64",
            "12-character",
            "v2.3.0",
            "2.3.0-rc.1",
            "staging2",
            "UUIDv7",
            "1Password",
            "OPENAI_API_KEY",
            "users.auth_v2",
            "mara@acme.io",
            "docs/politica-v2.md",
            "ACME-1042",
            "SP800-63B",
            "SHA-256",
            "AES-256-GCM",
            "argon2id",
            "/run/secrets/db1",
            "--flag2",
        ] {
            assert!(is_something_else(text), "{text}");
        }
        for text in [
            "tr0mb0n377",
            "Marigold!19",
            "copper-lantern-42",
            "aB3dE5fG7h",
        ] {
            assert!(!is_something_else(text), "{text}");
        }
    }
}
