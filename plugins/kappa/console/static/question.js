// The questions that wait on the page Replays: what the validation found, and the answer. It is given to Airflow's own
// API, as who is signed in there: Airflow decides who may, the run notes it, and nothing of ours is written.

import {airflow, ask, el, fill, moment, table, utc, whole} from "./page.js";

const ANSWERS = {Approve: "approved", Reject: "rejected"};
const SILENT_SECONDS = 20;
const base = () => new URL("../../api/v2/", document.baseURI.split("?")[0]);
const asked = new Map();

// What Airflow's API says to who is signed in; throws in words.
async function api(method, path, body) {
  let answer;
  try {
    answer = await fetch(new URL(path, base()), {method, credentials: "same-origin", signal: AbortSignal.timeout(1000 * SILENT_SECONDS),
      headers: {accept: "application/json", "content-type": "application/json"}, body: body && JSON.stringify(body)});
  } catch (problem) {
    throw new Error(problem.name === "TimeoutError" ? `Airflow has not answered for ${SILENT_SECONDS} s; whether it took the answer is seen below.` : "Airflow cannot be reached; it was not answered.");
  }
  if (answer.ok) return answer.json();
  let told = "";
  try { told = (await answer.json()).detail; } catch { /* an answer without a sentence */ }
  const detail = typeof told === "string" ? told : JSON.stringify(told);
  const words = {401: "Nobody is signed in any more: sign in to Airflow again.", 403: "You may not answer here: Airflow's role of yours, or this question, does not allow it.",
    404: "Airflow knows no such run or question.", 409: "Somebody else has answered already."}[answer.status] ?? "Airflow refused the answer.";
  throw new Error(`${words} (${answer.status}${detail ? `: ${detail}` : ""})`);
}

// Give the answer to the run's open question; returns as whom Airflow took it.
async function give({dag_id, run_id}, option) {
  const run = `dags/${encodeURIComponent(dag_id)}/dagRuns/${encodeURIComponent(run_id)}`;
  const held = (await api("GET", `${run}/hitlDetails`)).hitl_details.find((each) => !each.response_received);
  if (!held) throw new Error("Airflow has no open question of this run: it is not asked yet, or was answered already.");
  const {task_id, map_index} = held.task_instance;
  const taken = await api("PATCH", `${run}/taskInstances/${encodeURIComponent(task_id)}/${map_index}/hitlDetails`, {chosen_options: [option], params_input: {}});
  return taken.responded_by.name;
}

const names = (held, live) => held.candidates.map((each) => `${each.job} v${live ? each.live : each.version}`).join(", ");

// The buttons, and whether it was meant: an answer cannot be taken back. What came of it is said beside them.
function answering(held, said) {
  const host = el("div", {class: "answer", role: "group", "aria-label": `Answer for ${names(held)}`});
  let taken = false;
  const button = (text, onclick, name = text) => el("button", {type: "button", onclick, "aria-label": name}, text);
  const offer = () => fill(host, ...Object.keys(ANSWERS).map((option) => button(option, () => sure(option), `${option} ${names(held)}`)));
  function sure(option) {
    const does = option === "Approve" ? `${names(held)} will serve instead of ${names(held, true)}.` : `${names(held, true)} will serve on, and this replay ends.`;
    const yes = button(`Yes, ${option.toLowerCase()}`, () => send(option));
    fill(host, el("span", {}, `${does} `), yes, button("Not now", () => { offer(); host.querySelector("button").focus(); }));
    yes.focus();
  }
  async function send(option) {
    for (const each of host.querySelectorAll("button")) each.disabled = true;
    say(said, `Asking Airflow to take: ${option} ...`);
    try {
      say(said, `Airflow took "${option}" from ${await give(held, option)}. The run reads it now; once it has, this question is gone, and stands below as ${ANSWERS[option]}.`);
      taken = true;
      fill(host);
      said.focus();
    } catch (problem) {
      say(said, problem.message, "bad");
      offer();
      host.querySelector("button").focus();
    }
  }
  // The answer that was taken did not count.
  function again() {
    if (!taken) return;
    taken = false;
    offer();
    if (document.activeElement === said) host.querySelector("button").focus();
  }
  offer();
  return {host, again};
}

function say(host, text, kind = "") {
  host.className = kind;
  host.textContent = text;
}

const span = (found) => `${found.since ? moment(found.since) : "the beginning"} to ${found.until ? moment(found.until) : "what is final"}`;
const figure = (value) => typeof value === "number" || /^-?\d+$/.test(value) ? BigInt(value).toLocaleString("en") : String(value);
const mark = (found) => found.problem ? "crashed" : found.success ? "met" : found.severity === "block" ? "NOT met, blocks" : "not met, a warning";

function offending(found) {
  if (!found.rows.length) return found.problem ?? "";
  const more = found.count > found.rows.length ? `${found.rows.length} of ${whole(found.count)}` : whole(found.rows.length);
  return el("details", {}, el("summary", {}, `rows: ${more}`),
    table(`Rows of ${found.expectation}`, found.columns.map((name) => [name]), found.rows.map((row) => row.map((cell) => cell === null ? "none" : String(cell)))));
}

const FEW_ROWS = 100;
const few = (rows) => rows < FEW_ROWS ? el("p", {class: "warn"}, `Only ${whole(rows)} rows were compared, which is little to go by: look at the windows below, and at whether the candidate read what this change is about.`) : null;

const COLUMNS = [["of"], ["that"], ["is"], ["found"], ["rows that differ"]];

// What is met is folded away, so that the answer is not a page further down.
function report(told) {
  const wrong = told.results.filter((found) => !found.success), met = told.results.filter((found) => found.success);
  const verdict = told.crashed ? `NOT validated: ${told.problem}` : told.success ? "The validation passed" : "The validation did NOT pass";
  const compared = told.comparisons.map((found) => [`${found.job} v${found.candidate}`, `v${found.live}`, span(found), whole(found.compared),
    found.totals.length ? found.totals.map((one) => el("div", {}, `${one.measure}: ${figure(one.live)} to ${figure(one.candidate)}`)) : "none"]);
  const line = (found) => [found.suite, found.says, el("span", {class: found.success ? "good" : "bad"}, mark(found)), found.observed, offending(found)];
  return [el("p", {class: told.success ? "good" : "bad"}, `${verdict}: ${whole(told.compared_rows)} rows compared, ${told.among - wrong.length} of ${told.among} expectations met${told.success && wrong.length ? "; what is not met is there to warn, and keeps nothing back" : ""}.`), few(told.compared_rows),
    told.validated_at ? el("p", {class: "quiet"}, `Validated ${utc(told.validated_at)}; what came later was not compared.`) : null,
    table("What was compared", [["candidate"], ["with"], ["windows, UTC"], ["rows", "n"], ["totals that differ"]], compared),
    wrong.length ? table("What is not met", COLUMNS, wrong.map(line)) : null,
    met.length ? el("details", {}, el("summary", {}, `What is met: ${met.length} of ${told.among}`), table("What is met", COLUMNS, met.map(line))) : null];
}

// The report's own page, below the answer, in a frame in which nothing runs, once somebody opens it.
function whole_report(told, held) {
  if (!told.file) return el("p", {class: "quiet"}, "The whole report lies in the shared folder, where this server does not reach it.");
  const frame = el("details", {ontoggle() {
    if (frame.open && frame.childElementCount === 1)
      frame.append(el("iframe", {class: "report", sandbox: "", title: `Report of the validation of ${names(held)}`, src: `data/report?${new URLSearchParams({replay: held.replay_id})}`}));
  }}, el("summary", {}, "The whole report, as the validation wrote it"));
  return frame;
}

// A question with what changes in it: the answer that did not count, and what the validation found.
function question(held) {
  const said = el("p", {role: "status", tabindex: -1}), refusal = el("p", {role: "alert"}), found = el("div", {}, el("p", {class: "quiet"}, "Reading what the validation found ..."));
  const leads = held.dag_id ? airflow(`dags/${held.dag_id}/runs/${encodeURIComponent(held.run_id)}/required_actions`, "Read the report and answer in Airflow") : null;
  const answers = held.dag_id ? answering(held, said) : {again() {}, host: el("p", {}, "No run of Airflow asks it; somebody else than who asked answers by ", el("code", {}, `./kappa promote ${held.candidates.map(({job}) => job).join(" ")} --reason TEXT`), ".")};
  const host = el("article", {class: "job is-red"}, el("h3", {}, `Let ${names(held)} serve instead of ${names(held, true)}?`),
    el("p", {}, el("b", {}, "A question waits. "), "The candidates passed their comparison with what serves: approved, they serve from then on; rejected, what serves stays. ",
      `Asked for by ${held.asked_by}${held.reason ? `, because: ${held.reason}` : ""}. Who asked for it may not approve it. `, leads, leads ? "." : null), found, answers.host, said, refusal);
  ask(`data/validation?${new URLSearchParams({replay: held.replay_id})}`).then((told) => { fill(found, report(told)); host.append(whole_report(told, held)); }, (problem) => fill(found, el("p", {class: "bad"}, problem.message)));
  let refusedAt = null;
  return {host, told({refused}) {
    if (!refused || refused.at === refusedAt) return;
    if (refusedAt !== null || said.textContent) say(said, "");
    refusedAt = refused.at;
    answers.again();
    say(refusal, `An answer did not count, ${utc(refused.at)}: ${refused.sentence}`, "bad");
  }};
}

// Draws those that wait into a host. Each stays as it is while it waits: whoever is in it with the keyboard, too.
export function drawQuestions(host, replays) {
  const waiting = new Map(replays.filter((held) => held.phase === "waiting for an answer").map((held) => [held.replay_id, held]));
  for (const [id, shown] of asked) {
    if (waiting.has(id)) continue;
    if (shown.host.contains(document.activeElement)) document.getElementById("main").focus();
    shown.host.remove();
    asked.delete(id);
  }
  for (const [id, held] of waiting) {
    const shown = asked.get(id) ?? question(held);
    shown.told(held);
    if (!asked.has(id)) host.append(shown.host);
    asked.set(id, shown);
  }
  return waiting.size;
}
