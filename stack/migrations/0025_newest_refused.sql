-- The refused records of the last minutes are found without reading those of ninety days: rows come nearly in the order
-- of append_time, so a range of blocks tells from when to when its rows are.

create index quarantine_append_time on data.quarantine using brin (append_time) with (autosummarize = on);
