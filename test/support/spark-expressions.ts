/** Expressions that constraints may be made of here, and rows to try them on: they shall mean what they mean in Spark. */

import { sqlType } from "../../engine/sql-types.ts";

export const COLUMNS = {
  id: "integer",
  b: "byte",
  n: "integer",
  l: "long",
  f: "float",
  d: "double",
  p: "decimal(10,2)",
  q: "decimal(20,4)",
  t: "string",
  u: "string",
  ok: "boolean",
  day: "date",
  at: "timestamp_ntz",
  z: "timestamp",
  s: { type: "struct", fields: [{ name: "X", type: "long", nullable: true, metadata: {} }] },
  a: { type: "array", elementType: "long", containsNull: true },
  m: { type: "map", keyType: "string", valueType: "long", valueContainsNull: true },
} as const;

const VALUES = `(VALUES
  (0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (1, 0, 0, 0, 0::DOUBLE, 0::DOUBLE, 0, 0, '', '', true, DATE '2024-02-29', TIMESTAMP '2024-02-29 23:59:59.999999', TIMESTAMPTZ '2024-02-29 23:59:59.999999Z', {X: 1}, [], MAP {}),
  (2, -7, -7, -7, -7.5, -7.5, -7.5, -7.5, ' a ', 'a', false, DATE '1500-01-01', TIMESTAMP '1500-01-01', TIMESTAMPTZ '1500-01-01 00:00:00Z', {X: NULL}, [NULL], MAP {'k': NULL}),
  (3, 127, 2147483647, 9223372036854775807, 'inf'::DOUBLE, 'inf'::DOUBLE, 99999999.99, 9999999999999999.9999::DECIMAL(20,4), 'a_b%c', 'Ünï', true, DATE '9999-12-31', TIMESTAMP '9999-12-31', TIMESTAMPTZ '9999-12-31 00:00:00Z', {X: 3}, [1, 2, 3], MAP {'k': 1, 'x': 2}),
  (4, -128, -2147483648, -9223372036854775808, '-inf'::DOUBLE, '-inf'::DOUBLE, -99999999.99, 0.0001, e'ab\\n', 'straße', NULL, DATE '1970-01-01', TIMESTAMP '1970-01-01', TIMESTAMPTZ '1970-01-01 00:00:00Z', NULL, [1, NULL], MAP {'x': -1}),
  (5, 5, 16777217, 9007199254740993, 'nan'::DOUBLE, 'nan'::DOUBLE, 0.5, 0.5, e'a\\nb', e'\\ta', true, DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00', TIMESTAMPTZ '2020-01-01 00:00:00Z', {X: 7}, [-1, 2, NULL], MAP {'k': 5}),
  (6, 1, 1, 1, 0.1, 0.1, 0.1, 0.1, '日本語', '日本語', false, DATE '2020-01-02', TIMESTAMP '2020-01-02 01:02:03', TIMESTAMPTZ '2020-01-02 01:02:03Z', {X: 0}, [0], MAP {'k': 0}),
  (7, 2, 2, 3, '-0.0'::DOUBLE, '-0.0'::DOUBLE, 3.25, 3.25, 'abc', 'ABC', true, DATE '2024-12-31', TIMESTAMP '2024-12-31', TIMESTAMPTZ '2024-12-31 00:00:00Z', {X: 2}, [5, 5], MAP {'': 9}),
  (8, 3, 10, 100, 1.5, 1e300, 1.01, 1.01, '🤦🏼‍♂️x', 'A.B*', false, DATE '0100-03-01', TIMESTAMP '2020-06-15 12:00:00', TIMESTAMPTZ '2020-06-15 12:00:00Z', {X: -5}, [9, 8, 7, 6, 5], MAP {'k': 100})
) AS x(id, b, n, l, f, d, p, q, t, u, ok, day, "at", z, s, a, m)`;

const columns = Object.entries(COLUMNS).map(
  ([name, type]) => `CAST("${name}" AS ${sqlType(type)}) AS "${name}"`,
);

/** Rows of what is odd in each type, by ids from 0 on, as a query. */
export const ROWS = `SELECT ${columns.join(", ")} FROM ${VALUES}`;

/** On each of the rows one is to be true here exactly where it is true in Spark. */
export const EXPRESSIONS = String.raw`
n > 0
NOT n > 0 AND n < 5
n > 0 OR l > 0 AND NOT ok
!ok
n = 1 OR n <> 1
n == 1
n != 1
l <=> n
NOT (l <=> n)
n <=> NULL
n = NULL
n IS NULL
n IS NOT NULL
ok IS TRUE
ok IS NOT TRUE
ok IS FALSE
ok IS NOT UNKNOWN
n IS DISTINCT FROM l
n IS NOT DISTINCT FROM 1
n > b
l >= n
l > 9007199254740992
l = 9007199254740993
d = l
d > n
d > 0
d >= -0.0
d = 0
d = d
d = f
d > 0.5
d = 0.1
f > 0
f = 16777216
f = 0.1
f > 1.4
p > 0
p = 0.5
p >= 0.10
p < n
p = q
q > 9999999999999999.999
p > d
p = 3.25D
d = 1e300
l = 3L
b = 5Y
n BETWEEN 0 AND 10
n NOT BETWEEN 0 AND 10
d BETWEEN -1 AND 1.5
n IN (1, 2, 10)
n NOT IN (1, 2, 10)
n IN (1, NULL)
n NOT IN (1, NULL)
p IN (0.5, 1, 1.01)
t IN ('abc', 'a_b%c')
n + 1 > 0
n - 1 < l
l * 2 > 0
b + b > 0
b * 2 > 0
n * l > 0
-n > 0
-l > 0
abs(n) = 7
abs(d) > 1
d + 1 > 1
d * d >= 0
d - d = 0
f + f > 0
p + 1 > 1
p - q = 0
p * 2 = 1
p * p > 0.2
p + 0.005 > 0.5
-p > 0
abs(p) < 1
n / 2 = 1
n / 2 > 0
1 / n > 0
l / n > 1
d / 2 > 0
d / 0 > 0
n = 0 OR 10 / n > 1
n <> 0 AND 10 / n > 1
n % 2 = 1
n % 2 = -1
l % n = 0
d % 2 = -1.5
mod(n, 3) = 1
n DIV 2 = -3
l DIV n > 0
n + 1 > 0 OR n = 2147483647
n = 2147483647 OR n + 1 > 0
t = 'abc'
t > 'a'
t <> u
t < u
t <=> u
length(t) = 3
day > '2020-01-01'::date
n::bigint * 2 > 0
char_length(t) > 0
character_length(u) = 6
octet_length(u) = 7
upper(t) = u
lower(u) = 'abc'
lcase(u) = 'ünï'
trim(t) = 'a'
ltrim(t) = 'a '
rtrim(t) = ' a'
trim(u) = 'a'
substring(t, 1, 1) = 'a'
substring(t, 2) = 'bc'
substr(t, 3, 0) = ''
t || u = 'abcABC'
concat(t, u) = 'abcABC'
concat(t, u) IS NOT NULL
t || 'x' || u = 'abcxABC'
startswith(t, 'a')
endswith(t, 'c')
contains(t, 'b')
t LIKE 'a%'
t LIKE 'a\_b\%c'
t LIKE 'a\\_b\\%c'
t LIKE '_b_'
t LIKE '__'
t NOT LIKE 'a%'
t LIKE 'a/_b%' ESCAPE '/'
t LIKE ''
t RLIKE 'b'
t RLIKE '^a'
t RLIKE '^ab$'
t RLIKE 'a.b'
t RLIKE '^[a-z]+$'
t RLIKE '^[^a]'
t RLIKE '^\\w+$'
u RLIKE '^[A-Z]\\.[A-Z]\\*$'
t RLIKE '^.{2,3}$'
t RLIKE '(?:x|b)c'
t RLIKE '^$|^abc$'
regexp_like(t, 'c$')
t NOT RLIKE 'a'
coalesce(n, 1) = 1
coalesce(t, u, 'x') = 'x'
coalesce(n, l) > 0
ifnull(d, 1.5D) > 1
nvl(t, '') = ''
nullif(n, 1) IS NULL
if(n > 0, t, u) = 'a'
if(ok, n, 0) >= 0
CASE WHEN n > 0 THEN true WHEN n < 0 THEN false ELSE ok END
CASE WHEN n > 0 THEN n ELSE l END > 0
CASE n WHEN 1 THEN 'one' WHEN 2 THEN 'two' END = 'two'
CASE WHEN n <> 0 THEN 10 / n > 1 ELSE true END
day > '2020-01-01'
day >= DATE '2020-01-01'
day = '2024-02-29'
day BETWEEN '2020-01-01' AND '2024-12-31'
day IN ('2020-01-01', '1500-01-01')
day > CAST('2020-01-01' AS DATE)
year(day) = 2024
year(day) < 1000
month(day) = 12
dayofmonth(day) = 29
day(day) = 1
year(at) > 2000
at > TIMESTAMP_NTZ '2020-01-01 00:00:00'
at >= TIMESTAMP_NTZ '2024-02-29 23:59:59.999999'
z > TIMESTAMP '2020-01-01 00:00:00Z'
z > TIMESTAMP '2020-01-01 01:00:00+01:00'
s.x > 0
S.X IS NOT NULL
s IS NOT NULL
s IS NULL OR s.x > 0
size(a) > 1
cardinality(m) = 1
array_size(a) = 0
a[0] = 1
a[1] = 2
a[0] IS NULL
m['k'] > 0
m['k'] IS NULL
forall(a, x -> x > 0)
NOT forall(a, x -> x > 0)
forall(a, x -> x IS NOT NULL)
forall(a, x -> x > 0) IS NULL
exists(a, x -> x > 2)
NOT exists(a, x -> x > 2)
exists(a, x -> x IS NULL)
exists(a, y -> exists(a, x -> x > y))
array_contains(a, 5)
NOT array_contains(a, 5)
array_contains(a, l)
forall(map_values(m), v -> v >= 0)
forall(map_keys(m), k -> k <> 'x')
isnull(t)
isnotnull(t) AND isnan(d)
NOT isnan(d)
isnan(f) = ok
CAST(n AS BIGINT) * 2 > 0
CAST(n AS DOUBLE) / 2 > 1
CAST(n AS STRING) = '10'
CAST(f AS DOUBLE) = 1.5
n > 0 = ok
(n > 0) <> ok
true
false
ok
n > 1 + 2 * 3 - 4
n > (1 + 2) * 3 OR ok
- 1 < n
+n > 0
t || u LIKE 'abc%'
n > .5
n > 1.
n < 99999999999
`
  .trim()
  .split("\n");
