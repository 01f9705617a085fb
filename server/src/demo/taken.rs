//! What a database has already, so that the demo uses other addresses, groups and names.

use std::collections::BTreeSet;

#[derive(Clone, Default)]
pub struct Taken {
    /// Addresses of users and account managers.
    pub emails: BTreeSet<String>,
    /// Dispatcher groups of upstreams.
    pub dispatcher_groups: BTreeSet<i64>,
    /// Names of rate plans.
    pub plans: BTreeSet<String>,
}

impl Taken {
    /// This address, or one like it that nobody has.
    pub fn free(&self, email: &str) -> String {
        let (name, host) = email.split_once('@').unwrap_or((email, ""));
        let others = (1..).map(|number| format!("{name}.demo{number}@{host}"));
        let mut candidates = std::iter::once(email.to_owned()).chain(others);
        candidates.find(|candidate| !self.emails.contains(candidate)).unwrap_or_else(|| email.to_owned())
    }

    /// This dispatcher group, or the next that no upstream has.
    pub fn free_group(&self, group: i64) -> i64 {
        (group..).find(|group| !self.dispatcher_groups.contains(group)).unwrap_or(group)
    }

    /// This name of a rate plan, or one like it that no plan has.
    pub fn free_plan(&self, name: &str) -> String {
        let others = (2..).map(|number| format!("{name} {number}"));
        let mut candidates = std::iter::once(name.to_owned()).chain(others);
        candidates.find(|candidate| !self.plans.contains(candidate)).unwrap_or_else(|| name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_somebody_has_is_replaced_by_one_like_it() {
        let mut taken = Taken::default();
        assert_eq!(taken.free("ada@carrier.example"), "ada@carrier.example");
        taken.emails.insert("ada@carrier.example".to_owned());
        assert_eq!(taken.free("ada@carrier.example"), "ada.demo1@carrier.example");
        taken.emails.insert("ada.demo1@carrier.example".to_owned());
        assert_eq!(taken.free("ada@carrier.example"), "ada.demo2@carrier.example");
        assert_eq!(taken.free("sam@carrier.example"), "sam@carrier.example");
    }

    #[test]
    fn a_dispatcher_group_that_an_upstream_has_is_replaced_by_the_next() {
        let taken = Taken { dispatcher_groups: [10, 11, 20].into(), ..Taken::default() };
        assert_eq!([10, 20, 30].map(|group| taken.free_group(group)), [12, 21, 30]);
    }

    #[test]
    fn a_plan_name_that_is_in_use_gets_a_number() {
        let taken = Taken { plans: ["Cost plus".to_owned()].into(), ..Taken::default() };
        assert_eq!(["Cost plus", "Partner"].map(|name| taken.free_plan(name)), ["Cost plus 2", "Partner"]);
    }
}
