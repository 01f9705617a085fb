//! Statements of upstreams: how files are read, and pairing against a matcher that tries every pair.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rating::{
    Charges, DeckCsvError, LineKind, MappingSource, OurCall, Pairing, Rate, Statement, StatementColumn, StatementLine,
    StatementMapping, StatementOptions, Tolerances, reconcile,
};

const USUAL: Tolerances = Tolerances { start_millis: 30_000, duration_seconds: 2 };
/// 2026-10-01.
const OCTOBER: i64 = 1_790_812_800_000;

fn line(line: u32, number: u64, started_at: i64, duration_seconds: u32) -> StatementLine {
    StatementLine { line, number, started_at, duration_seconds, nanos: 0, call_id: None }
}

fn call(id: u128, number: u64, started_at: i64, duration_seconds: u32) -> OurCall {
    OurCall { id, number, started_at, duration_seconds, cost_nanos: 0, rate: None, call_id: None }
}

fn all(lines: Vec<StatementLine>, calls: Vec<OurCall>, tolerances: Tolerances) -> Vec<Pairing> {
    let mut settled = Vec::new();
    let calls = calls.into_iter().map(Ok::<_, std::convert::Infallible>);
    let Ok(()) = reconcile(lines, calls, tolerances, |pairing| {
        settled.push(pairing);
        Ok(())
    });
    settled
}

/// The line and the CDR of each pairing.
fn ids(pairings: &[Pairing]) -> Vec<(Option<u32>, Option<u128>)> {
    let id = |it: &Pairing| (it.line.as_ref().map(|line| line.line), it.call.as_ref().map(|call| call.id));
    let mut ids: Vec<_> = pairings.iter().map(id).collect();
    ids.sort_unstable();
    ids
}

/// Tries every pair of a line and a call, the best first.
fn naive(lines: &[StatementLine], calls: &[OurCall], tolerances: Tolerances) -> Vec<(Option<u32>, Option<u128>)> {
    let mut possible = Vec::new();
    for (one, line) in lines.iter().enumerate() {
        for (other, call) in calls.iter().enumerate() {
            let start = line.started_at.abs_diff(call.started_at);
            let duration = line.duration_seconds.abs_diff(call.duration_seconds);
            if line.number == call.number && start <= tolerances.start_millis.unsigned_abs() {
                let is_other_id = line.call_id.is_none() || line.call_id != call.call_id;
                possible.push((is_other_id, duration > tolerances.duration_seconds, start, duration, one, other));
            }
        }
    }
    possible.sort_unstable();
    let (mut line_of, mut call_of) = (BTreeMap::new(), BTreeMap::new());
    for (.., one, other) in possible {
        if !call_of.contains_key(&one) && !line_of.contains_key(&other) {
            call_of.insert(one, other);
            line_of.insert(other, one);
        }
    }
    let paired =
        |(index, line): (usize, &StatementLine)| (Some(line.line), call_of.get(&index).map(|it| calls[*it].id));
    let mut pairs: Vec<_> = lines.iter().enumerate().map(paired).collect();
    let alone = calls.iter().enumerate().filter(|(index, _)| !line_of.contains_key(index));
    pairs.extend(alone.map(|(_, call)| (None, Some(call.id))));
    pairs.sort_unstable();
    pairs
}

/// Starts that are close to each other, in seconds, of a few numbers.
fn views() -> impl Strategy<Value = Vec<(u64, i64, u32, Option<u8>)>> {
    prop::collection::vec((100u64..104, 0i64..600, 1u32..12, prop::option::weighted(0.3, 0u8..6)), 0..60)
}

fn call_id(id: Option<u8>) -> Option<Box<str>> {
    id.map(|id| id.to_string().into())
}

proptest! {
    #[test]
    fn pairs_are_those_that_trying_every_pair_finds(
        theirs in views(), ours in views(), start in 0i64..60, duration_seconds in 0u32..4,
    ) {
        let tolerances = Tolerances { start_millis: start * 1000, duration_seconds };
        let mut lines: Vec<StatementLine> = (1..).zip(theirs)
            .map(|(index, (number, at, seconds, id))| StatementLine { call_id: call_id(id), ..line(index, number, at * 1000, seconds) })
            .collect();
        lines.sort_by_key(|line| (line.started_at, line.line));
        let mut calls: Vec<OurCall> = (1..).zip(ours)
            .map(|(index, (number, at, seconds, id))| OurCall { call_id: call_id(id), ..call(index, number, at * 1000 + 500, seconds) })
            .collect();
        calls.sort_by_key(|call| (call.started_at, call.id));
        let expected = naive(&lines, &calls, tolerances);
        prop_assert_eq!(ids(&all(lines, calls, tolerances)), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn every_line_and_every_call_is_settled_once_however_busy_a_number_is(
        starts in prop::collection::vec(0i64..40_000, 3000), more in prop::collection::vec(0i64..40_000, 3000),
    ) {
        let mut lines: Vec<_> = (0..).zip(starts).map(|(index, at)| line(index, 100, at, 60)).collect();
        lines.sort_by_key(|line| (line.started_at, line.line));
        let mut calls: Vec<_> = (0..).zip(more).map(|(index, at)| call(index, 100, at, 60)).collect();
        calls.sort_by_key(|call| (call.started_at, call.id));
        let settled = all(lines, calls, USUAL);
        let mut theirs: Vec<u32> = settled.iter().filter_map(|it| Some(it.line.as_ref()?.line)).collect();
        theirs.sort_unstable();
        prop_assert!(theirs.into_iter().eq(0..3000));
        let mut ours: Vec<u128> = settled.iter().filter_map(|it| Some(it.call.as_ref()?.id)).collect();
        ours.sort_unstable();
        prop_assert!(ours.into_iter().eq(0..3000));
        let is_near = |it: &Pairing| match (&it.line, &it.call) {
            (Some(line), Some(call)) => line.started_at.abs_diff(call.started_at) <= 30_000,
            _ => true,
        };
        prop_assert!(settled.iter().all(is_near));
    }
}

#[test]
fn the_edges_of_the_tolerances_belong_to_them() {
    let pair = |start: i64, seconds: u32| {
        let lines = vec![line(1, 100, 100_000 + start, 60 + seconds)];
        let [pairing] = all(lines, vec![call(1, 100, 100_000, 60)], USUAL)
            .try_into()
            .unwrap_or_else(|all: Vec<Pairing>| [all.into_iter().find(|it| it.line.is_some()).unwrap()]);
        pairing.kind(USUAL, Charges::Cost, 9)
    };
    assert_eq!(pair(30_000, 2), LineKind::Matched);
    assert_eq!(pair(-30_000, 0), LineKind::Matched);
    assert_eq!(pair(30_000, 3), LineKind::DurationDiffers);
    assert_eq!(pair(30_001, 0), LineKind::OnlyTheirs);
    assert_eq!(pair(-30_001, 0), LineKind::OnlyTheirs);
}

#[test]
fn a_call_too_many_does_not_shift_the_pairs_after_it() {
    let lines = vec![line(1, 100, 0, 60), line(2, 100, 10_000, 60), line(3, 100, 20_000, 60)];
    let calls = vec![call(2, 100, 10_400, 60), call(3, 100, 20_400, 60)];
    let pairs = ids(&all(lines, calls, USUAL));
    assert_eq!(pairs, [(Some(1), None), (Some(2), Some(2)), (Some(3), Some(3))]);
    // A clock that is 15 seconds off does not mix up calls of different lengths.
    let lines = vec![line(1, 100, 15_000, 5), line(2, 100, 35_000, 60)];
    let calls = vec![call(1, 100, 0, 5), call(2, 100, 20_000, 60)];
    assert_eq!(ids(&all(lines, calls, USUAL)), [(Some(1), Some(1)), (Some(2), Some(2))]);
    // A call of a number that is not known any more is nobody's.
    assert_eq!(ids(&all(vec![], vec![call(1, 0, 0, 5)], USUAL)), [(None, Some(1))]);
}

#[test]
fn a_number_that_is_called_without_a_pause_is_paired_call_by_call() {
    let lines = (0..5000u32).map(|index| line(index, 100, i64::from(index) * 5000 + 1000, 60)).collect();
    let calls = (0..5000u32).map(|index| call(index.into(), 100, i64::from(index) * 5000, 60)).collect();
    let expected: Vec<_> = (0..5000u32).map(|index| (Some(index), Some(u128::from(index)))).collect();
    assert_eq!(ids(&all(lines, calls, USUAL)), expected);
}

#[test]
fn amounts_are_compared_at_the_precision_that_the_statement_shows() {
    let rate = Rate::new(12_345_678, 0, 1, 1).unwrap();
    let pairing = |nanos: i64, their_seconds: u32| Pairing {
        line: Some(StatementLine { nanos, ..line(1, 100, 0, their_seconds) }),
        call: Some(OurCall { cost_nanos: rate.price(60).unwrap(), rate: Some(rate), ..call(1, 100, 0, 60) }),
    };
    let kind = |nanos, seconds, decimals| pairing(nanos, seconds).kind(USUAL, Charges::Cost, decimals);
    assert_eq!(kind(12_345_678, 60, 9), LineKind::Matched);
    assert_eq!(kind(12_345_679, 60, 9), LineKind::RateDiffers);
    assert_eq!(kind(12_300_000, 60, 4), LineKind::Matched);
    assert_eq!(kind(12_400_000, 60, 4), LineKind::RateDiffers);
    assert_eq!(kind(0, 60, 0), LineKind::Matched);
    // A second more at our rate is not another rate.
    assert_eq!(kind(rate.price(61).unwrap(), 61, 9), LineKind::Matched);
    assert_eq!(kind(rate.price(61).unwrap(), 60, 9), LineKind::RateDiffers);
    let by_rate = |nanos, decimals| pairing(nanos, 61).kind(USUAL, Charges::Rate, decimals);
    assert_eq!((by_rate(12_345_678, 9), by_rate(12_350_000, 5)), (LineKind::Matched, LineKind::Matched));
    assert_eq!(by_rate(12_340_000, 5), LineKind::RateDiffers);
    assert_eq!(pairing(12_345_678, 61).their_cost(Charges::Rate), rate.price(61).unwrap());
}

#[test]
fn planted_differences_among_100_000_lines_are_all_found_and_none_invented() {
    const LINES: u32 = 100_000;
    let rate = Rate::new(6_000_000, 0, 1, 1).unwrap();
    let (mut lines, mut calls, mut planted) = (Vec::new(), Vec::new(), BTreeMap::new());
    for index in 0..LINES {
        // 5,000 numbers in turn, a call about every 26 seconds, so each number every 36 hours and at times twice.
        let number = 31_200_000_000 + u64::from(index % 5000) * if index % 7 == 0 { 0 } else { 1 };
        let (at, seconds) = (OCTOBER + i64::from(index) * 26_000 + i64::from(index % 13) * 70, 1 + index * 37 % 900);
        let ours = OurCall {
            cost_nanos: rate.price(seconds).unwrap(),
            rate: Some(rate),
            ..call(index.into(), number, at, seconds)
        };
        let drift = i64::from(index % 21) * 1000 - 10_000;
        let theirs = StatementLine {
            nanos: rate.price(seconds).unwrap(),
            ..line(index + 2, number, (at + drift) / 1000 * 1000, seconds)
        };
        let kind = match index % 100 {
            1 => LineKind::OnlyOurs,
            2 => LineKind::OnlyTheirs,
            3 => LineKind::DurationDiffers,
            4 => LineKind::RateDiffers,
            _ => LineKind::Matched,
        };
        *planted.entry(kind).or_insert(0) += 1;
        match kind {
            LineKind::OnlyOurs => calls.push(ours),
            LineKind::OnlyTheirs => lines.push(theirs),
            _ => {
                let more = if kind == LineKind::DurationDiffers { 3 + index % 50 } else { 0 };
                let nanos = theirs.nanos + i64::from(kind == LineKind::RateDiffers);
                lines.push(StatementLine { duration_seconds: seconds + more, nanos, ..theirs });
                calls.push(ours);
            }
        }
    }
    lines.sort_by_key(|line| (line.started_at, line.line));
    calls.sort_by_key(|call| (call.started_at, call.id));
    let mut found = BTreeMap::new();
    for pairing in all(lines, calls, USUAL) {
        if let (Some(line), Some(call)) = (&pairing.line, &pairing.call) {
            assert_eq!(u128::from(line.line - 2), call.id, "{pairing:?}");
        }
        *found.entry(pairing.kind(USUAL, Charges::Cost, 9)).or_insert(0) += 1;
    }
    assert_eq!(found, planted);
}

fn read(text: &str, mapping: Option<&StatementMapping>) -> Result<Statement, DeckCsvError> {
    // Clocks are an hour ahead of UTC.
    let options = StatementOptions { to_utc: &|local| local - 3_600_000 };
    Statement::read(text.as_bytes(), mapping, &options, |_| {})
}

fn first(statement: &Statement) -> StatementLine {
    statement.lines.between(i64::MIN, i64::MAX).next().unwrap()
}

#[test]
fn our_own_header_is_read_without_a_mapping() {
    let text = "call_id,called_number,started_at,duration_seconds,cost\n\
                b,+31201234568,2026-10-02T00:00:00Z,30,0.005\n\
                a,0031201234567,2026-10-01 01:00:00,60,0.0100\n\
                c,31201234569,2026-10-02T00:00:00Z,0,0\n";
    let statement = read(text, None).unwrap();
    assert_eq!((statement.source, statement.charges), (MappingSource::OwnHeader, Charges::Cost));
    assert_eq!((statement.lines.len(), statement.unanswered, statement.decimals), (2, 1, 4));
    assert_eq!(statement.lines.period(), Some((OCTOBER, OCTOBER + 86_400_000)));
    let expected =
        StatementLine { nanos: 10_000_000, call_id: Some("a".into()), ..line(3, 31_201_234_567, OCTOBER, 60) };
    assert_eq!(first(&statement), expected);
    assert_eq!(statement.lines.between(OCTOBER + 1, i64::MAX).count(), 1);
    assert_eq!(statement.lines.between(OCTOBER, OCTOBER + 1).count(), 1);
}

#[test]
fn headers_in_four_languages_are_known() {
    for text in [
        "Calling Number,Called Number,Start Time,Duration (sec),Rate (USD/min),Amount (USD)\n\
         4420,31201234567,13/10/2026 01:00:00,60,0.01,0.01\n",
        "Rechnung Oktober;;;\nZielrufnummer;Gesprächsbeginn;Dauer (Sek.);Betrag (EUR)\n\
         0031201234567;13.10.2026 01:00:00;00:01:00;0,01\n",
        "Numéro appelé;Date et heure;Durée (s);Montant HT\n+31 20 123 45 67;13/10/2026 01:00;60;0,01\n",
        "Número marcado\tFecha y hora\tDuración (seg)\tImporte\n31201234567\t2026-10-13 01:00:00\t1:00\t0.01\n",
    ] {
        let statement = read(text, None).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((statement.source, statement.charges), (MappingSource::Detected, Charges::Cost), "{text}");
        let StatementLine { number, started_at, duration_seconds, nanos, .. } = first(&statement);
        assert_eq!((number, duration_seconds, nanos), (31_201_234_567, 60, 10_000_000), "{text}");
        assert_eq!(started_at, OCTOBER + 12 * 86_400_000, "{text}");
    }
}

#[test]
fn times_that_could_be_read_in_two_ways_are_not_guessed() {
    let text = "Called,Start,Duration,Cost\n31201234567,01/10/2026 01:00:00,60,0.01\n";
    let Err(DeckCsvError::Faults(faults)) = read(text, None) else { panic!("it was read") };
    let [fault] = faults.first.as_slice() else { panic!("{faults:?}") };
    assert_eq!(fault.column, Some("started_at"));
    assert!(fault.reason.contains("DD/MM/YYYY HH:mm:ss and MM/DD/YYYY HH:mm:ss"), "{}", fault.reason);
    let columns = [
        (StatementColumn::CalledNumber, "called"),
        (StatementColumn::StartedAt, "start"),
        (StatementColumn::Duration, "duration"),
        (StatementColumn::Rate, "cost"),
    ];
    let mapping = StatementMapping {
        columns: columns.map(|(column, name)| (column, name.to_owned())).to_vec(),
        date_format: Some("DD/MM/YYYY HH:mm:ss".parse().unwrap()),
        ..StatementMapping::default()
    };
    let statement = read(text, Some(&mapping)).unwrap();
    assert_eq!((statement.source, statement.charges), (MappingSource::Given, Charges::Rate));
    assert_eq!(first(&statement).started_at, OCTOBER);
}

#[test]
fn every_fault_is_named_by_line_and_column() {
    let text = "called_number,started_at,duration_seconds,cost\n\
                0201234567,2026-10-01,1:2:3:4,-1\n\
                31201234567,2026-10-01T00:00:00Z,60,\n";
    let Err(DeckCsvError::Faults(faults)) = read(text, None) else { panic!("it was read") };
    let places: Vec<_> = faults.first.iter().map(|fault| (fault.line, fault.column.unwrap_or_default())).collect();
    let expected = [(2, "called_number"), (2, "started_at"), (2, "duration_seconds"), (2, "cost"), (3, "cost")];
    assert_eq!(places, expected, "{faults:?}");
    let Err(DeckCsvError::Faults(faults)) = read("when,what\n1,2\n", None) else { panic!("it was read") };
    assert!(faults.first[0].reason.contains("there is no header"), "{faults:?}");
}
