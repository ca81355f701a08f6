SELECT (SELECT max(id) FROM orders) AS newest, id FROM customers;
SELECT id, (SELECT count(*) FROM orders o WHERE o.customer_id = c.id) FROM customers c;
SELECT id FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id);
SELECT id, id IN (SELECT customer_id FROM orders) AS buys FROM customers;
SELECT id, NOT EXISTS (SELECT 1 FROM orders WHERE customer_id = customers.id) FROM customers;
SELECT x.n FROM (SELECT name AS n, id FROM customers) x;
SELECT n FROM (SELECT name AS n FROM customers);
SELECT * FROM (SELECT * FROM sure) JOIN (SELECT id AS other FROM maybe) ON id = other;
WITH c AS (SELECT * FROM customers) SELECT c.* FROM c WHERE c.id > (SELECT avg(id) FROM c)
