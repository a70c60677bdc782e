// Two versions of a job compared, window by window, at the press of a button or by a link that names them: a part of
// the page Releases.

import {ask, el, field, fill, moment, money, section, select, table, whole} from "./page.js";

const SPANS = [["15m", "15 minutes"], ["1h", "hour"], ["3h", "3 hours"], ["12h", "12 hours"], ["24h", "24 hours"]];
const asked = new URLSearchParams(location.search);
const chosen = {job: asked.get("job") ?? "", left: asked.get("left") ?? "", right: asked.get("right") ?? "", span: "1h"};
const form = el("div"), result = el("div", {"aria-live": "polite"});
let shown = "", linked = asked.has("left") && asked.has("right");

// Puts its section where the page has come to.
export function begin() {
  section("Two versions compared").append(form, result);
}

// The versions of the jobs whose rows are windows, the newest first; drawn anew only when there are others.
export function offer(versions, jobs) {
  const told = JSON.stringify([versions.map((row) => [row.job, row.version, row.state]), jobs]);
  if (told === shown || form.contains(document.activeElement)) return;
  shown = told;
  const missing = linked ? absent(versions, jobs) : "";
  if (!jobs.includes(chosen.job)) chosen.job = jobs.find((job) => of(versions, job).length > 1) ?? jobs[0];
  draw(versions, jobs);
  if (!linked) return;
  linked = false;
  if (missing) fill(result, el("p", {class: "bad"}, missing));
  (missing ? Promise.resolve() : compare(null)).then(() => form.scrollIntoView());  // by then what is above it is drawn
}

// Why what a link names cannot be compared, where it cannot: nothing else is compared in its place.
function absent(versions, jobs) {
  if (!jobs.includes(chosen.job)) return `${chosen.job} has no windows that could be compared; what a replay of it was held against is in that replay's report.`;
  const known = of(versions, chosen.job).map(([number]) => number);
  const gone = [chosen.left, chosen.right].filter((number) => !known.includes(number));
  return gone.length ? `${chosen.job} v${gone.join(" and v")} cannot be compared: there is no such version.` : "";
}

const of = (versions, job) => versions.filter((row) => row.job === job).map((row) => [String(row.version), `v${row.version}, ${row.state}`]);

function draw(versions, jobs) {
  const known = of(versions, chosen.job), numbers = known.map(([number]) => number);
  if (!numbers.includes(chosen.left)) chosen.left = numbers[1] ?? numbers[0] ?? "";
  if (!numbers.includes(chosen.right)) chosen.right = numbers[0] ?? "";
  const pick = (name) => (event) => { chosen[name] = event.target.value; };
  const changed = (event) => { Object.assign(chosen, {job: event.target.value, left: "", right: ""}); draw(versions, jobs); };
  if (known.length < 2) return fill(form, choice(jobs, changed), el("p", {class: "quiet"}, "There are no two versions of this job."));
  fill(form, choice(jobs, changed, field("version", select("left", known, chosen.left, pick("left"))),
    field("against", select("right", known, chosen.right, pick("right"))), field("last", select("span", SPANS, chosen.span, pick("span"))),
    el("button", {type: "submit"}, "Compare")));
}

function choice(jobs, changed, ...others) {
  return el("form", {"aria-label": "Compare two versions", onsubmit(event) { event.preventDefault(); compare(null); }},
    field("job", select("compared", jobs, chosen.job, changed)), others);
}

async function compare(until) {
  const wanted = {...chosen, ...(until === null ? {} : {until})};
  fill(result, el("p", {class: "quiet"}, "comparing ..."));
  try {
    explain(await ask(`data/comparison?${new URLSearchParams(wanted)}`));
  } catch (problem) {
    fill(result, el("p", {class: "bad"}, problem.message));
  }
}

function explain(told) {
  const names = [told.left, told.right].map((side) => `v${side.version}`), {totals, windows} = told;
  if (!told.from) return fill(result, el("p", {}, "No window is final in both: nothing to compare yet."));
  const differ = totals.differing + totals.only_left + totals.only_right;
  const earlier = el("button", {type: "button", onclick: () => compare(Math.floor(Date.parse(told.from) / 1000))}, "Earlier windows");
  fill(result, el("p", {class: differ ? "bad" : "good"}, `${differ ? "NOT EQUAL" : "equal"}, ${told.job} ${names.join(" against ")}: of ${whole(windows.compared)} windows from ${moment(told.from)} to ${moment(told.to)} UTC that are final in both, ${whole(totals.equal)} rows are equal, ${whole(totals.differing)} differ, ${whole(totals.only_left)} are only in ${names[0]}, ${whole(totals.only_right)} only in ${names[1]}.`),
    earlier, differ ? [
      table("Windows that differ", [["window, UTC"], ["equal", "n"], ["differing", "n"], [`only ${names[0]}`, "n"], [`only ${names[1]}`, "n"]],
        windows.rows.map((row) => [moment(row.at), whole(row.equal), whole(row.differing), whole(row.only_left), whole(row.only_right)]), `${windows.rows.length} of ${whole(windows.differing)}`),
      table("Rows that differ", [["window, UTC"], ...told.keys.map((key) => [key]), ["is in"], ["measure"], [names[0], "n"], [names[1], "n"], ["difference", "n"]],
        told.rows.flatMap((row) => lines(row, told.keys, names)), `${told.rows.length} of ${whole(differ)}`)] : null);
}

function lines(row, keys, names) {
  const where = row.only ? `only ${row.only === "left" ? names[0] : names[1]}` : "both";
  const amount = (measure, value) => measure.endsWith("_micros") ? money(value) : whole(value);
  const measures = row.differences.length ? row.differences : [{measure: "", left: null, right: null, difference: null}];
  return measures.map(({measure, left, right, difference}, i) => [i ? "" : moment(row.window_start), ...keys.map((key) => i ? "" : row[key]), i ? "" : where,
    measure.replace("_micros", " spend").replaceAll("_", " "), amount(measure, left), amount(measure, right), amount(measure, difference)]);
}
