//! The columns of a statement, and the words that carriers write above them in English, German, French and Spanish.

use crate::sheets::rank_among;

/// A column of a statement. Its last three may be missing, but not both amounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    CalledNumber,
    StartedAt,
    Duration,
    /// What the call cost.
    Cost,
    /// What a minute of it cost; not read beside a cost.
    Rate,
    CallId,
}

impl sheet::Column for Column {
    const ALL: &'static [Column] =
        &[Column::CalledNumber, Column::StartedAt, Column::Duration, Column::Cost, Column::Rate, Column::CallId];

    fn name(self) -> &'static str {
        match self {
            Column::CalledNumber => "called_number",
            Column::StartedAt => "started_at",
            Column::Duration => "duration_seconds",
            Column::Cost => "cost",
            Column::Rate => "rate_per_minute",
            Column::CallId => "call_id",
        }
    }

    fn is_required(self) -> bool {
        matches!(self, Column::CalledNumber | Column::StartedAt | Column::Duration)
    }
}

/// The words of each column, in lower case and without punctuation. Those before win where a header has several.
#[rustfmt::skip]
const WORDS: &[(Column, &[&str])] = &[
    (
        Column::CalledNumber,
        &[
            "called number", "called", "callee", "called party", "called party number", "dialed number",
            "dialled number", "dialed", "dialled", "destination number", "dst number", "to number", "b number",
            "bnumber", "b party", "dnis", "cld", "number", "phone number", "to", "destination", "dst", "dest",
            "gerufene nummer", "gewählte nummer", "zielrufnummer", "zielnummer", "angerufene nummer", "b rufnummer",
            "rufnummer", "numéro appelé", "numero appele", "numéro composé", "numero compose", "appelé", "appele",
            "número llamado", "numero llamado", "número marcado", "numero marcado", "número destino",
            "numero destino", "número b", "numero b",
        ],
    ),
    (
        Column::StartedAt,
        &[
            "start time", "started at", "call start", "call start time", "start", "start date time", "start datetime",
            "start date", "date time", "datetime", "setup time", "begin time", "begin", "connect time",
            "connection time", "answer time", "call date", "call time", "call date time", "timestamp", "time stamp",
            "date and time", "time", "date", "startzeit", "beginn", "anfang", "gesprächsbeginn", "anrufbeginn",
            "verbindungsbeginn", "datum uhrzeit", "datum zeit", "datum", "zeitpunkt", "début", "debut",
            "heure de début", "heure de debut", "date heure", "date et heure", "début d appel", "début de l appel",
            "date de l appel", "horodatage", "inicio", "hora de inicio", "fecha hora", "fecha y hora",
            "inicio de llamada", "fecha de inicio", "fecha de llamada", "fecha",
        ],
    ),
    (
        Column::Duration,
        &[
            "duration seconds", "duration sec", "duration secs", "duration s", "duration in seconds", "duration",
            "call duration", "call duration seconds", "call duration sec", "call length", "length", "seconds", "secs",
            "sec", "billsec", "talk time", "conversation time", "charged duration", "billed duration",
            "billable duration", "billed seconds", "dauer", "dauer sekunden", "dauer sek", "dauer s",
            "gesprächsdauer", "verbindungsdauer", "sekunden", "durée", "duree", "durée secondes", "durée s",
            "durée sec", "durée de l appel", "secondes", "duración", "duracion", "duración segundos",
            "duracion segundos", "duración seg", "duración s", "duración de la llamada", "segundos",
        ],
    ),
    (
        Column::Cost,
        &[
            "cost", "call cost", "total cost", "amount", "charge", "charged amount", "charges", "total", "total amount",
            "total charge", "call charge", "price total", "total price", "call price", "net amount", "billed amount",
            "fee", "value", "price", "kosten", "betrag", "gesamtkosten", "gesamtpreis", "gesprächskosten", "entgelt",
            "gebühr", "nettobetrag", "preis", "coût", "cout", "coût total", "cout total", "montant", "montant ht",
            "prix total", "prix", "coste", "costo", "coste total", "costo total", "importe", "monto", "cargo",
            "precio total", "precio",
        ],
    ),
    (
        Column::Rate,
        &[
            "rate per minute", "rate per min", "rate min", "price per minute", "price per min", "price min",
            "cost per minute", "per minute", "minute rate", "call rate", "rate", "tariff", "preis pro minute",
            "preis je minute", "preis min", "minutenpreis", "tarif", "prix par minute", "prix minute", "prix min",
            "tarif min", "tarif par minute", "precio por minuto", "precio minuto", "precio min", "tarifa por minuto",
            "tarifa",
        ],
    ),
    (
        Column::CallId,
        &[
            "call id", "callid", "sip call id", "call identifier", "call reference", "call ref", "unique id", "uniqueid",
            "session id", "cdr id", "id", "anruf id", "gesprächs id", "id d appel", "identifiant d appel",
            "id de llamada", "identificador de llamada",
        ],
    ),
];

/// Where a header text is among the words of a column; lower is better.
pub fn rank(column: Column, header: &str) -> Option<usize> {
    let (_, words) = WORDS.iter().find(|(known, _)| *known == column)?;
    rank_among(words, header)
}
