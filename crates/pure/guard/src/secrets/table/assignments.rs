//! Rules for values that are credentials only by the name they are assigned to.

use crate::secrets::rule::{Demand, Rule, token};

pub(super) const RULES: &[Rule] = &[
    // A service is named, so that a random value is its key.
    token(
        "service-credential",
        &[
            "adafruit", "adobe", "airtable", "algolia", "alibaba", "asana", "atlassian", "jira",
            "confluence", "beamer", "bitbucket", "bittrex", "meraki", "cloudflare", "codecov",
            "cohere", "co_api_key", "coinbase", "confluent", "contentful", "datadog", "discord",
            "droneci", "dropbox", "etsy", "facebook", "fastly", "finicity", "finnhub", "flickr",
            "freshbooks", "gitter", "gocardless", "heroku", "hubspot", "intercom", "jfrog",
            "artifactory", "bintray", "xray", "kraken", "kucoin", "launchdarkly", "linear",
            "linkedin", "linked_in", "linked-in", "lob", "looker", "mailchimp", "mailgun", "mapbox",
            "mattermost", "messagebird", "message_bird", "message-bird", "netlify", "newrelic",
            "new_relic", "new-relic", "nytimes", "newyorktimes", "new-york-times", "okta", "plaid",
            "privateai", "private_ai", "private-ai", "rapidapi", "sendbird", "sentry", "snyk",
            "sonar", "squarespace", "sumo", "telegr", "travis", "twitch", "twitter", "typeform",
            "yandex", "zendesk",
        ],
        concat!(
            r"(?i)(?:adafruit|adobe|airtable|algolia|alibaba|asana|atlassian|jira|confluence|beamer",
            r"|bitbucket|bittrex|meraki|cloudflare|codecov|cohere|co_api_key|coinbase|confluent",
            r"|contentful|datadog|discord|droneci|dropbox|etsy|facebook|fastly|finicity|finnhub",
            r"|flickr|freshbooks|gitter|gocardless|heroku|hubspot|intercom|jfrog|artifactory|bintray",
            r"|xray|kraken|kucoin|launchdarkly|linear|linked[_-]?in|lob|looker|mailchimp|mailgun",
            r"|mapbox|mattermost|message[_-]?bird|netlify|new[_-]?relic|nytimes|new-?york-?times",
            r"|okta|plaid|private[_-]?ai|rapidapi|sendbird|sentry|snyk|sonar|squarespace|sumo",
            r"|telegr(?:am)?|travis|twitch|twitter|typeform|yandex|zendesk)",
            r#"[\w.-]{0,20}["'\]\s]{0,3}(?:=>|:=|\?=|=|:|,)["'`\s=]{0,4}"#,
            r"(?P<secret>[a-z0-9][a-z0-9_=+/.%-]{12,160})",
        ),
    )
    .floor(2.9)
    .demand(Demand::LooksRandom),
    // The name says that it is a credential. A higher floor than above, since such names are
    // common.
    token(
        "credential-assignment",
        &["key", "token", "secret", "passw", "pwd", "credential", "creds", "auth", "access", "api"],
        concat!(
            r"(?i)\b(?:[\w.-]{0,50}?(?:api[_.-]?key|access[_.-]?key|[_.-]key|secret|token|passw(?:or)?d|passphrase|pwd",
            r"|credentials?|creds|auth)[\w.-]{0,20}|key|access|api)",
            r#"["'\]]{0,2}\s{0,3}(?:=>|:=|\?=|=|:)\s{0,3}["'`]?(?P<secret>[a-z0-9][a-z0-9_=+/.~!@#%^&*-]{9,160})"#,
        ),
    )
    .floor(3.2)
    .demand(Demand::LooksRandom),
    // In quotes, and called a password. A lower floor, since users choose weak ones.
    token(
        "password-assignment",
        &["passw", "pwd", "passphrase"],
        concat!(
            r#"(?i)(?:passw(?:or)?d|passphrase|pwd)[\w.-]{0,20}["'\]]{0,2}\s{0,3}(?:=>|:=|=|:)\s{0,3}"#,
            r#"["'`](?P<secret>[^\s"'`]{8,100})["'`]"#,
        ),
    )
    .floor(2.5)
    .demand(Demand::Password),
];
