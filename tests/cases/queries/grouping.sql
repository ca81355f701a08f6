SELECT nation, count(*), sum(balance), avg(balance), min(since), max(name) FROM customers GROUP BY nation;
SELECT nation AS n, count(DISTINCT name) AS names FROM customers GROUP BY n HAVING names > 1;
SELECT substring(name, 1, 1), count(1) FROM customers GROUP BY 1 ORDER BY 2 DESC;
SELECT word, id, count(*) FROM sure GROUP BY word, id WITH ROLLUP;
SELECT word, id, grouping_id(), count(*) FROM sure GROUP BY CUBE (word, id);
SELECT word, id, grouping(word) FROM sure GROUP BY GROUPING SETS ((word, id), (word));
SELECT nation, sum(balance) FILTER (WHERE balance > 0) AS plus FROM customers GROUP BY ALL;
SELECT count(*) FROM customers HAVING count(*) > 0;
SELECT max(id) + 1, collect_list(name) FROM customers;
SELECT id + 1 FROM sure GROUP BY id + 1;
SELECT first(name), last(name), any_value(name) FROM customers;
SELECT stddev(balance), variance(balance) FROM customers;
SELECT transform(arr, x -> x + 1) AS r, count(*) FROM t GROUP BY ROLLUP(transform(arr, y -> y + 1));
SELECT 1 + id, grouping(id + 1) FROM sure GROUP BY CUBE(id + 1);
SELECT id + 1 AS k, row_number() OVER (ORDER BY id + 1) AS n FROM sure GROUP BY ROLLUP(id + 1) HAVING id + 1 > 0 ORDER BY id + 1
