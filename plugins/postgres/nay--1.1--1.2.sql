/* nay--1.1--1.2.sql - range filters; quoted literals, which are read as the session reads them */
\echo Use "ALTER EXTENSION nay UPDATE TO '1.2'" to load this file. \quit

CREATE FUNCTION nay_contains_range(nay, lo anyelement, hi anyelement) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nay_pg_contains_range' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
CREATE FUNCTION nay_contains_range(nay, lo nay_literal, hi nay_literal) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nay_pg_contains_range_literal' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 20;

-- a time without a zone depends on the session
ALTER FUNCTION nay_contains(nay, nay_literal) STABLE;
ALTER FUNCTION nay_add(nay, nay_literal) STABLE;
