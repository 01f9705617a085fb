//! The columns of a deck; the table is in the parent module.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    Prefix,
    Destination,
    Country,
    Rate,
    ConnectFee,
    Increment,
    Minimum,
    EffectiveAt,
}

impl sheet::Column for Column {
    const ALL: &'static [Column] = &[
        Column::Prefix,
        Column::Destination,
        Column::Country,
        Column::Rate,
        Column::ConnectFee,
        Column::Increment,
        Column::Minimum,
        Column::EffectiveAt,
    ];

    fn name(self) -> &'static str {
        match self {
            Column::Prefix => "prefix",
            Column::Destination => "destination_name",
            Column::Country => "country",
            Column::Rate => "rate_per_minute",
            Column::ConnectFee => "connect_fee",
            Column::Increment => "billing_increment_seconds",
            Column::Minimum => "minimum_seconds",
            Column::EffectiveAt => "effective_at",
        }
    }

    fn is_required(self) -> bool {
        matches!(self, Column::Prefix | Column::Destination | Column::Country | Column::Rate)
    }
}
