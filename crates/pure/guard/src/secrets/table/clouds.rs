//! Rules for clouds, hosting and infrastructure software.

use crate::secrets::rule::{Demand, Rule, token};

pub(super) const RULES: &[Rule] = &[
    token(
        "aws-access-key-id",
        &["akia", "asia", "abia", "acca", "a3t"],
        r"\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z2-7]{16}\b",
    ),
    token(
        "aws-secret-access-key",
        &["secret_access_key", "secretaccesskey", "aws_secret"],
        r#"(?i)\b(?:aws_)?secret_?(?:access_?)?key["']?\s*(?:=>|:=|=|:)\s*["']?(?P<secret>[A-Za-z0-9/+]{40})\b"#,
    ),
    token(
        "aws-bedrock-key",
        &["absk"],
        r"\bABSK[A-Za-z0-9+/]{100,280}={0,2}",
    ),
    token(
        "aws-bedrock-key",
        &["bedrock-api-key-"],
        r"\bbedrock-api-key-[A-Za-z0-9+/=_-]{20,}",
    ),
    token("google-api-key", &["aiza"], r"\bAIza[\w-]{35}"),
    token("google-oauth-secret", &["gocspx-"], r"\bGOCSPX-[\w-]{28}"),
    token("google-oauth-token", &["ya29."], r"\bya29\.[\w-]{20,}"),
    token(
        "azure-client-secret",
        &["q~"],
        r"(?:^|[^\w~.-])(?P<secret>[\w~.]{3}\dQ~[\w~.-]{31,34})",
    ),
    token(
        "azure-storage-key",
        &["accountkey="],
        r"(?i)\bAccountKey=(?P<secret>[A-Za-z0-9+/]{86}==)",
    ),
    token(
        "azure-shared-access-key",
        &["sharedaccesskey="],
        r"(?i)\bSharedAccessKey=(?P<secret>[A-Za-z0-9+/]{40,}=)",
    ),
    token(
        "azure-sas-signature",
        &["sig="],
        r"[?&]sig=(?P<secret>[A-Za-z0-9%/+]{40,}(?:%3D|=)?)",
    ),
    token(
        "azure-devops-token",
        &["azdo"],
        r"\b[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b",
    ),
    token("alibaba-access-key", &["ltai"], r"\bLTAI[A-Za-z0-9]{20}\b"),
    token("tencent-secret-id", &["akid"], r"\bAKID[A-Za-z0-9]{32}\b"),
    token(
        "digitalocean-token",
        &["doo_v1_", "dop_v1_", "dor_v1_"],
        r"(?i)\bdo[opr]_v1_[a-f0-9]{64}",
    ),
    token("heroku-key", &["hrku-"], r"\bHRKU-[\w-]{50,70}"),
    token(
        "cloudflare-origin-key",
        &["v1.0-"],
        r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{100,160}",
    ),
    token(
        "databricks-token",
        &["dapi"],
        r"\bdapi[a-f0-9]{32}(?:-\d)?\b",
    ),
    token("fly-token", &["fo1_"], r"\bfo1_[\w-]{43}"),
    token(
        "fly-token",
        &["fm1", "fm2_"],
        r"\bfm[12][ar]?_[A-Za-z0-9+/]{100,}={0,3}",
    ),
    token("scalingo-token", &["tk-us-"], r"\btk-us-[\w-]{48}"),
    token(
        "supabase-key",
        &["sbp_", "sb_secret_"],
        r"\b(?:sbp_(?:oauth_)?[a-f0-9]{40}|sb_secret_[\w-]{20,})",
    ),
    token(
        "planetscale-credential",
        &["pscale_"],
        r"(?i)\bpscale_(?:tkn|oauth|pw|app)_[\w=.-]{32,64}",
    ),
    token("clickhouse-secret", &["4b1d"], r"\b4b1d[A-Za-z0-9]{38}\b"),
    token(
        "vault-token",
        &["hvs.", "hvb.", "hvr."],
        r"\bhv[sbr]\.[\w-]{24,300}",
    ),
    // The prefix is common in code (`s.field`), hence the stricter demand.
    token("vault-token", &["s."], r"\bs\.[A-Za-z0-9]{24}\b")
        .floor(3.2)
        .demand(Demand::LooksRandom),
    token(
        "terraform-token",
        &["atlasv1"],
        r"(?i)\b[a-z0-9]{14}\.atlasv1\.[a-z0-9=_-]{60,70}",
    ),
    token("pulumi-token", &["pul-"], r"\bpul-[a-f0-9]{40}\b"),
    token(
        "doppler-token",
        &["dp."],
        r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,40}\.)?[A-Za-z0-9]{40,50}",
    ),
    token("infracost-key", &["ico-"], r"\bico-[A-Za-z0-9]{32}\b"),
    token("openshift-token", &["sha256~"], r"\bsha256~[\w-]{43}"),
    token("octopus-deploy-key", &["api-"], r"\bAPI-[A-Z0-9]{26}\b"),
    token(
        "harness-key",
        &["pat.", "sat."],
        r"\b(?:pat|sat)\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}\b",
    ),
    token("yandex-key", &["aqvn"], r"\bAQVN[\w-]{35,38}"),
    // Two letters are no distinctive prefix, hence the stricter demand.
    token("yandex-key", &["yc"], r"\bYC[\w-]{38}\b")
        .floor(3.5)
        .demand(Demand::LooksRandom),
    token(
        "yandex-token",
        &["t1."],
        r"\bt1\.[\w-]+={0,2}\.[\w-]{86}={0,2}",
    ),
    token("artifactory-key", &["akcp"], r"\bAKCp[A-Za-z0-9]{69,}\b"),
    token(
        "artifactory-token",
        &["cmvmd"],
        r"\bcmVmd[A-Za-z0-9]{59,}\b",
    ),
    token("prefect-token", &["pnu_"], r"\bpnu_[A-Za-z0-9]{36}\b"),
    token(
        "defined-networking-token",
        &["dnkey-"],
        r"(?i)\bdnkey-[a-z0-9=_-]{26}-[a-z0-9=_-]{52}",
    ),
    token("tailscale-key", &["tskey-"], r"\btskey-[a-z]+-[\w-]{16,}"),
];
