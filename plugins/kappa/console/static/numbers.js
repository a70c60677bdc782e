// The page Numbers: clicks, impressions and spend by minute, the greatest clients and ads, and what a point is made of.

import {ask, clock, el, every, field, fill, head, moment, money, section, select, share, table, utc, whole} from "./page.js";
import {count, Plot, legend, steps} from "./plots.js";

head("numbers");
const chosen = {span: "1h", client: "", ad: ""};
const asked = new URLSearchParams(location.search);
for (const name of Object.keys(chosen)) if (asked.get(name)) chosen[name] = asked.get(name);

const form = section("");
const lines = section("");
const parts = section("");
const tops = section("");
const clientInput = el("input", {name: "client", value: chosen.client, maxlength: 64, autocomplete: "off", size: 24});
const adInput = el("input", {name: "ad", value: chosen.ad, maxlength: 64, autocomplete: "off", size: 24});
const state = el("p", {class: "quiet"});
const ctr = new Plot("CTR", (value) => `${(value * 100).toFixed(2)}\u00a0%`, picked);
const spend = new Plot("spend", count, picked);
const impressions = new Plot("impressions", count, picked);
const minuteInput = el("input", {name: "minute", maxlength: 5, autocomplete: "off", size: 6, placeholder: "HH:MM"});
let found = null, topsOf = null, times = [];

form.append(el("form", {onsubmit(event) { event.preventDefault(); choose({client: clientInput.value.trim(), ad: adInput.value.trim()}); }},
  field("last", select("span", [["15m", "15 minutes"], ["1h", "hour"], ["3h", "3 hours"], ["12h", "12 hours"], ["24h", "24 hours"]], chosen.span, (event) => choose({span: event.target.value}))),
  field("client (empty: all)", clientInput), field("ad (empty: all)", adInput),
  el("button", {type: "submit"}, "Show"), el("button", {type: "button", onclick: () => choose({client: "", ad: ""})}, "All")), state);
lines.append(el("div", {class: "plots"}, ctr.host, spend.host, impressions.host),
  legend([["final: no record can change it any more", "first"], ["not final yet: clicks may still come, and of the last point impressions, too", "second"]]),
  el("form", {"aria-label": "Explain a point", onsubmit(event) { event.preventDefault(); pickMinute(minuteInput.value.trim()); }},
    field("a point's minute, UTC", minuteInput), el("button", {type: "submit"}, "Explain")));

function choose(changes) {
  Object.assign(chosen, changes);
  clientInput.value = chosen.client;
  adInput.value = chosen.ad;
  history.replaceState(null, "", `?${new URLSearchParams(chosen)}`);
  fill(parts);
  look();
}

function twoLines(points, at, value) {
  const held = {true: new Map(), false: new Map()};
  for (const point of points) held[point.is_final].set(point.at, value(point));
  const line = (final, name, colour, dash) => ({name, colour, dash, fill: true, values: at.map((each) => held[final].get(each) ?? null)});
  return [line(true, "final", "first"), line(false, "not final", "second", [4, 3])];
}

function draw(told) {
  found = told;
  const known = told.points.map((point) => point.at);
  times = known.length ? steps(Math.min(...known), Math.max(...known), told.step * 60) : [];
  const whose = chosen.client ? `${chosen.client}${chosen.ad ? `, ${chosen.ad}` : ""}` : "all clients";
  const complete = told.complete_through[told.source];
  state.textContent = `${whose}; to ${utc(told.end)}; a point is ${told.step} min; final up to ${complete ? utc(new Date(complete * 1000).toISOString()) : "nothing yet"}${told.source === "ad_ctr" ? "" : `; added up from ${told.source}`}`;
  for (const plot of [ctr, spend, impressions]) plot.per(told.step);
  ctr.draw({at: times, lines: twoLines(told.points, times, (point) => point.ctr)});
  spend.draw({at: times, lines: twoLines(told.points, times, (point) => point.spend)});
  impressions.draw({at: times, lines: twoLines(told.points, times, (point) => Number(point.impressions))});
  drawTops(told);
}

function drawTops(told) {
  const within = tops.contains(document.activeElement), of_choice = JSON.stringify(told.choice);
  if (within && of_choice === topsOf) return;  // who is in a table with the keyboard stays there until they choose
  topsOf = of_choice;
  const columns = [["impressions", "n"], ["clicks", "n"], ["CTR", "n"], ["spend", "n"]];
  const sums = (row) => [whole(row.impressions), whole(row.clicks), share(row.ctr), money(row.spend_micros)];
  const pick = (text, changes) => el("button", {type: "button", onclick: () => choose(changes)}, text);
  const clients = told.clients.rows.map((row) => [pick(row.client_id, {client: row.client_id, ad: ""}), ...sums(row)]);
  const ads = told.ads.rows.map((row) => [pick(row.ad_id, {client: row.client_id, ad: row.ad_id}), row.client_id, ...sums(row)]);
  const of = (kind) => `${kind.rows.length} of ${whole(kind.among)}, in the span of the plots${chosen.ad ? ", of this ad only" : ""}`;
  const adTable = told.ads.refused ? el("div", {}, el("h3", {}, "Ads by spend"), el("p", {class: "quiet"}, told.ads.refused))
    : table("Ads by spend", [["ad"], ["client"], ...columns], ads, of(told.ads));
  fill(tops,
    chosen.client ? days(told.days) : null,
    el("div", {class: "pair"}, table("Clients by spend", [["client"], ...columns], clients, of(told.clients)),
      adTable));
  if (within) tops.querySelector("[role=region]").focus();
}

function days(rows) {
  return table("Days of this client, in its own time zone",
    [["day"], ["zone"], ["spend", "n"], ["budget", "n"], ["of it", "n"], ["clicks", "n"], ["is"]],
    rows.map((row) => [row.budget_day, row.time_zone, `${money(row.spend_micros)} ${row.currency ?? ""}`,
      row.budget_micros === null ? "none" : money(row.budget_micros),
      Number(row.budget_micros) ? `${(100 * Number(row.spend_micros) / Number(row.budget_micros)).toFixed(1)}\u00a0%` : "",
      whole(row.clicks), row.finality]));
}

// As a click on the point that a minute, HH:MM, is of; the newest one, where a day has two.
function pickMinute(minute) {
  const within = (at) => steps(at, at + 60 * (found.step - 1), 60).some((each) => clock(each).slice(0, 5) === minute);
  const at = times.findLast(within);
  if (at !== undefined) return picked(at);
  const span = times.length ? `they go from ${clock(times[0])} to ${clock(times.at(-1))}` : "they have none yet";
  fill(parts, el("p", {class: "bad"}, `No point of the plots is of ${minute} UTC: ${span}.`));
}

// What a point is made of: one ad's minute, or which ads and clients to go on with.
async function picked(at) {
  if (!chosen.client || !chosen.ad || found.step !== 1) {
    const how = found.step === 1 ? "one of the ads below" : "a span of 3 hours or less, and one of the ads below";
    fill(parts, el("p", {class: "quiet"}, `A point of ${clock(at)}: to see what it is made of, choose ${how}.`));
    return;
  }
  try {
    explain(await ask(`data/explanation?${new URLSearchParams({client: chosen.client, ad: chosen.ad, minute: at})}`), at);
  } catch (problem) {
    fill(parts, el("p", {class: "bad"}, problem.message));
  }
}

function explain({served, version, release, command}, at) {
  const facts = [
    ["served", served ? `${whole(served.impressions)} impressions, ${whole(served.clicks)} ${served.clicks === 1 ? "click" : "clicks"}, ${money(served.spend_micros)} spend; ${whole(served.duplicates)} duplicates and ${whole(served.repeated_clicks)} repeated clicks beside; ${served.is_final ? "final" : "not final yet"}` : "nothing"],
    ["version", version ? `${version.job} v${version.version}, ${version.state}, made ${moment(version.created_at)}` : "none serves this time"],
    ["code", version ? `artifact ${version.artifact}, result digest ${version.result_digest}` : ""],
    ["settings", version ? Object.entries(version.settings).map(([name, value]) => `${name}=${value}`).join(" ") : ""],
    ["release", release ? `${release.release_id} of ${moment(release.promoted_at)} by ${release.promoted_by}${release.approved_by ? `, approved by ${release.approved_by}` : ""}` : "none that names it"],
  ];
  fill(parts, el("h2", {tabindex: -1}, `What ${chosen.ad} of ${clock(at)} is made of`),
    table("Where it comes from", [["what"], ["is"]], facts),
    el("p", {}, "Its records with their fates, and the batches that read them, this command tells from the log:"), el("pre", {}, command));
  parts.querySelector("h2").focus();
}

const look = every(2000, () => `data/numbers?${new URLSearchParams(chosen)}`, draw);
