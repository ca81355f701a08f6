CREATE TABLE customers (id BIGINT, name STRING, nation STRING, balance DECIMAL(12,2), since DATE) USING parquet;
CREATE TABLE orders (id BIGINT, customer_id BIGINT, placed TIMESTAMP, total DECIMAL(12,2), status STRING, tags ARRAY<STRING>,
  items ARRAY<STRUCT<sku: STRING, qty: INT, price: DECIMAL(10,2), ship: STRUCT<city: STRING, days: INT>>>, attrs MAP<STRING, INT>) USING parquet;
CREATE TEMPORARY VIEW numbers AS SELECT * FROM VALUES (1, 10L, 1.5D), (2, 20L, 2.5D) AS n(small, big, ratio);
CREATE TEMPORARY VIEW sure AS SELECT * FROM VALUES (1, 'a', array(1, 2), named_struct('x', 1, 'y', 'b')) AS s(id, word, ints, pair);
CREATE TEMPORARY VIEW maybe AS SELECT * FROM VALUES (1, 'a', array(1, NULL)), (NULL, NULL, NULL) AS m(id, word, ints);
