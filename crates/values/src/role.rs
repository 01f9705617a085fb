//! User roles.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::{Invalid, Stored, text_enum};

text_enum! {
    /// Role of a user: `customer` uses its own account; `admin` and `support` belong to the operator's team.
    pub enum Role {
        /// Uses its own account.
        Customer = "customer",
        /// May do everything.
        Admin = "admin",
        /// Reads what admins read, answers tickets and writes notes.
        Support = "support",
    }
}

text_enum! {
    /// Role of a user in its account: `owner` may do everything, `billing` pays, `technical` manages trunks, numbers,
    /// fraud caps and exports, `viewer` only reads.
    pub enum AccountRole {
        /// May do everything, and manages the users.
        Owner = "owner",
        /// Payments, saved cards, auto-recharge and alerts.
        Billing = "billing",
        /// Trunks, allow-lists, numbers, fraud caps, exports and API keys.
        Technical = "technical",
        /// Reads, and what is the user's own.
        Viewer = "viewer",
    }
}

impl AccountRole {
    /// Whether a user of this role may do what takes at least the role `least`.
    pub fn covers(self, least: AccountRole) -> bool {
        least == AccountRole::Viewer || self == AccountRole::Owner || self == least
    }
}

/// The roles of a user, as a bit set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Role>", into = "Vec<Role>")]
pub struct Roles(u8);

impl Roles {
    pub fn has(self, role: Role) -> bool {
        self.0 & bit(role) != 0
    }

    fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.iter().copied().filter(move |role| self.has(*role))
    }

    /// The roles that both sets have.
    pub fn intersection(self, other: Roles) -> Roles {
        Roles(self.0 & other.0)
    }

    /// Whether the user is a team member.
    pub fn is_team(self) -> bool {
        self.has(Role::Admin) || self.has(Role::Support)
    }
}

fn bit(role: Role) -> u8 {
    1 << role as u8
}

impl From<Vec<Role>> for Roles {
    fn from(roles: Vec<Role>) -> Self {
        Roles(roles.into_iter().map(bit).fold(0, std::ops::BitOr::bitor))
    }
}

impl From<Roles> for Vec<Role> {
    fn from(roles: Roles) -> Self {
        roles.iter().collect()
    }
}

impl JsonSchema for Roles {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Roles".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <Vec<Role>>::json_schema(generator)
    }

    fn inline_schema() -> bool {
        true
    }
}

impl Stored for Roles {
    type Raw = String;

    fn to_raw(&self) -> String {
        self.iter().map(Role::as_str).collect::<Vec<_>>().join(" ")
    }

    fn from_raw(raw: String) -> Result<Self, Invalid> {
        let roles: Result<Vec<Role>, Invalid> = raw.split_whitespace().map(str::parse).collect();
        roles.map(Roles::from)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_may_do_everything_and_everyone_what_a_viewer_may() {
        use AccountRole::{Billing, Owner, Technical, Viewer};
        let admitted = |least: AccountRole| -> Vec<AccountRole> {
            AccountRole::ALL.iter().copied().filter(|role| role.covers(least)).collect()
        };
        assert_eq!(admitted(Owner), [Owner]);
        assert_eq!(admitted(Billing), [Owner, Billing]);
        assert_eq!(admitted(Technical), [Owner, Technical]);
        assert_eq!(admitted(Viewer), AccountRole::ALL);
    }

    #[test]
    fn roles_are_stored_without_duplicates_and_read_back() {
        let roles = Roles::from(vec![Role::Support, Role::Customer, Role::Support]);
        assert_eq!(roles.to_raw(), "customer support");
        assert_eq!(Roles::from_raw(roles.to_raw()).unwrap(), roles);
        assert_eq!(serde_json::to_string(&roles).unwrap(), r#"["customer","support"]"#);
        assert!(Roles::from_raw("root".into()).is_err());
    }
}
