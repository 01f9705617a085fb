//! The columns of a deck; the table is in the parent module.

/// A column of a deck, or one that only a [mapping](crate::SheetMapping) can name.
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
    /// Digits after those of the column `prefix`.
    AreaCode,
    /// Minimum and increment in one cell, such as `60/60`.
    Increments,
    /// Whether the row is new, changed or closed.
    Change,
}

impl Column {
    /// All columns that a mapping can name.
    pub const MAPPED: &'static [Column] = &[
        Column::Prefix,
        Column::AreaCode,
        Column::Destination,
        Column::Country,
        Column::Rate,
        Column::ConnectFee,
        Column::Increments,
        Column::Increment,
        Column::Minimum,
        Column::EffectiveAt,
        Column::Change,
    ];
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
            Column::AreaCode => "area_code",
            Column::Increments => "increments",
            Column::Change => "change",
        }
    }

    fn is_required(self) -> bool {
        matches!(self, Column::Prefix | Column::Destination | Column::Country | Column::Rate)
    }
}
