/* nay--1.0--1.1.sql - estimates of how much two sets have in common */
\echo Use "ALTER EXTENSION nay UPDATE TO '1.1'" to load this file. \quit

CREATE FUNCTION nay_overlap(nay, nay, OUT nkeys_a double precision, OUT nkeys_b double precision,
    OUT nkeys_union double precision, OUT nkeys_intersection double precision, OUT jaccard double precision)
  AS 'MODULE_PATHNAME', 'nay_pg_overlap' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
