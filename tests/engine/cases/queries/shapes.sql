SELECT * FROM (SELECT nation, status, total FROM customers c JOIN orders o ON c.id = o.customer_id) PIVOT (sum(total) FOR status IN ('O', 'F' AS finished));
SELECT * FROM numbers UNPIVOT (value FOR name IN (small, big));
SELECT * FROM numbers UNPIVOT INCLUDE NULLS ((a, b) FOR name IN ((small, big) AS both));
FROM customers |> WHERE balance > 0 |> AGGREGATE count(*) AS n GROUP BY nation |> ORDER BY n DESC |> LIMIT 3;
FROM sure |> EXTEND id + 1 AS next |> SET word = upper(word) |> DROP ints |> AS t |> SELECT t.id, next, word;
SELECT explode(tags) AS tag, id FROM orders;
SELECT id, inline(items) FROM orders;
SELECT * FROM range(10);
SELECT * FROM explode(array(1, 2)) AS t(x);
SELECT stack(2, 1, 'a', 2, 'b');
SELECT /*+ BROADCAST(c) */ c.id FROM customers c TABLESAMPLE (10 PERCENT) LIMIT 5 OFFSET 1
