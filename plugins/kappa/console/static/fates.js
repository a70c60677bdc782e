// The page Fates: what became of records by minute, and the refused ones with their bytes.

import {ask, bytes, el, every, field, fill, head, moment, refill, section, select, table, whole} from "./page.js";
import {count, Plot, legend, steps} from "./plots.js";

head("fates");
const COLOURS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh"];
const chosen = {job: "ad_ctr", span: "1h"};
const only = {fate: "", reason: ""};
const form = section("");
const lines = section("By the time of the commit, in the version that served then");
const totals = section("Since the version began");
const refused = section("Refused records");
const read = new Plot("records read, and as a line those counted", count);
const odd = new Plot("records that were not counted, by fate", count);
const key = el("div");
odd.host.append(key);
lines.append(el("div", {class: "plots"}, read.host, odd.host));

const spans = [["15m", "15 minutes"], ["1h", "hour"], ["3h", "3 hours"], ["12h", "12 hours"], ["24h", "24 hours"]];
const asking = section("");
ask("page/verbs").then(({jobs}) => form.append(el("form", {onsubmit: (event) => event.preventDefault()},
  field("job", select("job", jobs, chosen.job, (event) => { chosen.job = event.target.value; look(); })),
  field("last", select("span", spans, chosen.span, (event) => { chosen.span = event.target.value; look(); again(); })))));

function draw(told) {
  const others = told.fates.filter((fate) => fate !== "counted");
  const minutes = new Map(told.minutes.map((minute) => [minute.at, minute]));
  const at = minutes.size ? steps(told.minutes[0].at, Math.max(told.minutes.at(-1).at, told.until), told.step * 60) : [];
  read.per(told.step);
  odd.per(told.step);
  const line = (name, colour, filled) => ({name, colour, fill: filled, values: at.map((each) => minutes.get(each)?.[name] ?? 0)});
  read.draw({at, lines: [line("read", "first", true), line("counted", "third")]});
  odd.draw({at, lines: others.map((fate, i) => line(fate, COLOURS[i]))});
  if (!key.childElementCount) fill(key, legend(others.map((fate, i) => [fate, COLOURS[i]])));
  if (!told.totals) { fill(totals, el("p", {}, "No version of this job serves.")); return; }
  const sum = told.totals;
  fill(totals, table(`v${sum.version}, ${sum.state}`, [["fate"], ["records", "n"], ["of all", "n"], ["means that the record"]],
    [...told.fates.map((fate) => [fate, whole(sum[fate]), sum.read ? `${(100 * sum[fate] / sum.read).toFixed(3)}\u00a0%` : "", told.meanings[fate]]), ["read", whole(sum.read), "", ""]]),
    el("p", {class: Number(sum.residual) ? "bad" : "good"}, Number(sum.residual) ? `NOT EQUAL: ${whole(sum.residual)} records without a fate.` : "equal: the fates add up to what was read."));
}

function drawRefused(told) {
  const pick = (fate, reason) => el("button", {type: "button", onclick: () => { Object.assign(only, {fate, reason}); document.activeElement.blur(); again(); }}, "only these");
  const reasons = told.reasons.rows.map((row) => [row.fate, row.reason, whole(row.records), moment(row.newest), pick(row.fate, row.reason)]);
  const records = told.records.map((row) => [moment(row.append_time), `${row.partition}/${row.offset}`, row.fate, row.reason, held(row.key), value(row), el("button", {type: "button", "aria-label": `try record ${row.partition}/${row.offset} again`, onclick: () => again_with(row)}, "try again with ...")]);
  const which = only.reason ? el("p", {}, `Only: ${only.fate}, ${only.reason} `, el("button", {type: "button", onclick: () => { Object.assign(only, {fate: "", reason: ""}); document.activeElement.blur(); again(); }}, "show all")) : null;
  refill(refused, el("p", {class: "quiet"}, "Bytes that are no printable ASCII stand as \\xNN; a download has all that was kept (4 KiB)."),
    table("Why, by number", [["fate"], ["reason"], ["records", "n"], ["newest, UTC"], ["show"]], reasons, `${reasons.length} of ${whole(told.reasons.among)}`), which,
    table("The newest", [["appended, UTC"], ["partition/offset"], ["fate"], ["reason"], ["key", "bytes"], ["value", "bytes"], ["another version"]], records, `${records.length}`));
}

// What a version's code makes of a record is told by that code, in a process of its own, where somebody asks for it: an
// artifact's code never runs in Airflow's server.
async function again_with(row) {
  let versions = [];
  try {
    ({versions} = await ask("data/versions"));
  } catch (problem) {
    return fill(asking, el("p", {class: "bad"}, problem.message));
  }
  const place = `${row.partition}/${row.offset}`;
  const command = el("pre", {tabindex: -1});
  const tell = (name) => { const [job, version] = name.split(" v"); command.textContent = `./kappa explain ${job} --record ${place} --version ${version}`; };
  const names = versions.map((version) => `${version.job} v${version.version}`);
  fill(asking, el("h2", {}, `Try record ${place} again`),
    el("p", {}, `It was refused as ${row.fate}: ${row.reason}. This command asks the code and the settings of a version what they make of it; nothing is written:`),
    field("version", select("version", names, names[0], (event) => tell(event.target.value))), command);
  tell(names[0]);
  asking.querySelector("select").focus();
}

function held(part) {
  return part === null ? "none" : `${part.text}${part.cut ? " ..." : ""}`;
}

function value(row) {
  if (row.value === null) return "none";
  const address = `data/value?${new URLSearchParams({partition: row.partition, offset: row.offset})}`;
  return [held(row.value), " ", el("a", {href: address, download: `record-${row.partition}-${row.offset}.bin`, "aria-label": `download record ${row.partition}/${row.offset}`}, `download (${bytes(row.value_bytes)} in the log)`)];
}

const look = every(5000, () => `data/fates?${new URLSearchParams(chosen)}`, draw);
const again = every(5000, () => `data/quarantine?${new URLSearchParams({span: chosen.span, ...only})}`, drawRefused);
