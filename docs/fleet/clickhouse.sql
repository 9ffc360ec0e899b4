-- Packed jobs in ClickHouse 25 or later: tables with explicit types, loaded from the files that `pellucid fleet pack` wrote, and questions.
-- `fleet` is that folder; on a server it is below user_files, or a URL for s3() in place of file(). docs/fleet.md describes the columns.
-- file() makes columns `date` and `job` of the folders. It reads a job whose name is a number as one, and leaves %20 as it is, so that names
-- of jobs are taken from the path.

-- tables
SET use_hive_partitioning = 1;
CREATE TABLE meta (
  date Date, job String, rank Int64, world Nullable(Int64), host LowCardinality(Nullable(String)),
  commit LowCardinality(Nullable(String)), device LowCardinality(Nullable(String)), base_ns Int64, events Int64, device_ns Int64,
  busy_ns Int64, exposed_ns Int64, idle_dispatch_ns Nullable(Int64), idle_sync_ns Nullable(Int64), idle_input_ns Nullable(Int64)
) ENGINE = MergeTree PARTITION BY date ORDER BY (job, rank) TTL date + INTERVAL 400 DAY;
CREATE TABLE meetings (
  date Date, job String, meeting Int64, process_group LowCardinality(Nullable(String)), collective LowCardinality(String), step String,
  ranks Int64, late Int64, late_host LowCardinality(Nullable(String)), arrived_ns Int64, typical_ns Int64, alone_ns Int64, all_ns Int64,
  cause LowCardinality(Nullable(String)), is_first Bool
) ENGINE = MergeTree PARTITION BY date ORDER BY (job, meeting) TTL date + INTERVAL 400 DAY;
CREATE TABLE facts (
  date Date, job String, rank Int64, step String, op_id Nullable(Int64), name_id Int64, category LowCardinality(String),
  activities Int64, device_ns Int64, longest_ns Int64, exposed_ns Int64, launch_ns Int64
) ENGINE = MergeTree PARTITION BY date ORDER BY (job, name_id, rank) TTL date + INTERVAL 400 DAY;
CREATE TABLE names (name_id Int64, name String, family LowCardinality(Nullable(String)), title Nullable(String))
ENGINE = ReplacingMergeTree ORDER BY name_id;

-- load
INSERT INTO meta SELECT date, decodeURLComponent(extract(_path, '/job=([^/]*)/')) AS job, rank, world, host, commit, device, base_ns, events, device_ns, busy_ns, exposed_ns,
  idle_dispatch_ns, idle_sync_ns, idle_input_ns
FROM file('fleet/*/*/meta.parquet', Parquet);
INSERT INTO meetings SELECT date, decodeURLComponent(extract(_path, '/job=([^/]*)/')) AS job, meeting, process_group, collective, coalesce(step, ''), ranks, late, late_host, arrived_ns,
  typical_ns, alone_ns, all_ns, cause, is_first
FROM file('fleet/*/*/meetings.parquet', Parquet);
INSERT INTO facts SELECT date, decodeURLComponent(extract(_path, '/job=([^/]*)/')) AS job, rank, coalesce(step, ''), op_id, name_id, category, activities, device_ns, longest_ns, exposed_ns,
  launch_ns
FROM file('fleet/*/*/facts.parquet', Parquet);
INSERT INTO names SELECT name_id, name, family, title FROM file('fleet/*/*/names.parquet', Parquet);

-- ranks that the others wait for
SELECT date, job, late AS rank, any(late_host) AS host, sum(typical_ns) AS waited_ns, sum(alone_ns) AS alone_ns, sum(all_ns) AS rank_ns,
       count() AS collectives
FROM meetings WHERE NOT is_first GROUP BY date, job, late ORDER BY waited_ns DESC, date, job, late LIMIT 20;

-- slow hosts
SELECT late_host AS host, sum(typical_ns) AS waited_ns, uniqExact(date, job) AS jobs, count() AS collectives
FROM meetings WHERE NOT is_first GROUP BY late_host ORDER BY waited_ns DESC, host LIMIT 20;

-- kernels by time
SELECT name, family, sum(activities) AS activities, sum(device_ns) AS device_ns, uniqExact(date, job) AS jobs
FROM facts JOIN (SELECT name_id, any(name) AS name, any(family) AS family FROM names GROUP BY name_id) AS n USING (name_id)
WHERE category = 'kernel' GROUP BY name, family ORDER BY device_ns DESC, name LIMIT 20;

-- kernels of a step, by commit
SELECT job, commit, min(date) AS date, quantileExactLow(0.5)(kernels) AS kernels, count() AS steps
FROM (
  SELECT commit, job, date, rank, step, sum(activities) AS kernels FROM facts JOIN meta USING (date, job, rank)
  WHERE step NOT IN ('', 'outside') AND category = 'kernel' GROUP BY commit, job, date, rank, step
)
GROUP BY job, commit ORDER BY job, date, commit;

-- exposed communication
SELECT date, job, sum(exposed_ns) AS exposed_ns FROM meta GROUP BY date, job ORDER BY date, job;
