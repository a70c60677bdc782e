// The page Replays: what is computed anew just now, how far it is, and what became of earlier ones.

import {drawQuestions} from "./question.js";
import {airflow, el, every, fill, head, moment, refill, seconds, section, table, utc, verbs, whole} from "./page.js";

head("replays");
const questions = section("Questions that wait");
const none = el("p", {}, "Nobody is asked anything.");
questions.append(none);
const running = section("Under way");
const ended = section("Ended");
const actions = section("");

let windowed = [];  // the jobs whose rows are windows

const PARITY = {exact: "each row must equal the live one", declared: "differences within the bands that were declared", report: "differences are told, none is refused"};

function left(candidate) {
  const about = candidate.eta_seconds === null ? "" : `about ${seconds(candidate.eta_seconds)} left`;
  if (candidate.state === "CAUGHT_UP") return "it has caught up, and reads what arrives";
  if (candidate.state === "STAGED" || !Number(candidate.read)) return `its driver is starting${about && `, ${about}`}`;
  return about || (Number(candidate.rate_per_second) ? "it comes no nearer now" : "the time left is not known yet");
}

function cost(candidate) {
  const told = candidate.cost, gap = (value) => `${value.toFixed(1)}\u00a0s`;
  return told ? el("p", {}, `Batches of the live v${candidate.live} come ${gap(told.now_middle)} apart, and 99 of 100 within ${gap(told.now_most)}; before the replay, over an hour at most, it was ${gap(told.before_middle)} and ${gap(told.before_most)}.`) : null;
}

function progress(candidate) {
  const all = Number(candidate.read) + Number(candidate.unread);
  const done = candidate.state === "CAUGHT_UP" ? 1 : all ? Number(candidate.read) / all : 0;
  const name = `${candidate.job} v${candidate.version}`, percent = `${(100 * done).toFixed(1)}\u00a0%`;
  return el("div", {}, el("h3", {}, `${name} beside v${candidate.live}: ${candidate.state}`),
    el("progress", {value: done, max: 1, "aria-label": `${name} has read ${percent}`}, percent),
    el("p", {}, `${percent}: ${whole(candidate.read)} records read, ${whole(candidate.unread)} unread, ${whole(Math.round(candidate.rate_per_second))}/s, ${left(candidate)}`),
    cost(candidate),
    windowed.includes(candidate.job) ? el("p", {}, el("a", {href: `releases?${new URLSearchParams({job: candidate.job, left: candidate.live, right: candidate.version})}`}, `Compare it with v${candidate.live}, window by window`)) : null);
}

const said = ({answer, answered_by}) => answer ? ` Answered: ${answer}${answered_by ? ` by ${answered_by}` : ""}.` : "";

function replay(held) {
  const run = held.dag_id ? airflow(`dags/${held.dag_id}/runs/${encodeURIComponent(held.run_id)}`, "Its run in Airflow") : "No run of Airflow: a command does it";
  return el("article", {class: "job"}, el("h3", {}, `${held.phase}: from ${held.from ? moment(held.from) : "the beginning of the log"}, parity ${held.parity} (${PARITY[held.parity]})`),
    el("p", {}, `asked by ${held.asked_by} at ${utc(held.begun_at)}${held.reason ? `, because: ${held.reason}` : ""}.${said(held)} `, run),
    held.candidates.map(progress));
}

const names = (versions) => Object.entries(versions ?? {}).map(([job, version]) => `${job} v${version}`).join(", ");

function draw(told) {
  none.hidden = drawQuestions(questions, told.replays) > 0;
  refill(running, told.replays.length ? told.replays.map(replay) : el("p", {}, "No replay is under way."));
  fill(ended, table("The newest that are over", [["begun, UTC"], ["ended, UTC"], ["candidates"], ["asked by"], ["why"], ["validation"], ["answer"], ["outcome"]],
    told.ended.map((row) => [moment(row.begun_at), moment(row.ended_at), names(row.versions), row.asked_by, row.reason ?? "", row.validated === "true" ? "passed" : row.validated === "false" ? "NOT passed" : "none",
      row.answer ? `${row.answer}${row.answered_by ? ` by ${row.answered_by}` : ""}` : "", row.outcome]), `${told.ended.length}`));
}

const look = every(2000, () => "data/replays", draw);
verbs(actions).then((told) => { windowed = told.windowed; look(); });
