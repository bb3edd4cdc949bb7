/** The language model as annotator: its address, budget and acceptance rules, and its current state. */
import { get, post, put } from "./api.js";
import { singleFlight } from "./controls.js";
import { byId, el, bdi, replaceContent } from "./dom.js";
import { count, percent, whole } from "./format.js";
import { llmTrial } from "./llm-evaluation.js";
import { toast, showErrors } from "./toast.js";

const POLL_MS = 3000;
const SHARE = { type: "number", min: 0, max: 1, step: 0.01, required: true };
const FIELDS = [
  ["base_url", "Address of the server", { type: "url", placeholder: "the address up to /v1", required: true }],
  ["model", "Model", { placeholder: "its name on that server", required: true }],
  ["budget_tokens", "Tokens it may use", { type: "number", min: 0, required: true }],
  ["per_minute", "Requests per minute", { type: "number", min: 1, required: true }],
  ["examples", "Examples per class in its prompt", { type: "number", min: 0, max: 10, required: true }],
];
const RULES = [
  ["threshold", "Accept its label if its confidence is at least", SHARE],
  ["contradiction", "Leave the text to people if the trained model disagrees with at least", SHARE],
  ["overlap", "Share of texts that people label too, as a test", SHARE],
];
const PHASES = {
  stopped: "Stopped.",
  working: "Running.",
  spent: "The token budget is used up.",
  failed: "Stopped after an error.",
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
    el("div", { class: "row" }, el("button", { class: "main" }, "Save")),
  );
}

async function save(form, state) {
  const given = Object.fromEntries(new FormData(form));
  const typed = ([name, , { type }]) => [name, type === "number" ? Number(given[name]) : given[name].trim()];
  const plan = { ...Object.fromEntries(FIELDS.map(typed)), routing: Object.fromEntries(RULES.map(typed)) };
  show(await put("/api/llm", plan), state);
  toast("Saved.");
}

function show(llm, state) {
  const { phase, error } = llm.state;
  const active = phase === "working" || phase === "waiting";
  const act = async () => (await post(`/api/llm/${active ? "stop" : "start"}`), show(await get("/api/llm"), state));
  const isMissing = phase === "stopped" && !(llm.base_url && llm.model);
  const waiting = error ? "Waiting for the server." : "Waiting for more texts.";
  replaceContent(state, [
    el(
      "div",
      { class: "row spread" },
      el("p", {}, isMissing ? "Not set up yet: enter an address and a model, and save them." : `${PHASES[phase] ?? waiting} ${error}`),
      el(
        "div",
        { class: "exports" },
        active
          ? null
          : el("button", { type: "button", onclick: singleFlight(() => showErrors(() => tryIt(state))) }, "Try it on five texts"),
        el(
          "button",
          { type: "button", class: active ? null : "main", onclick: singleFlight(() => showErrors(act)) },
          active ? "Stop" : "Start",
        ),
      ),
    ),
    el("p", { class: "small muted" }, ...facts(llm)),
  ]);
  if (active) lookLater(state);
}

function* facts(llm) {
  if (llm.asked || llm.spent_tokens) {
    const left = `the others left to people (${count(llm.unusable, "unusable answer")})`;
    yield `${count(llm.asked, "text")} sent: ${whole(llm.labels)} labelled by it, ${left}; `;
    yield `${whole(llm.spent_tokens)} of ${whole(llm.budget_tokens)} tokens used. `;
  }
  if (llm.routing.overlap >= 1)
    yield "People label every text too (“Share of texts that people label too” is 1), so none of its answers becomes a label. Lower the share to let it label. ";
  if (!llm.has_key) yield "No API key is set; a server on this machine may not need one.";
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
      el("p", {}, ...(problem ? [problem] : [bdi(name ?? (classes.join(", ") || "none of these")), ` (${percent(confidence)})`])),
      reason ? el("p", { class: "remark" }, reason) : "",
    ),
  );
  const none = el("p", { class: "muted trial" }, "There is no unlabelled text left to try.");
  state.append(rows.length ? el("ul", { class: "items trial" }, ...rows) : none);
  toast(rows.length ? `Its answers for ${count(rows.length, "text")} are below.` : none.textContent);
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
