// All versions on one screen, a row each, above their cards. A cell's words change where it stands.

import {fill, seconds, table, whole} from "./page.js";

const COLUMNS = [["version"], ["readers"], ["state"], ["unread", "n"], ["oldest waits", "n"], ["append to visible, p50 / p99", "n"], ["records/s", "n"], ["committed", "n"]];
const SILENT_SECONDS = 30;
let drawn = null;

// Whether a driver is at work; its state says only what place the version has among the others.
function runs({beat_seconds, desired}) {
  if (beat_seconds !== null && beat_seconds < SILENT_SECONDS) return "runs";
  return desired === "stopped" ? "stopped" : "no driver is heard";
}

function cells(name, version) {
  const {p50, p99} = version.latency;
  return [name, version.serves ? "serves" : "does not serve", `${version.state}, ${runs(version)}`, whole(version.lag_events), seconds(version.lag_seconds),
    p50 === null ? "not seen yet" : `${seconds(p50)} / ${seconds(p99)}`, (version.minute_read / 60).toFixed(1), version.commit_seconds === null ? "never" : `${seconds(version.commit_seconds)} ago`];
}

export function drawGlance(host, versions, names) {
  const rows = versions.map((version, at) => cells(names[at], version));
  if (names.join() !== drawn) {
    fill(host, rows.length ? table("At a glance", COLUMNS, rows) : null);
    drawn = names.join();
    return;
  }
  host.querySelectorAll("tbody tr").forEach((line, at) => [...line.cells].forEach((cell, i) => {
    if (cell.textContent !== rows[at][i]) cell.textContent = rows[at][i];
  }));
}
