-- When a repair found the log away, and back: looked up for every version at every repair.
create index audit_log_away on registry.audit (job, version, at) where action in ('repair.log_away', 'repair.log_back');
