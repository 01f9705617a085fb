//! The OpenMetrics text format, which unlike Prometheus' older one has exemplars.

use std::fmt::Write;

use prometheus::proto::{LabelPair, Metric, MetricFamily, MetricType};

use super::exemplars::{Exemplar, Exemplars};

/// The media type, without its parameters.
pub const OPEN_METRICS: &str = "application/openmetrics-text";

const MILLIS: f64 = 1_000.0;

/// These families, with the exemplars of histograms by name.
pub(super) fn encode(families: &[MetricFamily], exemplars: &[(&str, &Exemplars)]) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for family in families {
        // A family of counters is named without the suffix that its samples have.
        let (name, kind, suffix) = match family.get_field_type() {
            MetricType::COUNTER => (family.name().trim_end_matches("_total"), "counter", "_total"),
            MetricType::HISTOGRAM => (family.name(), "histogram", ""),
            _ => (family.name(), "gauge", ""),
        };
        writeln!(text, "# TYPE {name} {kind}\n# HELP {name} {}", escaped(family.help()))?;
        let of_family = exemplars.iter().find(|(histogram, _)| *histogram == name);
        for metric in family.get_metric() {
            let labels = metric.get_label();
            match family.get_field_type() {
                MetricType::COUNTER => sample(&mut text, (name, suffix), labels, metric.get_counter().get_value())?,
                MetricType::HISTOGRAM => {
                    histogram(&mut text, name, metric, of_family.map(|(_, exemplars)| *exemplars))?
                }
                _ => sample(&mut text, (name, suffix), labels, metric.get_gauge().get_value())?,
            }
        }
    }
    text.push_str("# EOF\n");
    Ok(text)
}

fn sample(text: &mut String, (name, suffix): (&str, &str), labels: &[LabelPair], value: f64) -> std::fmt::Result {
    write!(text, "{name}{suffix}")?;
    write_labels(text, labels, None)?;
    writeln!(text, " {value}")
}

fn histogram(text: &mut String, name: &str, metric: &Metric, exemplars: Option<&Exemplars>) -> std::fmt::Result {
    let (labels, histogram) = (metric.get_label(), metric.get_histogram());
    let values: Vec<&str> = labels.iter().map(LabelPair::value).collect();
    let exemplars = exemplars.map(|exemplars| exemplars.of(&values)).unwrap_or_default();
    let bounded = histogram.get_bucket().iter().filter(|bucket| bucket.upper_bound().is_finite());
    let bounded = bounded.map(|bucket| (format!("{:?}", bucket.upper_bound()), bucket.cumulative_count()));
    let all = bounded.chain([("+Inf".to_owned(), histogram.get_sample_count())]);
    for (position, (bound, count)) in all.enumerate() {
        write!(text, "{name}_bucket")?;
        write_labels(text, labels, Some(&bound))?;
        write!(text, " {count}")?;
        if let Some(Some(Exemplar { trace_id, value, at })) = exemplars.get(position) {
            write!(text, " # {{trace_id=\"{trace_id}\"}} {value} {}", at.millis() as f64 / MILLIS)?;
        }
        text.push('\n');
    }
    sample(text, (name, "_sum"), labels, histogram.get_sample_sum())?;
    sample(text, (name, "_count"), labels, histogram.get_sample_count() as f64)
}

fn write_labels(text: &mut String, labels: &[LabelPair], bound: Option<&str>) -> std::fmt::Result {
    let labels = labels.iter().map(|label| (label.name(), label.value())).chain(bound.map(|bound| ("le", bound)));
    for (position, (name, value)) in labels.clone().enumerate() {
        let separator = if position == 0 { '{' } else { ',' };
        write!(text, "{separator}{name}=\"{}\"", escaped(value))?;
    }
    if labels.count() > 0 {
        text.push('}');
    }
    Ok(())
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use values::Time;

    use crate::clock::Clock;
    use crate::metrics::{Exemplar, Metrics, Reading};

    #[test]
    fn counters_gauges_and_histograms_are_encoded_as_the_standard_says() {
        let metrics = Metrics::new(&Clock::system()).unwrap();
        metrics.decks.rows.inc_by(3);
        metrics.job("mail \"x\"\\\n", "success", std::time::Duration::from_millis(250));
        let at = Time::from_millis(1_700_000_000_250);
        metrics.set_job_exemplar("mail \"x\"\\\n", Exemplar { trace_id: "0af7".to_owned(), value: 0.25, at });
        let reading = |class, value| Reading { name: "jobs", help: "Jobs.", label: Some(("class", class)), value };
        let text = metrics.open_metrics(&[reading("a", 1.0), reading("b", 2.5)]).unwrap();
        for lines in [
            "# TYPE trunkline_deck_rows counter\n# HELP trunkline_deck_rows Rows read by rate deck imports.\n\
             trunkline_deck_rows_total 3\n",
            "# TYPE jobs gauge\n# HELP jobs Jobs.\njobs{class=\"a\"} 1\njobs{class=\"b\"} 2.5\n",
            "# TYPE trunkline_job_seconds histogram\n# HELP trunkline_job_seconds Run time of jobs, in seconds.\n\
             trunkline_job_seconds_bucket{kind=\"mail \\\"x\\\"\\\\\\n\",le=\"0.01\"} 0\n",
            "le=\"0.5\"} 1 # {trace_id=\"0af7\"} 0.25 1700000000.25\n",
            "le=\"1.0\"} 1\n",
            "le=\"+Inf\"} 1\n\
             trunkline_job_seconds_sum{kind=\"mail \\\"x\\\"\\\\\\n\"} 0.25\n\
             trunkline_job_seconds_count{kind=\"mail \\\"x\\\"\\\\\\n\"} 1\n",
        ] {
            assert!(text.contains(lines), "{lines}\nis missing in\n{text}");
        }
        assert_eq!(text.matches(" # {").count(), 1);
        assert!(text.ends_with("\n# EOF\n"));
    }

    #[test]
    fn every_counter_is_named_as_the_standard_demands() {
        let metrics = Metrics::new(&Clock::system()).unwrap();
        for family in metrics.registry.gather() {
            let is_counter = family.get_field_type() == prometheus::proto::MetricType::COUNTER;
            assert_eq!(is_counter, family.name().ends_with("_total"), "{}", family.name());
        }
    }
}
