//! Rules for keys in a recognisable container, independent of the vendor.

use crate::secrets::rule::{Demand, Rule, token};

pub(super) const RULES: &[Rule] = &[
    token(
        "private-key",
        &["-----begin"],
        r"(?i)^-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----(?s:.){32,}?(?:-----END[ A-Z0-9_-]{0,100}KEY(?: BLOCK)?-----|\z)",
    )
    .block(),
    token(
        "putty-private-key",
        &["putty-user-key-file"],
        r"(?i)^PuTTY-User-Key-File-\d: (?s:.){0,3000}?Private-Lines: \d+\s+(?P<secret>[A-Za-z0-9+/=\s]{40,})",
    )
    .block(),
    token(
        "age-secret-key",
        &["age-secret-key-1"],
        r"(?i)AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
    ),
    token(
        "kubernetes-secret",
        &["kind"],
        r#"(?i)^kind["']?\s*:\s*["']?secret\b(?s:.){0,400}?\b(?:string)?data["']?\s*:(?s:.){0,120}?\s["']?[\w.-]+["']?\s*:\s*(?:[|>][+-]?\s+)?["']?(?P<secret>[a-z0-9+/=]{10,})"#,
    )
    .block(),
    token(
        "kubernetes-secret",
        // The same manifest with its members in the other order.
        &["data"],
        r#"(?i)^data["']?\s*:(?s:.){0,120}?\s["']?[\w.-]+["']?\s*:\s*(?:[|>][+-]?\s+)?["']?(?P<secret>[a-z0-9+/=]{10,})["']?(?s:.){0,400}?\bkind["']?\s*:\s*["']?secret\b"#,
    )
    .block(),
    token(
        "json-web-token",
        &["ey"],
        r"\bey[A-Za-z0-9]{15,}\.ey[A-Za-z0-9/\\_-]{15,}\.(?:[A-Za-z0-9/\\_-]{10,}={0,2})?",
    )
    .floor(3.0),
    token(
        "json-web-token-in-base64",
        // `ZXlK` is `eyJ` in base64.
        &["zxlk"],
        r"\bZXlK[A-Za-z0-9+/_-]{60,}={0,2}",
    )
    .floor(3.0),
    token(
        "authorization-header",
        &["authorization", "x-api-key", "x-auth-token", "private-token"],
        r#"(?i)\b(?:authorization["']?\s*[:=]\s*["']?(?:(?:basic|bearer|token|digest|apikey|api-key)\s+)?|(?:x-api-key|x-auth-token|private-token)["']?\s*[:=]\s*["']?)(?P<secret>[\w.~+/=-]{12,})"#,
    )
    .floor(3.0)
    .demand(Demand::LooksRandom),
    token(
        "password-in-url",
        &["://"],
        r#"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@"'`<>]{0,64}:(?P<secret>[^\s/:@"'`<>$(){}\[\]\\]{6,100})@[\w.-]"#,
    )
    .floor(2.0)
    .demand(Demand::Password),
    token(
        "curl-user",
        &["curl"],
        r#"\bcurl\s[^|;&]{0,300}?(?:-u|--user)(?:=|[ \t]{1,5})["']?[^\s:"'\\]{0,60}:(?P<secret>[^\s"'\\]{3,100})"#,
    )
    .floor(1.5)
    .demand(Demand::Password),
    token(
        "netrc-password",
        &["machine", "login"],
        r"(?i)\b(?:machine\s+\S+\s+)?login\s+\S+\s+password\s+(?P<secret>\S{6,})",
    )
    .floor(2.0)
    .demand(Demand::Password),
    token(
        "npmrc-token",
        &["_authtoken", "_auth", "_password"],
        r#"(?i)\b_(?:authtoken|auth|password)\s*=\s*["']?(?P<secret>[\w+/=.-]{8,})"#,
    ),
    token(
        "pgpass-line",
        // Only with a usual port: other lines of five fields are too common.
        &[":5432:", ":5433:"],
        r"^[\w.*-]+:543[23]:[\w*-]+:[\w*-]+:(?P<secret>\S{6,})\s*$",
    )
    .floor(2.0)
    .demand(Demand::Password),
    token(
        "nuget-config-password",
        &["password"],
        r#"(?i)<add\s+key="(?:cleartext)?password"\s*value="(?P<secret>[^"]{8,})"\s*/>"#,
    )
    .floor(1.0),
    token(
        "connection-string-password",
        &["password=", "pwd="],
        r#"(?i)(?:server|host|data source|user id|uid|user|database)\s*=[^;"']{1,100};(?:[^"'\n]{0,200};)?\s*(?:password|pwd)\s*=\s*(?P<secret>[^;"'\s]{6,100})"#,
    )
    .floor(2.0)
    .demand(Demand::Password),
];
