UPDATE accounts SET country = CAST(postal_address AS JSONB) ->> 'country'
    WHERE country = 'ZZ' AND postal_address IS NOT NULL;
