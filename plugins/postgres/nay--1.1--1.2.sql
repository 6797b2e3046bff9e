/* nay--1.1--1.2.sql - range filters; literals and times, which are read as the session reads them */
\echo Use "ALTER EXTENSION nay UPDATE TO '1.2'" to load this file. \quit

CREATE FUNCTION nay_contains_range(nay, lo anyelement, hi anyelement) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nay_pg_contains_range' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
CREATE FUNCTION nay_contains_range(nay, lo nay_literal, hi nay_literal) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nay_pg_contains_range_literal' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 20;

-- A timestamp equals a timestamptz in the session's zone. Without an overload for date PostgreSQL would cast one to timestamptz.
CREATE FUNCTION nay_contains(nay, timestamp) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nay_pg_contains_time' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION nay_contains(nay, timestamptz) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nay_pg_contains_time' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION nay_contains(nay, date) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nay_pg_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE OPERATOR @> (LEFTARG = nay, RIGHTARG = timestamp, FUNCTION = nay_contains);
CREATE OPERATOR @> (LEFTARG = nay, RIGHTARG = timestamptz, FUNCTION = nay_contains);
CREATE OPERATOR @> (LEFTARG = nay, RIGHTARG = date, FUNCTION = nay_contains);
CREATE FUNCTION nay_contains_range(nay, lo timestamp, hi timestamp) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nay_pg_contains_range' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 20;
CREATE FUNCTION nay_contains_range(nay, lo timestamptz, hi timestamptz) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nay_pg_contains_range' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 20;
CREATE FUNCTION nay_contains_range(nay, lo date, hi date) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nay_pg_contains_range' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;

-- a time without a zone depends on the session
ALTER FUNCTION nay_contains(nay, nay_literal) STABLE;
ALTER FUNCTION nay_add(nay, nay_literal) STABLE;
