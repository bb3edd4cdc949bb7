/** The language model as annotator: its address, budget and acceptance rules, and its current state. */
import { get, post, put } from "./api.js";
import { singleFlight } from "./controls.js";
import { byId, el, bdi, replaceContent } from "./dom.js";
import { percent } from "./format.js";
import { listed, t, tn, whole } from "./i18n.js";
import { llmTrial } from "./llm-evaluation.js";
import { toast, showErrors } from "./toast.js";

const POLL_MS = 3000;
const SHARE = { type: "number", min: 0, max: 1, step: 0.01, required: true };
const FIELDS = [
  ["base_url", t("Address of the server"), { type: "url", placeholder: t("the address up to /v1"), required: true }],
  ["model", t("Model"), { placeholder: t("its name on that server"), required: true }],
  ["budget_tokens", t("Tokens it may use"), { type: "number", min: 0, required: true }],
  ["per_minute", t("Requests per minute"), { type: "number", min: 1, required: true }],
  ["examples", t("Examples per class in its prompt"), { type: "number", min: 0, max: 10, required: true }],
];
const RULES = [
  ["threshold", t("Accept its label if its confidence is at least"), SHARE],
  ["contradiction", t("Leave the text to people if the trained model disagrees with at least"), SHARE],
  ["overlap", t("Share of texts that people label too, as a test"), SHARE],
];
const PHASES = {
  stopped: t("Stopped."),
  working: t("Running."),
  spent: t("The token budget is used up."),
  failed: t("Stopped after an error."),
};

let timer = 0;

export async function llmPanel() {
  const llm = await get("/api/llm");
  const state = el("div", { class: "stack" });
  byId("llm").replaceChildren(state, form(llm, state), el("div", { class: "stack", id: "llm-evaluation" }));
  show(llm, state);
  await llmTrial(byId("llm-evaluation"));
}

function form(llm, state) {
  const field =
    (value) =>
    ([name, label, kind]) =>
      el("label", {}, label, el("input", { name, value: value[name], autocomplete: "off", ...kind }));
  return el(
    "form",
    { class: "stack", onsubmit: (event) => (event.preventDefault(), showErrors(() => save(event.target, state))) },
    el("div", { class: "fields" }, ...FIELDS.map(field(llm)), ...RULES.map(field(llm.routing))),
    el("div", { class: "row" }, el("button", { class: "main" }, t("Save"))),
  );
}

async function save(form, state) {
  const given = Object.fromEntries(new FormData(form));
  const typed = ([name, , { type }]) => [name, type === "number" ? Number(given[name]) : given[name].trim()];
  const plan = { ...Object.fromEntries(FIELDS.map(typed)), routing: Object.fromEntries(RULES.map(typed)) };
  show(await put("/api/llm", plan), state);
  toast(t("Saved."));
}

function show(llm, state) {
  const { phase, error } = llm.state;
  const active = phase === "working" || phase === "waiting";
  const act = async () => (await post(`/api/llm/${active ? "stop" : "start"}`), show(await get("/api/llm"), state));
  const isMissing = phase === "stopped" && !(llm.base_url && llm.model);
  const waiting = error ? t("Waiting for the server.") : t("Waiting for more texts.");
  replaceContent(state, [
    el(
      "div",
      { class: "row spread" },
      el("p", {}, isMissing ? t("Not set up yet: enter an address and a model, and save them.") : `${PHASES[phase] ?? waiting} ${error}`),
      el(
        "div",
        { class: "exports" },
        active
          ? null
          : el("button", { type: "button", onclick: singleFlight(() => showErrors(() => tryIt(state))) }, t("Try it on five texts")),
        el(
          "button",
          { type: "button", class: active ? null : "main", onclick: singleFlight(() => showErrors(act)) },
          active ? t("Stop") : t("Start"),
        ),
      ),
    ),
    el("p", { class: "small muted" }, [...facts(llm)].join(" ")),
  ]);
  if (active) lookLater(state);
}

function* facts(llm) {
  if (llm.asked || llm.spent_tokens) {
    yield tn("{n} text sent, {labels} labelled by it; the others are left to people.", "{n} texts sent, {labels} labelled by it; the others are left to people.", llm.asked, { labels: whole(llm.labels) });
    yield tn("{n} unusable answer.", "{n} unusable answers.", llm.unusable);
    yield tn("{spent} of {n} token used.", "{spent} of {n} tokens used.", llm.budget_tokens, { spent: whole(llm.spent_tokens) });
  }
  if (llm.routing.overlap >= 1)
    yield t("People label every text too (“Share of texts that people label too” is 1), so none of its answers becomes a label. Lower the share to let it label.");
  if (!llm.has_key) yield t("No API key is set; a server on this machine may not need one.");
}

/** Shows its answers for five texts below its state; nothing is saved. */
async function tryIt(state) {
  const { items } = await post("/api/llm/trial");
  state.querySelector(".trial")?.remove();
  const [problem, ...others] = new Set(items.map((item) => item.problem));
  if (problem && !others.length) return void toast(problem, { stays: true }); // the same error for all texts: show it once
  const rows = items.map(({ text, class: name, classes, confidence, reason, problem }) =>
    el(
      "li",
      { class: "item card" },
      el("p", { class: "written brief", dir: "auto" }, text),
      el("p", {}, ...(problem ? [problem] : [bdi(name ?? (listed(classes) || t("none of these"))), ` (${percent(confidence)})`])),
      reason ? el("p", { class: "remark" }, reason) : "",
    ),
  );
  const none = el("p", { class: "muted trial" }, t("There is no unlabelled text left to try."));
  state.append(rows.length ? el("ul", { class: "items trial" }, ...rows) : none);
  toast(rows.length ? tn("Its answer for {n} text is below.", "Its answers for {n} texts are below.", rows.length) : none.textContent);
}

function lookLater(state) {
  clearTimeout(timer);
  timer = setTimeout(() => look(state), POLL_MS);
}

/** Keeps polling if the server cannot be reached; the trainer's bar shows that meanwhile. */
async function look(state) {
  const llm = await get("/api/llm").catch(() => null);
  if (llm) show(llm, state);
  else lookLater(state);
}
