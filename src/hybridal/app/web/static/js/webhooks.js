/** Webhooks: add, test and remove them; lists their latest deliveries. */
import { get, post } from "./api.js";
import { singleFlight, onSubmit } from "./controls.js";
import { bindCopyButton } from "./copy-button.js";
import { byId, el, replaceContent } from "./dom.js";
import { ago } from "./format.js";
import { listed, t, tn } from "./i18n.js";
import { toast, showErrors } from "./toast.js";

const POLL_MS = 3000;

export async function webhooks() {
  onSubmit(byId("new-webhook"), (form) => showErrors(() => add(form)));
  bindCopyButton(byId("copy-secret"), byId("secret"));
  await list();
  setInterval(() => document.hidden || list().catch(() => {}), POLL_MS);
}

async function add(form) {
  const given = new FormData(form);
  const made = await post("/api/webhooks", { url: given.get("url").trim(), events: given.getAll("events") });
  byId("fresh-secret").hidden = false;
  byId("secret").value = made.secret;
  form.reset();
  await test(made.number);
}

async function test(number) {
  const sent = await post(`/api/webhooks/${number}/test`);
  toast(sent.problem ? t("The test failed. {problem}", sent) : t("The test message was delivered."));
  await list();
}

async function list() {
  const { items } = await get("/api/webhooks");
  const open = new Set([...byId("webhooks").querySelectorAll("details[open]")].map((one) => one.dataset.number));
  replaceContent(byId("webhooks"), items.map((hook) => shown(hook, open.has(String(hook.number)))));
}

function shown(hook, open) {
  const act = (label, spoken, work) =>
    el("button", { type: "button", class: "plain", "aria-label": spoken, onclick: singleFlight(() => showErrors(work)) }, label);
  const allow = async () => (await post(`/api/webhooks/${hook.number}/allow`), await list());
  const remove = async () => (await post(`/api/webhooks/${hook.number}/remove`), await list());
  return el(
    "article",
    { class: "webhook" },
    el(
      "div",
      { class: "row spread" },
      el("p", { class: "address" }, hook.url, el("span", { class: "muted" }, ` ${hook.events.join(", ")}`)),
      el("div", { class: "row" }, hook.allowed ? null : act(t("Allow"), t("Allow {url}", hook), allow), act(t("Test"), t("Test {url}", hook), () => test(hook.number)), act(t("Remove"), t("Remove {url}", hook), remove)),
    ),
    hook.allowed ? null : el("p", {}, t("This project comes from elsewhere: nothing is sent to this address until you allow it.")),
    hook.deliveries.length
      ? el(
          "details",
          { open, "data-number": hook.number },
          el("summary", {}, outcome(hook.deliveries[0])),
          el("ul", { class: "deliveries" }, ...hook.deliveries.map((sent) => el("li", { title: sent.body }, outcome(sent)))),
        )
      : el("p", { class: "muted small" }, t("No messages sent yet.")),
  );
}

/** One delivery: the event, when it was sent, and the outcome. */
function outcome({ event, sent, attempts, due, problem }) {
  const when = sent ? ago(sent) : t("waiting");
  const tries = attempts > 1 && tn("{n} attempt", "{n} attempts", attempts);
  const failed = due ? t("will be retried: {problem}", { problem }) : event === "ping" ? problem : t("given up: {problem}", { problem });
  const end = el("span", { class: problem ? "bad" : "good" }, problem ? failed : t("delivered"));
  return el("span", {}, listed([event, when, tries].filter(Boolean)), ...(sent ? [": ", end] : []));
}
