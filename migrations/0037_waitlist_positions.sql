-- A waitlist position is now a count over the unique index on onboardings.waitlist_ticket.
DROP TABLE waitlist_counts;
