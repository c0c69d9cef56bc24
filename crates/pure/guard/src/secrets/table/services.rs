//! Rules for messaging, payment and other network services.

use crate::secrets::rule::{Demand, Rule, token};

pub(super) const RULES: &[Rule] = &[
    token(
        "slack-token",
        &[
            "xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-",
            "xoxs-",
        ],
        r"(?i)\bxox[a-z](?:\.xox[bp])?-[a-z0-9-]{0,40}\d[a-z0-9-]{4,400}",
    )
    .floor(2.0),
    token(
        "slack-app-token",
        &["xapp-"],
        r"(?i)\bxapp-\d-[a-z0-9]+-\d+-[a-z0-9]+",
    )
    .floor(2.0),
    token(
        "slack-webhook",
        &["hooks.slack.com/"],
        r"\bhooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/]{40,60})",
    ),
    token(
        "teams-webhook",
        &["webhook.office.com"],
        r"(?i)https://[a-z0-9]+\.webhook\.office\.com/webhookb2/(?P<secret>[a-z0-9@-]{60,90}/IncomingWebhook/[a-z0-9]{32}/[a-z0-9-]{36})",
    ),
    token(
        "discord-webhook",
        &["/api/webhooks/"],
        r"\bdiscord(?:app)?\.com/api/webhooks/(?P<secret>\d{10,25}/[\w-]{50,})",
    ),
    token(
        "discord-bot-token",
        &["discord", "bot"],
        r"\b[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}\b",
    ),
    token("telegram-bot-token", &[":a"], r"\b\d{5,16}:A[\w-]{34}\b"),
    token("twilio-key", &["sk"], r"\bSK[0-9a-fA-F]{32}\b"),
    token("sendgrid-key", &["sg."], r"(?i)\bSG\.[a-z0-9=_.-]{60,72}"),
    token("mailgun-key", &["key-"], r"\b(?:pub)?key-[a-f0-9]{32}\b"),
    token(
        "mailgun-signing-key",
        &["mailgun"],
        r"(?i)\b[a-h0-9]{32}-[a-h0-9]{8}-[a-h0-9]{8}\b",
    ),
    token("mailchimp-key", &["-us"], r"\b[a-f0-9]{32}-us\d{1,2}\b"),
    token(
        "sendinblue-key",
        &["xkeysib-"],
        r"(?i)\bxkeysib-[a-f0-9]{64}-[a-z0-9]{16}\b",
    ),
    // The prefix is common in identifiers, hence the stricter demand.
    token("beamer-token", &["b_"], r"(?i)\bb_[a-z0-9=_-]{44}")
        .floor(3.8)
        .demand(Demand::LooksRandom),
    token(
        "stripe-key",
        &[
            "sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_",
        ],
        r"\b[sr]k_(?:test|live|prod)_[A-Za-z0-9]{10,120}",
    ),
    token(
        "stripe-webhook-secret",
        &["whsec_"],
        r"\bwhsec_[A-Za-z0-9+/=]{24,}",
    ),
    token(
        "shopify-token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b",
    ),
    token(
        "square-token",
        &["eaaa", "sq0"],
        r"\b(?:EAAA[\w-]{22,60}|sq0(?:atp|csp|idp)-[\w-]{22,60})",
    ),
    token(
        "paypal-token",
        &["access_token$production$"],
        r"access_token\$production\$[0-9a-z]{16}\$[0-9a-f]{32}",
    ),
    token(
        "plaid-token",
        &[
            "access-sandbox-",
            "access-development-",
            "access-production-",
        ],
        r"\baccess-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    ),
    token(
        "flutterwave-key",
        &["flwseck", "flwpubk"],
        r"(?i)\bFLW(?:SECK|PUBK)(?:_TEST)?-[a-z0-9]{12,40}(?:-X)?",
    ),
    token(
        "gocardless-token",
        &["live_"],
        r"(?i)\blive_[a-z0-9=_-]{40}\b",
    )
    .floor(3.5)
    .demand(Demand::LooksRandom),
    token(
        "lob-key",
        &["live_", "test_"],
        r"(?i)\b(?:live|test)_(?:pub_)?[a-f0-9]{31,35}\b",
    ),
    token(
        "shippo-token",
        &["shippo_"],
        r"\bshippo_(?:live|test)_[a-fA-F0-9]{40}\b",
    ),
    token(
        "duffel-token",
        &["duffel_"],
        r"(?i)\bduffel_(?:test|live)_[a-z0-9_=-]{43}",
    ),
    token(
        "easypost-key",
        &["ezak", "eztk"],
        r"(?i)\bEZ[AT]K[a-z0-9]{54}\b",
    ),
    token(
        "facebook-token",
        &["|", "%7c", "%"],
        r"(?i)\b\d{15,16}(?:\||%7C|%)[0-9a-z_-]{27,40}",
    )
    .floor(3.0),
    token(
        "facebook-page-token",
        &["eaa"],
        r"\bEAA[A-Z][A-Za-z0-9]{90,}",
    )
    .floor(3.5),
    token(
        "twitter-bearer-token",
        &["aaaaaaaaaaaaaaaaaaaaaa"],
        r"\bA{20,24}[A-Za-z0-9%]{80,110}",
    )
    .floor(3.0),
    token("adobe-secret", &["p8e-"], r"(?i)\bp8e-[a-z0-9]{32}\b"),
    token(
        "frame-io-token",
        &["fio-u-"],
        r"(?i)\bfio-u-[a-z0-9_=-]{64}",
    ),
    token(
        "mapbox-token",
        &["pk.", "sk."],
        r"(?i)\b[ps]k\.[a-z0-9]{60,}\.[a-z0-9_-]{22}",
    ),
    token(
        "maxmind-key",
        &["_mmk"],
        r"\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b",
    ),
    token("dropbox-token", &["sl."], r"(?i)\bsl\.[a-z0-9=_-]{120,}"),
    token(
        "dropbox-token",
        &["aaaaaaaaaa"],
        r"(?i)\b[a-z0-9]{11}A{10}[a-z0-9=_-]{43}",
    ),
    token(
        "freemius-key",
        &["secret_key"],
        r#"(?i)["']secret_key["']\s*=>\s*["'](?P<secret>sk_\S{29})["']"#,
    ),
    token(
        "sidekiq-credential",
        &["contribsys"],
        r"(?i)\b(?P<secret>[a-f0-9]{8}:[a-f0-9]{8})\b",
    )
    .floor(1.5),
    token(
        "sumologic-id",
        &["sumo"],
        r#"(?i)\bsumo[\w .-]{0,20}["']?\s*(?:=>|:=|=|:)\s*["']?(?P<secret>su[a-z0-9]{12})\b"#,
    ),
];
