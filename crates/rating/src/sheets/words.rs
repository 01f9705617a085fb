//! Words that carriers write above their columns, in English, German, French and Spanish.

use crate::csv::Column;

/// The words of each column, in lower case and without punctuation. Those before win where a header has several.
#[rustfmt::skip]
const WORDS: &[(Column, &[&str])] = &[
    (
        Column::Prefix,
        &[
            "prefix", "prefixes", "dial code", "dial codes", "dialcode", "dialcodes", "dialing code",
            "dialling code", "dial prefix", "destination code", "destination codes", "code", "codes",
            "number prefix", "breakout", "breakouts", "e 164", "e164", "country code", "vorwahl", "vorwahlen",
            "präfix", "rufnummernpräfix", "landesvorwahl", "kennzahl", "zielvorwahl", "préfixe", "préfixes",
            "prefixe", "indicatif", "indicatifs", "indicatif pays", "code pays", "prefijo", "prefijos", "código",
            "códigos", "codigo", "codigos", "código país", "codigo pais",
        ],
    ),
    (
        Column::AreaCode,
        &[
            "area code", "area codes", "city code", "city codes", "npa", "ortsvorwahl", "ortsnetzkennzahl",
            "code zone", "indicatif régional", "indicatif regional", "código de área", "codigo de area",
            "código área", "codigo area",
        ],
    ),
    (
        Column::Destination,
        &[
            "destination", "destination name", "destinations", "description", "destination description", "location",
            "zone", "zone name", "route", "name", "area name", "region", "ziel", "zielname", "zielgebiet",
            "bezeichnung", "beschreibung", "libellé", "libelle", "désignation", "designation", "destino", "nombre",
            "nombre destino", "descripción", "descripcion", "country name", "country", "land", "pays", "país",
            "pais",
        ],
    ),
    (Column::Country, &["iso", "iso code", "iso2", "country iso", "iso country", "iso country code", "country"]),
    (
        Column::Rate,
        &[
            "rate per minute", "rate per min", "rate min", "new rate", "new price", "price per minute",
            "price per min", "price min", "rate", "rates", "price", "tariff", "cost", "cost per minute",
            "per minute", "minute rate", "min", "preis pro minute", "preis je minute", "preis min", "minutenpreis",
            "neuer preis", "preis", "tarif", "prix par minute", "prix minute", "prix min", "tarif min",
            "tarif par minute", "nouveau prix", "prix", "precio por minuto", "precio minuto", "precio min",
            "tarifa por minuto", "nuevo precio", "precio", "tarifa",
        ],
    ),
    (
        Column::ConnectFee,
        &[
            "connect fee", "connection fee", "connection charge", "setup fee", "set up fee", "call setup",
            "call setup fee", "verbindungsgebühr", "verbindungsentgelt", "frais de connexion",
            "frais de mise en relation", "cargo de conexión", "cargo de conexion", "establecimiento de llamada",
        ],
    ),
    (
        Column::Increments,
        &[
            "billing increment", "billing increments", "increments", "increment", "billing interval",
            "billing intervals", "billing", "billing terms", "intervals", "interval", "rounding", "pulse", "min inc",
            "taktung", "takt", "abrechnungstakt", "incrément", "incréments", "palier", "paliers", "cadence",
            "facturation", "incremento", "incrementos", "facturación", "facturacion", "tasación", "tasacion",
        ],
    ),
    (
        Column::Minimum,
        &[
            "minimum", "minimum duration", "min duration", "minimum seconds", "minimum time", "initial increment",
            "initial interval", "initial period", "first interval", "first increment", "1st interval", "interval 1",
            "mindestdauer", "durée minimale", "durée minimum", "duración mínima", "duracion minima",
        ],
    ),
    (
        Column::Increment,
        &[
            "next increment", "next interval", "subsequent increment", "subsequent interval", "second interval",
            "second increment", "2nd interval", "interval 2", "interval n", "increment seconds", "folgetakt",
            "incrément suivant", "incremento siguiente",
        ],
    ),
    (
        Column::EffectiveAt,
        &[
            "effective date", "effective from", "effective", "effective at", "valid from", "start date",
            "valid date", "date", "gültig ab", "gueltig ab", "gültigkeitsdatum", "wirksam ab", "datum",
            "date d effet", "date d application", "date effective", "valable à partir du", "date de début",
            "fecha efectiva", "fecha de vigencia", "fecha de entrada en vigor", "vigencia", "válido desde",
            "valido desde", "fecha",
        ],
    ),
    (
        Column::Change,
        &[
            "change", "changes", "rate change", "change type", "change indicator", "change status", "status",
            "action", "änderung", "aenderung", "changement", "évolution", "evolution", "statut", "cambio",
            "tipo de cambio", "estado",
        ],
    ),
];

/// Currencies and units that say nothing about which column it is.
#[rustfmt::skip]
const NOISE: &[&str] = &["usd", "eur", "gbp", "chf", "us", "euro", "euros", "dollar", "dollars", "in", "utc", "gmt"];

/// What a withdrawn prefix is called, and what other rows are called.
#[rustfmt::skip]
const CLOSED: &[&str] = &[
    "closed", "close", "closing", "deleted", "delete", "deletion", "removed", "remove", "withdrawn", "withdrawal",
    "discontinued", "cancelled", "canceled", "ended", "end", "geschlossen", "gelöscht", "entfernt", "eingestellt",
    "fermé", "ferme", "fermée", "supprimé", "supprime", "supprimée", "retiré", "cerrado", "cerrada", "eliminado",
    "eliminada", "baja",
];
#[rustfmt::skip]
const OPEN: &[&str] = &[
    "", "new", "added", "addition", "open", "opened", "active", "increase", "increased", "up", "decrease",
    "decreased", "down", "same", "current", "no change", "unchanged", "not changed", "nc", "no", "change", "changed",
    "updated", "pending", "neu", "erhöhung", "erhöht", "senkung", "gesenkt", "unverändert", "gleich", "aktiv",
    "nouveau", "nouvelle", "hausse", "augmentation", "baisse", "diminution", "inchangé", "inchange",
    "sans changement", "nuevo", "nueva", "alta", "aumento", "subida", "incremento", "bajada", "disminución",
    "disminucion", "reducción", "reduccion", "sin cambio", "sin cambios", "igual",
];

/// Where a header text is among the words of a column; lower is better.
pub fn rank(column: Column, header: &str) -> Option<usize> {
    let (_, words) = WORDS.iter().find(|(known, _)| *known == column)?;
    rank_among(words, header)
}

/// Where a header text is among words; lower is better.
pub fn rank_among(words: &[&str], header: &str) -> Option<usize> {
    let text = simplified(header);
    words.iter().position(|word| *word == text)
}

/// Lower case, with single spaces for punctuation, and without currencies.
fn simplified(header: &str) -> String {
    let lower = header.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty() && !NOISE.contains(word)).collect::<Vec<_>>().join(" ")
}

/// Whether a cell of the column `change` withdraws the prefix. `None` if the word is unknown.
pub fn is_closed(cell: &str, closed_values: &[String]) -> Option<bool> {
    let text = simplified(cell);
    if !closed_values.is_empty() {
        return Some(closed_values.iter().any(|value| simplified(value) == text));
    }
    match (CLOSED.contains(&text.as_str()), OPEN.contains(&text.as_str())) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}
