/* nay--1.0.sql - the type nay, its functions, operators and aggregates */
\echo Use "CREATE EXTENSION nay" to load this file. \quit

CREATE TYPE nay;

CREATE FUNCTION nay_in(cstring) RETURNS nay
  AS 'MODULE_PATHNAME', 'nay_pg_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nay_out(nay) RETURNS cstring
  AS 'MODULE_PATHNAME', 'nay_pg_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nay_recv(internal) RETURNS nay
  AS 'MODULE_PATHNAME', 'nay_pg_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nay_send(nay) RETURNS bytea
  AS 'MODULE_PATHNAME', 'nay_pg_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- bits of a filter do not compress
CREATE TYPE nay (INPUT = nay_in, OUTPUT = nay_out, RECEIVE = nay_recv, SEND = nay_send,
  INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = external);

CREATE FUNCTION nay(bytea) RETURNS nay
  AS 'MODULE_PATHNAME', 'nay_pg_from_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (bytea AS nay) WITH FUNCTION nay(bytea);
CREATE CAST (nay AS bytea) WITHOUT FUNCTION;

-- What a quoted literal of no type becomes: a text that nothing is cast to. An overload for text itself would take
-- citext as well, whose equal values have different bytes.
CREATE TYPE nay_literal;
CREATE FUNCTION nay_literal_in(cstring) RETURNS nay_literal
  AS 'textin' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nay_literal_out(nay_literal) RETURNS cstring
  AS 'textout' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE nay_literal (INPUT = nay_literal_in, OUTPUT = nay_literal_out, LIKE = text, CATEGORY = 'S', COLLATABLE = true);

/* ---- one filter ---- */

CREATE FUNCTION nay_contains(nay, anyelement) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nay_pg_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION nay_contains(nay, nay_literal) RETURNS boolean
  AS 'MODULE_PATHNAME', 'nay_pg_contains_literal' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
CREATE OPERATOR @> (LEFTARG = nay, RIGHTARG = anyelement, FUNCTION = nay_contains);
CREATE OPERATOR @> (LEFTARG = nay, RIGHTARG = nay_literal, FUNCTION = nay_contains);

CREATE FUNCTION nay_add(nay, anyelement) RETURNS nay
  AS 'MODULE_PATHNAME', 'nay_pg_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
CREATE FUNCTION nay_add(nay, nay_literal) RETURNS nay
  AS 'MODULE_PATHNAME', 'nay_pg_add_literal' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
CREATE FUNCTION nay_merge(nay, nay, max_fpr double precision DEFAULT 1) RETURNS nay
  AS 'MODULE_PATHNAME', 'nay_pg_merge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
CREATE FUNCTION nay_fold(nay, factor bigint) RETURNS nay
  AS 'MODULE_PATHNAME', 'nay_pg_fold' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;

CREATE FUNCTION nay_info(nay, OUT kind text, OUT key text, OUT hash text, OUT k int, OUT nkeys bigint,
    OUT nkeys_estimated double precision, OUT nbits bigint, OUT nbytes bigint, OUT fill double precision,
    OUT fpr_planned double precision, OUT fpr_now double precision, OUT overloaded boolean,
    OUT saturated boolean, OUT derived boolean)
  AS 'MODULE_PATHNAME', 'nay_pg_info' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
CREATE FUNCTION nay_plan(n bigint, fpr double precision, kind text DEFAULT 'auto', OUT kind_planned text,
    OUT k int, OUT nbytes bigint, OUT bits_per_key double precision, OUT fpr_planned double precision,
    OUT nbytes_build bigint)
  AS 'MODULE_PATHNAME', 'nay_pg_plan' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

/* ---- aggregates ---- */

CREATE FUNCTION nay_agg_trans(internal, anyelement) RETURNS internal
  AS 'MODULE_PATHNAME', 'nay_pg_agg_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION nay_agg_trans(internal, anyelement, double precision) RETURNS internal
  AS 'MODULE_PATHNAME', 'nay_pg_agg_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION nay_agg_trans(internal, anyelement, bigint, double precision) RETURNS internal
  AS 'MODULE_PATHNAME', 'nay_pg_agg_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION nay_agg_trans(internal, anyelement, bigint, double precision, text) RETURNS internal
  AS 'MODULE_PATHNAME', 'nay_pg_agg_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION nay_agg_combine(internal, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'nay_pg_agg_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION nay_agg_serial(internal) RETURNS bytea
  AS 'MODULE_PATHNAME', 'nay_pg_agg_serial' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nay_agg_deserial(bytea, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'nay_pg_agg_deserial' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nay_agg_final(internal) RETURNS nay
  AS 'MODULE_PATHNAME', 'nay_pg_agg_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE nay_agg(x anyelement) (SFUNC = nay_agg_trans, STYPE = internal, SSPACE = 65536,
  FINALFUNC = nay_agg_final, FINALFUNC_MODIFY = READ_ONLY, COMBINEFUNC = nay_agg_combine,
  SERIALFUNC = nay_agg_serial, DESERIALFUNC = nay_agg_deserial, PARALLEL = SAFE);
CREATE AGGREGATE nay_agg(x anyelement, fpr double precision) (SFUNC = nay_agg_trans, STYPE = internal, SSPACE = 65536,
  FINALFUNC = nay_agg_final, FINALFUNC_MODIFY = READ_ONLY, COMBINEFUNC = nay_agg_combine,
  SERIALFUNC = nay_agg_serial, DESERIALFUNC = nay_agg_deserial, PARALLEL = SAFE);
CREATE AGGREGATE nay_agg(x anyelement, n bigint, fpr double precision) (SFUNC = nay_agg_trans, STYPE = internal,
  SSPACE = 65536, FINALFUNC = nay_agg_final, FINALFUNC_MODIFY = READ_ONLY, COMBINEFUNC = nay_agg_combine,
  SERIALFUNC = nay_agg_serial, DESERIALFUNC = nay_agg_deserial, PARALLEL = SAFE);
CREATE AGGREGATE nay_agg(x anyelement, n bigint, fpr double precision, kind text) (SFUNC = nay_agg_trans,
  STYPE = internal, SSPACE = 65536, FINALFUNC = nay_agg_final, FINALFUNC_MODIFY = READ_ONLY,
  COMBINEFUNC = nay_agg_combine, SERIALFUNC = nay_agg_serial, DESERIALFUNC = nay_agg_deserial, PARALLEL = SAFE);

CREATE FUNCTION nay_union_trans(internal, nay) RETURNS internal
  AS 'MODULE_PATHNAME', 'nay_pg_union_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION nay_union_combine(internal, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'nay_pg_union_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION nay_union_serial(internal) RETURNS bytea
  AS 'MODULE_PATHNAME', 'nay_pg_union_serial' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nay_union_deserial(bytea, internal) RETURNS internal
  AS 'MODULE_PATHNAME', 'nay_pg_union_deserial' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION nay_union_final(internal) RETURNS nay
  AS 'MODULE_PATHNAME', 'nay_pg_union_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE nay_union(f nay) (SFUNC = nay_union_trans, STYPE = internal, SSPACE = 65536,
  FINALFUNC = nay_union_final, FINALFUNC_MODIFY = READ_ONLY, COMBINEFUNC = nay_union_combine,
  SERIALFUNC = nay_union_serial, DESERIALFUNC = nay_union_deserial, PARALLEL = SAFE);
