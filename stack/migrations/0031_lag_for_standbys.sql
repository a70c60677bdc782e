-- A driver that stands by warms itself once the stream of its version is near the end of the log.
grant select on registry.completeness to kappa_writer;
