-- Questions about packed jobs, for Spark SQL 3.5 or later. `fleet` is the folder that `pellucid fleet pack` wrote, on whatever Spark reads.
-- docs/fleet.md describes the columns. Medians are percentile_disc, cast back to whole numbers.
-- With type inference a job whose name is a number would be read as one.

-- views
SET spark.sql.sources.partitionColumnTypeInference.enabled = false;
CREATE TEMPORARY VIEW meta USING parquet OPTIONS (path 'fleet/*/*/meta.parquet', basePath 'fleet/');
CREATE TEMPORARY VIEW facts USING parquet OPTIONS (path 'fleet/*/*/facts.parquet', basePath 'fleet/');
CREATE TEMPORARY VIEW collectives USING parquet OPTIONS (path 'fleet/*/*/collectives.parquet', basePath 'fleet/');
CREATE TEMPORARY VIEW meetings USING parquet OPTIONS (path 'fleet/*/*/meetings.parquet', basePath 'fleet/');
CREATE TEMPORARY VIEW syncs USING parquet OPTIONS (path 'fleet/*/*/syncs.parquet', basePath 'fleet/');
CREATE TEMPORARY VIEW names_of_jobs USING parquet OPTIONS (path 'fleet/*/*/names.parquet', basePath 'fleet/');
CREATE TEMPORARY VIEW names AS
SELECT name_id, any_value(name) AS name, any_value(family) AS family, any_value(title) AS title
FROM names_of_jobs GROUP BY name_id;

-- ranks that the others wait for
SELECT date, job, late AS rank, any_value(late_host) AS host, sum(typical_ns) AS waited_ns, sum(alone_ns) AS alone_ns,
       sum(all_ns) AS rank_ns, count(*) AS collectives
FROM meetings WHERE NOT is_first GROUP BY date, job, late ORDER BY waited_ns DESC, date, job, late LIMIT 20;

-- slow hosts
SELECT late_host AS host, sum(typical_ns) AS waited_ns, count(DISTINCT date, job) AS jobs, count(*) AS collectives
FROM meetings WHERE NOT is_first GROUP BY late_host ORDER BY waited_ns DESC, host LIMIT 20;

-- why they are late
SELECT late_host AS host, cause, sum(typical_ns) AS waited_ns, count(*) AS collectives
FROM meetings WHERE NOT is_first GROUP BY late_host, cause ORDER BY waited_ns DESC, host, cause LIMIT 20;

-- kernels by time
SELECT name, family, sum(activities) AS activities, sum(device_ns) AS device_ns, count(DISTINCT date, job) AS jobs
FROM facts JOIN names USING (name_id) WHERE category = 'kernel'
GROUP BY name, family ORDER BY device_ns DESC, name LIMIT 20;

-- kernels and syncs of a step, by commit
WITH steps AS (
  SELECT commit, job, date, rank, step, sum(facts.activities) FILTER (WHERE category = 'kernel') AS kernels
  FROM facts JOIN meta USING (date, job, rank) WHERE step <> 'outside' GROUP BY commit, job, date, rank, step
), waits AS (
  SELECT job, date, rank, step, count(*) FILTER (WHERE NOT is_copy) AS syncs FROM syncs GROUP BY job, date, rank, step
)
SELECT job, commit, min(date) AS date, CAST(percentile_disc(0.5) WITHIN GROUP (ORDER BY kernels) AS BIGINT) AS kernels,
       CAST(percentile_disc(0.5) WITHIN GROUP (ORDER BY coalesce(syncs, 0)) AS BIGINT) AS syncs, count(*) AS steps
FROM steps LEFT JOIN waits USING (job, date, rank, step) GROUP BY job, commit ORDER BY job, date, commit;

-- exposed communication
SELECT date, job, sum(exposed_ns) AS exposed_ns FROM meta GROUP BY date, job ORDER BY date, job;

-- idle time by cause
SELECT date, job, regexp_extract(kind, 'idle_(.*)_ns', 1) AS cause, sum(ns) AS idle_ns
FROM meta UNPIVOT (ns FOR kind IN (idle_dispatch_ns, idle_sync_ns, idle_input_ns, idle_guards_ns, idle_allocation_ns,
  idle_profiler_ns, idle_latency_ns, idle_dependency_ns, idle_no_launch_ns, idle_unexplained_ns))
GROUP BY date, job, cause HAVING sum(ns) > 0 ORDER BY date, job, idle_ns DESC, cause;

-- ranks that the others wait for, from arrivals
WITH last AS (
  SELECT date, job, meeting, max(arrived_ns) AS last_ns, max_by(rank, struct(arrived_ns, -rank)) AS late,
         max_by(is_first, struct(arrived_ns, -rank)) AS late_is_first
  FROM collectives WHERE meeting <> 0 GROUP BY date, job, meeting
), waits AS (
  SELECT date, job, late,
         CAST(percentile_disc(0.5) WITHIN GROUP (ORDER BY least(greatest(last_ns - arrived_ns, 0), end_ns - begin_ns)) AS BIGINT) AS typical_ns
  FROM collectives JOIN last USING (date, job, meeting) WHERE rank <> late AND NOT late_is_first
  GROUP BY date, job, meeting, late
)
SELECT date, job, late AS rank, sum(typical_ns) AS waited_ns, count(*) AS collectives
FROM waits GROUP BY date, job, late ORDER BY waited_ns DESC, date, job, late LIMIT 20;
