UPDATE accounts SET country = json_extract(postal_address, '$.country')
    WHERE country = 'ZZ' AND postal_address IS NOT NULL;
