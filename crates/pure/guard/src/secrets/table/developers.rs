//! Rules for developer services: forges, registries, monitoring, models.

use crate::secrets::rule::{Demand, Rule, token};

pub(super) const RULES: &[Rule] = &[
    token(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        r"\bgh[pousr]_[A-Za-z0-9]{36,255}",
    ),
    token(
        "github-fine-grained-token",
        &["github_pat_"],
        r"\bgithub_pat_\w{60,255}",
    ),
    token(
        "gitlab-token",
        &[
            "glpat-", "gldt-", "glft-", "glrt-", "glrtr-", "glcbt-", "glptt-", "gloas-", "glsoat-",
            "glimt-", "glagent-", "glffct-",
        ],
        r"\bgl(?:pat|dt|ft|rt|rtr|cbt|ptt|oas|soat|imt|agent|ffct)-[\w-]{20,300}(?:\.[0-9a-z]{2,20}){0,2}",
    ),
    token(
        "gitlab-runner-token",
        &["gr1348941"],
        r"\bGR1348941[\w-]{20}",
    ),
    token(
        "gitlab-session",
        &["_gitlab_session="],
        r"_gitlab_session=(?P<secret>[0-9a-z]{32})",
    ),
    token(
        "atlassian-token",
        &["atatt3", "atctt3", "atbb"],
        r"\b(?:AT[AC]TT3[\w=-]{40,300}|ATBB[A-Za-z0-9]{32,})",
    ),
    token("npm-token", &["npm_"], r"(?i)\bnpm_[a-z0-9]{36}\b"),
    token("pypi-token", &["pypi-"], r"\bpypi-[\w-]{50,1000}"),
    token("rubygems-key", &["rubygems_"], r"\brubygems_[a-f0-9]{48}\b"),
    token(
        "clojars-token",
        &["clojars_"],
        r"(?i)\bclojars_[a-z0-9]{60}\b",
    ),
    token("crates-io-token", &["cio"], r"\bcio[A-Za-z0-9]{32}\b")
        .demand(Demand::LooksRandom)
        .floor(3.2),
    token("nuget-key", &["oy2"], r"\boy2[a-z0-9]{43}\b"),
    token("docker-token", &["dckr_"], r"\bdckr_(?:pat|oat)_[\w-]{20,}"),
    token(
        "anthropic-key",
        &["sk-ant-"],
        r"\bsk-ant-[a-z]+\d\d-[\w-]{40,}",
    ),
    token(
        "openai-key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-none-"],
        r"\bsk-(?:proj|svcacct|admin|None)-[\w-]{40,}",
    ),
    token(
        "openai-key",
        &["t3blbkfj"],
        r"\bsk-[\w-]{16,}T3BlbkFJ[\w-]{16,}",
    ),
    token("openrouter-key", &["sk-or-"], r"\bsk-or-v1-[a-f0-9]{64}\b"),
    token("model-provider-key", &["sk-"], r"\bsk-[A-Za-z0-9]{32,64}\b")
        .demand(Demand::LooksRandom)
        .floor(3.0),
    token("perplexity-key", &["pplx-"], r"\bpplx-[A-Za-z0-9]{40,}"),
    token("groq-key", &["gsk_"], r"\bgsk_[A-Za-z0-9]{40,}"),
    token("xai-key", &["xai-"], r"\bxai-[A-Za-z0-9]{60,}"),
    token("replicate-token", &["r8_"], r"\br8_[A-Za-z0-9]{37}\b"),
    token(
        "huggingface-token",
        &["hf_", "api_org_"],
        r"\b(?:hf|api_org)_[A-Za-z0-9]{30,40}\b",
    )
    .floor(3.0),
    token(
        "grafana-token",
        &["glsa_", "glc_", "eyjrijoi"],
        r"(?i)\b(?:glsa_[a-z0-9]{32}_[a-f0-9]{8}|glc_[a-z0-9+/]{32,400}={0,3}|eyJrIjoi[a-z0-9]{60,400}={0,3})",
    ),
    token(
        "sentry-token",
        &["sntrys_", "sntryu_"],
        r"\b(?:sntryu_[a-f0-9]{64}|sntrys_[A-Za-z0-9+/=_-]{40,})",
    ),
    token(
        "new-relic-key",
        &["nrak-", "nrjs-", "nrii-", "nraa-", "nrra-"],
        r"(?i)\bNR(?:AK|JS|II|AA|RA)-[a-z0-9-]{19,40}",
    ),
    token(
        "dynatrace-token",
        &["dt0c01.", "dt0s"],
        r"(?i)\bdt0[a-z]\d\d\.[a-z0-9]{24}\.[a-z0-9]{64}",
    ),
    token(
        "datadog-key",
        &["ddapi_", "ddapp_"],
        r"\bdda(?:pi|pp)_[A-Za-z0-9]{32,}",
    ),
    token(
        "sourcegraph-token",
        &["sgp_"],
        r"(?i)\bsgp_(?:(?:[a-f0-9]{16}|local)_)?[a-f0-9]{40}\b",
    ),
    token(
        "postman-key",
        &["pmak-"],
        r"(?i)\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b",
    ),
    token("readme-token", &["rdme_"], r"\brdme_[a-z0-9]{60,80}\b"),
    token(
        "linear-key",
        &["lin_api_", "lin_oauth_"],
        r"(?i)\blin_(?:api|oauth)_[a-z0-9]{32,64}\b",
    ),
    token(
        "sonar-token",
        &["squ_", "sqp_", "sqa_"],
        r"\bsq[upa]_[A-Za-z0-9=_-]{36,44}",
    ),
    token(
        "settlemint-token",
        &["sm_aat_", "sm_pat_", "sm_sat_"],
        r"\bsm_(?:aat|pat|sat)_[A-Za-z0-9]{16}\b",
    ),
    token(
        "authress-key",
        &["sc_", "ext_", "scauth_", "authress_"],
        r"(?i)\b(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[a-z0-9+/_=-]{30,120}",
    ),
    token(
        "1password-secret-key",
        &["a3-"],
        r"\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}\b",
    ),
    token(
        "1password-token",
        &["ops_ey"],
        r"\bops_eyJ[A-Za-z0-9+/]{200,}={0,3}",
    ),
    token(
        "launchdarkly-key",
        &["sdk-", "api-", "mob-"],
        r"\b(?:sdk|api|mob)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    ),
    token(
        "intra42-secret",
        &["s-s4t2"],
        r"(?i)\bs-s4t2(?:ud|af)-[a-f0-9]{64}\b",
    ),
    token("figma-token", &["figd_", "figu_"], r"\bfig[du]_[\w-]{36,}"),
    token("notion-token", &["ntn_"], r"\bntn_\d{11}[A-Za-z0-9]{35}\b"),
    token("notion-token", &["secret_"], r"\bsecret_[A-Za-z0-9]{43}\b").demand(Demand::LooksRandom),
    token(
        "airtable-token",
        &["pat"],
        r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b",
    ),
    token(
        "typeform-token",
        &["tfp_"],
        r"(?i)\btfp_[a-z0-9._=-]{44,64}",
    ),
    token("contentful-token", &["cfpat-"], r"\bCFPAT-[\w-]{43}"),
];
