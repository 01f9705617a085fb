//! Whose mail it is, whether its sender is genuine, and whether it is accepted.

use super::message::{Condition, Mail};
use super::types::{DeckMailOutcome, DeckMailPolicy, DeckMailReason};
use crate::upstreams::decks::types::ImportMode;
use values::UpstreamId;

/// Decks in one mail.
pub const MAX_DECKS: usize = 10;

/// What becomes of a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub upstream: Option<UpstreamId>,
    pub outcome: DeckMailOutcome,
    pub reason: Option<DeckMailReason>,
    pub sender_verified: bool,
    /// The sheets to import, by their position.
    pub decks: Vec<usize>,
    pub mode: ImportMode,
    /// Whether the imports are held because the sender may be forged.
    pub is_held: bool,
}

impl Verdict {
    fn against(upstream: Option<UpstreamId>, outcome: DeckMailOutcome, reason: DeckMailReason) -> Verdict {
        let (decks, mode, is_held) = (Vec::new(), ImportMode::Replace, false);
        Verdict { upstream, outcome, reason: Some(reason), sender_verified: false, decks, mode, is_held }
    }

    fn refused(upstream: Option<UpstreamId>, reason: DeckMailReason) -> Verdict {
        Verdict::against(upstream, DeckMailOutcome::Refused, reason)
    }

    fn ignored(upstream: Option<UpstreamId>, reason: DeckMailReason) -> Verdict {
        Verdict::against(upstream, DeckMailOutcome::Ignored, reason)
    }
}

type Policies = [(UpstreamId, DeckMailPolicy)];

/// Decides about a mail. `authserv` names the server whose `Authentication-Results` are believed.
pub fn judge(mail: &Mail, policies: &Policies, authserv: Option<&str>) -> Verdict {
    let Some(sender) = &mail.sender else {
        let is_mail = mail.condition != Condition::Unreadable;
        let reason = if is_mail { DeckMailReason::NoSender } else { DeckMailReason::Unreadable };
        return Verdict::refused(None, reason);
    };
    let allowed: Vec<_> = policies.iter().filter(|(_, policy)| policy.senders.contains(sender)).collect();
    if allowed.is_empty() {
        return stranger(domain(sender), policies);
    }
    let (upstream, policy) = match fitting(mail, &allowed)[..] {
        [one] => one,
        [] => return Verdict::ignored(only(&allowed), DeckMailReason::Subject),
        _ => return Verdict::refused(None, DeckMailReason::SeveralUpstreams),
    };
    let upstream = Some(*upstream);
    let is_genuine = |server| is_authenticated(&mail.authentication, server, domain(sender));
    let sender_verified = authserv.is_some_and(is_genuine);
    if authserv.is_some() && !sender_verified {
        return Verdict::refused(upstream, DeckMailReason::NotAuthenticated);
    }
    let decks = decks(mail, policy);
    let verdict = match (mail.condition, decks.len()) {
        (Condition::TooLarge, _) => Verdict::refused(upstream, DeckMailReason::TooLarge),
        (Condition::Unreadable, _) => Verdict::refused(upstream, DeckMailReason::Unreadable),
        (Condition::Complete, 0) => Verdict::ignored(upstream, DeckMailReason::NoDeck),
        (Condition::Complete, 1..=MAX_DECKS) => Verdict {
            upstream,
            outcome: DeckMailOutcome::Accepted,
            reason: None,
            sender_verified,
            decks,
            mode: policy.mode,
            is_held: !sender_verified && !policy.trust_senders,
        },
        (Condition::Complete, _) => Verdict::refused(upstream, DeckMailReason::TooManyDecks),
    };
    Verdict { sender_verified, ..verdict }
}

/// An address that no upstream allows. One of an allowed sender's domain is more than a stranger's.
fn stranger(sender_domain: &str, policies: &Policies) -> Verdict {
    let has_domain = |policy: &DeckMailPolicy| policy.senders.iter().any(|sender| domain(sender) == sender_domain);
    let related: Vec<_> = policies.iter().filter(|(_, policy)| has_domain(policy)).collect();
    match related.is_empty() {
        true => Verdict::refused(None, DeckMailReason::UnknownSender),
        false => Verdict::refused(only(&related), DeckMailReason::SenderNotAllowed),
    }
}

/// Those whose subject it is. One that asks for a subject goes before those that take any.
fn fitting<'p>(mail: &Mail, allowed: &[&'p (UpstreamId, DeckMailPolicy)]) -> Vec<&'p (UpstreamId, DeckMailPolicy)> {
    let fits =
        |policy: &DeckMailPolicy| policy.subject_contains.as_deref().is_none_or(|text| contains(&mail.subject, text));
    let fitting = allowed.iter().copied().filter(|(_, policy)| fits(policy));
    let (asking, others): (Vec<_>, Vec<_>) = fitting.partition(|(_, policy)| policy.subject_contains.is_some());
    if asking.is_empty() { others } else { asking }
}

fn only(upstreams: &[&(UpstreamId, DeckMailPolicy)]) -> Option<UpstreamId> {
    match upstreams {
        [(upstream, _)] => Some(*upstream),
        _ => None,
    }
}

fn decks(mail: &Mail, policy: &DeckMailPolicy) -> Vec<usize> {
    let named = |name: &str| policy.file_name_contains.as_deref().is_none_or(|text| contains(name, text));
    let sheets = mail.sheets.iter().enumerate();
    let wanted = sheets.filter(|(_, sheet)| policy.file_types.contains(&sheet.format) && named(&sheet.file_name));
    wanted.map(|(position, _)| position).collect()
}

fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

fn domain(address: &str) -> &str {
    address.rsplit_once('@').map_or("", |(_, domain)| domain)
}

/// Whether the topmost `Authentication-Results` of this server (RFC 8601) say that a mail is of the domain: DMARC passed
/// for it, or a DKIM signature of it or of a domain above it. Lower ones may have come with the mail.
fn is_authenticated(headers: &[String], authserv: &str, sender_domain: &str) -> bool {
    let mut results = headers.iter().map(|header| results(header));
    let topmost = results.find(|(server, _)| server.eq_ignore_ascii_case(authserv));
    let Some((_, methods)) = topmost else { return false };
    let is_above = |name: &str| {
        let under = sender_domain.strip_suffix(name.to_lowercase().as_str());
        !name.is_empty() && under.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    methods.iter().any(|words| {
        let value = |name: &str| words.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let passed = |method: &str| value(method).is_some_and(|result| result.eq_ignore_ascii_case("pass"));
        let is_of_sender = |name: &str| value(name).is_some_and(|found| found.eq_ignore_ascii_case(sender_domain));
        (passed("dmarc") && is_of_sender("header.from")) || (passed("dkim") && value("header.d").is_some_and(is_above))
    })
}

/// The server's name, and the `key=value` words of each result.
fn results(header: &str) -> (String, Vec<Vec<(String, String)>>) {
    let text = without_comments(header);
    let mut parts = text.split(';');
    let server = parts.next().unwrap_or_default().split_whitespace().next().unwrap_or_default().to_owned();
    let words = |part: &str| -> Vec<(String, String)> {
        let pairs = part.split_whitespace().filter_map(|word| word.split_once('='));
        pairs.map(|(key, value)| (key.to_lowercase(), value.to_owned())).collect()
    };
    (server, parts.map(words).collect())
}

/// The header without comments, and without what is in quotes: none of the words that count is ever quoted, and a quoted
/// text could contain anything.
fn without_comments(header: &str) -> String {
    let (mut text, mut depth, mut is_quoted, mut is_escaped) = (String::new(), 0_u32, false, false);
    for letter in header.chars() {
        if is_escaped {
            is_escaped = false;
            continue;
        }
        match letter {
            '\\' if depth > 0 || is_quoted => is_escaped = true,
            '"' if depth == 0 => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted && depth > 0 => depth -= 1,
            _ if depth == 0 && !is_quoted => text.push(letter),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::super::message::AttachedSheet;
    use super::*;
    use crate::upstreams::decks::sheets::SheetFormat;
    use platform::outside::files::ContentHash;

    fn policy(senders: &[&str], subject: Option<&str>) -> DeckMailPolicy {
        DeckMailPolicy {
            senders: senders.iter().map(|sender| sender.parse().unwrap()).collect(),
            subject_contains: subject.map(|text| text.parse().unwrap()),
            file_types: vec![SheetFormat::Csv],
            file_name_contains: None,
            mode: ImportMode::Merge,
            trust_senders: false,
        }
    }

    fn upstream(number: u128) -> UpstreamId {
        UpstreamId::new(Uuid::from_u128(number))
    }

    fn mail(sender: &str, subject: &str, names: &[(&str, SheetFormat)]) -> Mail {
        let sheet = |(name, format): &(&str, SheetFormat)| AttachedSheet {
            file_name: (*name).to_owned(),
            format: *format,
            content: Bytes::new(),
        };
        Mail {
            key: ContentHash::of(b""),
            message_id: None,
            sender: sender.parse().ok(),
            subject: subject.to_owned(),
            authentication: Vec::new(),
            sheets: names.iter().map(sheet).collect(),
            condition: Condition::Complete,
            size_bytes: 0,
        }
    }

    const CSV: &[(&str, SheetFormat)] = &[("terms.xlsx", SheetFormat::Xlsx), ("rates.csv", SheetFormat::Csv)];

    #[test]
    fn a_mail_counts_for_the_upstream_that_allows_its_sender_and_subject() {
        let policies = [
            (upstream(1), policy(&["rates@a.example"], None)),
            (upstream(2), policy(&["rates@a.example", "x@b.example"], Some("Premium"))),
            (upstream(3), policy(&["rates@c.example"], Some("Deck"))),
        ];
        let verdict = |mail: &Mail| {
            let verdict = judge(mail, &policies, None);
            (verdict.upstream, verdict.reason)
        };
        assert_eq!(verdict(&mail("rates@a.example", "May", CSV)), (Some(upstream(1)), None));
        assert_eq!(verdict(&mail("rates@a.example", "PREMIUM rates", CSV)), (Some(upstream(2)), None));
        let ignored = (Some(upstream(3)), Some(DeckMailReason::Subject));
        assert_eq!(verdict(&mail("rates@c.example", "Invoice", CSV)), ignored);
        let no_deck = (Some(upstream(1)), Some(DeckMailReason::NoDeck));
        assert_eq!(verdict(&mail("rates@a.example", "May", &CSV[..1])), no_deck);
        let other = (Some(upstream(3)), Some(DeckMailReason::SenderNotAllowed));
        assert_eq!(verdict(&mail("sales@c.example", "Deck", CSV)), other);
        assert_eq!(verdict(&mail("sales@a.example", "Deck", CSV)), (None, Some(DeckMailReason::SenderNotAllowed)));
        assert_eq!(verdict(&mail("x@d.example", "Deck", CSV)), (None, Some(DeckMailReason::UnknownSender)));
        assert_eq!(verdict(&mail("nobody", "Deck", CSV)), (None, Some(DeckMailReason::NoSender)));
        let many: Vec<_> = (0..11).map(|_| ("rates.csv", SheetFormat::Csv)).collect();
        let too_many = (Some(upstream(1)), Some(DeckMailReason::TooManyDecks));
        assert_eq!(verdict(&mail("rates@a.example", "May", &many)), too_many);
        let huge = Mail { condition: Condition::TooLarge, ..mail("rates@a.example", "May", &[]) };
        assert_eq!(verdict(&huge), (Some(upstream(1)), Some(DeckMailReason::TooLarge)));
    }

    #[test]
    fn two_upstreams_that_both_fit_get_nothing() {
        let policies = [1, 2].map(|number| (upstream(number), policy(&["rates@a.example"], None)));
        let verdict = judge(&mail("rates@a.example", "May", CSV), &policies, None);
        assert_eq!((verdict.outcome, verdict.upstream), (DeckMailOutcome::Refused, None));
        assert_eq!(verdict.reason, Some(DeckMailReason::SeveralUpstreams));
    }

    #[test]
    fn decks_of_unverified_senders_are_held_unless_the_upstream_trusts_them() {
        let mut policies = [(upstream(1), policy(&["rates@a.example"], None))];
        let mut mail = mail("rates@a.example", "May", CSV);
        let held = judge(&mail, &policies, None);
        assert_eq!((held.outcome, held.is_held, held.sender_verified), (DeckMailOutcome::Accepted, true, false));
        assert_eq!((held.decks, held.mode), (vec![1], ImportMode::Merge));
        let refused = judge(&mail, &policies, Some("mx.us.example"));
        assert_eq!(refused.reason, Some(DeckMailReason::NotAuthenticated));
        mail.authentication = vec!["mx.us.example; dmarc=pass header.from=a.example".to_owned()];
        let verified = judge(&mail, &policies, Some("mx.us.example"));
        assert_eq!((verified.reason, verified.is_held, verified.sender_verified), (None, false, true));
        policies[0].1.trust_senders = true;
        assert!(!judge(&mail, &policies, None).is_held);
    }

    #[test]
    fn only_the_topmost_results_of_the_named_server_count() {
        let passes = |headers: &[&str]| {
            let headers: Vec<String> = headers.iter().map(|header| (*header).to_owned()).collect();
            is_authenticated(&headers, "mx.us.example", "rates.a.example")
        };
        for good in [
            " mx.us.example;\r\n dkim=pass header.d=rates.a.example",
            "MX.us.example 1; spf=fail; dkim=pass (2048-bit key; it is fine) header.i=@a.example header.d=A.example",
            "mx.us.example; dmarc=pass (p=reject) header.from=rates.a.example",
        ] {
            assert!(passes(&[good]), "{good}");
        }
        for bad in [
            "",
            "mx.us.example; none",
            "mx.us.example; dkim=fail header.d=a.example",
            "mx.us.example; dkim=pass header.d=b.example",
            "mx.us.example; dkim=pass header.d=s.a.example",
            "mx.us.example; dkim=pass header.d=ates.a.example",
            "mx.us.example; dkim=pass header.d=",
            "mx.us.example; spf=pass smtp.mailfrom=rates.a.example",
            "mx.us.example; dkim=none; x=y (dkim=pass header.d=a.example)",
            "mx.us.example; dkim=none reason=\"; dkim=pass header.d=a.example\"",
            "mx.us.example; dmarc=pass header.from=a.example",
            "mx.others.example; dkim=pass header.d=a.example",
        ] {
            assert!(!passes(&[bad]), "{bad}");
        }
        let (ours, forged) = ("mx.us.example; dkim=none", "mx.us.example; dkim=pass header.d=a.example");
        assert!(!passes(&[ours, forged]));
        assert!(passes(&["mx.relay.example; dkim=fail", forged]));
    }

    proptest! {
        #[test]
        fn no_header_breaks_the_reading(header in "\\PC{0,80}", quoted in "[a-z;=\\\\\"() ]{0,60}") {
            results(&header);
            results(&quoted);
        }
    }
}
