-- The sum of BIGINTs as a BIGINT, which fails on overflow. SUM of BIGINTs is NUMERIC, which takes longer than all the rest of
-- a report.
CREATE AGGREGATE bigsum (BIGINT) (SFUNC = int8pl, STYPE = BIGINT, COMBINEFUNC = int8pl, PARALLEL = SAFE);
