-- A view keeps the columns that its table had when it was made; whoever answers a replay sees when it was validated.
create or replace view ops.replays as select * from registry.replay;
