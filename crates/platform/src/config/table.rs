//! Every setting with its default and meaning. `trunkline.example.toml`, `docs/settings.md` and the help are written from
//! it (`written`).

use super::written::plain;

/// Settings that belong together.
pub struct Group {
    pub title: &'static str,
    pub settings: &'static [Setting],
}

pub struct Setting {
    pub name: &'static str,
    pub default: Fallback,
    /// In Markdown.
    pub about: &'static str,
    /// Whether its value is hidden, and can be in a file that `NAME_FILE` names.
    pub is_secret: bool,
}

/// What a setting is when it is not set.
#[derive(Clone, Copy)]
pub enum Fallback {
    None,
    Value(&'static str),
    /// A value that depends on something else, in words.
    Described(&'static str),
}

impl Setting {
    /// The name of the setting for the file that has its value.
    pub fn file_name(&self) -> Option<String> {
        self.is_secret.then(|| format!("{}_FILE", self.name))
    }

    /// The default for people, in plain text.
    pub fn default_text(&self) -> String {
        match self.default {
            Fallback::None => "none".to_owned(),
            Fallback::Value(value) => value.to_owned(),
            Fallback::Described(words) => plain(words),
        }
    }
}

pub fn all() -> impl Iterator<Item = &'static Setting> {
    GROUPS.iter().flat_map(|group| group.settings)
}

/// Whether there is a setting, or a file of one, by this name.
pub fn has(name: &str) -> bool {
    all().any(|setting| setting.name == name || setting.file_name().is_some_and(|file_name| file_name == name))
}

const NONE: Fallback = Fallback::None;

const fn value(value: &'static str) -> Fallback {
    Fallback::Value(value)
}

const fn described(words: &'static str) -> Fallback {
    Fallback::Described(words)
}

const fn setting(name: &'static str, default: Fallback, about: &'static str) -> Setting {
    Setting { name, default, about, is_secret: false }
}

const fn secret(name: &'static str, default: Fallback, about: &'static str) -> Setting {
    Setting { name, default, about, is_secret: true }
}

#[rustfmt::skip]
pub const GROUPS: &[Group] = &[
    Group {
        title: "Addresses",
        settings: &[
            setting("TRUNKLINE_LISTEN", value("127.0.0.1:8080"), "Address of the API"),
            setting("TRUNKLINE_PUBLIC_URL", described("`http://` and the listening address"), "Origin of links in mail, without a path"),
            setting("TRUNKLINE_OPS_LISTEN", value("127.0.0.1:9090"), "Address of the operations port. Off loopback it needs TLS or `TRUNKLINE_OPS_PLAIN_HTTP`"),
            setting("TRUNKLINE_OPS_TLS_CERT", NONE, "PEM file with the certificate chain of the operations port, which then serves TLS; see [Ports, TLS and reverse proxy](operations.md#ports-tls-and-reverse-proxy)"),
            setting("TRUNKLINE_OPS_TLS_KEY", NONE, "PEM file with the private key of that certificate"),
            setting("TRUNKLINE_OPS_TLS_CLIENT_CA", NONE, "PEM file with the authorities whose client certificates the operations port demands; without it, it demands none"),
            setting("TRUNKLINE_OPS_PLAIN_HTTP", value("off"), "Lets the operations port listen off loopback, where switches send their secret over plain HTTP: for a tunnel or a private network"),
            setting("TRUNKLINE_CORS_ORIGINS", NONE, "Origins whose pages may call the API, comma-separated"),
            setting("TRUNKLINE_TRUSTED_PROXIES", NONE, "Addresses or networks whose `X-Forwarded-For` is trusted, comma-separated"),
            setting("TRUNKLINE_RETURN_ORIGINS", described("the public URL"), "Origins that a checkout page may return to, comma-separated"),
            setting("TRUNKLINE_MANUAL_DIR", NONE, "Folder of the manual, as `make manual` builds it, which is then served at `/manual`. Packages have it in `/usr/share/trunkline/manual`"),
        ],
    },
    Group {
        title: "Data",
        settings: &[
            setting("TRUNKLINE_DATA_DIR", value("data"), "The data folder"),
            secret("TRUNKLINE_DATABASE_URL", described("`sqlite://` and `trunkline.db` in the data folder"), "`sqlite://path` or `postgres://user:password@host/name`"),
            setting("TRUNKLINE_DATABASE_CONNECTIONS", value("16"), "PostgreSQL connections of this node, 2 to 500"),
            setting("TRUNKLINE_DATABASE_STATEMENT_SECONDS", value("20"), "How long a PostgreSQL statement may run, 1 to 20; see [PostgreSQL](operations.md#postgresql)"),
            secret("TRUNKLINE_DATABASE_READ_URL", NONE, "`postgres://…` of a streaming standby, which then answers lists and reports; see [Read replica](scaling.md#read-replica)"),
            setting("TRUNKLINE_DATABASE_READ_LAG_SECONDS", value("10"), "How far behind it may be, 1 to 3600; beyond that the primary answers"),
            setting("TRUNKLINE_S3_BUCKET", NONE, "Stores files in this bucket instead of the data folder; see [File storage in S3](operations.md#file-storage-in-s3)"),
            setting("TRUNKLINE_S3_KEY_ID", NONE, "Id of the access key; required with a bucket"),
            secret("TRUNKLINE_S3_SECRET", NONE, "Secret of the access key; required with a bucket"),
            setting("TRUNKLINE_S3_REGION", value("us-east-1"), "The bucket's region"),
            setting("TRUNKLINE_S3_ENDPOINT", described("Amazon's in that region"), "Address of another S3 service, such as `https://minio.internal:9000`"),
            setting("TRUNKLINE_S3_ADDRESSING", value("path"), "`path`: `https://endpoint/bucket/…`; `host`: `https://bucket.endpoint/…`"),
            setting("TRUNKLINE_CLAMD", NONE, "Scans uploads with ClamAV: `tcp://host:port` or `unix:/run/clamav/clamd.ctl`. While clamd does not answer, uploads get 503. Its `StreamMaxLength` must be at least 16M"),
            setting("TRUNKLINE_AUDIT_DAYS", value("730"), "Days until rows of the audit log move to files, 30 to 36500; see [Audit log](operations.md#audit-log)"),
            setting("TRUNKLINE_CALL_NUMBERS_DAYS", value("400"), "Days until the numbers in CDRs are anonymised, 30 to 3650; see [Retention](operations.md#retention)"),
            setting("TRUNKLINE_CDR_HOT_DAYS", value("off"), "Days until CDRs move to Parquet files, 90 to 3650; see [CDR archive](archive.md)"),
        ],
    },
    Group {
        title: "Mail",
        settings: &[
            secret("TRUNKLINE_MAIL", value("file"), "`file` (the outbox folder), `smtp://user:password@host:port` or `smtps://…`. `smtp` demands STARTTLS, except on loopback; `?tls=opportunistic` uses it only if the server offers it, `?tls=required` always. A password is never sent unencrypted off loopback"),
            setting("TRUNKLINE_MAIL_FROM", value("Trunkline <no-reply@trunkline.invalid>"), "Sender of mail; see [Mail](operations.md#mail)"),
            secret("TRUNKLINE_DECK_MAILBOX", NONE, "Mailbox that [rate decks arrive in](rates.md#decks-by-mail): `maildir:///path`, `imaps://user:password@host:port/folder` or `imap://…`, which demands STARTTLS except on loopback; `?tls=required` demands it there too"),
            setting("TRUNKLINE_DECK_MAIL_MINUTES", value("5"), "How often that mailbox is read, 1 to 1440"),
            setting("TRUNKLINE_DECK_MAIL_AUTHSERV", NONE, "Name (`authserv-id`) of the mail server whose `Authentication-Results` say whether a sender is genuine. Without it every mailed deck is held, unless its upstream trusts its senders"),
            setting("TRUNKLINE_SECURITY_CONTACT", described("the sender of mail"), "`mailto:` or `https://` address for reports of vulnerabilities, shown in `/.well-known/security.txt`"),
        ],
    },
    Group {
        title: "Payments",
        settings: &[
            setting("TRUNKLINE_PAYMENTS", value("sandbox"), "Payment provider: `sandbox` (built in, has its own checkout page, moves no money) or `revolut`; see [Payments](operations.md#payments)"),
            secret("TRUNKLINE_REVOLUT_KEY", NONE, "Revolut's secret API key; required with `revolut`"),
            secret("TRUNKLINE_REVOLUT_WEBHOOK_SECRET", NONE, "The signing secret of its webhook; required with `revolut`"),
            setting("TRUNKLINE_REVOLUT_URL", value("https://merchant.revolut.com"), "Its Merchant API; Revolut's own sandbox is `https://sandbox-merchant.revolut.com`"),
            setting("TRUNKLINE_TOPUPS_PER_DAY", value("60"), "Top-ups that an account may start in 24 hours, declined ones included"),
            setting("TRUNKLINE_TOPUP_EUR_PER_DAY", value("100000"), "What an account may top up by in 24 hours, open checkouts included; auto-recharge has limits of its own"),
            setting("TRUNKLINE_CARD_TOPUPS_PER_DAY", described("`20`, in a lab `10000`"), "Payments that one card may make in 24 hours, of all accounts together, auto-recharge included; see [Payments](operations.md#payments)"),
            setting("TRUNKLINE_CARD_EUR_PER_DAY", described("`50000`, in a lab `10000000`"), "What one card may pay in 24 hours, likewise"),
            setting("TRUNKLINE_CREDIT_APPROVAL_EUR", value("1000"), "What one admin may credit to a customer in 24 hours, and the credit line that one admin may give; more is a credit request that a second admin approves. `0` to `1000000`"),
        ],
    },
    Group {
        title: "VAT and invoices",
        settings: &[
            setting("TRUNKLINE_HOME_COUNTRY", value("NL"), "Where the operator is established; an EU member state"),
            setting("TRUNKLINE_HOME_VAT_PERCENT", described("`21` in the Netherlands"), "The standard VAT rate there, such as `25.5`; required with any other home country"),
            setting("TRUNKLINE_VAT_CHECKS", value("offline"), "`vies` checks VAT ids with VIES; `offline` checks format and check digits only. See [VAT and invoices](operations.md#vat-and-invoices)"),
            setting("TRUNKLINE_VIES_URL", value("https://ec.europa.eu/taxation_customs/vies/rest-api"), "Address of VIES"),
            setting("TRUNKLINE_SELLER_NAME", value("Trunkline"), "The operator's name on invoices"),
            setting("TRUNKLINE_SELLER_STREET", NONE, "Street and number of the operator, in the home country"),
            setting("TRUNKLINE_SELLER_POSTAL_CODE", NONE, "Its postal code"),
            setting("TRUNKLINE_SELLER_CITY", NONE, "Its city"),
            setting("TRUNKLINE_SELLER_VAT_ID", NONE, "Its VAT id, of the home country. Required for invoices with VAT or reverse charge, and for VIES consultation numbers"),
            setting("TRUNKLINE_SELLER_REGISTRATION", NONE, "Its company registration number"),
            setting("TRUNKLINE_INVOICE_DUE_DAYS", value("14"), "Days from issue to due date of an invoice, 0 to 365"),
            setting("TRUNKLINE_FX_URL", NONE, "Where exchange rates are fetched from daily at 15:30 UTC, such as `https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml`. Redirects are not followed"),
        ],
    },
    Group {
        title: "Calls and numbers",
        settings: &[
            setting("TRUNKLINE_ZONES", value("eu-west,eu-central,us-east"), "Zones for trunks, each with the SIP address shown to customers if it has one: `eu-west=sip.eu-west.example.net,lab`"),
            setting("TRUNKLINE_ZONE_CHANNELS", value("1000"), "Zone quota: concurrent calls of a customer in a zone, unless the team set another number; 0 to 1000000"),
            setting("TRUNKLINE_EDGE_IPS", NONE, "Addresses or networks of the edges, beside those of the zones; no customer may name one as the source of its calls or as the target of inbound calls"),
            setting("TRUNKLINE_FOREIGN_CHANNELS", value("30"), "Concurrent inbound calls of a trunk whose `inbound_uri` is outside its allow-list"),
            setting("TRUNKLINE_FOREIGN_CPS", value("5"), "Inbound calls of such a trunk in a second"),
            setting("TRUNKLINE_ALARM_SPEND_EUR", value("10"), "Spend alert: the least an hour of calls must cost before the customer is notified"),
            setting("TRUNKLINE_ALARM_SPEND_FACTOR", value("10"), "Spend alert: how many times the average hour it must cost, 2 to 1000"),
            setting("TRUNKLINE_ALARM_ASR_PERCENT", value("20"), "ASR alert: the percentage of calls to a destination on a day below which the customer is notified; `0` turns it off"),
            setting("TRUNKLINE_ALARM_ASR_CALLS", value("50"), "ASR alert: the least number of calls to the destination on that day"),
            setting("TRUNKLINE_DID_SUPPLIER", value("inventory"), "Who activates numbers. `inventory`: nobody has to, they are the operator's own. `http`: a DID supplier with an HTTP API, see [Numbers and the DID supplier](operations.md#numbers-and-the-did-supplier)"),
            setting("TRUNKLINE_DID_SUPPLIER_URL", NONE, "Address of the DID supplier's API, up to and without `/numbers`; required with `http`"),
            secret("TRUNKLINE_DID_SUPPLIER_TOKEN", NONE, "Bearer token for it; required with `http`"),
        ],
    },
    Group {
        title: "Onboarding and sign-in",
        settings: &[
            setting("TRUNKLINE_KYB_REQUIRED_DOCS", value("company_registration,proof_of_address,director_id"), "Documents that KYB requires"),
            setting("TRUNKLINE_REQUIRE_VERIFIED_EMAIL", described("`on`, in a lab `off`"), "KYB, card check and approval need a verified email address"),
            setting("TRUNKLINE_REQUIRE_TEAM_2FA", described("`on`, in a lab `off`"), "The team signs in with a second factor only; a member without one can only set one up"),
            setting("TRUNKLINE_TEAM_IDLE_MINUTES", value("60"), "Minutes without a refresh after which a team member must sign in again, 5 to 43200; customers stay signed in"),
            setting("TRUNKLINE_ALLOW_LIST_PROOF", described("`on`, in a lab `off`"), "An allow-list entry counts only after it was verified, and an `inbound_uri` outside the allow-list only after the team allowed its host"),
        ],
    },
    Group {
        title: "Secrets",
        settings: &[
            secret("TRUNKLINE_MASTER_SECRET", described("generated"), "See [Rotating secrets](operations.md#rotating-secrets). Every secret is 32 random bytes or more in hex or base64 (`openssl rand -hex 32`); in a lab any 32 characters will do"),
            secret("TRUNKLINE_MASTER_SECRET_PREVIOUS", NONE, "Still opens and verifies, during a rotation"),
            secret("TRUNKLINE_JWT_SECRET", described("generated"), "Signs access tokens"),
            secret("TRUNKLINE_JWT_SECRET_PREVIOUS", NONE, "Also accepted, during a rotation"),
            secret("TRUNKLINE_SWITCH_SECRET", described("generated, unless every edge has its own"), "Protects the switch endpoints on the operations port"),
            secret("TRUNKLINE_SWITCH_SECRET_PREVIOUS", NONE, "Also accepted, during a rotation"),
            secret("TRUNKLINE_SWITCH_SECRETS", NONE, "Secrets of single edges, `edge-1:SECRET,edge-2:SECRET`; at most two for each. Such a switch speaks for its own `edge_id` only"),
            secret("TRUNKLINE_BOOTSTRAP_TOKEN", described("generated"), "Needed to create the first admin in the portal or through the API"),
        ],
    },
    Group {
        title: "Capacity",
        settings: &[
            setting("TRUNKLINE_CONNECTIONS", value("10000"), "Maximum open connections, 16 to 1000000"),
            setting("TRUNKLINE_CONNECTIONS_PER_NETWORK", value("512"), "Maximum open connections of one address (IPv6: one /64), 8 to 1000000; more are closed. Trusted proxies are exempt"),
            setting("TRUNKLINE_CLIENT_TIMEOUT_SECONDS", value("10"), "How long a client may take to send its headers or be idle between requests, 1 to 300. Over the same time a body must arrive at 1 KiB a second; a client that reads nothing of its response for three times as long is disconnected"),
            setting("TRUNKLINE_DRAIN_SECONDS", value("3"), "How long a service that gets SIGTERM still accepts connections, 0 to 300; see [Stopping](operations.md#stopping)"),
            setting("TRUNKLINE_REQUESTS_AT_ONCE", value("1024"), "Maximum concurrent requests, 8 to 100000; more get 503. One address (IPv6: one /64) may have a quarter of them, but at least 64. As many requests may wait for their bodies: one address a sixteenth of them, but at least 16, and callers without a token half"),
            setting("TRUNKLINE_JOB_LAG_SECONDS", value("300"), "How long a due job of the class `money` or `mail` may wait for a node before `/readyz` answers 503, 10 to 86400"),
        ],
    },
    Group {
        title: "Rate limits",
        settings: &[
            setting("TRUNKLINE_RATE_LIMITS", value("on"), "`off` disables rate limits and sign-in delays; for load tests only"),
            setting("TRUNKLINE_LIMIT_SIGN_IN", value("10/60"), "Sign-ins, per address: requests per window in seconds, the window at most an hour. See [api.md](api.md#rate-limits)"),
            setting("TRUNKLINE_LIMIT_SIGN_IN_EMAIL", value("5/60"), "Sign-ins, per address and email"),
            setting("TRUNKLINE_LIMIT_SIGN_IN_EMAIL_ALL", value("30/60"), "Sign-ins, per email from all addresses"),
            setting("TRUNKLINE_LIMIT_MAILS", value("5/3600"), "Mails that anyone can request, per email and kind"),
            setting("TRUNKLINE_LIMIT_SIGNUP", value("5/3600"), "Signups, per address"),
            setting("TRUNKLINE_LIMIT_REFRESH", value("600/60"), "Refreshed sessions, per address"),
            setting("TRUNKLINE_LIMIT_READS", value("600/60"), "Reads, per user or API key"),
            setting("TRUNKLINE_LIMIT_WRITES", value("120/60"), "Writes, per user or API key"),
            setting("TRUNKLINE_LIMIT_CALLBACKS", value("1200/60"), "Webhooks of the payment provider, per address"),
            setting("TRUNKLINE_LIMIT_EXPORTS", value("10/3600"), "CDR exports, per account"),
            setting("TRUNKLINE_LIMIT_INVITATIONS", value("20/3600"), "Invitations of users, per account"),
        ],
    },
    Group {
        title: "Logs and traces",
        settings: &[
            setting("TRUNKLINE_LOG", value("human"), "`human` or `json`"),
            setting("TRUNKLINE_LOG_FILTER", value("info"), "Which events are logged, such as `warn` or `info,voice=debug`"),
            secret("TRUNKLINE_OTLP_ENDPOINT", NONE, "Where spans are sent, such as `http://127.0.0.1:4318`; see [Traces](operations.md#traces)"),
            secret("TRUNKLINE_OTLP_HEADERS", NONE, "Headers sent with them, `name=value` comma-separated, values percent-encoded"),
            setting("TRUNKLINE_OTLP_SERVICE", value("trunkline"), "The `service.name` of the spans"),
        ],
    },
    Group {
        title: "OpenTelemetry",
        settings: &[
            secret("OTEL_EXPORTER_OTLP_ENDPOINT", NONE, "As `TRUNKLINE_OTLP_ENDPOINT`, which takes precedence"),
            secret("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", NONE, "The same as a complete URL, to which `/v1/traces` is not added; it takes precedence over `OTEL_EXPORTER_OTLP_ENDPOINT`"),
            secret("OTEL_EXPORTER_OTLP_HEADERS", NONE, "As `TRUNKLINE_OTLP_HEADERS`, which take precedence; not sent to `TRUNKLINE_OTLP_ENDPOINT`"),
            secret("OTEL_EXPORTER_OTLP_TRACES_HEADERS", NONE, "The same; they take precedence over `OTEL_EXPORTER_OTLP_HEADERS`"),
            setting("OTEL_EXPORTER_OTLP_PROTOCOL", value("http/json"), "With `grpc`, those endpoints are not used; `http/protobuf` endpoints accept JSON too"),
            setting("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", NONE, "The same; it takes precedence over `OTEL_EXPORTER_OTLP_PROTOCOL`"),
            setting("OTEL_TRACES_EXPORTER", value("otlp"), "With `none`, those endpoints are not used"),
            setting("OTEL_SDK_DISABLED", value("false"), "With `true`, those endpoints are not used"),
            setting("OTEL_SERVICE_NAME", NONE, "As `TRUNKLINE_OTLP_SERVICE`, which takes precedence"),
            setting("OTEL_RESOURCE_ATTRIBUTES", NONE, "Attributes of this node, `name=value` comma-separated, values percent-encoded, such as `deployment.environment=production`"),
            setting("OTEL_TRACES_SAMPLER", value("parentbased_always_on"), "Which traces are sent: `always_on`, `always_off` or `traceidratio`; after `parentbased_`, a caller's `traceparent` decides about its trace"),
            setting("OTEL_TRACES_SAMPLER_ARG", value("1"), "The share of traces that `traceidratio` sends, 0 to 1"),
        ],
    },
    Group {
        title: "Labs and tests",
        settings: &[
            setting("TRUNKLINE_LAB", value("off"), "Declares a lab, see [security.md](security.md#labs). Without it, sandbox payments on loopback are a lab; anything that others can reach refuses the settings of one"),
            setting("TRUNKLINE_ALLOW_PRIVATE_IPS", value("off"), "For labs: allow-lists and `inbound_uri` accept private, loopback and other non-public addresses, and decks may be pulled from them and without TLS"),
            setting("TRUNKLINE_SANDBOX_CALLBACKS", value("on"), "Faults of the sandbox's webhooks, for tests, comma-separated: `drop` (none is sent, payments settle by polling), `duplicate` (each is sent twice), `delay` (each is five minutes late), `reorder` (the last is sent first)"),
            setting("TRUNKLINE_TEST_CLOCK", value("off"), "Lets the operations port move the time forward; refused with real payments. See [Test clock](operations.md#test-clock)"),
            secret("TRUNKLINE_CLOCK_SECRET", NONE, "Moves the test clock; in a lab the switch secret does too"),
        ],
    },
    Group {
        title: "Commands",
        settings: &[
            setting("TRUNKLINE_URL", NONE, "Origin of the API of [a service elsewhere](operations.md#a-service-elsewhere), for commands"),
            setting("TRUNKLINE_OPS_URL", NONE, "Origin of its operations port, for commands"),
            secret("TRUNKLINE_API_KEY", NONE, "API key for it"),
            secret("TRUNKLINE_BACKUP_PASSPHRASE", described("asked for on a terminal"), "For `backup` and `restore`: seals and opens backups, at least 12 characters; see [backup.md](backup.md)"),
            setting("TRUNKLINE_SWITCH_TLS_CA", described("the system's authorities"), "For `switch` and `demo --live`: PEM file with the authorities that the operations port's certificate may be of"),
            setting("TRUNKLINE_SWITCH_TLS_CERT", NONE, "For the same commands: PEM file with the client certificate"),
            setting("TRUNKLINE_SWITCH_TLS_KEY", NONE, "PEM file with the private key of that certificate"),
        ],
    },
];
