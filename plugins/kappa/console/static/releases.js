// The page Releases: which version serves what, what was released, and who did what and why.

import {begin, offer} from "./comparison.js";
import {airflow, ask, el, every, field, head, moment, refill, section, select, table} from "./page.js";
import {timeline} from "./timeline.js";

head("releases");
const chosen = {job: ""};
const form = section("");
const drawLanes = timeline(section("Time line"));
const serving = section("What serves");
const released = section("Releases, the newest first");
const versions = section("Versions, the newest first");
begin();
const audit = section("Who did what, the newest first");

let windowed = [], latest = null;
ask("page/verbs").then((told) => { windowed = told.windowed; if (latest) offer(latest.versions, windowed); form.append(el("form", {onsubmit: (event) => event.preventDefault()},
  field("job", select("job", [["", "all"], ...told.jobs], "", (event) => { chosen.job = event.target.value; look(); })))); });

const edge = (window) => window === "-infinity" ? "the beginning" : window === "infinity" ? "open" : moment(window);
const segment = (held) => `${held.job} v${held.version}: ${edge(held.from_window)} to ${edge(held.to_window)}`;

// Evidence as it is written down, one click away.
function evidence(held) {
  if (!held || !Object.keys(held).length) return "";
  return el("details", {}, el("summary", {}, "evidence"), el("pre", {}, JSON.stringify(held, null, 1)));
}

function draw(told) {
  latest = told;
  if (windowed.length) offer(told.versions, windowed);
  drawLanes(told, chosen.job);
  const of = (rows) => rows.filter((row) => !chosen.job || row.job === chosen.job);
  const made = of(told.versions), releases = told.releases.filter((row) => !chosen.job || row.jobs.includes(chosen.job));
  refill(serving, table("Segments", [["job"], ["version"], ["from window"], ["to window"]],
    of(told.segments).map((row) => [row.job, `v${row.version}`, edge(row.from_window), edge(row.to_window)])));
  refill(released, table("Releases", [["release"], ["is a"], ["when, UTC"], ["jobs"], ["by"], ["approved by"], ["before"], ["after"], ["evidence"]],
    releases.map((row) => [row.release_id, row.kind, moment(row.promoted_at), row.jobs.join(", "), row.promoted_by, row.approved_by ?? "",
      lines(row.segments_before), lines(row.segments_after), evidence(row.evidence)]), `${releases.length}`));
  refill(versions, table("Versions", [["version"], ["state"], ["wanted"], ["made, UTC"], ["starts, UTC"], ["artifact"], ["result digest"], ["pinned"]],
    made.map((row) => [`${row.job} v${row.version}`, row.state, row.desired, moment(row.created_at), row.starts_at ? moment(row.starts_at) : "with the log",
      row.artifact, String(row.result_digest).slice(0, 12), row.pinned_by ? `by ${row.pinned_by}: ${row.pin_reason ?? ""}` : ""]), `${made.length}`));
  refill(audit, table("Audit", [["when, UTC"], ["who"], ["did"], ["to"], ["why"], ["run"], ["evidence"]],
    told.audit.map((row) => [moment(row.at), row.actor, row.action, row.job ? `${row.job}${row.version ? ` v${row.version}` : ""}` : "", row.reason ?? "", row.run_id ?? "", evidence(row.evidence)]), `${told.audit.length}`),
    el("p", {class: "quiet"}, "All of it: ./kappa audit, or in Airflow ", airflow("dag_runs", "the runs"), "."));
}

function lines(segments) {
  return (segments ?? []).map((held) => el("div", {}, segment(held)));
}

const look = every(5000, () => `data/releases?${new URLSearchParams(chosen)}`, draw);
