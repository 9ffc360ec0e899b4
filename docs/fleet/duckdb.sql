-- Questions about packed jobs, for DuckDB 1.5 or later. `fleet` is the folder that `pellucid fleet pack` wrote to; a name that ends in
-- a day or job, such as 'fleet/date=2026-11-17/job=llama', asks about that one only. docs/fleet.md describes the columns.
-- Without hive_types a job whose name is a number, as those of Slurm, would be read as one.

-- views
CREATE VIEW meta AS FROM read_parquet('fleet/*/*/meta.parquet', hive_types = {'date': DATE, 'job': VARCHAR});
CREATE VIEW facts AS FROM read_parquet('fleet/*/*/facts.parquet', hive_types = {'date': DATE, 'job': VARCHAR});
CREATE VIEW collectives AS FROM read_parquet('fleet/*/*/collectives.parquet', hive_types = {'date': DATE, 'job': VARCHAR});
CREATE VIEW meetings AS FROM read_parquet('fleet/*/*/meetings.parquet', hive_types = {'date': DATE, 'job': VARCHAR});
CREATE VIEW syncs AS FROM read_parquet('fleet/*/*/syncs.parquet', hive_types = {'date': DATE, 'job': VARCHAR});
CREATE VIEW names AS
SELECT name_id, any_value(name) AS name, any_value(family) AS family, any_value(title) AS title
FROM read_parquet('fleet/*/*/names.parquet') GROUP BY name_id;

-- ranks that the others wait for
SELECT date, job, late AS rank, any_value(late_host) AS host, sum(typical_ns) AS waited_ns, sum(alone_ns) AS alone_ns,
       sum(all_ns) AS rank_ns, count(*) AS collectives
FROM meetings WHERE NOT is_first GROUP BY date, job, late ORDER BY waited_ns DESC, date, job, late LIMIT 20;

-- slow hosts
SELECT late_host AS host, sum(typical_ns) AS waited_ns, count(DISTINCT (date, job)) AS jobs, count(*) AS collectives,
       mode(cause) AS cause
FROM meetings WHERE NOT is_first GROUP BY late_host ORDER BY waited_ns DESC, host LIMIT 20;

-- why they are late
SELECT late_host AS host, cause, sum(typical_ns) AS waited_ns, count(*) AS collectives
FROM meetings WHERE NOT is_first GROUP BY late_host, cause ORDER BY waited_ns DESC, host, cause LIMIT 20;

-- kernels by time
SELECT name, family, sum(activities) AS activities, sum(device_ns) AS device_ns, count(DISTINCT (date, job)) AS jobs
FROM facts JOIN names USING (name_id) WHERE category = 'kernel'
GROUP BY ALL ORDER BY device_ns DESC, name LIMIT 20;

-- kernels and syncs of a step, by commit
WITH steps AS (
  SELECT commit, job, date, rank, step, sum(facts.activities) FILTER (category = 'kernel') AS kernels
  FROM facts JOIN meta USING (date, job, rank) WHERE step <> 'outside' GROUP BY ALL
), waits AS (
  SELECT job, date, rank, step, count(*) FILTER (NOT is_copy) AS syncs FROM syncs GROUP BY ALL
)
SELECT job, commit, min(date) AS date, quantile_disc(kernels, 0.5) AS kernels, quantile_disc(coalesce(syncs, 0), 0.5) AS syncs,
       count(*) AS steps
FROM steps LEFT JOIN waits USING (job, date, rank, step) GROUP BY job, commit ORDER BY job, date, commit;

-- exposed communication
SELECT date, job, sum(exposed_ns) AS exposed_ns, 100 * sum(exposed_ns) / sum(device_ns) AS percent_of_device_time
FROM meta GROUP BY date, job ORDER BY date, job;

-- idle time by cause
SELECT date, job, regexp_extract(kind, 'idle_(.*)_ns', 1) AS cause, sum(ns) AS idle_ns, 100 * sum(ns) / any_value(all_ns) AS percent_of_device_time
FROM (UNPIVOT (SELECT date, job, COLUMNS('idle_.*'), sum(device_ns) OVER (PARTITION BY date, job) AS all_ns FROM meta)
      ON COLUMNS('idle_.*') INTO NAME kind VALUE ns)
GROUP BY date, job, cause HAVING sum(ns) > 0 ORDER BY date, job, idle_ns DESC, cause;

-- ranks that the others wait for, from arrivals
WITH last AS (
  SELECT date, job, meeting, max(arrived_ns) AS last_ns, first(rank ORDER BY arrived_ns DESC, rank) AS late,
         first(is_first ORDER BY arrived_ns DESC, rank) AS late_is_first
  FROM collectives WHERE meeting <> 0 GROUP BY date, job, meeting
), waits AS (
  SELECT date, job, late, quantile_disc(least(greatest(last_ns - arrived_ns, 0), end_ns - begin_ns), 0.5) AS typical_ns
  FROM collectives JOIN last USING (date, job, meeting) WHERE rank <> late AND NOT late_is_first
  GROUP BY date, job, meeting, late
)
SELECT date, job, late AS rank, sum(typical_ns) AS waited_ns, count(*) AS collectives
FROM waits GROUP BY date, job, late ORDER BY waited_ns DESC, date, job, late LIMIT 20;
