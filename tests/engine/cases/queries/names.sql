SELECT id, ID, sure.id, id + 1, -id, NOT id = 1, id IS NULL, id IN (1, 2), id BETWEEN 1 AND 2 FROM sure;
SELECT CAST(id AS STRING), CAST(id + 1 AS BIGINT), id::double, try_cast(word AS INT) FROM sure;
SELECT pair.x, pair.y AS z, pair FROM sure;
SELECT pair.* FROM sure;
SELECT * EXCEPT (id) FROM sure;
SELECT ints[0], attrs['k'], items[0].sku, items.price FROM sure, orders;
SELECT 1, 1L, 1.5, 1.5D, 1e3, 'text', TRUE, NULL, DATE '2020-01-02', TIMESTAMP '2020-01-02 03:04:05', X'1F', INTERVAL '1' DAY;
SELECT CASE WHEN id > 1 THEN 'a' ELSE 'b' END, CASE id WHEN 1 THEN 2 END, if(id > 1, id, NULL) FROM sure;
SELECT id AS x, x + 1 AS y, y * 2 FROM sure;
SELECT `id` AS `a b`, word AS `sure.word` FROM sure;
SELECT word || '-' || id, concat(word, id), word LIKE 'a%', word RLIKE 'a' FROM sure;
SELECT coalesce(word, 'none'), nvl(word, 'none'), nullif(id, 1), greatest(id, 2), least(id, 2) FROM maybe;
SELECT (id, word), struct(id, word AS w), named_struct('a', id), array(id, NULL), map('k', id) FROM sure;
SELECT total * 2, total + 1, total / 3, total % 7, total - 1.25, id div 2, id / 2 FROM orders;
SELECT size(items), upper(status), length(status), substring(status, 1, 2), trim(status) FROM orders;
SELECT year(placed), month(since), date_add(since, 1), datediff(since, since), placed + INTERVAL '1' HOUR FROM orders, customers
