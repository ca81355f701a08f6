SELECT id, row_number() OVER (PARTITION BY nation ORDER BY balance DESC) AS place FROM customers;
SELECT sum(balance) OVER (PARTITION BY nation) FROM customers;
SELECT sum(balance) OVER (ORDER BY since ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM customers;
SELECT rank() OVER w, dense_rank() OVER w, lag(name) OVER w, lead(id, 2, 0) OVER w FROM customers WINDOW w AS (ORDER BY id);
SELECT id, count(*) OVER () AS everyone FROM customers QUALIFY row_number() OVER (ORDER BY id) = 1;
SELECT nation, sum(sum(balance)) OVER (ORDER BY nation) FROM customers GROUP BY nation;
SELECT first_value(name) OVER (ORDER BY id), ntile(4) OVER (ORDER BY id), cume_dist() OVER (ORDER BY id) FROM customers
