-- The type, its functions and aggregates: what a reader of the README may try.
SET client_min_messages = warning;
CREATE TABLE numbers AS SELECT x FROM generate_series(1, 1000) x;
SELECT (nay_info(nay_agg(x, 1000, 0.01, 'bloom'))).* FROM numbers;
CREATE TABLE filters AS SELECT 'ints' AS name, nay_agg(x::bigint, 1000, 0.001) AS f FROM numbers;
INSERT INTO filters SELECT 'texts', nay_agg(x::text, 1000, 0.001) FROM numbers;
INSERT INTO filters SELECT 'dates', nay_agg(date '2024-01-01' + x, 1000, 0.001) FROM numbers;
-- every key, in every width and as a literal
SELECT count(*) FROM numbers, filters WHERE name = 'ints' AND nay_contains(f, x);
SELECT nay_contains(f, 7), nay_contains(f, 7::smallint), nay_contains(f, 7::bigint), nay_contains(f, '007'), f @> 7, f @> '0x7'
  FROM filters WHERE name = 'ints';
SELECT nay_contains(f, '2024-02-29'), f @> date '2024-02-29', f @> 'infinity' FROM filters WHERE name = 'dates';
SELECT f @> '7', f @> 'seven', f @> '7'::varchar, f @> '7   '::char(4), f @> '\x37'::bytea FROM filters WHERE name = 'texts';
-- NULL in, NULL out; no rows are NULL, rows of NULL an empty filter
SELECT nay_contains(NULL, 7), nay_contains(f, NULL::int) FROM filters WHERE name = 'ints';
SELECT nay_agg(x) IS NULL, nay_agg(x, 10, 0.01) IS NULL, nay_union(NULL) IS NULL FROM numbers WHERE x > 1000;
SELECT (nay_info(nay_agg(NULL::int, 10, 0.01))).nkeys_estimated;
-- other types are errors with a hint
SELECT f @> 7.0 FROM filters WHERE name = 'ints';
SELECT f @> 7::float8 FROM filters WHERE name = 'ints';
SELECT f @> 'seven' FROM filters WHERE name = 'ints';
SELECT f @> 7 FROM filters WHERE name = 'texts';
SELECT f @> '2023-02-29' FROM filters WHERE name = 'dates';
SELECT f @> '\x37'::bytea FROM filters WHERE name = 'ints';
SELECT nay_agg('{1}'::int[]);
SELECT nay_agg(x, 0, 0.01) FROM numbers;
SELECT nay_agg(x, 10, 1.5) FROM numbers;
SELECT nay_agg(x, 10, 0.01, 'magic') FROM numbers;
SELECT nay_agg(x, NULL, 0.01) FROM numbers;
SELECT nay_agg(x, x, 0.01) FROM numbers;
SELECT nay_agg(x, 1000000000000, 0.01) FROM numbers;
-- union, merge, fold, add
SELECT nay_union(f)::bytea = (SELECT nay_agg(x, 1000, 0.01)::bytea FROM numbers)
  FROM (SELECT nay_agg(x, 1000, 0.01) AS f FROM numbers GROUP BY x % 7) parts;
SELECT nay_merge(a, b)::bytea = nay_merge(b, a)::bytea, nay_merge(a, b) @> 7 FROM
  (SELECT nay_agg(x, 1000, 0.01) AS a FROM numbers WHERE x < 500) p, (SELECT nay_agg(x, 1000, 0.01) AS b FROM numbers WHERE x >= 500) q;
SELECT nay_merge(f, f, 1e-9) FROM filters WHERE name = 'ints';
SELECT nay_merge(a.f, b.f) FROM filters a, filters b WHERE a.name = 'ints' AND b.name = 'texts';
SELECT (nay_info(nay_fold(nay_agg(x, 1000, 0.01, 'bloom'), 2))).nbits FROM numbers;
SELECT nay_fold(f, 7) FROM filters WHERE name = 'ints';
SELECT nay_fold(f, 0) FROM filters WHERE name = 'ints';
SELECT f @> 1001, nay_add(f, 1001) @> 1001 FROM filters WHERE name = 'ints';
SELECT nay_add(nay_agg(x, 1000, 0.01, 'fuse'), 7) FROM numbers;
SELECT kind_planned, fpr_planned <= 0.01 FROM nay_plan(1000000, 0.01);
SELECT round(nkeys_intersection / 100) FROM nay_overlap((SELECT nay_agg(x, 1000, 0.01) FROM numbers), (SELECT nay_agg(x + 500, 1000, 0.01) FROM numbers));
-- text and bytea, both ways; what is no filter is refused
SELECT f::text::nay::bytea = f::bytea, f::bytea::nay @> 7 FROM filters WHERE name = 'ints';
SELECT 'not base64!'::nay;
SELECT 'aGVsbG8='::nay;
SELECT ''::nay;
SELECT '\x'::bytea::nay;
SELECT set_byte(f::bytea, 700, get_byte(f::bytea, 700) # 1)::nay FROM filters WHERE name = 'ints';
-- windows
SELECT x, nay_agg(x, 10, 1e-6) OVER (ORDER BY x) @> 3 AS has_3 FROM numbers WHERE x <= 4;
