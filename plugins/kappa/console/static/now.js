// The page Now: red lines, each version with its figures, and the last hours as lines.

import {airflow, ask, bytes, el, every, fill, head, remind, seconds, section, utc, verbs, whole} from "./page.js";
import {drawGlance} from "./glance.js";
import {count, gaps, Plot, shares} from "./plots.js";

head("now");
const red = section("");
const glance = section("");
const cluster = section("Capacity of the cluster");
const jobs = section("");
const actions = section("");
const cards = new Map();
const UNSEEN_SECONDS = 60;
const alerts = new Map(), nothingRed = el("p", {class: "good", hidden: true}, "No stream is red.");
let lines = {}, advised = {}, redNow = [], jobsTold = null;
const parts = el("div", {});
red.append(parts, nothingRed);

function fact(title, value, small = "") {
  return el("div", {}, el("dt", {}, title), el("dd", {}, value, small ? el("small", {}, small) : null));
}

const since = (line) => line.since ? `since ${utc(line.since)}` : "since a time that is not known";

// Lines of one cause, which mean the same for readers: what is wrong with each version, then what to do, once. What is
// wrong has counts that change with each batch: those words change where they stand, and are not read aloud again.
function alert(same) {
  const [{line, readers, runbook, next}] = same, words = same.map(() => el("span", {"aria-live": "off"}));
  const host = el("div", {class: "red", role: "alert"}, el("b", {}, "red: "),
    same.length === 1 ? words : [`${line}, ${same.length} versions`, el("ul", {}, words.map((each) => el("li", {}, each)))], " ",
    el("span", {class: "quiet"}, `For readers: ${readers} What to do: ${runbook}; first `, el("code", {}, next)));
  return {host, told: [], words};
}

function tell(held, same) {
  same.forEach((each, i) => {
    const told = JSON.stringify([each.what, each.since]);
    if (held.told[i] === told) return;
    held.told[i] = told;
    fill(held.words[i], each.what, " ", el("span", {class: "quiet"}, `${since(each)}.`));
  });
}

// An alert that is put in again is read aloud again, so each stays for as long as its versions are red for its cause.
function drawRed(lines) {
  const wanted = byCause(lines);
  for (const [key, held] of alerts) {
    if (wanted.has(key)) continue;
    held.host.remove();
    alerts.delete(key);
  }
  for (const [key, same] of wanted) {
    const held = alerts.get(key) ?? alert(same);
    tell(held, same);
    if (!alerts.has(key)) red.append(held.host);
    alerts.set(key, held);
  }
  nothingRed.hidden = wanted.size > 0;
}

// The lines of each cause, by the cause and the versions that it is told of.
function byCause(lines) {
  const causes = new Map();
  for (const line of lines) {
    const key = JSON.stringify([line.line, line.readers, line.runbook]);
    causes.set(key, [...causes.get(key) ?? [], line]);
  }
  return new Map([...causes].map(([key, same]) => [key + JSON.stringify(same.map((line) => line.of)), same]));
}

function capacity(version) {
  const each = `${version.executor_cores} core${version.executor_cores === 1 ? "" : "s"}`;
  const cores = version.executors ? `${version.executors} executors of ${each}` : `${each} in the driver`;
  return version.state_partitions ? `${cores}, ${version.state_partitions} state partitions` : cores;
}

// What the newest batch's time is made of, as far as the driver's code tells it: Spark's action reads and computes in one.
function madeOf({batch_ms, action_ms}) {
  if (action_ms === null || action_ms > batch_ms) return "";
  const rest = batch_ms - action_ms, action = `${seconds(action_ms / 1000)} to read and compute`, commit = `${seconds(rest / 1000)} to commit`;
  const key = (colour) => el("span", {class: `swatch ${colour}`, "aria-hidden": "true"});
  return [shares(`${action}, ${commit}`, [[action_ms, "first"], [rest, "second"]]), key("first"), `${action}, `, key("second"), `${commit}; `];
}

function facts(version) {
  const {latency} = version, of = `of ${whole(latency.records)} records in ${seconds(latency.seconds)}`;
  const beats = version.beat_seconds === null ? "no driver has reported" : `heartbeat ${seconds(version.beat_seconds)} ago`;
  const held = version.held_verb ? `held by a ${version.held_verb} of ${version.held_by}` : "no run changes it now";
  return el("dl", {class: "facts"},
    fact("state", version.state, `wanted ${version.desired}; ${beats}`),
    fact("unread", `${whole(version.lag_events)} records`, `the oldest waits ${seconds(version.lag_seconds)}`),
    fact("append to visible", latency.p50 === null ? "not seen yet" : `${seconds(latency.p50)} / ${seconds(latency.p99)}`, latency.p50 === null ? "told while this page is open" : `p50 / p99, ${of}`),
    fact("reads", `${(version.minute_read / 60).toFixed(1)} records/s`, `in the last minute; ${whole(version.minute_rows)} rows changed`),
    fact("batch", version.batch_ms === null ? "none yet" : seconds(version.batch_ms / 1000), [madeOf(version), `${whole(version.minute_batches)} ${version.minute_batches === 1 ? "batch" : "batches"} in the last minute; cadence ${seconds(version.cadence_ms / 1000)}; ${version.commit_seconds === null ? "nothing committed yet" : `last commit ${seconds(version.commit_seconds)} ago`}`]),
    fact("state, for later records", version.state_rows === null ? "no state" : `${whole(version.state_rows)} rows`, version.state_rows === null ? "" : `${bytes(version.state_bytes)} of memory`),
    fact("final up to", utc(version.complete_through), `no record can change a window that ended before it; ${version.watermark_at ? `its state is kept back to ${utc(version.watermark_at)}` : "no watermark"}`),
    fact("runs on", capacity(version), `artifact ${version.artifact}; ${held}`));
}

function card(version, name) {
  let held = cards.get(name);
  if (!held) {
    const read = new Plot("records/s, by minute", count);
    const lag = new Plot("unread records, as seen here", count);
    const wait = new Plot("wait of the oldest unread record, as seen here", seconds);
    const pace = new Plot("seconds between batches, by minute", (value) => `${value.toFixed(1)} s`);
    const visible = new Plot("append to visible, while a page was open", seconds);
    const state = new Plot("rows of state, while a page was open", count);
    const batch = new Plot("seconds of the newest batch, while a page was open", seconds);
    const facts = el("div"), advice = el("p", {class: "quiet"});
    const plots = el("div", {class: "plots"}, read.host, pace.host, batch.host, visible.host, state.host, lag.host, wait.host);
    const host = el("section", {class: "job"}, el("h2", {}, name), facts, advice, plots);
    held = {host, facts, advice, plots, read, lag, wait, pace, visible, state, batch};
    fill(advice, advised[name] ? said(advised[name]) : null);
    cards.set(name, held);
  }
  held.host.firstChild.replaceChildren(name, el("span", {class: "quiet"}, version.serves ? " serves" : " does not serve"));
  fill(held.facts, facts(version));
  held.plots.hidden = !version.serves && version.beat_seconds === null;
  held.host.classList.toggle("is-red", redNow.some((line) => line.of === name));
  return held.host;
}

// Airflow's form keeps the fields that the JSON names: these are to be filled in, too.
const BESIDE = {reason: "as advised", dry_run: false};

// The clipboard is there on loopback and over TLS.
function copying(values) {
  if (!navigator.clipboard) return null;
  return el("button", {type: "button", title: "for Configuration JSON, below the form's Advanced Options", async onclick({target}) {
    await navigator.clipboard.writeText(JSON.stringify(values));
    target.textContent = "Copied";
  }}, "Copy its values");
}

// What is advised, and a way to the form; Airflow has no address that fills a form in, so its values are told.
function said({size, sentence, form, command}) {
  if (size === "none") return sentence;
  const dag = size === "larger_batches" ? "deploy_stream" : "rescale_stream";
  const fields = Object.entries(form).map(([name, value]) => `${name} ${value}`);
  return [el("b", {}, "advice: "), sentence, ". ", airflow(`dags/${dag}`, `Form of ${dag}`, {class: "button"}),
    ` with ${fields.join(", ")} `, copying({...form, ...BESIDE}), " or ", el("code", {}, command)];
}

function drawAdvice(found) {
  advised = Object.fromEntries(found.advice.map((each) => [`${each.job} v${each.version}`, each]));
  for (const [name, held] of cards) fill(held.advice, advised[name] ? said(advised[name]) : null);
}

function draw(found) {
  remind(found);
  redNow = found.red;
  drawRed(found.red);
  const names = found.versions.map((version) => `${version.job} v${version.version}`);
  drawGlance(glance, found.versions, names);
  const shown = found.versions.map((version, at) => card(version, names[at]));
  if (names.join() !== jobsTold) {
    jobsTold = names.join();
    fill(jobs, shown.length ? shown : el("p", {}, "Nothing is deployed yet: ", airflow("dags/deploy_stream", "deploy_stream"), " does it, or ./kappa deploy."));
    for (const name of cards.keys()) if (!names.includes(name)) cards.delete(name);
    drawLines();
  }
}

function drawLines() {
  for (const [name, held] of cards) {
    const line = lines[name];
    if (!line) continue;
    held.read.draw({at: line.minute, lines: [{name: "records/s", colour: "first", fill: true, values: line.read.map((n) => n / 60)}]});
    held.pace.draw({at: line.minute, lines: [{name: "seconds", colour: "second", values: line.batches.map((n) => n ? 60 / n : null)}]});
    for (const [plot, name, colour, seen] of [[held.lag, "unread", "fourth", line.lag.events], [held.wait, "wait", "fifth", line.lag.seconds]]) {
      const {at, values} = gaps(line.lag.at, seen, UNSEEN_SECONDS);
      plot.draw({at, lines: [{name, colour, fill: true, values}]});
    }
    if (line.seen) drawSeen(held, line.seen);
  }
}

// What the registry does not keep: it is known of the times at which somebody looked, and of no other.
function drawSeen(held, seen) {
  const of = (name, by = 1) => gaps(seen.at, seen[name].map((value) => value === null ? null : value / by), UNSEEN_SECONDS);
  const drawn = (plot, lines) => plot.draw({at: lines[0][2].at, lines: lines.map(([name, colour, {values}, fill]) => ({name, colour, fill, values}))});
  drawn(held.visible, [["p50", "third", of("p50")], ["p99", "fifth", of("p99")]]);
  drawn(held.state, [["rows", "sixth", of("state_rows"), true]]);
  drawn(held.batch, [["all of it", "second", of("batch_ms", 1000), true], ["read and compute", "first", of("action_ms", 1000), true]]);
}

every(1000, () => "data/now", draw);
every(10000, () => "data/advice", drawAdvice);
every(10000, () => "data/hours", (found) => { lines = found.versions; drawLines(); });

// Spark's master may be away while all that the registry tells is there.
async function lookAtCluster() {
  if (document.hidden) return;
  try {
    const {hosts, cores, free_cores, memory_mb, free_memory_mb} = await ask("data/capacity");
    const free = (all, left, unit) => [`${whole(all - left)} of ${whole(all)}${unit}`, `${whole(left)}${unit} free`];
    fill(cluster, el("dl", {class: "facts"}, fact("live hosts", whole(hosts), "as Spark's master knows them"),
      fact("cores held", ...free(cores, free_cores, "")), fact("memory held", ...free(memory_mb, free_memory_mb, " MB"))));
  } catch (problem) {
    fill(cluster, el("p", {class: "quiet"}, `Not known now. ${problem.message}`));
  }
}
setInterval(lookAtCluster, 10000);
lookAtCluster();

// What only the monitor knows: parts, the disk, clocks, a backlog. It is put in again, and so read aloud, if it is new.
let partsTold = null;
async function lookAtParts() {
  if (document.hidden) return;
  try {
    const {silent, findings} = await ask("data/findings");
    if (silent) throw new Error(silent);
    const told = JSON.stringify(findings.map(({title, subject}) => [title, subject]));
    if (told !== partsTold) fill(parts, findings.map(finding));
    partsTold = told;
  } catch (problem) {
    partsTold = null;
    fill(parts, el("p", {class: "quiet"}, `Of parts, disk, clocks and backlogs nothing is known now: ${problem.message}`));
  }
}

function finding({title, subject, since, detail, readers, runbook, next}) {
  return el("div", {class: "red", role: "alert"}, el("b", {}, `red: ${subject ? `${title}: ${subject}` : title}. `), `${detail} `,
    el("span", {class: "quiet"}, `Since ${utc(since)}. For readers: ${readers} Next: ${next}; docs/runbook.md, the entry "${runbook}".`));
}
setInterval(lookAtParts, 5000);
lookAtParts();
verbs(actions);
