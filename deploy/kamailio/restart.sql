-- Until the caller's ACK, a call has a limit of a few seconds; see CONFIRM_ANSWER. If the edge was killed when it had saved
-- the ACK but not yet the limit that follows from it, the call gets that limit now.
UPDATE dialog SET timeout = answered.ends
FROM (
    SELECT live.hash_entry, live.hash_id,
        CAST(substr(live.answered, 1, 10) AS INTEGER) + CAST(seconds.dialog_value AS INTEGER) AS ends
    FROM live
    JOIN dialog_vars AS seconds ON seconds.hash_entry = live.hash_entry AND seconds.hash_id = live.hash_id
        AND seconds.dialog_key = 'max_seconds'
) AS answered
WHERE dialog.hash_entry = answered.hash_entry AND dialog.hash_id = answered.hash_id AND dialog.timeout < answered.ends;
