// The time line of the page Releases: from when to when each version was there, when it served, what was done to it.

import {el, field, fill, moment, select, table} from "./page.js";

const SPANS = [["", "all of it"], ["604800", "the last 7 days"], ["86400", "the last 24 hours"], ["3600", "the last hour"]];
const HEIGHT = 28;
const SIGNS = {deployment: "\u25b2", promotion: "\u25b2", "roll-back": "\u25bc"};

function drawn(kind, attributes, title = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (!title) return made;
  const told = drawn("title", {});
  told.textContent = title;
  made.append(told);
  return made;
}

function picture(label, parts) {
  const svg = drawn("svg", {class: "lane", width: "100%", height: HEIGHT, role: "img", "aria-label": label});
  svg.append(...parts);
  return svg;
}

const time = (text) => Date.parse(text) / 1000;
const until = (text) => text ? moment(text) : "now";
const name = ({job, version}) => `${job} v${version}`;

// Where a time lies between two others, in hundredths of the width.
const scale = (from, to) => (at) => 100 * (Math.min(Math.max(at, from), to) - from) / (to - from);

function bar(place, from, to, shape, title) {
  return drawn("rect", {x: `${place(from)}%`, width: `${Math.max(place(to) - place(from), 0.2)}%`, ...shape}, title);
}

function sign(place, at, text, kind, title) {
  const made = drawn("text", {x: `${place(at)}%`, y: 16, "text-anchor": place(at) > 98 ? "end" : "middle", class: kind}, title);
  made.append(text);
  return made;
}

const served = (lane) => lane.served.map(({since, until: end}) => `${moment(since)} to ${until(end)}`).join("; ");
const edges = ({from, to}) => `${from ? moment(from) : "the beginning"} to ${to ? moment(to) : "open"}`;
const replayed = ({is, since, until: end, by, outcome}) => `${is} of ${by}, ${moment(since)} to ${until(end)}: ${outcome}`;
const changed = ({verb, since, until: end, undone}) => `${verb}, ${moment(since)} to ${until(end)}: ${undone ? "undone, it runs as before" : end ? "done" : "under way"}`;
const told = (lane) => [`was there from ${moment(lane.made)} to ${until(lane.ended)}`, lane.served.length ? `served ${served(lane)}` : "never served",
  ...lane.windows.map((held) => `answers for windows ${edges(held)}`), ...lane.replays.map(replayed), ...lane.changes.filter((held) => !held.until || held.undone).map(changed)].join("; ");
// Whether a release let a version serve the newest windows.
const chose = (release, {job, version}) => release.jobs.includes(job)
  && release.segments_after.some((held) => held.job === job && held.version === version && held.to_window === "infinity");

function row(lane, history, from, to) {
  const place = scale(from, to), within = (text) => time(text) >= from;
  const life = bar(place, time(lane.made), lane.ended ? time(lane.ended) : to, {y: 9, height: 4, class: "there"}, `${name(lane)} was there`);
  const serving = lane.served.filter(({until: end}) => !end || within(end)).map(({since, until: end}) =>
    bar(place, time(since), end ? time(end) : to, {y: 4, height: 14, class: "served"}, `${name(lane)} served ${moment(since)} to ${until(end)}`));
  const changes = history.audit.filter((entry) => entry.job === lane.job && entry.version === lane.version && entry.action.endsWith(".done") && within(entry.at))
    .map((entry) => sign(place, time(entry.at), "\u25cf", "sign", `${moment(entry.at)} ${entry.action} by ${entry.actor}${entry.reason ? `: ${entry.reason}` : ""}`));
  const moves = history.releases.filter((release) => chose(release, lane) && within(release.promoted_at))
    .map((release) => sign(place, time(release.promoted_at), SIGNS[release.kind], "sign", `${moment(release.promoted_at)} ${release.kind}, release ${release.release_id}, by ${release.promoted_by}`));
  const shown = ({until: end}) => !end || within(end);
  const replays = lane.replays.filter(shown).map((held) => bar(place, time(held.since), held.until ? time(held.until) : to, {y: 7, height: 8, class: "replayed"}, `${name(lane)}, ${replayed(held)}`));
  // A change that was done has its sign from the audit, with who did it.
  const undone = lane.changes.filter((held) => shown(held) && (held.undone || !held.until))
    .map((held) => sign(place, held.until ? time(held.until) : to, held.undone ? "\u2715" : "\u25cb", held.undone ? "sign failed" : "sign", changed(held)));
  const windows = lane.windows.filter((held) => !held.to || within(held.to))
    .map((held) => bar(place, held.from ? time(held.from) : from, held.to ? time(held.to) : to, {y: 23, height: 3, class: "windows"}, `${name(lane)} answers for windows ${edges(held)}`));
  return [name(lane), lane.state, picture(told(lane), [life, ...replays, ...serving, ...windows, ...changes, ...undone, ...moves])];
}

// A host and what draws it anew.
export function timeline(host) {
  let span = "", latest = null, chosen = "";
  const lanes = el("div");
  const keys = [["there", "it was there"], ["replayed", "a replay or a proof computed it"], ["served", "it served the newest windows"], ["windows", "windows that it answers for now, by their own time"]];
  const legend = el("ul", {class: "legend"}, keys.map(([kind, text]) => el("li", {}, el("span", {class: `swatch ${kind}`}), text)),
    ["\u25b2 a first deployment or a promotion", "\u25bc a roll-back", "\u25cf what a person or a run did", "\u2715 a change that failed and was undone", "\u25cb one under way"].map((text) => el("li", {}, text)),
    el("li", {class: "quiet"}, "Each tells more under the pointer; the tables below have all of it."));
  host.append(el("form", {onsubmit: (event) => event.preventDefault()}, field("time line of", select("span", SPANS, "", (event) => { span = event.target.value; show(); }))), lanes, legend);

  function show() {
    if (!latest || lanes.contains(document.activeElement)) return;
    const to = time(latest.at), shown = latest.lanes.filter((lane) => !chosen || lane.job === chosen);
    const first = Math.min(to - 60, ...shown.map((lane) => time(lane.made))), from = span ? Math.max(first, to - Number(span)) : first;
    const kept = shown.filter((lane) => !lane.ended || time(lane.ended) >= from);
    const axis = el("div", {class: "axis"}, [0, 0.5, 1].map((part) => el("span", {}, part === 1 ? "now" : moment(new Date(1000 * (from + part * (to - from))).toISOString()))));
    fill(lanes, table("Time line, UTC", [["version", "name"], ["state"], [axis, "line"]], kept.map((lane) => row(lane, latest, from, to))));
  }
  return (told, job) => { latest = told; chosen = job; show(); };
}
