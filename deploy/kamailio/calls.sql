-- Added to Kamailio's dialog tables: answered live calls by call token.
CREATE VIEW live AS
    SELECT token.dialog_value AS token, answered.dialog_value AS answered,
        COALESCE(upstream.dialog_value, '') AS upstream, dialog.hash_entry, dialog.hash_id, dialog.callid,
        dialog.from_tag, dialog.to_tag, dialog.timeout
    FROM dialog_vars AS token
    JOIN dialog ON dialog.hash_entry = token.hash_entry AND dialog.hash_id = token.hash_id
    JOIN dialog_vars AS answered ON answered.hash_entry = token.hash_entry AND answered.hash_id = token.hash_id
        AND answered.dialog_key = 'answered'
    LEFT JOIN dialog_vars AS upstream ON upstream.hash_entry = token.hash_entry AND upstream.hash_id = token.hash_id
        AND upstream.dialog_key = 'upstream'
    WHERE token.dialog_key = 'token';
CREATE INDEX dialog_vars_by_token ON dialog_vars (dialog_value) WHERE dialog_key = 'token';
