WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT d + n, n + d, d + day, d + dt, d + ym, d + i, day + d, ym + d, i + d FROM m;
WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT d - n, d - day, d - dt, d - ym, d - i, d - d, d - ts, ts - d FROM m;
WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT ts + day, ts + dt, ts + ym, ts + i, ts - dt, ts - ym, ts - i, ts - ts, ntz - ts, ntz + dt FROM m;
WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT dt + day, ym + ym, i + i, dt - day, -dt, -i, +ym, dt * n, x * ym, i * x, dt / n, ym / x, i / n FROM m;
WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT s - d, d - s, s + dt, s - ym, ts - s FROM m;
WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT try_add(d, n), try_add(ts, dt), try_subtract(ts, dt), try_multiply(ym, n), try_divide(dt, n), try_add(d, ym) FROM m;
WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT d + s FROM m;
WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT d + ts FROM m;
WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT ym + dt FROM m;
WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT NULL + i FROM m;
WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT d + NULL, ts - NULL, NULL - d, dt + NULL FROM m;
WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT extract(YEAR FROM d), extract(dow_iso FROM ts), extract(SECOND FROM ntz), extract(month FROM ym), extract(hours FROM dt), extract(s FROM i), extract(week FROM s) FROM m;
WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT date_part('YEAR', d), datepart('second', ts), date_part('day', day), date_part(NULL, d) FROM m;
WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT extract(hour FROM ym) FROM m;
WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT dateadd(day, n, d), date_add(HOUR, 2, ts), timestampadd(MONTH, n, ntz), datediff(day, d, ts), timestampdiff(HOUR, ts, s) FROM m;
WITH m AS (SELECT DATE'2024-02-29' AS d, TIMESTAMP'2024-02-29 12:00:00' AS ts, TIMESTAMP_NTZ'2024-02-29 12:00:00' AS ntz, INTERVAL '1-2' YEAR TO MONTH AS ym, INTERVAL '1 02:03:04' DAY TO SECOND AS dt, INTERVAL 1 DAY AS day, make_interval(1) AS i, '2024-01-01' AS s, 1 AS n, 0.5D AS x)
SELECT dateadd(d, n), date_add(s, 1), date_diff(ts, d), datediff(d, s) FROM m;
SELECT window.start, window.end, count(*) AS c FROM VALUES (TIMESTAMP'2024-01-01 00:00:00', 1) AS t(ts, n) GROUP BY window(ts, '5 minutes') HAVING count(*) > 0 ORDER BY window.start;
SELECT window, max(n) FROM VALUES (TIMESTAMP_NTZ'2024-01-01 00:00:00', 1) AS t(ts, n) GROUP BY window(ts, '10 minutes', '5 minutes');
SELECT session_window.end AS e, n FROM VALUES (TIMESTAMP'2024-01-01 00:00:00', 1) AS t(ts, n) GROUP BY session_window(ts, '5 minutes'), n;
SELECT window(ts, '5 minutes').start AS s, window_time(window(ts, '5 minutes')) FROM VALUES (TIMESTAMP'2024-01-01 00:00:00') AS t(ts);
SELECT window_time(window) FROM VALUES (TIMESTAMP'2024-01-01 00:00:00') AS t(ts) GROUP BY window(ts, '5 minutes');
SELECT window(ts, '5 minutes', '10 minutes') FROM VALUES (TIMESTAMP'2024-01-01 00:00:00') AS t(ts);
SELECT date_add_interval(DATE'2024-01-01', INTERVAL 1 DAY)
